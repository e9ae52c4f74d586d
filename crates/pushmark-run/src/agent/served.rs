//! The life of an agent or a monitor that waits on the bus: it answers who it is, is claimed, gets the work of an arm,
//! keeps what it measures in its spool and sends it, and is released.
//!
//! After the start of an arm it needs neither its coordinator nor the bus until the arm is over.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_cluster::clock::Responder;
use pushmark_cluster::{
    Access, Bus, Claimed, Heard, SealKey, Targets, TrustedKeys, challenge, hostname, machine, wire,
};
use pushmark_host::server::cpus::allowed_cpus;
use pushmark_host::{addresses, wall_clock};
use pushmark_model::agent::{Begin, RemoteOrder};
use pushmark_model::cluster::{Answer, Ask, Card, Challenge, Signed, SpoolHead, SpooledPlan, Terms, VERSION};
use pushmark_model::monitor::{Beside, WatchOrder};
use pushmark_model::plan::{Over, Phases, ShardPlan};
use pushmark_model::steer::Steer;
use pushmark_net::{Clock, limits};

use super::kept;
use super::line::called;
use super::load::Worker;
use super::machines::who;
use super::offers::Offers;
use super::pool::{OrderSender, ShardPool};
use super::voice::{Voice, locked};
use super::watcher::Watcher;

/// Time without a sign of life after which a coordinator is gone, if nothing runs for it.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// Time between two looks at whether to end.
const LOOK: Duration = Duration::from_millis(200);
/// Most pieces that are sent again for one question.
const AGAIN_MAX: u64 = 64;

/// What an agent or a monitor offers, and to whom.
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
    /// It is a monitor, which starts these servers; absent: it is an agent.
    pub beside: Option<Offers>,
}

/// Serves until `stopped`. `say` tells people what happens.
///
/// # Errors
/// Fails if the bus cannot be reached, the name is taken, or the offer is unsafe.
pub fn serve(mut offer: Offer, say: &dyn Fn(&str), stopped: &dyn Fn() -> bool) -> anyhow::Result<()> {
    if !offer.targets.is_loopback_only() && offer.trusts.is_empty() {
        bail!("--allow needs --trust KEY: an agent that takes anybody's orders aims at its own machine only");
    }
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = limits::raise_open_files();
    let bus = Arc::new(Bus::connect(&offer.access, &format!("pushmark agent {}", offer.name))?);
    if let Some(other) = who(&bus)?.into_iter().find(|card| card.name == offer.name) {
        bail!("{} is there already, on {}; choose another --name", called(&other), other.host);
    }
    let address = match offer.address {
        Some(address) => address,
        None => offer.access.own_address().context("this machine's address on the way to the bus")?,
    };
    let beside = offer.beside.take();
    if beside.as_ref().is_some_and(|offers| !offers.is_empty() && !address.is_loopback())
        && offer.trusts.is_empty()
    {
        bail!("--serve and --commands need --trust KEY: else anybody on the bus could start servers here");
    }
    let beside = beside.map(|mut offers| {
        if !address.is_loopback() {
            offers.listen_at(if address.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) });
        }
        Arc::new(offers)
    });
    let responder = Responder::start(address).with_context(|| format!("--address {address}"))?;
    let asks = bus.subscribe(&[wire::who(), wire::agent(&offer.name)])?;
    let mut agent =
        Served { cpus: allowed_cpus()?, probe: responder.address(), offer, beside, bus, claim: None };
    say(&agent.introduction());
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

/// A serving agent or monitor.
struct Served {
    offer: Offer,
    /// What a monitor starts.
    beside: Option<Arc<Offers>>,
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
    /// What its orders are sealed to.
    seal: SealKey,
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
    doing: Doing,
    voice: Voice,
    thread: JoinHandle<()>,
}

/// What is done for an arm.
enum Doing {
    /// Shards are driven, from this instant on.
    Load { start_ns: u64, phases: Arc<Mutex<Phases>>, orders: OrderSender },
    /// A server is watched.
    Watch(Sender<WatchOrder>),
}

