//! The shards of an arm, and the return path of their records.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use pushmark_load::run_shard;
use pushmark_model::plan::ShardPlan;
use pushmark_model::record::Record;
use pushmark_model::steer::Steer;
use pushmark_net::files::{self, Keeps};

use super::driver::{Agent, Orders};
use super::message::{Lost, PoolMessage, Silence, Spent};
use pushmark_host::server::cpus;

/// Records of a shard that may wait until they are added up. At this limit the shard keeps filling its
/// current record: it then reports several seconds together, and nothing is lost.
const WAITING_MAX: usize = 2;

/// Records of agents that wait to be added up.
const AGENTS_ROOM: usize = 8;

/// Running shards.
#[derive(Debug)]
pub(crate) struct ShardPool {
    threads: Vec<JoinHandle<std::io::Result<()>>>,
    records: Receiver<PoolMessage>,
    // Emptied records are returned, so that the loop neither allocates nor clears them.
    spares: HashMap<u32, Sender<Box<Record>>>,
    orders: OrderSender,
}

/// The result of waiting for a record.
pub(crate) enum PoolEvent {
    Record(Box<Record>),
    /// What the machine of an agent spent: its last word.
    Spent(Box<Spent>),
    /// Nothing was heard of an agent for a while, or it is back.
    Silent(Silence),
    /// An agent sends no more; the others continue.
    Lost(Lost),
    Nothing,
    /// All shards have ended.
    End,
}

/// Sends orders to every shard; clones send to the same shards.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderSender {
    shards: Vec<Sender<Steer>>,
    agents: Vec<Arc<Mutex<Box<dyn Orders>>>>,
}

impl OrderSender {
    /// Sends an order to all, in sequence. After [`Steer::Stop`] their last records still arrive.
    pub(crate) fn tell(&self, order: Steer) {
        // A shard or agent that has ended needs no order.
        for shard in &self.shards {
            let _ = shard.send(order);
        }
        for agent in &self.agents {
            agent.lock().expect("no thread panics while it sends").tell(order);
        }
    }
}

/// The values that move to a shard's thread.
struct Seat {
    plan: ShardPlan,
    cpu: Option<u32>,
    spares: Receiver<Box<Record>>,
    told: Receiver<Steer>,
    sender: SyncSender<PoolMessage>,
}

impl Keeps for Seat {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
}

/// Drives a shard to its end.
fn shard(seat: Seat) -> std::io::Result<()> {
    let Seat { plan, cpu, spares, told, sender } = seat;
    if let Some(cpu) = cpu {
        cpus::pin_current_thread(&[cpu])?;
    }
    let mut waiting = 0;
    // One is enough: more would keep the memory of a busy second forever.
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
        // A closed channel means that records are no longer needed.
        let _ = sender.send(PoolMessage::Record(record));
        empty.take().unwrap_or_default()
    };
    run_shard(plan, &mut || told.try_recv().ok(), &mut sink)
}

impl ShardPool {
    /// Starts a thread for each plan, pinned to one of `cpus` in turn. With agents, the agents start the
    /// threads: each those of the shards for which `agent_of` gives its position.
    pub(crate) fn start(
        plans: Vec<ShardPlan>,
        cpus: &[u32],
        agents: Vec<Box<dyn Agent>>,
        agent_of: impl Fn(u32) -> usize,
    ) -> std::io::Result<ShardPool> {
        // Room for the records of all shards: only an agent's records may have to wait, as the bytes they came in.
        let room = plans.len() * WAITING_MAX;
        let (sender, records) = sync_channel(if agents.is_empty() { room } else { room.min(AGENTS_ROOM) });
        let mut pool = ShardPool {
            threads: Vec::new(),
            records,
            spares: HashMap::new(),
            orders: OrderSender::default(),
        };
        if agents.is_empty() {
            for plan in plans {
                pool.thread(plan, cpus, sender.clone())?;
            }
        } else {
            let of = agents.len();
            for (number, agent) in agents.into_iter().enumerate() {
                let dealt = plans.iter().filter(|plan| agent_of(plan.shard) == number);
                let place = (number + 1, of);
                pool.agent(agent, place, &dealt.cloned().collect::<Vec<_>>(), cpus, sender.clone())?;
            }
        }
        Ok(pool)
    }

    fn thread(
        &mut self,
        plan: ShardPlan,
        cpus: &[u32],
        sender: SyncSender<PoolMessage>,
    ) -> std::io::Result<()> {
        let (spare, spares) = channel::<Box<Record>>();
        let (order, told) = channel::<Steer>();
        let cpu = (!cpus.is_empty()).then(|| cpus[plan.shard as usize % cpus.len()]);
        self.spares.insert(plan.shard, spare);
        self.orders.shards.push(order);
        // The limit of open files then applies only to this shard's connections; before Linux 5.9 it applies
        // to all.
        let name = format!("shard-{}", plan.shard);
        let thread = files::spawn(name, Seat { plan, cpu, spares, told, sender }, shard)?;
        self.threads.push(thread);
        Ok(())
    }

    fn agent(
        &mut self,
        mut agent: Box<dyn Agent>,
        place: (usize, usize),
        plans: &[ShardPlan],
        cpus: &[u32],
        sender: SyncSender<PoolMessage>,
    ) -> std::io::Result<()> {
        // The thread below reports an agent that has ended already.
        if let Some(orders) = agent.begin(plans, cpus)? {
            self.orders.agents.push(Arc::new(Mutex::new(orders)));
        }
        let name = format!("agent-{}", place.0);
        let shards = plans.iter().map(|plan| plan.shard).collect();
        let hear = move || agent.hear(place, shards, &sender);
        self.threads.push(std::thread::Builder::new().name(name).spawn(hear)?);
        Ok(())
    }

    /// Returns an added record to its shard, which fills it again and so needs no new pages. Until then the
    /// shard counts it as waiting.
    pub(crate) fn take_back(&self, mut record: Box<Record>) {
        if let Some(spare) = self.spares.get(&record.shard) {
            record.clear();
            // Its shard may have ended.
            let _ = spare.send(record);
        }
    }

    /// Returns the next record. The caller gives it back with `take_back`.
    pub(crate) fn next(&self, within: Duration) -> PoolEvent {
        match self.records.recv_timeout(within) {
            Ok(PoolMessage::Record(record)) => PoolEvent::Record(record),
            Ok(PoolMessage::Spent(spent)) => PoolEvent::Spent(spent),
            Ok(PoolMessage::Silent(silence)) => PoolEvent::Silent(silence),
            Ok(PoolMessage::Lost(lost)) => PoolEvent::Lost(lost),
            Err(RecvTimeoutError::Timeout) => PoolEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => PoolEvent::End,
        }
    }

    /// The channel for orders to its shards.
    pub(crate) fn orders(&self) -> OrderSender {
        self.orders.clone()
    }

    /// Sends an order to every shard.
    pub(crate) fn tell(&self, order: Steer) {
        self.orders.tell(order);
    }

    /// Asks the shards to end now.
    pub(crate) fn stop(&self) {
        self.tell(Steer::Stop);
    }

    /// Waits for the threads. Fails with the loop's error. Records that were not taken are lost.
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
