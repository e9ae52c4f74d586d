//! Browser probes: real browser clients beside the crowd of an arm, and whether they agree with the synthetic
//! clients.
//!
//! One headless Chromium has a page for each probe, each page from a separate address. A page subscribes over
//! the arm's transport, finds the stamps and notes when it received them. Exchanges over the page's
//! connection to the `page_server` reconcile its clock with pushmark's. The crowd's totals do not include probes.

#![forbid(unsafe_code)]

mod account;
mod agreement;
mod ask;
pub mod chromium;
mod clock;
mod page_server;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_model::histogram::Distribution;
use pushmark_model::plan::{ArmPlan, Plan};
use pushmark_model::run::{Arm, Browser, BrowserClock};
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use pushmark_proto::websocket::{Opcode, encode};
use serde_json::{Value, json};

use account::{Account, Measure};
use clock::PageClock;
use page_server::{File, PageEvent, PageServer};
use pushmark_console::stop;
use pushmark_host::monitor::Tree;
use pushmark_host::server::process::Process;

/// Exchanges with each page before the arm begins, and after it.
const EXCHANGES: usize = 30;
/// Time between two exchanges with a page during the arm.
const EXCHANGE_NS: u64 = 250_000_000;
/// Longest wait for a page's answer while nothing else is in progress.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The most messages of pages that may wait.
const WAITING_MAX: usize = 4_096;
/// Complaints kept.
const TROUBLES_MAX: usize = 8;

/// One page.
#[derive(Debug)]
struct Probe {
    stream: Option<TcpStream>,
    agent: Option<String>,
    clock: PageClock,
    /// Exchanges without an answer yet, by number: when they were asked.
    asked: BTreeMap<u64, u64>,
    account: Option<Account>,
    opened_ns: Option<u64>,
    finished: bool,
}

/// The probes of an arm. Dropping them ends the browser.
#[derive(Debug)]
pub struct Probes {
    refused: Option<String>,
    /// Ends before the desks: pages close their connections.
    browser: Option<Process>,
    _desks: Vec<PageServer>,
    told: Option<Receiver<(usize, PageEvent)>>,
    probes: Vec<Probe>,
    web_security_off: bool,
    /// The round trips are those of requests, not of frames.
    asks_again: bool,
    exchange: u64,
    exchanged_ns: u64,
    loop_lag: Distribution,
    round_trip: Distribution,
    troubles: BTreeSet<String>,
    /// Start and end of the arm's measure phase, ns of pushmark's clock.
    measure_ns: (u64, u64),
    tree: Option<Tree>,
    cpu_ns: (Option<u64>, Option<u64>),
}

/// Checks that the browser that a plan needs is installed.
///
/// # Errors
/// Fails like [`chromium::find`].
pub fn ready(plan: &Plan) -> anyhow::Result<()> {
    if plan.arms.iter().any(|arm| arm.browsers > 0) {
        chromium::find()?;
    }
    Ok(())
}

impl Probes {
    /// Starts the browser on the generator's CPUs, waits until every page is up, and reconciles clocks.
    /// Returns `None` if no probe is requested.
    pub fn open(plan: &ArmPlan, cpus: &[u32]) -> anyhow::Result<Option<Probes>> {
        if plan.browsers == 0 {
            return Ok(None);
        }
        let mut probes = Probes {
            refused: ask::refusal(plan),
            browser: None,
            _desks: Vec::new(),
            told: None,
            probes: Vec::new(),
            web_security_off: false,
            asks_again: ask::asks_again(plan.transport),
            exchange: 0,
            exchanged_ns: 0,
            loop_lag: Distribution::default(),
            round_trip: Distribution::default(),
            troubles: BTreeSet::new(),
            measure_ns: (u64::MAX, u64::MAX),
            tree: None,
            cpu_ns: (None, None),
        };
        if probes.refused.is_none() {
            probes.start(plan, cpus)?;
        }
        Ok(Some(probes))
    }

