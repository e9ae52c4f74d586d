//! The capacity of this generator on this machine: its ceiling against a null server, and the smallest
//! latency it can measure there.
//!
//! The null server is the built-in one with minimal work: one channel, all clients subscribe to it, and it
//! publishes by itself. Rates rise until something is lost or the generator's core is so busy that the
//! verdict doubts it. The full core shows which side was the limit.

mod climb;
mod words;

use std::path::Path;

use anyhow::Context as _;
use pushmark_model::calibration::{Calibration, Ceiling, Limit, NoiseFloor, SCHEMA};
use pushmark_model::run::{Arm, ServerRef};
use pushmark_model::scenario::Override;
use pushmark_model::transport::Transport;

use crate::run::Start;
use crate::scenario_file::{self, Asked, Loaded};
use crate::session::{Asking, Session};
use crate::verdict;
use climb::{Climb, Step};
use pushmark_console::file_errors::FileErrors;
use pushmark_console::progress::Progress;
use pushmark_host::environment::environment;
use pushmark_host::preflight::{Machine, Need, largest_crowd};
use pushmark_host::server::registry::Registry;
use pushmark_store::{RESULTS, Utc};

pub use words::text;

/// The null server.
const NULL_SERVER: &str = include_str!("../../../../scenarios/calibrate.toml");
/// Clients of a ceiling, of the noise floor.
const CROWDS: (u64, u64) = (1_000, 100);
/// The first rate to try, deliveries a second.
const FIRST: f64 = 25_000.0;
/// Publications a second of the noise floor, and for how long: enough for a p99.
const FLOOR_RATE: f64 = 50.0;
const FLOOR_SECONDS: u64 = 5;
/// The share that must arrive for a rate to be held.
const DELIVERED_MIN: f64 = 0.999;

/// The transports whose ceiling is measured by default: pushing ones, and one of repeated requests.
pub const TRANSPORTS: [Transport; 3] = [Transport::Sse, Transport::WebSocket, Transport::LongPoll];

/// The null server's scenario with `rate` publications a second to all clients.
///
/// # Errors
/// Fails if the scenario is not valid with this registry.
pub fn load(
    registry: &Registry,
    transport: Transport,
    (clients, rate): (u64, f64),
    seconds: u64,
) -> Result<Loaded, FileErrors> {
    let set = |key: &str, value: String| Override::flag("calibrate", key, &value);
    let changes = [
        set("transports", format!("[\"{transport}\"]")),
        set("load.connections", clients.to_string()),
        set("load.duration", format!("{seconds}s")),
        set("publisher.rate", format!("{rate}/s")),
    ];
    let asked = Asked::Text { text: NULL_SERVER, file: "scenarios/calibrate.toml", folder: Path::new("") };
    scenario_file::load(&asked, &changes, registry)
}

/// The parts of a calibration: a session, its server, and the length of a step.
pub struct Bench<'a> {
    /// What all its runs share.
    pub session: &'a Session<'a>,
    /// The null server, as results name it.
    pub server: ServerRef,
    /// Seconds of measure of each step.
    pub seconds: u64,
}

impl Bench<'_> {
    /// Calibrates everything for these transports. `say` receives each step.
    ///
    /// # Errors
    /// Fails if a null server cannot be started.
    pub fn calibrate(
        &self,
        transports: &[Transport],
        progress: &mut Progress,
        mut say: impl FnMut(&str),
    ) -> anyhow::Result<Calibration> {
        let mut ceilings = Vec::new();
        for &transport in transports {
            ceilings.extend(self.ceiling(transport, progress, &mut say)?);
        }
        let machine = environment(Default::default(), Default::default());
        let limits = Machine::read(Path::new(RESULTS));
        Ok(Calibration {
            schema: SCHEMA.to_owned(),
            at: Utc::now().rfc3339(),
            pushmark_version: env!("CARGO_PKG_VERSION").to_owned(),
            cpu: machine.cpu,
            cpus: machine.cpus,
            kernel: machine.kernel,
            ceilings,
            // The server spreads its connections like the crowd.
            connections: largest_crowd(&Need { server_tables: None, ..Need::of_crowd(1) }, &limits),
            floor: self.floor(progress)?,
        })
    }

    /// Returns the ceiling of a transport; absent if not even the lowest rate was held.
    fn ceiling(
        &self,
        transport: Transport,
        progress: &mut Progress,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Option<Ceiling>> {
        let mut climb = Climb::from(FIRST);
        while let Some(rate) = climb.next() {
            let arm = self.measure(transport, CROWDS.0, rate / CROWDS.0 as f64, self.seconds, progress)?;
            let step = step(&arm);
            say(&format!("{transport} at {rate:.0}/s: {}", words::step(&step)));
            climb.seen(rate, step);
        }
        Ok(climb.highest().map(|(deliveries_per_s, step)| Ceiling {
            transport,
            deliveries_per_s,
            by: if climb.was_stopped_by_us() { Limit::Generator } else { Limit::Server },
            busiest_core: step.busiest_core,
            cpu_us_per_delivery: step.cpu_us_per_delivery,
        }))
    }

    /// Measures the latency floor with a small crowd and few messages.
    fn floor(&self, progress: &mut Progress) -> anyhow::Result<NoiseFloor> {
        let arm = self.measure(Transport::Sse, CROWDS.1, FLOOR_RATE, FLOOR_SECONDS, progress)?;
        let Some(delivery) = arm.delivery else { return Ok(NoiseFloor::default()) };
        let all = delivery.latency.delivered_only.as_deref().unwrap_or(&delivery.latency);
        Ok(NoiseFloor {
            p50_us: all.p50_us,
            p99_us: all.p99_us,
            max_us: delivery.latency.max_us,
            read_lag_p50_us: delivery.read_lag.p50_us,
            read_lag_p99_us: delivery.read_lag.p99_us,
        })
    }

    fn measure(
        &self,
        transport: Transport,
        clients: u64,
        rate: f64,
        seconds: u64,
        progress: &mut Progress,
    ) -> anyhow::Result<Arm> {
        let loaded = load(self.session.registry, transport, (clients, rate), seconds)
            .map_err(|report| anyhow::anyhow!("{report}"))?;
        let asking =
            Asking { start: Start { number: 1, of: 1 }, server: Some(self.server.clone()), case: None };
        let mut run = self.session.measure(&loaded, asking, progress)?.run;
        run.arms.pop().context("a run of one arm")
    }
}

/// The result of a rate.
fn step(arm: &Arm) -> Step {
    let (delivered, intended) = arm.delivery.as_ref().map_or((0, 0), |d| (d.delivered, d.intended));
    let busiest_core = arm.generator.busiest_core;
    Step {
        delivered: if intended == 0 { 0.0 } else { delivered as f64 / intended as f64 },
        held: delivered as f64 >= DELIVERED_MIN * intended as f64
            && intended > 0
            && busiest_core < verdict::generator_busy_from(),
        busiest_core,
        ours: busiest_core >= verdict::generator_busy_from(),
        cpu_us_per_delivery: arm.generator.cpu_us as f64 / delivered.max(1) as f64,
    }
}
