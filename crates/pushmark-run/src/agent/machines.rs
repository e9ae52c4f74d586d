//! The agents, and the monitor, that a command has claimed on the bus. They work for it alone until it ends.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_cluster::clock::{Interval, Prober};
use pushmark_cluster::{Access, Bus, Heard, Signer, hostname, machine, wire};
use pushmark_model::cluster::{Answer, Ask, Card, Terms, VERSION};
use pushmark_model::monitor::Offered;
use pushmark_net::Clock;

use super::beside::ServerWatch;
use super::driver::Agent;
use super::line::{Command, ask_one, called};
use super::remote::Remote;
use super::voice::locked;
use super::wanted::{Wanted, chosen, chosen_monitor};
use crate::scenario_file::Loaded;

/// Time in which every agent answers who it is.
const WHO_WITHIN: Duration = Duration::from_secs(1);
/// Probes of each clock before a run begins, and the time for them.
const PROBES_MIN: usize = 10;
const PROBES_WITHIN: Duration = Duration::from_secs(5);
/// Time between two signs of life to the agents.
const KEEP_EVERY: Duration = Duration::from_secs(5);
/// The least time between the orders to begin and the start: each agent must have begun.
const LEAD_MIN_NS: u64 = 2_000_000_000;

/// Claimed agents, by name, and the claimed monitor.
#[derive(Debug)]
pub struct Machines {
    bus: Arc<Bus>,
    claim: String,
    claimed: Vec<Command>,
    monitor: Option<Command>,
    /// Probes the clocks of the agents, then that of the monitor.
    prober: Prober,
    /// The number of the next arm.
    arms: AtomicU32,
    /// The offsets of the clocks by which the arm's start was told.
    used_ns: Mutex<Vec<Option<f64>>>,
    /// The same of the monitor's clock.
    monitor_used_ns: Mutex<Option<f64>>,
    /// What agents keep of the current run beside its records.
    run: Mutex<String>,
    /// Every agent of every arm so far has told all.
    complete: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    keeper: Option<std::thread::JoinHandle<()>>,
}

/// Returns the cards of all agents and monitors on the bus, by name.
///
/// # Errors
/// Fails if the bus does, or two have one name.
pub fn who(bus: &Bus) -> anyhow::Result<Vec<Card>> {
    let answers = bus.gather(wire::who(), Vec::new(), WHO_WITHIN, usize::MAX)?;
    let mut cards: Vec<Card> = answers.iter().filter_map(|body| serde_json::from_slice(body).ok()).collect();
    cards.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(two) = cards.windows(2).find(|two| two[0].name == two[1].name) {
        bail!("two are named {}: on {} and on {}", two[0].name, two[0].host, two[1].host);
    }
    Ok(cards)
}

impl Machines {
    /// Claims agents, and begins to probe their clocks.
    ///
    /// # Errors
    /// Fails if too few are there, one works for somebody else, is of another version, or its clock cannot be
    /// probed.
    pub fn claim(access: &Access, wanted: &Wanted, signer: Signer, claim: &str) -> anyhow::Result<Machines> {
        let bus = Arc::new(Bus::connect(access, "pushmark run")?);
        let cards = who(&bus)?;
        let monitor = chosen_monitor(&cards, wanted)?;
        let agents = chosen(cards, wanted, monitor.is_some())?;
        let signer = Arc::new(signer);
        // Before anything is claimed, so that no other takes its place.
        let alive = bus.subscribe(&[wire::claim(claim)])?;
        let mut claimed: Vec<Command> = Vec::new();
        let count = agents.len();
        for card in agents.into_iter().chain(monitor) {
            match claim_one(&bus, &card, claim) {
                Ok(terms) => claimed.push(Command {
                    bus: Arc::clone(&bus),
                    claim: claim.to_owned(),
                    card,
                    signer: Arc::clone(&signer),
                    terms,
                    numbers: Arc::default(),
                }),
                Err(why) => {
                    claimed.iter().for_each(|one| release(&bus, &one.card.name, claim, true));
                    return Err(why);
                }
            }
        }
        let prober = Prober::start(claimed.iter().map(|one| one.card.probe).collect())?;
        let over = Arc::new(AtomicBool::new(false));
        let names = claimed.iter().map(|one| one.card.name.clone()).collect();
        let keeper = keep(Arc::clone(&bus), claim.to_owned(), names, alive, Arc::clone(&over))?;
        let monitor = claimed.split_off(count).pop();
        let machines = Machines {
            bus,
            claim: claim.to_owned(),
            claimed,
            monitor,
            prober,
            arms: AtomicU32::new(0),
            used_ns: Mutex::default(),
            monitor_used_ns: Mutex::default(),
            run: Mutex::default(),
            complete: Arc::new(AtomicBool::new(true)),
            over,
            keeper: Some(keeper),
        };
        machines.wait_for_clocks()?;
        Ok(machines)
    }

