//! An agent on another machine, as the pool sees it.
//!
//! An agent of which nothing is heard goes on measuring, as far as its run knows: only when the arm is over for a
//! while without it is it lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel};
use std::time::Duration;

use pushmark_cluster::wire;
use pushmark_model::agent::{AgentCost, Begin, RemoteOrder, Said};
use pushmark_model::plan::ShardPlan;
use pushmark_model::steer::Steer;

use super::driver::{Agent, Orders};
use super::line::{Heeded, Line};
use super::message::{Lost, PoolMessage, Silence, Spent};

const LOOK: Duration = Duration::from_millis(200);

pub(super) struct Remote {
    line: Line,
    /// The number of the arm.
    arm: u32,
    /// The position of this agent.
    at: usize,
    /// Its clock minus ours.
    offset_ns: Option<f64>,
    /// What it keeps of the run beside its records.
    run: String,
    /// Every agent of every arm so far has told all.
    complete: Arc<AtomicBool>,
    /// Orders that never reached it.
    failed: Arc<AtomicBool>,
}

/// Orders, given by a thread: an answer may take its time, and the run has other things to do.
#[derive(Debug)]
struct Bussed(Sender<Steer>);

impl Orders for Bussed {
    fn tell(&mut self, order: Steer) {
        let _ = self.0.send(order);
    }
}

impl Remote {
    pub(super) fn new(
        line: Line,
        (arm, at): (u32, usize),
        offset_ns: Option<f64>,
        run: String,
        complete: Arc<AtomicBool>,
    ) -> Remote {
        Remote { line, arm, at, offset_ns, run, complete, failed: Arc::default() }
    }
}

impl Agent for Remote {
    fn pid(&self) -> Option<i32> {
        None
    }

    fn begin(&mut self, plans: &[ShardPlan], _cpus: &[u32]) -> io::Result<Option<Box<dyn Orders>>> {
        let to = self.line.to.clone();
        let none = || io::Error::other(format!("the clock of agent {} was set", to.card.name));
        let offset_ns = self.offset_ns.ok_or_else(none)?;
        // With several agents, deliveries of one's own publications need no second clock.
        let own: Vec<u32> = plans.iter().map(|plan| plan.shard).collect();
        let apart = plans.first().is_some_and(|plan| own.len() < plan.shards as usize);
        let machine_shards = if apart { own } else { Vec::new() };
        let theirs = |plan: &ShardPlan| {
            // Whole µs, so that stamps and schedule agree on every bound.
            let ahead_us = offset_ns as i64 / 1_000;
            let start_ns = plan.start_ns.saturating_add_signed(ahead_us * 1_000);
            let clock_ahead_us = plan.clock_ahead_us + ahead_us;
            ShardPlan { start_ns, clock_ahead_us, machine_shards: machine_shards.clone(), ..plan.clone() }
        };
        let theirs: Vec<ShardPlan> = plans.iter().map(theirs).collect();
        self.line.ends(plans.first().map_or(0, |plan| plan.start_ns + plan.arm.phases.end_ns()));
        let arm = self.arm;
        let run = std::mem::take(&mut self.run);
        let begin = RemoteOrder::Begin { arm, begin: Begin::new(&theirs, &[]), run };
        to.order(&begin).map_err(io::Error::other)?;
        let (told, orders) = channel::<Steer>();
        let failed = Arc::clone(&self.failed);
        std::thread::Builder::new().name("orders".into()).spawn(move || {
            for steer in orders {
                // One that comes late is told by the agent itself, at its end.
                if to.order(&RemoteOrder::Steer { arm, steer }).is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Some(Box::new(Bussed(told))))
    }

    fn hear(
        mut self: Box<Self>,
        agent: (usize, usize),
        shards: Vec<u32>,
        told: &SyncSender<PoolMessage>,
    ) -> io::Result<()> {
        let listened = match self.listen(told) {
            // It went on as it was planned, and counted other publications than the rest.
            Listened::Ended(Ok(())) if self.failed.load(Ordering::Relaxed) => {
                Listened::Lost("an order never reached it".into())
            }
            listened => listened,
        };
        match listened {
            Listened::Ended(outcome) => outcome.map_err(io::Error::other),
            Listened::Unwanted => Ok(()),
            Listened::Lost(how) => {
                self.complete.store(false, Ordering::Relaxed);
                let card = &self.line.to.card;
                let how = format!("{} on {}: {how}", card.name, card.host);
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
    fn listen(&mut self, told: &SyncSender<PoolMessage>) -> Listened {
        loop {
            match self.line.next(LOOK) {
                Heeded::Message(message) => {
                    if let Some(end) = self.pass_on(&message, told) {
                        return end;
                    }
                }
                Heeded::Silent(text) => {
                    if !self.tell(false, text, told) {
                        return Listened::Unwanted;
                    }
                }
                Heeded::Back(text) => {
                    if !self.tell(true, text, told) {
                        return Listened::Unwanted;
                    }
                }
                Heeded::Lost(how) => return Listened::Lost(how),
                Heeded::Nothing => {}
            }
        }
    }

    /// Returns whether the run needs more of it.
    fn tell(&self, over: bool, text: String, told: &SyncSender<PoolMessage>) -> bool {
        told.send(PoolMessage::Silent(Silence { agent: self.at, over, text })).is_ok()
    }

    fn pass_on(&self, message: &[u8], told: &SyncSender<PoolMessage>) -> Option<Listened> {
        let said = match wire::decode::<Said>(message) {
            Some(Said::Record(record)) => PoolMessage::Record(record),
            Some(Said::Cost(text)) => match serde_json::from_str::<AgentCost>(&text) {
                Ok(cost) => PoolMessage::Spent(Box::new(Spent { agent: self.at, cost })),
                Err(error) => return Some(Listened::Lost(format!("what it spent cannot be read: {error}"))),
            },
            Some(Said::Ended(outcome)) => return Some(Listened::Ended(outcome)),
            None => return Some(Listened::Lost("what it says cannot be read".into())),
        };
        // A closed channel means that records are no longer needed.
        told.send(said).is_err().then_some(Listened::Unwanted)
    }
}
