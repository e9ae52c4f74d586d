//! An agent on another machine, from the side of its run: a name on the bus.
//!
//! Its pieces are put in order; what is missing is asked for again. An agent of which nothing is heard goes on
//! measuring, as far as its run knows: only when the arm is over for a while without it is it lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::Duration;

use anyhow::Context as _;
use pushmark_cluster::{Bus, Due, Heard, Listening, Signer, wire};
use pushmark_model::agent::{AgentCost, Begin, RemoteOrder, Said};
use pushmark_model::cluster::{Answer, Ask, Card, Challenge, Piece};
use pushmark_model::plan::ShardPlan;
use pushmark_model::steer::Steer;
use pushmark_net::Clock;

use super::driver::{Agent, Orders};
use super::message::{Lost, PoolMessage, Spent};

/// Time for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(200);
/// How often an order is given until it is taken.
const TRIES: usize = 5;

pub(super) struct Remote {
    bus: Arc<Bus>,
    /// The name of the work, the number of the arm, and the position of this agent.
    of: (String, u32, usize),
    card: Card,
    key: (Arc<Signer>, Challenge, Arc<AtomicU64>),
    heard: Receiver<Heard>,
    /// Its clock minus ours.
    offset_ns: Option<f64>,
    /// When the plan is over, on our clock.
    ends_ns: u64,
    complete: Arc<AtomicBool>,
}

/// Signed orders, given by a thread: an answer may take its time, and the run has other things to do.
#[derive(Debug)]
struct Bussed(Sender<Steer>);

impl Orders for Bussed {
    fn tell(&mut self, order: Steer) {
        let _ = self.0.send(order);
    }
}

impl Remote {
    pub(super) fn new(
        bus: Arc<Bus>,
        of: (String, u32, usize),
        card: Card,
        key: (Arc<Signer>, Challenge, Arc<AtomicU64>),
        heard: Receiver<Heard>,
        offset_ns: Option<f64>,
        complete: Arc<AtomicBool>,
    ) -> Remote {
        Remote { bus, of, card, key, heard, offset_ns, ends_ns: u64::MAX, complete }
    }

    /// Gives an order, again if nothing answers.
    fn order(
        bus: &Bus,
        name: &str,
        claim: &str,
        key: &(Arc<Signer>, Challenge, Arc<AtomicU64>),
        order: &RemoteOrder,
    ) -> anyhow::Result<()> {
        let (signer, challenge, numbers) = key;
        let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let signed = signer.sign(name, claim, *challenge, number, order);
        let mut last = None;
        for _ in 0..TRIES {
            match ask_one(bus, name, &Ask::Order(signed.clone())) {
                Ok(Answer::Done) => return Ok(()),
                Ok(Answer::Refused(why)) => anyhow::bail!("agent {name} refuses: {why}"),
                Ok(other) => anyhow::bail!("agent {name} answers {other:?}"),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("it was tried").context(format!("agent {name}")))
    }
}

/// Asks an agent, and waits for its answer.
pub(super) fn ask_one(bus: &Bus, name: &str, ask: &Ask) -> anyhow::Result<Answer> {
    let body = bus.request(wire::agent(name), wire::encode(ask), ANSWER_WITHIN)?;
    wire::decode(&body).context("an answer that cannot be read")
}

impl Agent for Remote {
    fn pid(&self) -> Option<i32> {
        None
    }

    fn begin(&mut self, plans: &[ShardPlan], _cpus: &[u32]) -> io::Result<Option<Box<dyn Orders>>> {
        let (claim, arm, _) = self.of.clone();
        let none = || io::Error::other(format!("the clock of agent {} was set", self.card.name));
        let offset_ns = self.offset_ns.ok_or_else(none)?;
        let theirs = |plan: &ShardPlan| {
            // Whole µs, so that stamps and schedule agree on every bound.
            let clock_ahead_us = offset_ns as i64 / 1_000;
            let start_ns = plan.start_ns.saturating_add_signed(clock_ahead_us * 1_000);
            ShardPlan { start_ns, clock_ahead_us, ..plan.clone() }
        };
        let theirs: Vec<ShardPlan> = plans.iter().map(theirs).collect();
        self.ends_ns = plans.first().map_or(0, |plan| plan.start_ns + plan.arm.phases.end_ns());
        let begin = RemoteOrder::Begin { arm, begin: Begin::new(&theirs, &[]) };
        Remote::order(&self.bus, &self.card.name, &claim, &self.key, &begin).map_err(io::Error::other)?;
        let (told, orders) = channel::<Steer>();
        let (bus, key, name) = (Arc::clone(&self.bus), self.key.clone(), self.card.name.clone());
        std::thread::Builder::new().name("orders".into()).spawn(move || {
            for steer in orders {
                // An agent that gets it late, or not at all, says so at its end or goes on beyond the others'.
                let _ = Remote::order(&bus, &name, &claim, &key, &RemoteOrder::Steer { arm, steer });
            }
        })?;
        Ok(Some(Box::new(Bussed(told))))
    }

