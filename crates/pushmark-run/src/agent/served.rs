//! The life of an agent that waits on the bus: it answers who it is, is claimed, gets the shards of an arm, keeps
//! what they measure in its spool and sends it, and is released.
//!
//! After the start of an arm it needs neither its coordinator nor the bus until its shards have ended.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_cluster::clock::Responder;
use pushmark_cluster::{Access, Bus, Heard, Spool, Targets, TrustedKeys, challenge, machine, wire};
use pushmark_host::monitor::{Monitor, Snapshot, Watched, figures};
use pushmark_host::server::cpus::allowed_cpus;
use pushmark_model::agent::{AgentCost, Begin, RemoteOrder, Said};
use pushmark_model::cluster::{Answer, Ask, Card, Challenge, Piece, Signed, SpoolHead, VERSION};
use pushmark_model::plan::{Over, Phases, ShardPlan};
use pushmark_model::steer::Steer;
use pushmark_net::{Clock, limits};

use super::machines::who;
use super::pool::{OrderSender, PoolEvent, ShardPool};

/// Time without a sign of life after which a coordinator is gone, if nothing runs for it.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// Time between two looks at whether to end.
const LOOK: Duration = Duration::from_millis(200);
/// Most pieces that are sent again for one question.
const AGAIN_MAX: u64 = 64;
/// Time between two writes of a spool to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// What an agent offers, and to whom.
#[derive(Debug)]
pub struct Offer {
    /// The bus.
    pub access: Access,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Shards that it takes; absent: one for each CPU that it may use.
    pub threads: Option<u32>,
    /// Where it may send traffic.
    pub targets: Targets,
    /// Whose orders it takes.
    pub trusts: TrustedKeys,
    /// The folder of its spools.
    pub spool: PathBuf,
    /// Where other machines reach it; absent: its address on the way to the bus.
    pub address: Option<IpAddr>,
}

/// Serves until `stopped`. `say` tells people what happens.
///
/// # Errors
/// Fails if the bus cannot be reached, the name is taken, or the offer is unsafe.
pub fn serve(offer: Offer, say: &dyn Fn(&str), stopped: &dyn Fn() -> bool) -> anyhow::Result<()> {
    if !offer.targets.is_loopback_only() && offer.trusts.is_empty() {
        bail!("--allow needs --trust KEY: an agent that takes anybody's orders aims at its own machine only");
    }
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = limits::raise_open_files();
    let bus = Arc::new(Bus::connect(&offer.access, &format!("pushmark agent {}", offer.name))?);
    if let Some(other) = who(&bus)?.into_iter().find(|card| card.name == offer.name) {
        bail!("an agent named {} is there already, on {}; choose another --name", other.name, other.host);
    }
    let address = match offer.address {
        Some(address) => address,
        None => offer.access.own_address().context("this machine's address on the way to the bus")?,
    };
    let responder = Responder::start(address).with_context(|| format!("--address {address}"))?;
    let asks = bus.subscribe(&[wire::who(), wire::agent(&offer.name)])?;
    let mut agent = Served { cpus: allowed_cpus()?, probe: responder.address(), offer, bus, claim: None };
    let Card { name, cpus, threads, .. } = agent.card();
    say(&format!("agent {name} waits at {}: {threads} shards on {cpus} CPUs", agent.bus.url()));
    while !stopped() {
        match asks.recv_timeout(LOOK) {
            Ok(heard) if heard.subject == wire::who() => {
                let card = serde_json::to_vec(&agent.card())?;
                agent.bus.answer(&heard, card);
            }
            Ok(heard) => agent.hear(&heard, say),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("the bus ended"),
        }
        agent.look_after_claim(say);
    }
    agent.release(false);
    Ok(())
}

/// A serving agent.
struct Served {
    offer: Offer,
    bus: Arc<Bus>,
    cpus: Vec<u32>,
    probe: SocketAddr,
    claim: Option<Claim>,
}

/// The work that it is claimed for.
struct Claim {
    name: String,
    by: String,
    challenge: Challenge,
    /// The number of the last order.
    number: u64,
    /// The last order: given again because its answer was lost, it is answered again.
    last: Option<Signed>,
    /// The last sign of life.
    kept: Instant,
    /// The work on each arm so far, by its number.
    arms: BTreeMap<u32, Work>,
}

/// The work on an arm.
struct Work {
    start_ns: u64,
    phases: Arc<Mutex<Phases>>,
    orders: OrderSender,
    spool: Arc<Mutex<Spool>>,
    /// Why the spool holds not everything.
    broken: Arc<Mutex<Option<String>>>,
    thread: JoinHandle<()>,
}