    fn wait_for_clocks(&self) -> anyhow::Result<()> {
        let until = Instant::now() + PROBES_WITHIN;
        loop {
            let mut all = self.all().enumerate();
            let Some((_, lacking)) = all.find(|(at, _)| self.prober.count(*at) < PROBES_MIN) else {
                return Ok(());
            };
            if Instant::now() > until {
                let (called, probe) = (called(&lacking.card), lacking.card.probe);
                bail!(
                    "{called} answers no clock probe at {probe} (UDP, then TCP); its --address may name another way"
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Everyone who is claimed: the agents, then the monitor.
    fn all(&self) -> impl Iterator<Item = &Command> {
        self.claimed.iter().chain(&self.monitor)
    }

    /// Returns whether agents make the load; else this machine does.
    pub fn make_load(&self) -> bool {
        !self.claimed.is_empty()
    }

    /// Returns what the monitor says of the server of a scenario, if it starts it.
    pub fn offer(&self, loaded: &Loaded) -> Option<&Offered> {
        let beside = self.monitor.as_ref()?.card.beside.as_ref()?;
        let (row, name) = server_of(loaded)?;
        beside.offers.iter().find(|offer| offer.row == row && offer.name == name)
    }

    /// Returns where servers that the monitor starts are reached.
    pub(crate) fn served_at(&self) -> Option<IpAddr> {
        self.monitor.as_ref()?.card.beside.as_ref()?.addresses.first().copied()
    }

    /// Returns whether the monitor watches the server of a scenario: one that it starts, or one that runs on its
    /// machine.
    ///
    /// # Errors
    /// Fails if there is a monitor, and the server runs on another machine than it.
    pub(crate) fn watches(&self, loaded: &Loaded, target: Option<IpAddr>) -> anyhow::Result<bool> {
        let Some(monitor) = &self.monitor else { return Ok(false) };
        if self.offer(loaded).is_some() {
            return Ok(true);
        }
        // A server that this machine starts is watched from here.
        let (Some(target), None) = (target, server_of(loaded)) else { return Ok(false) };
        if loaded.scenario.target.process.is_some() {
            return Ok(false);
        }
        let card = &monitor.card;
        let own = card.beside.as_ref().is_some_and(|beside| beside.addresses.contains(&target));
        if own || target.is_loopback() && card.machine == machine() {
            return Ok(true);
        }
        bail!(
            "monitor {} on {} does not watch {target}, which is not its machine: start one beside the server, or go \
             without it (--monitor none)",
            card.name,
            card.host
        )
    }

    /// Returns the offset of the monitor's clock by which it was told the start of the current arm.
    pub(crate) fn monitor_used_ns(&self) -> Option<f64> {
        *locked(&self.monitor_used_ns)
    }

    /// Starts the monitor's work on one arm; returns `None` without a monitor.
    ///
    /// # Errors
    /// Fails if its clock was set, or the bus fails.
    pub(crate) fn watch(&self) -> anyhow::Result<Option<ServerWatch>> {
        let Some(monitor) = &self.monitor else { return Ok(None) };
        let offset = self.monitor_offset(Clock::now());
        let offset = offset.with_context(|| format!("the clock of monitor {} was set", monitor.card.name))?;
        *locked(&self.monitor_used_ns) = Some(offset.middle_ns());
        let arm = self.arms.fetch_add(1, Ordering::Relaxed);
        Ok(Some(ServerWatch::new(monitor.clone(), arm, offset.middle_ns() as i64)?))
    }

    /// Returns the offset of the monitor's clock from ours at an instant of ours.
    pub(crate) fn monitor_offset(&self, at_ns: u64) -> Option<Interval> {
        self.monitor.as_ref()?;
        self.prober.offset(self.claimed.len(), at_ns)
    }

    /// Returns the cards of the agents, in the order of the shares.
    pub fn cards(&self) -> impl Iterator<Item = &Card> {
        self.claimed.iter().map(|one| &one.card)
    }

    /// Returns the number of shards that they take together.
    pub(crate) fn threads(&self) -> u32 {
        self.cards().map(|card| card.threads).sum()
    }

    /// Returns the position of the agent that drives a shard: the first drives the first shards, as many as it
    /// takes.
    pub(crate) fn agent_of(&self, shard: u32) -> usize {
        let mut before = 0;
        let is_of = |card: &Card| {
            before += card.threads;
            shard < before
        };
        self.cards().position(is_of).unwrap_or(0)
    }

    /// Returns the time between the last preparation and the start of an arm.
    pub(crate) fn lead_ns(&self) -> u64 {
        let now = Clock::now();
        let widths = (0..self.all().count()).filter_map(|at| self.prober.offset(at, now));
        let worst = widths.map(|interval| interval.width_ns()).fold(0.0, f64::max);
        LEAD_MIN_NS.max((20.0 * worst) as u64)
    }

    /// Returns the offset of an agent's clock from ours at an instant of ours.
    pub(crate) fn offset(&self, agent: usize, at_ns: u64) -> Option<Interval> {
        self.prober.offset(agent, at_ns)
    }

    /// Why they cannot drive this crowd, or `None` if they can. `target`: where they connect, if it is an address.
    pub(crate) fn refusal(&self, sockets: u64, target: Option<IpAddr>) -> Option<String> {
        let here = machine();
        if let Some(ip) = target.filter(IpAddr::is_loopback)
            && let Some(card) = self.cards().find(|card| card.machine != here)
        {
            return Some(format!(
                "the target's address {ip} is another machine for agent {} on {}: name the target by an address \
                 that all of them reach",
                card.name, card.host
            ));
        }
        let share = sockets.div_ceil(u64::from(self.threads().max(1)));
        let small = self.cards().find(|card| share + FILES_MARGIN > card.open_files)?;
        Some(format!(
            "agent {} may open {} files; its shards need {} each: raise the limit there, or add agents",
            small.name,
            small.open_files,
            share + FILES_MARGIN
        ))
    }

    /// Returns the offset of an agent's clock by which the start of the current arm was told it.
    pub(crate) fn used_ns(&self, agent: usize) -> Option<f64> {
        let used = locked(&self.used_ns);
        used.get(agent).copied().flatten()
    }

    /// A run begins: agents keep this text of it beside what they measure.
    pub(crate) fn keep_with_records(&self, run: String) {
        *locked(&self.run) = run;
    }

    /// Returns the agents for one arm.
    pub(super) fn hire(&self) -> io::Result<Vec<Box<dyn Agent>>> {
        let arm = self.arms.fetch_add(1, Ordering::Relaxed);
        let now = Clock::now();
        let middle = |at| self.offset(at, now).map(|interval| interval.middle_ns());
        let offsets_ns: Vec<Option<f64>> = (0..self.claimed.len()).map(middle).collect();
        locked(&self.used_ns).clone_from(&offsets_ns);
        let one = |(at, claimed): (usize, &Command)| {
            let line = claimed.line(arm)?;
            let complete = Arc::clone(&self.complete);
            let run = locked(&self.run).clone();
            Ok(Box::new(Remote::new(line, (arm, at), offsets_ns[at], run, complete)) as Box<dyn Agent>)
        };
        self.claimed.iter().enumerate().map(one).collect()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(keeper) = self.keeper.take() {
            keeper.thread().unpark();
            let _ = keeper.join();
        }
        let complete = self.complete.load(Ordering::Relaxed);
        for claimed in self.all() {
            release(&self.bus, &claimed.card.name, &self.claim, complete);
        }
    }
}

/// Files that an agent opens beside its connections.
const FILES_MARGIN: u64 = 100;

/// The server of a scenario that has one to start: whether it is a row of the registry, and its name.
fn server_of(loaded: &Loaded) -> Option<(bool, &str)> {
    let target = &loaded.scenario.target;
    let own = || target.process.as_ref()?.monitor.as_deref();
    match &loaded.server {
        Some(server) => Some((true, server.name.as_str())),
        None => own().map(|name| (false, name)),
    }
}

fn claim_one(bus: &Bus, card: &Card, claim: &str) -> anyhow::Result<Terms> {
    let ask = Ask::Claim {
        claim: claim.to_owned(),
        by: by(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wire: VERSION,
    };
    let answer = ask_one(bus, &card.name, &ask).with_context(|| called(card))?;
    match answer {
        Answer::Claimed(terms) => Ok(terms),
        Answer::Refused(why) => bail!("{} refuses: {why}", called(card)),
        other => bail!("{} answers {other:?}", called(card)),
    }
}

fn release(bus: &Bus, name: &str, claim: &str, complete: bool) {
    // An agent that does not hear it releases itself after a while.
    let _ = ask_one(bus, name, &Ask::Release { claim: claim.to_owned(), complete });
}

/// A thread that gives signs of life. `alive`: that it listens tells others that its coordinator lives.
fn keep(
    bus: Arc<Bus>,
    claim: String,
    names: Vec<String>,
    alive: Receiver<Heard>,
    over: Arc<AtomicBool>,
) -> io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("keeper".into()).spawn(move || {
        while !over.load(Ordering::Relaxed) {
            alive.try_iter().for_each(drop);
            let keep = wire::encode(&Ask::Keep { claim: claim.clone() });
            names.iter().for_each(|name| bus.publish(wire::agent(name), keep.clone()));
            std::thread::park_timeout(KEEP_EVERY);
        }
    })
}

/// Who this is, for people.
fn by() -> String {
    format!("{} ({})", hostname(), std::process::id())
}
