//! The shards of an arm, and the way their records come back.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use pushmark_load::run_shard;
use pushmark_model::agent::Order;
use pushmark_model::frame;
use pushmark_model::plan::ShardPlan;
use pushmark_model::record::Record;
use pushmark_model::steer::Steer;
use pushmark_net::files;

use super::Agent;
use crate::server::cpus;

/// Records of a shard that may wait until they are added up. One that has as many goes on filling its present
/// one: seconds are then told together, and nothing is lost.
const WAITING_MAX: usize = 2;

/// Running shards.
#[derive(Debug)]
pub(crate) struct Crew {
    threads: Vec<JoinHandle<std::io::Result<()>>>,
    records: Receiver<Box<Record>>,
    // Emptied records go back, so that the loop neither allocates nor clears them.
    spares: HashMap<u32, Sender<Box<Record>>>,
    voice: Voice,
}

/// What came of waiting for a record.
pub(crate) enum Came {
    Record(Box<Record>),
    Nothing,
    /// All shards have ended.
    End,
}

/// Reaches every shard; clones reach the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Voice {
    shards: Vec<Sender<Steer>>,
    agents: Vec<Arc<Mutex<UnixStream>>>,
}

impl Voice {
    /// The same to all, in order. After [`Steer::Stop`] their last records still come.
    pub(crate) fn tell(&self, order: Steer) {
        // Whoever has ended needs no order.
        for shard in &self.shards {
            let _ = shard.send(order);
        }
        for agent in &self.agents {
            let mut agent = agent.lock().expect("nobody panics while telling");
            let _ = frame::write(&mut *agent, &Order::Steer(order));
        }
    }
}

impl Crew {
    /// Starts a thread a plan, each kept to one of `cpus` in turn; where there are agents, theirs.
    pub(crate) fn start(plans: Vec<ShardPlan>, cpus: &[u32], agents: Vec<Agent>) -> std::io::Result<Crew> {
        // Room for all of them: only an agent's records ever wait for it, in their socket.
        let (sender, records) = sync_channel(plans.len() * WAITING_MAX);
        let mut crew = Crew { threads: Vec::new(), records, spares: HashMap::new(), voice: Voice::default() };
        if agents.is_empty() {
            for plan in plans {
                crew.thread(plan, cpus, sender.clone())?;
            }
        } else {
            let of = agents.len();
            for (number, agent) in agents.into_iter().enumerate() {
                let dealt = plans.iter().filter(|plan| plan.shard as usize % of == number);
                crew.agent(agent, &dealt.cloned().collect::<Vec<_>>(), cpus, sender.clone())?;
            }
        }
        Ok(crew)
    }

    fn thread(
        &mut self,
        plan: ShardPlan,
        cpus: &[u32],
        sender: SyncSender<Box<Record>>,
    ) -> std::io::Result<()> {
        let (spare, spares) = channel::<Box<Record>>();
        let (order, told) = channel::<Steer>();
        let cpu = (!cpus.is_empty()).then(|| cpus[plan.shard as usize % cpus.len()]);
        self.spares.insert(plan.shard, spare);
        self.voice.shards.push(order);
        let thread = std::thread::Builder::new().name(format!("shard-{}", plan.shard)).spawn(move || {
            // The limit of open files then counts this shard's connections alone; before
            // Linux 5.9 it counts those of all.
            let _ = files::part(&[]);
            if let Some(cpu) = cpu {
                cpus::pin_current_thread(&[cpu])?;
            }
            let mut waiting = 0;
            // One is enough, and more would hold what a busy second needed for good.
            let mut empty: Option<Box<Record>> = None;
            let mut sink = |record: Box<Record>| {
                for spare in spares.try_iter() {
                    waiting -= 1;
                    empty = Some(spare);
                }
                if waiting == WAITING_MAX && !record.last {
                    return record;
                }
                waiting += 1;
                // A closed channel means that nobody wants records any more.
                let _ = sender.send(record);
                empty.take().unwrap_or_default()
            };
            run_shard(plan, &mut || told.try_recv().ok(), &mut sink)
        })?;
        self.threads.push(thread);
        Ok(())
    }

    fn agent(
        &mut self,
        mut agent: Agent,
        plans: &[ShardPlan],
        cpus: &[u32],
        sender: SyncSender<Box<Record>>,
    ) -> std::io::Result<()> {
        self.voice.agents.push(Arc::new(Mutex::new(agent.begin(plans, cpus)?)));
        let name = format!("agent-{}", agent.pid());
        self.threads.push(std::thread::Builder::new().name(name).spawn(move || agent.hear(&sender))?);
        Ok(())
    }

    /// Takes a record back that has been added up: its shard fills it again, so that it makes no new
    /// pages. Until then the shard counts it as waiting.
    pub(crate) fn take_back(&self, mut record: Box<Record>) {
        if let Some(spare) = self.spares.get(&record.shard) {
            record.clear();
            // Its shard may have ended.
            let _ = spare.send(record);
        }
    }

    /// The next record, to be taken back.
    pub(crate) fn next(&self, within: Duration) -> Came {
        match self.records.recv_timeout(within) {
            Ok(record) => Came::Record(record),
            Err(RecvTimeoutError::Timeout) => Came::Nothing,
            Err(RecvTimeoutError::Disconnected) => Came::End,
        }
    }

    /// What reaches its shards.
    pub(crate) fn voice(&self) -> Voice {
        self.voice.clone()
    }

    /// Tells every shard.
    pub(crate) fn tell(&self, order: Steer) {
        self.voice.tell(order);
    }

    /// Asks the shards to end now.
    pub(crate) fn stop(&self) {
        self.tell(Steer::Stop);
    }

    /// Waits for the threads; an error is the loop's own. Records that were not taken are lost.
    pub(crate) fn join(self) -> Result<(), String> {
        // A shard that waits for room for its last record must not be waited for.
        drop(self.records);
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
