//! The monitor of an arm, from the side of its run: it starts the server if it is to, watches it, and tells at the end
//! what it saw.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::bail;
use pushmark_cluster::wire;
use pushmark_model::agent::RemoteOrder;
use pushmark_model::monitor::{Serve, ServerSeen, Watch, WatchOrder, Watched};
use pushmark_model::run::MonitorPart;
use pushmark_model::steer::Steer;
use pushmark_store::KeptFile;

use super::line::{Command, Heeded, Line};

const LOOK: Duration = Duration::from_millis(200);
/// A server may take this long to start there; its own limit is shorter.
const UP_WITHIN: Duration = Duration::from_secs(90);
/// Time to stop a server and to tell what was seen.
const SEEN_WITHIN: Duration = Duration::from_secs(60);

/// A monitor at work on one arm. Dropping it stops the server there.
#[derive(Debug)]
pub(crate) struct ServerWatch {
    to: Command,
    arm: u32,
    /// Its clock minus ours.
    offset_ns: i64,
    said: Receiver<Word>,
    steers: Sender<Steer>,
    over: Arc<AtomicBool>,
    /// It started the server.
    started: bool,
    ended: Option<(String, Option<u64>)>,
    lost: Option<String>,
}

/// What comes from the monitor.
#[derive(Debug)]
enum Word {
    Said(Watched),
    Told(String),
    Lost(String),
}

/// What is left of a monitor's work.
#[derive(Debug)]
pub(crate) struct WatchDone {
    pub(crate) part: MonitorPart,
    /// Absent if the monitor was lost.
    pub(crate) seen: Option<Box<ServerSeen>>,
    /// Share of the time in which the server wanted to run and others kept it waiting.
    pub(crate) server_wait: Option<f64>,
    /// The files that the server wrote.
    pub(crate) logs: Vec<KeptFile>,
}

impl ServerWatch {
    /// `offset_ns`: its clock minus ours.
    pub(super) fn new(to: Command, arm: u32, offset_ns: i64) -> io::Result<ServerWatch> {
        let line = to.line(arm)?;
        let over = Arc::new(AtomicBool::new(false));
        let (told, said) = channel();
        let ended = Arc::clone(&over);
        std::thread::Builder::new().name("monitored".into()).spawn(move || listen(line, &ended, &told))?;
        let (steers, orders) = channel::<Steer>();
        let steered = to.clone();
        std::thread::Builder::new().name("orders".into()).spawn(move || {
            for steer in orders {
                // Its readings are then taken at the planned instants, and say so by their window.
                let _ = steered.order(&RemoteOrder::Watch { arm, order: WatchOrder::Steer(steer) });
            }
        })?;
        let (ended, lost) = (None, None);
        Ok(ServerWatch { to, arm, offset_ns, said, steers, over, started: false, ended, lost })
    }

    /// How far its clock is ahead of ours, in whole µs.
    pub(crate) fn ahead_us(&self) -> i64 {
        self.offset_ns / 1_000
    }