impl Work {
    fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    fn stop(&self) {
        match &self.doing {
            Doing::Load { orders, .. } => orders.tell(Steer::Stop),
            // One that has ended needs no order.
            Doing::Watch(told) => drop(told.send(WatchOrder::Finish)),
        }
    }
}

impl Served {
    fn card(&self) -> Card {
        let cpus = self.cpus.len() as u32;
        Card {
            name: self.offer.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wire: VERSION,
            host: hostname(),
            machine: machine(),
            labels: self.offer.labels.clone(),
            cpus,
            threads: self.offer.threads.unwrap_or(cpus).max(1),
            open_files: limits::open_files().0,
            targets: self.offer.targets.names(),
            trusts: self.offer.trusts.names(),
            probe: self.probe,
            wall_clock: wall_clock::in_words(),
            busy: self.claim.as_ref().map(|claim| claim.by.clone()),
            beside: self.beside.as_ref().map(|offers| {
                let own = addresses::own().into_iter().filter(|address| *address != self.probe.ip());
                Beside {
                    addresses: std::iter::once(self.probe.ip()).chain(own).collect(),
                    offers: offers.all(),
                }
            }),
        }
    }

    fn introduction(&self) -> String {
        let Card { name, cpus, threads, beside, .. } = self.card();
        let url = self.bus.url();
        match beside {
            None => format!("agent {name} waits at {url}: {threads} shards on {cpus} CPUs"),
            Some(Beside { offers, .. }) if offers.is_empty() => format!("monitor {name} waits at {url}"),
            Some(Beside { offers, .. }) => {
                let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
                format!("monitor {name} waits at {url}: it starts {}", names.join(", "))
            }
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
                let (challenge, seal) = (challenge()?, SealKey::draw());
                let terms = Terms { challenge, seal_to: seal.public() };
                let kept = Instant::now();
                self.claim = Some(Claim {
                    name: claim,
                    by,
                    challenge,
                    seal,
                    number: 0,
                    last: None,
                    kept,
                    arms: BTreeMap::new(),
                });
                Ok(Answer::Claimed(terms))
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
                let work = Claimed { claim: &claim.name, challenge: &claim.challenge, seal: &claim.seal };
                let checked = self
                    .offer
                    .trusts
                    .check::<RemoteOrder>(&signed, &name, work, claim.number)
                    .context("order")?;
                let held = self.claimed(&checked.claim)?;
                (held.number, held.kept) = (checked.number, Instant::now());
                match checked.order {
                    RemoteOrder::Begin { arm, begin, run } => self.begin(arm, &begin, run, say)?,
                    RemoteOrder::Steer { arm, steer } => self.steer(arm, steer)?,
                    RemoteOrder::Watch { arm, order } => self.watch(arm, order, say)?,
                }
                self.claimed(&checked.claim)?.last = Some(signed);
                Ok(Answer::Done)
            }
            Ask::Again { claim, arm, from, to } => {
                let held = self.claimed(&claim)?;
                held.kept = Instant::now();
                let Some(work) = held.arms.get(&arm) else { bail!("it has nothing of arm {arm}") };
                let to = to.min(from.saturating_add(AGAIN_MAX));
                Ok(Answer::Spooled(work.voice.again(from, to)?))
            }
            Ask::Kept => {
                let claims = self.claim.as_ref();
                let working = |claim: &str, arm: u32| {
                    let held = claims.filter(|held| held.name == claim);
                    held.and_then(|held| held.arms.get(&arm)).is_some_and(|work| !work.is_over())
                };
                Ok(Answer::Kept(kept::list(&self.offer.spool, &self.offer.name, working)))
            }
            Ask::Part { file, from } => {
                Ok(Answer::Part(kept::part(&self.offer.spool, &self.offer.name, &file, from)?))
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

    /// `run`: what is kept of the run beside the records.
    fn begin(&mut self, arm: u32, begin: &Begin, run: String, say: &dyn Fn(&str)) -> anyhow::Result<()> {
        if self.beside.is_some() {
            bail!("it is a monitor, and drives no clients");
        }
        let plans = begin.plans()?;
        let Some(first) = plans.first() else { bail!("no shards") };
        may(&self.offer.targets, &plans)?;
        let (start_ns, phases) = (first.start_ns, Arc::new(Mutex::new(first.arm.phases)));
        let shards = plans.len();
        let text = format!("arm {arm}: {} to {}, {shards} shards", first.arm.transport, first.subscribe_to);
        let kept = SpooledPlan {
            arm: serde_json::to_string(&first.arm.without_words())?,
            host: hostname(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shards: first.shards,
            own: plans.iter().map(|plan| plan.shard).collect(),
            run,
        };
        let voice = self.voice(arm, Some(kept))?;
        let pool = ShardPool::start(plans, &self.cpus, Vec::new(), |_| 0)?;
        let orders = pool.orders();
        let worker = Worker {
            pool,
            voice: voice.clone(),
            start_ns,
            phases: Arc::clone(&phases),
            cpus: self.cpus.len(),
        };
        let thread = std::thread::Builder::new().name("work".into()).spawn(move || worker.work())?;
        say(&text);
        self.works(arm, Work { doing: Doing::Load { start_ns, phases, orders }, voice, thread })
    }

    /// The first order of an arm begins its work.
    fn watch(&mut self, arm: u32, order: WatchOrder, say: &dyn Fn(&str)) -> anyhow::Result<()> {
        let Some(offers) = &self.beside else { bail!("it is an agent, and watches no server") };
        let held = self.claim.as_ref().context("it is not claimed")?;
        if let Some(work) = held.arms.get(&arm) {
            if let Doing::Watch(told) = &work.doing {
                // One that has ended has said why.
                let _ = told.send(order);
            }
            return Ok(());
        }
        match &order {
            WatchOrder::Serve(serve) => say(&format!("arm {arm}: starts {}", serve.name)),
            WatchOrder::Watch(watch) => say(&format!("arm {arm}: watches {}", watch.at)),
            WatchOrder::Steer(_) | WatchOrder::Finish => bail!("it has nothing of arm {arm}"),
        }
        let (told, orders) = channel();
        let _ = told.send(order);
        let voice = self.voice(arm, None)?;
        let watcher = Watcher { offers: Arc::clone(offers), told: orders, voice: voice.clone() };
        let thread = std::thread::Builder::new().name("watch".into()).spawn(move || watcher.work())?;
        self.works(arm, Work { doing: Doing::Watch(told), voice, thread })
    }

    fn voice(&self, arm: u32, plan: Option<SpooledPlan>) -> anyhow::Result<Voice> {
        let held = self.claim.as_ref().context("it is not claimed")?;
        if held.arms.contains_key(&arm) {
            bail!("arm {arm} has begun");
        }
        let head = SpoolHead { claim: held.name.clone(), arm, agent: self.offer.name.clone(), plan };
        Voice::new(&self.offer.spool, &head, &self.bus)
    }

    fn works(&mut self, arm: u32, work: Work) -> anyhow::Result<()> {
        self.claim.as_mut().context("it is not claimed")?.arms.insert(arm, work);
        Ok(())
    }

    fn steer(&mut self, arm: u32, steer: Steer) -> anyhow::Result<()> {
        let held = self.claim.as_ref().context("it is not claimed")?;
        let Some(work) = held.arms.get(&arm) else { bail!("it has nothing of arm {arm}") };
        let Doing::Load { start_ns, phases, orders } = &work.doing else {
            bail!("it drives nothing in arm {arm}")
        };
        let elapsed_ns = Clock::now().saturating_sub(*start_ns);
        orders.tell(steer);
        // The instants that an order names must be ahead: else this agent counts other publications than the rest.
        let ahead_ns = match steer {
            Steer::Measure { from_ns, until_ns } => {
                let mut phases = locked(phases);
                let moved = from_ns != phases.measure_start_ns();
                phases.measure(from_ns, until_ns);
                if moved { from_ns.min(until_ns) } else { until_ns }
            }
            Steer::StopAt { at_ns } => at_ns,
            Steer::Stop => u64::MAX,
        };
        if elapsed_ns > ahead_ns {
            let late_ms = (elapsed_ns - ahead_ns) / 1_000_000;
            work.voice.breaks(&format!("an order came {late_ms} ms late"));
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
            work.stop();
            // A panic in it has been printed.
            let _ = work.thread.join();
            if complete {
                work.voice.forget();
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