    fn hear(
        self: Box<Self>,
        agent: (usize, usize),
        shards: Vec<u32>,
        told: &SyncSender<PoolMessage>,
    ) -> io::Result<()> {
        match self.listen(told) {
            Listened::Ended(outcome) => outcome.map_err(io::Error::other),
            Listened::Unwanted => Ok(()),
            Listened::Lost(how) => {
                self.complete.store(false, Ordering::Relaxed);
                let how = format!("{} on {}: {how}", self.card.name, self.card.host);
                let _ = told.send(PoolMessage::Lost(Lost { agent, how, shards }));
                Ok(())
            }
        }
    }
}

/// How listening to an agent ended.
enum Listened {
    /// It told everything.
    Ended(Result<(), String>),
    /// The run needs no more of it.
    Unwanted,
    /// It is gone.
    Lost(String),
}

impl Remote {
    fn listen(&self, told: &SyncSender<PoolMessage>) -> Listened {
        let mut listening = Listening::new(Clock::now(), self.ends_ns);
        loop {
            match self.heard.recv_timeout(LOOK) {
                Ok(heard) => {
                    let piece = wire::decode::<Piece>(&heard.body).filter(|piece| piece.arm == self.of.1);
                    let Some(piece) = piece else { continue };
                    for message in listening.take(Clock::now(), piece) {
                        if let Some(end) = self.pass_on(&message, told) {
                            return end;
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Listened::Lost("the bus ended".into()),
            }
            while let Some(due) = listening.due(Clock::now()) {
                let Card { name, host, .. } = &self.card;
                let text = match due {
                    Due::Silent => format!("nothing is heard of agent {name} on {host}"),
                    Due::Back => format!("agent {name} on {host} is back"),
                    Due::Lost(quiet_ns) => {
                        return Listened::Lost(format!("nothing heard for {} s", quiet_ns / 1_000_000_000));
                    }
                    Due::Ask { from, to } => {
                        match self.ask_again(from, to) {
                            Ok(Answer::Refused(why)) => return Listened::Lost(why),
                            Ok(Answer::Spooled(known)) => listening.answered(Clock::now(), known),
                            // Asked again when it is time.
                            Ok(_) | Err(_) => {}
                        }
                        continue;
                    }
                };
                if told.send(PoolMessage::Silent(text)).is_err() {
                    return Listened::Unwanted;
                }
            }
        }
    }

    fn ask_again(&self, from: u64, to: u64) -> anyhow::Result<Answer> {
        let (claim, arm, _) = self.of.clone();
        ask_one(&self.bus, &self.card.name, &Ask::Again { claim, arm, from, to })
    }

    fn pass_on(&self, message: &[u8], told: &SyncSender<PoolMessage>) -> Option<Listened> {
        let said = match wire::decode::<Said>(message) {
            Some(Said::Record(record)) => PoolMessage::Record(record),
            Some(Said::Cost(text)) => match serde_json::from_str::<AgentCost>(&text) {
                Ok(cost) => PoolMessage::Spent(Box::new(Spent { agent: self.of.2, cost })),
                Err(error) => return Some(Listened::Lost(format!("what it spent cannot be read: {error}"))),
            },
            Some(Said::Ended(outcome)) => return Some(Listened::Ended(outcome)),
            None => return Some(Listened::Lost("what it says cannot be read".into())),
        };
        // A closed channel means that records are no longer needed.
        told.send(said).is_err().then_some(Listened::Unwanted)
    }
}