    /// Starts the server. Returns its port, and the time until it was ready.
    ///
    /// # Errors
    /// Fails if the monitor does not start it, or `stopped`.
    pub(crate) fn serve(&mut self, serve: &Serve, stopped: &dyn Fn() -> bool) -> anyhow::Result<(u16, u64)> {
        self.order(WatchOrder::Serve(serve.clone()))?;
        self.started = true;
        let until = Instant::now() + UP_WITHIN;
        let name = &self.to.card.name;
        while !stopped() && Instant::now() < until {
            match self.said.recv_timeout(LOOK) {
                Ok(Word::Said(Watched::Up { port, ready_us })) => return Ok((port, ready_us)),
                Ok(Word::Said(Watched::Failed(why))) => bail!("monitor {name}: {why}"),
                Ok(Word::Lost(why)) => bail!("monitor {name}: {why}"),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        bail!("monitor {name} did not start {}", serve.name)
    }

    /// Watches from now on. `watch` has its start on our clock.
    ///
    /// # Errors
    /// Fails if the monitor cannot.
    pub(crate) fn begin(&mut self, watch: Watch) -> anyhow::Result<()> {
        let start_ns = watch.start_ns.saturating_add_signed(self.ahead_us() * 1_000);
        self.order(WatchOrder::Watch(Watch { start_ns, ..watch }))
    }

    fn order(&self, order: WatchOrder) -> anyhow::Result<()> {
        self.to.order(&RemoteOrder::Watch { arm: self.arm, order })
    }

    /// The phases move.
    pub(crate) fn steer(&self, steer: Steer) {
        let _ = self.steers.send(steer);
    }

    /// Takes what has come. Returns what people should know.
    pub(crate) fn news(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        while let Ok(word) = self.said.try_recv() {
            match word {
                Word::Said(Watched::Ended { how, at_us }) => {
                    news.push(format!("the server on {} has ended: {how}", self.to.card.host));
                    self.ended = Some((how, at_us));
                }
                Word::Said(Watched::Failed(why)) | Word::Lost(why) => {
                    news.push(format!("monitor {}: {why}", self.to.card.name));
                    self.lost = Some(why);
                }
                Word::Said(_) => {}
                Word::Told(text) => news.push(text),
            }
        }
        news
    }

    /// How the server ended by itself, and when, µs from the arm's start.
    pub(crate) fn server_ended(&self) -> Option<(String, Option<u64>)> {
        self.ended.clone()
    }

    /// The arm is over: the server is stopped, and everything is told.
    pub(crate) fn finish(mut self) -> WatchDone {
        let (mut seen, mut logs) = (None::<Box<ServerSeen>>, Vec::new());
        if self.lost.is_none()
            && let Err(error) = self.order(WatchOrder::Finish)
        {
            self.lost = Some(format!("{error:#}"));
        }
        let until = Instant::now() + SEEN_WITHIN;
        while self.lost.is_none() && seen.is_none() {
            match self.said.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Word::Said(Watched::File { name, bytes })) => logs.push(KeptFile { name, bytes }),
                Ok(Word::Said(Watched::Seen(text))) => match serde_json::from_str(&text) {
                    Ok(told) => seen = Some(Box::new(told)),
                    Err(error) => self.lost = Some(format!("what it saw cannot be read: {error}")),
                },
                Ok(Word::Said(Watched::Failed(why)) | Word::Lost(why)) => self.lost = Some(why),
                Ok(_) => {}
                Err(_) => self.lost = Some("it did not tell what it saw".into()),
            }
        }
        self.over.store(true, Ordering::Relaxed);
        let card = &self.to.card;
        let part = MonitorPart {
            name: card.name.clone(),
            host: card.host.clone(),
            version: card.version.clone(),
            wall_clock: card.wall_clock.clone(),
            started: self.started,
            clock: None,
            lost: self.lost.clone(),
        };
        let server_wait = seen.as_ref().and_then(|seen| seen.server_wait);
        WatchDone { part, seen, server_wait, logs }
    }
}

impl Drop for ServerWatch {
    fn drop(&mut self) {
        if !self.over.swap(true, Ordering::Relaxed) {
            // A monitor that does not hear it stops its server after a while.
            let _ = self.order(WatchOrder::Finish);
        }
    }
}

fn listen(mut line: Line, over: &AtomicBool, told: &Sender<Word>) {
    while !over.load(Ordering::Relaxed) {
        let word = match line.next(LOOK) {
            Heeded::Nothing => continue,
            Heeded::Message(message) => match wire::decode::<Watched>(&message) {
                Some(said) => Word::Said(said),
                None => Word::Lost("what it says cannot be read".into()),
            },
            Heeded::Silent(text) | Heeded::Back(text) => Word::Told(text),
            Heeded::Lost(why) => Word::Lost(why),
        };
        let last = matches!(word, Word::Lost(_) | Word::Said(Watched::Seen(_) | Watched::Failed(_)));
        if told.send(word).is_err() || last {
            return;
        }
    }
}