    /// The browser's process; `None` if it could not be used.
    pub fn pid(&self) -> Option<i32> {
        self.browser.as_ref().map(Process::pid)
    }

    fn start(&mut self, plan: &ArmPlan, cpus: &[u32]) -> anyhow::Result<()> {
        let (tell, told) = sync_channel(WAITING_MAX);
        let html = |path, text: &str| File { path, kind: "text/html", text: text.to_owned() };
        let open = |at: SocketAddr, number, files| {
            PageServer::open(at, number, files, tell.clone()).context("cannot listen for the browser's pages")
        };
        let script =
            File { path: "/probe.js", kind: "text/javascript", text: include_str!("probe.js").to_owned() };
        let page = html("/", include_str!("probe.html"));
        let count = plan.browsers as usize;
        for number in 0..count {
            // Any port of an address that no crowd takes as its source.
            let at = SocketAddr::from((Ipv4Addr::new(127, 0, 254, number as u8 + 2), 0));
            self._desks.push(open(at, number, vec![page.clone(), script.clone()])?);
        }
        let pages: Vec<String> = self._desks.iter().map(PageServer::url).collect();
        let opener = include_str!("open.html").replace("PAGES", &json!(pages).to_string());
        let opener =
            open(SocketAddr::from((Ipv4Addr::new(127, 0, 254, 1), 0)), count, vec![html("/", &opener)])?;
        let url = opener.url();
        self._desks.push(opener);
        self.told = Some(told);
        let page = || Probe {
            stream: None,
            agent: None,
            clock: PageClock::new(0.0),
            asked: BTreeMap::new(),
            account: None,
            opened_ns: None,
            finished: false,
        };
        self.probes = std::iter::repeat_with(page).take(count).collect();
        let leave = ask::leave(plan);
        self.web_security_off = leave.reads_any;
        let browser = chromium::start(&url, leave, cpus)?;
        self.tree = Tree::new(browser.pid());
        self.browser = Some(browser);
        self.wait_until("its pages did not come up", chromium::UP_WITHIN, |probes| {
            probes.probes.iter().all(|probe| probe.agent.is_some())
        })?;
        self.exchange_all()?;
        for probe in &mut self.probes {
            probe.clock.fix();
        }
        Ok(())
    }

    /// Tells every page to subscribe; the arm starts at `start_ns`.
    pub fn subscribe(&mut self, plan: &ArmPlan, at: SocketAddr, port: u16, start_ns: u64) {
        let measure = Measure::of(plan, start_ns);
        for (number, probe) in self.probes.iter_mut().enumerate() {
            probe.account = Some(Account::new(plan, &ask::channels(plan, number), measure));
            probe.say(&ask::subscribe(plan, number, at, port));
        }
        self.measure(plan, start_ns);
    }

    /// Sets the current bounds of measure from the plan: future bounds may be moved.
    pub fn measure(&mut self, plan: &ArmPlan, start_ns: u64) {
        let phases = &plan.phases;
        self.measure_ns = (start_ns + phases.measure_start_ns(), start_ns + phases.measure_end_ns());
        for account in self.probes.iter_mut().filter_map(|probe| probe.account.as_mut()) {
            account.measure(plan, Measure::of(plan, start_ns));
        }
    }

    /// Takes the messages of the pages, exchanges clocks from time to time, and reads the browser's CPU time
    /// at both ends of measure.
    pub fn turn(&mut self, now_ns: u64) {
        while let Some((number, came)) = self.told.as_ref().and_then(|told| told.try_recv().ok()) {
            self.came(number, came);
        }
        for (mark_ns, cpu_ns) in
            [(self.measure_ns.0, &mut self.cpu_ns.0), (self.measure_ns.1, &mut self.cpu_ns.1)]
        {
            if now_ns >= mark_ns && cpu_ns.is_none() {
                *cpu_ns = self.tree.as_mut().map(|tree| tree.read().cpu_ns);
            }
        }
        if now_ns >= self.exchanged_ns + EXCHANGE_NS {
            self.exchanged_ns = now_ns;
            self.ask_clocks();
        }
    }

