//! The input of a search: the scenario, the load that is raised, and the conditions.

use pushmark_model::metrics::Expression;
use pushmark_model::run::ServerRef;
use pushmark_model::scenario::Override;
use pushmark_model::search::{Found, Limits, Over, SCHEMA, SearchFile, Why};
use pushmark_model::transport::Transport;
use pushmark_model::units::{Nanos, PerSecond};

use crate::scenario_file::{self, Asked, Loaded};
use crate::session;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::file_errors::FileErrors;
use pushmark_host::server::registry::Registry;
use pushmark_store::Utc;

/// How much longer the confirming window is.
const CONFIRM: u64 = 3;
/// A rate is searched in thousandths of a publication a second.
const RATE_STEP: f64 = 0.001;
/// The default share of intended deliveries that must arrive in time.
const ATTAINMENT: &str = "99%";

/// A search as the user requested it.
#[derive(Debug)]
pub struct Ask {
    /// The scenario's file; absent: the one in the program.
    pub scenario: Option<String>,
    /// Flags and `--set`.
    pub overrides: Vec<Override>,
    /// The quantity that the search raises.
    pub over: Over,
    /// The conditions that must hold.
    pub keep: Vec<Expression>,
    /// The scenario before the load is raised.
    pub loaded: Loaded,
    /// Its only transport.
    pub transport: Transport,
    /// The server's name or the target's address.
    pub target: String,
    /// Publications a second on each channel.
    per_second: f64,
}

impl Ask {
    /// Checks that a search can be made of a scenario, read with these overrides.
    ///
    /// # Errors
    /// Fails with exit 2 for several transports, or without publications.
    pub fn new(
        scenario: Option<String>,
        overrides: Vec<Override>,
        loaded: Loaded,
        over: Over,
        keep: Vec<Expression>,
    ) -> anyhow::Result<Ask> {
        let plan = &loaded.plan;
        let [arm] = &plan.arms[..] else {
            let names: Vec<&str> = plan.arms.iter().map(|arm| arm.transport.name()).collect();
            let text = format!(
                "a search raises the crowd of one transport; the scenario has {}: choose with -t",
                names.join(", ")
            );
            return Err(Ending::error(Exit::Usage, text));
        };
        let Some(publisher) = &arm.publisher else {
            let text = "nothing is published: a search needs [target.publish] or a reference server";
            return Err(Ending::error(Exit::Usage, text));
        };
        let (transport, target, per_second) =
            (arm.transport, arm.target.clone(), 1e9 / publisher.interval_ns);
        Ok(Ask { scenario, overrides, over, keep, loaded, transport, target, per_second })
    }

    /// The default conditions: nearly all intended deliveries arrive in time, and none is missing.
    pub fn attainment(within: Nanos) -> Vec<Expression> {
        let expression =
            |metric: &str, bound: &str| Expression::parse(metric, bound).expect("of the program's own");
        vec![
            expression(&format!("delivery.within_{within}"), &format!(">= {ATTAINMENT}")),
            expression("delivery.missing", "== 0"),
        ]
    }

    /// One step of the search, in loads.
    pub fn step(&self) -> f64 {
        match self.over {
            Over::Connections => 1.0,
            Over::Rate => RATE_STEP,
        }
    }

    /// The scenario's own load, in steps.
    pub fn start(&self) -> u64 {
        match self.over {
            Over::Connections => self.loaded.scenario.load.connections,
            Over::Rate => (self.per_second / RATE_STEP).round() as u64,
        }
    }

    /// Planned length of the measure phase, s.
    pub(super) fn window_s(&self, why: Why) -> f64 {
        self.window(why).0 as f64 / 1e9
    }

    fn window(&self, why: Why) -> Nanos {
        let once = self.loaded.scenario.load.duration;
        if why == Why::Confirm { Nanos(once.0 * CONFIRM) } else { once }
    }

    /// The scenario at a load.
    ///
    /// # Errors
    /// Fails with exit 2 if the scenario is not valid at this load.
    pub(super) fn at(&self, at: u64, why: Why, registry: &Registry) -> anyhow::Result<Loaded> {
        let mut overrides = self.overrides.clone();
        let (key, value) = match self.over {
            Over::Connections => ("load.connections", at.to_string()),
            Over::Rate => {
                let per_second = at as f64 * RATE_STEP;
                // A scenario with an interval keeps that key: interval and rate would define the same value
                // twice.
                match self.loaded.scenario.redacted_value().pointer("/publisher/interval") {
                    Some(_) => ("publisher.interval", format!("{}us", (1e6 / per_second).round() as u64)),
                    None => ("publisher.rate", PerSecond(per_second).to_string()),
                }
            }
        };
        overrides.push(Override::flag("find-max", key, &value));
        if why == Why::Confirm {
            overrides.push(Override::flag("find-max", "load.duration", &self.window(why).to_string()));
        }
        scenario_file::load(&Asked::argument(self.scenario.as_deref(), &[]), &overrides, registry)
            .map_err(wrong)
    }

    /// The file of the search, before its first probe.
    pub(super) fn file(
        &self,
        at: Utc,
        limits: Limits,
        server: Option<ServerRef>,
        found: Found,
    ) -> SearchFile {
        SearchFile {
            schema: SCHEMA.to_owned(),
            name: self.loaded.scenario.name.clone(),
            started_at: at.rfc3339(),
            command: session::command_line(),
            pushmark_version: env!("CARGO_PKG_VERSION").to_owned(),
            target: self.target.clone(),
            server,
            transport: self.transport,
            over: self.over,
            step: self.step(),
            limits,
            keep: self.keep.iter().map(ToString::to_string).collect(),
            probes: Vec::new(),
            found: found.scaled(self.step()),
        }
    }
}

fn wrong(report: FileErrors) -> anyhow::Error {
    Ending::error(Exit::Usage, report.to_string())
}
