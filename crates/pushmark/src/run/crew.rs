//! The shard threads of an arm, and the way their records come back.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use pushmark_load::run_shard;
use pushmark_model::plan::ShardPlan;
use pushmark_model::record::Record;
use pushmark_model::steer::Steer;

use crate::server::cpus;

/// Running shards.
#[derive(Debug)]
pub(super) struct Crew {
    threads: Vec<JoinHandle<std::io::Result<()>>>,
    records: Receiver<Box<Record>>,
    // Emptied records go back, so that the loop neither allocates nor clears them.
    spares: Vec<Sender<Box<Record>>>,
    // What each shard is told: the same to all, in order.
    orders: Vec<Sender<Steer>>,
}

/// What came of waiting for a record.
pub(super) enum Came {
    Record(Box<Record>),
    Nothing,
    /// All shards have ended.
    End,
}

impl Crew {
    /// Starts a thread a plan, each kept to one of `cpus` in turn.
    pub(super) fn start(plans: Vec<ShardPlan>, cpus: &[u32]) -> std::io::Result<Crew> {
        let (sender, records) = channel();
        let mut threads = Vec::new();
        let mut spares = Vec::new();
        let mut orders = Vec::new();
        for plan in plans {
            let (spare, spare_receiver) = channel::<Box<Record>>();
            let (order, told) = channel::<Steer>();
            let sender = sender.clone();
            let cpu = (!cpus.is_empty()).then(|| cpus[plan.shard as usize % cpus.len()]);
            spares.push(spare);
            orders.push(order);
            let thread =
                std::thread::Builder::new().name(format!("shard-{}", plan.shard)).spawn(move || {
                    if let Some(cpu) = cpu {
                        cpus::pin_current_thread(&[cpu])?;
                    }
                    let mut sink = |record| {
                        // A closed channel means that nobody wants records any more.
                        let _ = sender.send(record);
                        spare_receiver.try_recv().unwrap_or_default()
                    };
                    run_shard(plan, &mut || told.try_recv().ok(), &mut sink)
                })?;
            threads.push(thread);
        }
        Ok(Crew { threads, records, spares, orders })
    }

    pub(super) fn next(&self, within: Duration) -> Came {
        match self.records.recv_timeout(within) {
            Ok(record) => {
                if let Some(spare) = self.spares.get(record.shard as usize) {
                    let _ = spare.send(Box::default());
                }
                Came::Record(record)
            }
            Err(RecvTimeoutError::Timeout) => Came::Nothing,
            Err(RecvTimeoutError::Disconnected) => Came::End,
        }
    }

    /// Tells every shard. After [`Steer::Stop`] their last records still come.
    pub(super) fn tell(&self, order: Steer) {
        for shard in &self.orders {
            // A shard that has ended needs no order.
            let _ = shard.send(order);
        }
    }

    /// Asks the shards to end now.
    pub(super) fn stop(&self) {
        self.tell(Steer::Stop);
    }

    /// Waits for the threads; an error is the loop's own.
    pub(super) fn join(self) -> Result<(), String> {
        for thread in self.threads {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(format!("a shard could not run: {error}")),
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
                    return Err(format!("a shard failed: {text}"));
                }
            }
        }
        Ok(())
    }
}