impl Work {
    fn is_over(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Served {
    fn card(&self) -> Card {
        let cpus = self.cpus.len() as u32;
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Card {
            name: self.offer.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wire: VERSION,
            host: hostname.trim().to_owned(),
            machine: machine(),
            labels: self.offer.labels.clone(),
            cpus,
            threads: self.offer.threads.unwrap_or(cpus).max(1),
            open_files: limits::open_files().0,
            targets: self.offer.targets.names(),
            trusts: self.offer.trusts.names(),
            probe: self.probe,
            busy: self.claim.as_ref().map(|claim| claim.by.clone()),
        }
    }

    fn hear(&mut self, heard: &Heard, say: &dyn Fn(&str)) {
        let answer = match wire::decode::<Ask>(&heard.body) {
            Some(ask) => self.obey(ask, say).unwrap_or_else(|why| {
                say(&format!("refused: {why:#}"));
                Answer::Refused(format!("{why:#}"))
            }),
            None => Answer::Refused("this is no question that pushmark asks".into()),
        };
        self.bus.answer(heard, wire::encode(&answer));
    }

    fn obey(&mut self, ask: Ask, say: &dyn Fn(&str)) -> anyhow::Result<Answer> {
        match ask {
            Ask::Claim { claim, by, version, wire } => {
                if wire != VERSION {
                    let own = env!("CARGO_PKG_VERSION");
                    bail!(
                        "it is pushmark {own}, messages {VERSION}; you are pushmark {version}, messages {wire}"
                    );
                }
                if let Some(held) = self.claim.as_ref().filter(|held| held.name != claim) {
                    bail!("it works for {}", held.by);
                }
                say(&format!("claimed by {by}"));
                let challenge = challenge()?;
                let kept = Instant::now();
                self.claim = Some(Claim {
                    name: claim,
                    by,
                    challenge,
                    number: 0,
                    last: None,
                    kept,
                    arms: BTreeMap::new(),
                });
                Ok(Answer::Claimed(challenge))
            }
            Ask::Keep { claim } => {
                self.claimed(&claim)?.kept = Instant::now();
                Ok(Answer::Done)
            }
            Ask::Order(signed) => {
                let name = self.offer.name.clone();
                let Some(claim) = &self.claim else { bail!("it is not claimed") };
                if claim.last.as_ref() == Some(&signed) {
                    return Ok(Answer::Done);
                }
                let work = (claim.name.as_str(), &claim.challenge);
                let checked = self
                    .offer
                    .trusts
                    .check::<RemoteOrder>(&signed, &name, work, claim.number)
                    .context("order")?;
                let held = self.claimed(&checked.claim)?;
                (held.number, held.kept) = (checked.number, Instant::now());
                match checked.order {
                    RemoteOrder::Begin { arm, begin } => self.begin(arm, &begin, say)?,
                    RemoteOrder::Steer { arm, steer } => self.steer(arm, steer)?,
                }
                self.claimed(&checked.claim)?.last = Some(signed);
                Ok(Answer::Done)
            }
            Ask::Again { claim, arm, from, to } => {
                let held = self.claimed(&claim)?;
                held.kept = Instant::now();
                let Some(work) = held.arms.get(&arm) else { bail!("it has nothing of arm {arm}") };
                if let Some(why) = &*locked(&work.broken) {
                    bail!("{why}");
                }
                let mut spool = locked(&work.spool);
                let to = to.min(spool.len()).min(from.saturating_add(AGAIN_MAX));
                let mut again = Vec::new();
                for number in from..to {
                    again.extend(spool.piece(number)?);
                }
                let len = spool.len();
                drop(spool);
                let subject = wire::said(&claim, &self.offer.name);
                again.iter().for_each(|piece| self.bus.publish(subject.clone(), wire::encode(piece)));
                Ok(Answer::Spooled(len))
            }
            Ask::Release { claim, complete } => {
                self.claimed(&claim)?;
                self.release(complete);
                say("released");
                Ok(Answer::Done)
            }
        }
    }

    fn claimed(&mut self, claim: &str) -> anyhow::Result<&mut Claim> {
        let held = self.claim.as_mut().filter(|held| held.name == claim);
        held.with_context(|| format!("it knows nothing of {claim}"))
    }

    fn begin(&mut self, arm: u32, begin: &Begin, say: &dyn Fn(&str)) -> anyhow::Result<()> {
        let plans = begin.plans()?;
        let Some(first) = plans.first() else { bail!("no shards") };
        may(&self.offer.targets, &plans)?;
        let (start_ns, phases) = (first.start_ns, Arc::new(Mutex::new(first.arm.phases)));
        let shards = plans.len();
        let text = format!("arm {arm}: {} to {}, {shards} shards", first.arm.transport, first.subscribe_to);
        let held = self.claim.as_ref().context("it is not claimed")?;
        if held.arms.contains_key(&arm) {
            bail!("arm {arm} has begun");
        }
        let head = SpoolHead { claim: held.name.clone(), arm, agent: self.offer.name.clone() };
        let spool = Spool::create(&self.offer.spool, &head)
            .with_context(|| format!("--spool {}", self.offer.spool.display()))?;
        let spool = Arc::new(Mutex::new(spool));
        let broken = Arc::new(Mutex::new(None));
        let cpus = self.cpus.clone();
        let pool = ShardPool::start(plans, &cpus, Vec::new(), |_| 0)?;
        let orders = pool.orders();
        let worker = Worker {
            pool,
            spool: Arc::clone(&spool),
            broken: Arc::clone(&broken),
            bus: Arc::clone(&self.bus),
            subject: wire::said(&head.claim, &head.agent),
            start_ns,
            phases: Arc::clone(&phases),
            cpus: cpus.len(),
        };
        let thread = std::thread::Builder::new().name("work".into()).spawn(move || worker.work())?;
        say(&text);
        let work = Work { start_ns, phases, orders, spool, broken, thread };
        self.claim.as_mut().context("it is not claimed")?.arms.insert(arm, work);
        Ok(())
    }

    fn steer(&mut self, arm: u32, steer: Steer) -> anyhow::Result<()> {
        let held = self.claim.as_ref().context("it is not claimed")?;
        let Some(work) = held.arms.get(&arm) else { bail!("it has nothing of arm {arm}") };
        let elapsed_ns = Clock::now().saturating_sub(work.start_ns);
        work.orders.tell(steer);
        // The instants that an order names must be ahead: else this agent counts other publications than the rest.
        let ahead_ns = match steer {
            Steer::Measure { from_ns, until_ns } => {
                let mut phases = locked(&work.phases);
                let moved = from_ns != phases.measure_start_ns();
                phases.measure(from_ns, until_ns);
                if moved { from_ns.min(until_ns) } else { until_ns }
            }
            Steer::StopAt { at_ns } => at_ns,
            Steer::Stop => u64::MAX,
        };
        if elapsed_ns > ahead_ns {
            let late_ms = (elapsed_ns - ahead_ns) / 1_000_000;
            *locked(&work.broken) = Some(format!("an order came {late_ms} ms late"));
        }
        Ok(())
    }

    /// A coordinator that is gone is forgotten once nothing runs for it. Its spools stay.
    fn look_after_claim(&mut self, say: &dyn Fn(&str)) {
        let is_gone =
            |claim: &Claim| claim.kept.elapsed() > GONE_AFTER && claim.arms.values().all(Work::is_over);
        if let Some(claim) = self.claim.as_ref().filter(|claim| is_gone(claim)) {
            say(&format!(
                "{} is gone; what was measured for it is kept in {}",
                claim.by,
                self.offer.spool.display()
            ));
            self.release(false);
        }
    }

    fn release(&mut self, complete: bool) {
        let Some(claim) = self.claim.take() else { return };
        for work in claim.arms.into_values() {
            work.orders.tell(Steer::Stop);
            // A panic in it has been printed.
            let _ = work.thread.join();
            if complete && let Some(spool) = Arc::into_inner(work.spool) {
                let spool = spool.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
                // A file that cannot be removed costs nothing but its room.
                let _ = spool.remove();
            }
        }
    }
}

/// Fails if shards would do what this agent does not do for others.
fn may(targets: &Targets, plans: &[ShardPlan]) -> anyhow::Result<()> {
    for plan in plans {
        let all = [Some(plan.subscribe_to), plan.publish_to];
        let all = all.into_iter().flatten().chain(plan.before_to.iter().copied());
        for target in all {
            if !targets.allow(target) {
                bail!("{target} is not among the targets allowed here (--allow)");
            }
        }
        if plan.arm.publish.as_ref().is_some_and(|publish| matches!(publish.over, Over::Command(_))) {
            bail!("a publisher's command is not started for others");
        }
    }
    Ok(())
}

/// The thread that takes the records of an arm's shards.
struct Worker {
    pool: ShardPool,
    spool: Arc<Mutex<Spool>>,
    broken: Arc<Mutex<Option<String>>>,
    bus: Arc<Bus>,
    subject: String,
    start_ns: u64,
    phases: Arc<Mutex<Phases>>,
    cpus: usize,
}

impl Worker {
    fn work(self) {
        let monitor = Monitor::start(Watched::default(), Clock::now).ok();
        let mut marks: [Option<Snapshot>; 2] = [None, None];
        let mut synced = Instant::now();
        let mut started_late_ns = None;
        loop {
            let now_ns = Clock::now();
            if now_ns >= self.start_ns {
                started_late_ns.get_or_insert(now_ns - self.start_ns);
            }
            let next_ns = self.mark(now_ns, monitor.as_ref(), &mut marks);
            let wait_ns = next_ns.saturating_sub(now_ns).min(LOOK.as_nanos() as u64);
            match self.pool.next(Duration::from_nanos(wait_ns)) {
                PoolEvent::Record(record) => {
                    let said = Said::Record(record);
                    self.say(&said);
                    if let Said::Record(record) = said {
                        self.pool.take_back(record);
                    }
                }
                PoolEvent::End => break,
                // An agent has no agents.
                PoolEvent::Nothing | PoolEvent::Spent(_) | PoolEvent::Silent(_) | PoolEvent::Lost(_) => {}
            }
            if synced.elapsed() > SYNC_EVERY {
                synced = Instant::now();
                if let Err(error) = locked(&self.spool).sync() {
                    self.breaks(&format!("its spool cannot be written: {error}"));
                }
            }
        }
        let cost = self.cost(monitor, &marks, started_late_ns.unwrap_or(0));
        let Worker { pool, spool, broken, bus, subject, .. } = self;
        // What is not whole must not pass for it: an order that came late, a spool that was full.
        let whole = |()| locked(&broken).clone().map_or(Ok(()), Err);
        let ended = Said::Ended(pool.join().and_then(whole));
        let rest = Voice { spool: &spool, broken: &broken, bus: &bus, subject: &subject };
        if let Ok(text) = serde_json::to_string(&cost) {
            rest.say(&Said::Cost(text));
        }
        rest.say(&ended);
        let _ = locked(&spool).sync();
    }

    /// Takes the readings that are due. Returns when the next one is.
    fn mark(&self, now_ns: u64, monitor: Option<&Monitor>, marks: &mut [Option<Snapshot>; 2]) -> u64 {
        let phases = *locked(&self.phases);
        let due = [phases.measure_start_ns(), phases.measure_end_ns()].map(|at| self.start_ns + at);
        for (mark, due_ns) in marks.iter_mut().zip(due) {
            if mark.is_none() && now_ns >= due_ns {
                *mark = monitor.map(Monitor::mark_with_others);
            }
        }
        let all = due.into_iter().chain([self.start_ns]);
        all.filter(|due_ns| *due_ns > now_ns).min().unwrap_or(u64::MAX)
    }

    fn cost(
        &self,
        monitor: Option<Monitor>,
        marks: &[Option<Snapshot>; 2],
        started_late_ns: u64,
    ) -> AgentCost {
        let mut cost = AgentCost { started_late_ns, ..AgentCost::default() };
        let Some(monitor) = monitor else { return cost };
        let end = monitor.mark();
        if let [Some(from), Some(to)] = marks {
            cost.generator = figures::generator(from, to, Default::default(), self.cpus);
            cost.foreign = figures::foreign(from, to, self.cpus, &monitor.ours());
            cost.worst_shard_wait = figures::worst_shard_wait(from, to);
        }
        let since = |at_ns: u64| at_ns as i64 - self.start_ns as i64;
        cost.stalls = end.stalls.iter().map(|stall| (since(stall.from_ns), stall.length_ns)).collect();
        cost.clock_step_ns = end.clock.largest_step_ns;
        cost
    }

    fn say(&self, said: &Said) {
        let Worker { spool, broken, bus, subject, .. } = self;
        Voice { spool, broken, bus, subject }.say(said);
    }

    fn breaks(&self, why: &str) {
        locked(&self.broken).get_or_insert_with(|| why.to_owned());
        self.pool.stop();
    }
}

/// What an agent says goes into its spool first, then on the bus.
struct Voice<'a> {
    spool: &'a Mutex<Spool>,
    broken: &'a Mutex<Option<String>>,
    bus: &'a Bus,
    subject: &'a str,
}

impl Voice<'_> {
    fn say(&self, said: &Said) {
        let message = wire::encode(said);
        let pieces: Vec<Piece> = match locked(self.spool).append(&message) {
            Ok(pieces) => pieces,
            Err(error) => {
                locked(self.broken).get_or_insert_with(|| format!("its spool cannot be written: {error}"));
                return;
            }
        };
        for piece in &pieces {
            self.bus.publish(self.subject.to_owned(), wire::encode(piece));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