    /// Reads the pages' last messages and ends the browser.
    pub fn finish(&mut self) {
        if self.refused.is_none() {
            for probe in &mut self.probes {
                probe.say(&json!({ "finish": true }));
            }
            let finished = |probes: &Probes| probes.probes.iter().all(|probe| probe.finished);
            let heard = self.wait_until("a page did not end", ANSWER_WITHIN, finished);
            // The same offset must still hold, or the bound grows.
            if let Err(error) = heard.and_then(|()| self.exchange_all()) {
                self.trouble(&format!("{error:#}"));
            }
        }
        self.browser = None;
    }

    /// The probes' figures, compared with the arm's.
    pub fn figures(self, plan: &ArmPlan, arm: &Arm) -> Browser {
        let accounts = || self.probes.iter().filter_map(|probe| probe.account.as_ref());
        let sum = |of: fn(&Account) -> u64| accounts().map(of).sum::<u64>();
        let mut latency = Distribution::default();
        accounts().for_each(|account| latency.merge(&account.latency));
        let deliveries = sum(|a| a.deliveries);
        // Publications that no client could receive are not intended for browsers either.
        let intended = sum(|a| a.intended);
        let share = arm
            .delivery
            .as_ref()
            .filter(|d| d.intended > 0)
            .map_or(0.0, |d| (d.unpublished + d.excused) as f64 / d.intended as f64);
        let intended = intended - ((intended as f64 * share).round() as u64).min(intended);
        let unheard = intended.saturating_sub(deliveries);
        let replaced = plan.transport == Transport::Poll || plan.latest_value;
        let (missing, superseded) = if replaced { (0, unheard) } else { (unheard, 0) };
        let publications = arm.published.as_ref().map_or(0, |p| p.due);
        let clocks = || self.probes.iter().map(|probe| &probe.clock);
        let bound_us = clocks().map(PageClock::bound_us).collect::<Option<Vec<f64>>>();
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max).ceil() as u64;
        let clock = bound_us.filter(|bounds| !bounds.is_empty()).map(|bounds| BrowserClock {
            bound_us: most(&mut bounds.into_iter()),
            grain_us: most(&mut clocks().map(PageClock::grain_us)),
            exchanges: clocks().map(PageClock::exchanges).sum(),
        });
        let subscribed = |probe: &&Probe| probe.opened_ns.is_some_and(|at| at <= self.measure_ns.0);
        let mut browser = Browser {
            asked: u64::from(plan.browsers),
            opened: self.probes.iter().filter(subscribed).count() as u64,
            agent: self.probes.iter().find_map(|probe| probe.agent.clone()).unwrap_or_default(),
            web_security_off: self.web_security_off,
            intended,
            deliveries,
            missing,
            superseded,
            duplicate: sum(|a| a.duplicate),
            latency: latency.summary(deliveries + missing, publications, plan.deadline_ns / 1_000),
            clock,
            loop_lag: self.loop_lag.summary_of_all(),
            round_trip: self.round_trip.summary_of_all(),
            cpu_us: self.cpu_ns.0.zip(self.cpu_ns.1).map(|(a, b)| b.saturating_sub(a) / 1_000),
            agreement: None,
            troubles: self.troubles.into_iter().collect(),
            refused: self.refused,
        };
        browser.agreement = agreement::of(arm, &browser, plan.poll.interval_ns / 1_000);
        browser
    }

    fn trouble(&mut self, text: &str) {
        if self.troubles.len() < TROUBLES_MAX {
            self.troubles.insert(text.to_owned());
        }
    }

    fn ask_clocks(&mut self) {
        for probe in &mut self.probes {
            self.exchange += 1;
            let message = json!({ "exchange": self.exchange });
            probe.asked.insert(self.exchange, Clock::now());
            probe.say(&message);
        }
    }

    /// Exchanges with every page in sequence, so that pages do not wait for each other's core.
    fn exchange_all(&mut self) -> anyhow::Result<()> {
        for _ in 0..EXCHANGES {
            for number in 0..self.probes.len() {
                self.exchange += 1;
                let probe = &mut self.probes[number];
                probe.asked.insert(self.exchange, Clock::now());
                probe.say(&json!({ "exchange": self.exchange }));
                self.wait_until("a page does not answer", ANSWER_WITHIN, |probes| {
                    probes.probes[number].asked.is_empty()
                })?;
            }
        }
        Ok(())
    }

    fn wait_until(
        &mut self,
        else_: &str,
        within: Duration,
        holds: impl Fn(&Probes) -> bool,
    ) -> anyhow::Result<()> {
        let until = Instant::now() + within;
        while !holds(self) {
            if stop::heard() > 0 {
                return Err(stop::ended("the browser was starting"));
            }
            let Some(told) = &self.told else { bail!("the browser was not started") };
            match told.recv_timeout(Duration::from_millis(100)) {
                Ok((number, came)) => self.came(number, came),
                Err(RecvTimeoutError::Disconnected) => bail!("the pages are gone"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let Some(browser) = &mut self.browser else { bail!("the browser is gone") };
            if let Some(how) = browser.ended() {
                bail!("the browser ended ({how})\n{}", browser.log_tail());
            }
            if Instant::now() >= until {
                bail!("{else_} within {within:?}\n{}", browser.log_tail());
            }
        }
        Ok(())
    }

    fn came(&mut self, number: usize, came: PageEvent) {
        let Some(probe) = self.probes.get_mut(number) else { return };
        let (at_ns, said) = match came {
            PageEvent::Up(stream) => return probe.stream = Some(stream),
            PageEvent::Said(at_ns, said) => (at_ns, said),
        };
        let number_of = |key: &str| said[key].as_f64();
        let in_measure = (self.measure_ns.0..self.measure_ns.1).contains(&at_ns);
        if let (Some(exchange), Some(now_ms)) = (said["exchange"].as_u64(), number_of("now")) {
            if let Some(asked_ns) = probe.asked.remove(&exchange) {
                probe.clock.exchanged(asked_ns, now_ms * 1e3, at_ns);
                if in_measure && !self.asks_again {
                    self.round_trip.record_ns(asked_ns, at_ns);
                }
            }
        } else if let (Some(agent), Some(grain_ms)) = (said["agent"].as_str(), number_of("grain_ms")) {
            probe.agent = Some(agent.to_owned());
            probe.clock = PageClock::new(grain_ms * 1e3);
        } else if said["open"] == true {
            probe.opened_ns.get_or_insert(at_ns);
        } else if said["finished"] == true {
            probe.finished = true;
        } else if let Some(fetched_ms) = number_of("fetched") {
            if in_measure && self.asks_again {
                self.round_trip.record_us((fetched_ms * 1e3) as u64);
            }
        } else if let Some(text) = said["trouble"].as_str() {
            self.trouble(text);
        } else {
            for heard in said["heard"].as_array().into_iter().flatten() {
                if let (Some(stamp), Some(at_ms)) = (heard[0].as_str(), heard[1].as_f64())
                    && let (Some(account), Some(at_us)) =
                        (&mut probe.account, probe.clock.ours_us(at_ms * 1e3))
                {
                    account.heard(stamp, at_us);
                }
            }
            for lag_ms in said["lags"].as_array().into_iter().flatten().filter_map(Value::as_f64) {
                if in_measure {
                    self.loop_lag.record_us((lag_ms.max(0.0) * 1e3) as u64);
                }
            }
        }
    }
}

impl Probe {
    /// Sends a message to the page. A page that is gone is detected by its missing answers.
    fn say(&mut self, what: &Value) {
        let Some(stream) = &mut self.stream else { return };
        let mut out = Vec::new();
        encode::frame(&mut out, Opcode::Text, what.to_string().as_bytes(), None);
        if stream.write_all(&out).is_err() {
            self.stream = None;
        }
    }
}
