//! The agents that a command has claimed on the bus. They work for it alone until it ends.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_cluster::clock::{Interval, Prober};
use pushmark_cluster::{Access, Bus, Signer, machine, wire};
use pushmark_model::cluster::{Answer, Ask, Card, Challenge, VERSION};
use pushmark_net::Clock;

use super::driver::Agent;
use super::remote::{Remote, ask_one};

/// Time in which every agent answers who it is.
const WHO_WITHIN: Duration = Duration::from_secs(1);
/// Probes of each clock before a run begins, and the time for them.
const PROBES_MIN: usize = 10;
const PROBES_WITHIN: Duration = Duration::from_secs(5);
/// Time between two signs of life to the agents.
const KEEP_EVERY: Duration = Duration::from_secs(5);
/// The least time between the orders to begin and the start: each agent must have begun.
const LEAD_MIN_NS: u64 = 2_000_000_000;

/// Which agents a command wants.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// This number of them; absent: all.
    pub count: Option<u32>,
    /// These alone; empty: any.
    pub names: Vec<String>,
    /// Those with all of these labels.
    pub labels: Vec<(String, String)>,
}

/// Claimed agents, by name.
#[derive(Debug)]
pub struct Machines {
    bus: Arc<Bus>,
    claim: String,
    signer: Arc<Signer>,
    claimed: Vec<Claimed>,
    prober: Prober,
    /// The number of the next arm.
    arms: AtomicU32,
    /// The offsets of the clocks by which the arm's start was told.
    used_ns: Mutex<Vec<Option<f64>>>,
    /// Every agent of every arm so far has told all.
    complete: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    keeper: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Claimed {
    card: Card,
    challenge: Challenge,
    /// The number of the last order to it.
    orders: Arc<AtomicU64>,
}

/// Returns the cards of all agents on the bus, by name.
///
/// # Errors
/// Fails if the bus does, or two agents have one name.
pub fn who(bus: &Bus) -> anyhow::Result<Vec<Card>> {
    let answers = bus.gather(wire::who(), Vec::new(), WHO_WITHIN, usize::MAX)?;
    let mut cards: Vec<Card> = answers.iter().filter_map(|body| serde_json::from_slice(body).ok()).collect();
    cards.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(two) = cards.windows(2).find(|two| two[0].name == two[1].name) {
        bail!("two agents are named {}: on {} and on {}", two[0].name, two[0].host, two[1].host);
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
        let cards = chosen(who(&bus)?, wanted)?;
        let mut claimed: Vec<Claimed> = Vec::new();
        for card in cards {
            match claim_one(&bus, &card, claim) {
                Ok(challenge) => {
                    claimed.push(Claimed { card, challenge, orders: Arc::default() });
                }
                Err(why) => {
                    claimed.iter().for_each(|one| release(&bus, &one.card.name, claim, true));
                    return Err(why);
                }
            }
        }
        let prober = Prober::start(claimed.iter().map(|one| one.card.probe).collect())?;
        let over = Arc::new(AtomicBool::new(false));
        let names = claimed.iter().map(|one| one.card.name.clone()).collect();
        let keeper = keep(Arc::clone(&bus), claim.to_owned(), names, Arc::clone(&over))?;
        let machines = Machines {
            bus,
            claim: claim.to_owned(),
            signer: Arc::new(signer),
            claimed,
            prober,
            arms: AtomicU32::new(0),
            used_ns: Mutex::default(),
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
            let lacking = (0..self.claimed.len()).find(|&at| self.prober.count(at) < PROBES_MIN);
            let Some(at) = lacking else { return Ok(()) };
            if Instant::now() > until {
                let Card { name, probe, .. } = &self.claimed[at].card;
                bail!(
                    "agent {name} answers no clock probe at {probe} (UDP); its --address may name another way"
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the cards, in the order of the shares.
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
        let widths = (0..self.claimed.len()).filter_map(|at| self.prober.offset(at, now));
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
        let used = self.used_ns.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        used.get(agent).copied().flatten()
    }

    /// Returns the agents for one arm.
    pub(super) fn hire(&self) -> io::Result<Vec<Box<dyn Agent>>> {
        let arm = self.arms.fetch_add(1, Ordering::Relaxed);
        let now = Clock::now();
        let middle = |at| self.offset(at, now).map(|interval| interval.middle_ns());
        let offsets_ns: Vec<Option<f64>> = (0..self.claimed.len()).map(middle).collect();
        self.used_ns.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone_from(&offsets_ns);
        let one = |(at, claimed): (usize, &Claimed)| {
            let Claimed { card, challenge, orders } = claimed;
            let subject = wire::said(&self.claim, &card.name);
            let heard = self.bus.subscribe(&[subject]).map_err(io::Error::other)?;
            Ok(Box::new(Remote::new(
                Arc::clone(&self.bus),
                (self.claim.clone(), arm, at),
                card.clone(),
                (Arc::clone(&self.signer), *challenge, Arc::clone(orders)),
                heard,
                offsets_ns[at],
                Arc::clone(&self.complete),
            )) as Box<dyn Agent>)
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
        for claimed in &self.claimed {
            release(&self.bus, &claimed.card.name, &self.claim, complete);
        }
    }
}

/// Files that an agent opens beside its connections.
const FILES_MARGIN: u64 = 100;

fn chosen(cards: Vec<Card>, wanted: &Wanted) -> anyhow::Result<Vec<Card>> {
    let there = || {
        let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
        if names.is_empty() { "none is there".to_owned() } else { format!("there are {}", names.join(", ")) }
    };
    if let Some(name) = wanted.names.iter().find(|name| cards.iter().all(|card| card.name != **name)) {
        bail!("no agent is named {name}; {}", there());
    }
    let fits = |card: &&Card| {
        (wanted.names.is_empty() || wanted.names.contains(&card.name)) && card.has(&wanted.labels)
    };
    let mut fitting: Vec<Card> = cards.iter().filter(fits).cloned().collect();
    let least = wanted.count.unwrap_or(1).max(1) as usize;
    if fitting.len() < least {
        bail!("{least} agents are wanted, {} fit; {}", fitting.len(), there());
    }
    if wanted.count.is_some() {
        fitting.truncate(least);
    }
    if let Some(card) = fitting.iter().find(|card| card.wire != VERSION) {
        bail!(
            "agent {} is pushmark {} and speaks version {} of the messages; this is pushmark {}, which speaks {VERSION}",
            card.name,
            card.version,
            card.wire,
            env!("CARGO_PKG_VERSION")
        );
    }
    Ok(fitting)
}

fn claim_one(bus: &Bus, card: &Card, claim: &str) -> anyhow::Result<Challenge> {
    let ask = Ask::Claim {
        claim: claim.to_owned(),
        by: by(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wire: VERSION,
    };
    let answer = ask_one(bus, &card.name, &ask).with_context(|| format!("agent {}", card.name))?;
    match answer {
        Answer::Claimed(challenge) => Ok(challenge),
        Answer::Refused(why) => bail!("agent {} refuses: {why}", card.name),
        other => bail!("agent {} answers {other:?}", card.name),
    }
}

fn release(bus: &Bus, name: &str, claim: &str, complete: bool) {
    // An agent that does not hear it releases itself after a while.
    let _ = ask_one(bus, name, &Ask::Release { claim: claim.to_owned(), complete });
}

fn keep(
    bus: Arc<Bus>,
    claim: String,
    names: Vec<String>,
    over: Arc<AtomicBool>,
) -> io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("keeper".into()).spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let keep = wire::encode(&Ask::Keep { claim: claim.clone() });
            names.iter().for_each(|name| bus.publish(wire::agent(name), keep.clone()));
            std::thread::park_timeout(KEEP_EVERY);
        }
    })
}

/// Who this is, for people.
fn by() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} ({})", host.trim(), std::process::id())
}
