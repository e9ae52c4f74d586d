//! What the generator can do on a machine, and its measurement noise there: the result of `pushmark
//! calibrate`. Later runs on the same machine report it beside their figures.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::transport::Transport;

/// The schema of a calibration.
pub const SCHEMA: &str = "pushmark.calibration/1";

/// The calibration of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// The version of pushmark that was calibrated.
    pub pushmark_version: String,
    /// CPU model. The calibration is valid only with the same CPU model, logical CPUs and kernel.
    pub cpu: String,
    /// Logical CPUs.
    pub cpus: u32,
    /// Kernel release.
    pub kernel: String,
    /// The highest rate received, by transport.
    pub ceilings: Vec<Ceiling>,
    /// Connections that one run can hold, with both ends on this machine.
    pub connections: u64,
    /// The smallest latency that can be measured.
    pub floor: NoiseFloor,
}

/// The highest rate without loss at which the generator had CPU to spare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// How messages were received.
    pub transport: Transport,
    /// Deliveries per second.
    pub deliveries_per_s: f64,
    /// What limited the rate.
    pub by: Limit,
    /// The generator's busiest core at this rate, 0 to 1.
    pub busiest_core: f64,
    /// CPU time of the generator per delivery, µs.
    pub cpu_us_per_delivery: f64,
}

/// What limited a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// The generator: this is its ceiling.
    Generator,
    /// The null server could not send more: the generator's ceiling is at least this.
    Server,
}

/// Latency of a small crowd on an idle server: the rest is due to the machine and the generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Median, µs.
    pub p50_us: Option<i64>,
    /// 99th percentile, µs.
    pub p99_us: Option<i64>,
    /// Largest, µs.
    pub max_us: Option<i64>,
    /// Median of the read lag, µs; absent in older calibrations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_lag_p50_us: Option<i64>,
    /// 99th percentile of the read lag, µs.
    pub read_lag_p99_us: Option<i64>,
}

impl Ceiling {
    /// Returns deliveries per second, rounded down to two digits: it is not known more precisely.
    pub fn rounded(&self) -> u64 {
        let grain = 10f64.powf(self.deliveries_per_s.max(10.0).log10().floor() - 1.0);
        ((self.deliveries_per_s / grain).floor() * grain) as u64
    }
}

impl Calibration {
    /// Whether it was made with this version on such a machine.
    pub fn holds_for(&self, version: &str, machine: &Environment) -> bool {
        self.schema == SCHEMA
            && self.pushmark_version == version
            && (&self.cpu, self.cpus, &self.kernel) == (&machine.cpu, machine.cpus, &machine.kernel)
    }

    /// Returns the ceiling of a transport; `None` if it was not measured.
    pub fn ceiling(&self, transport: Transport) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| ceiling.transport == transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        let ceiling = Ceiling {
            transport: Transport::Sse,
            deliveries_per_s: 87_654.0,
            by: Limit::Generator,
            busiest_core: 0.78,
            cpu_us_per_delivery: 8.9,
        };
        Calibration {
            schema: SCHEMA.to_owned(),
            at: String::new(),
            pushmark_version: "1.2.3".into(),
            cpu: "a CPU".into(),
            cpus: 4,
            kernel: "6.1".into(),
            ceilings: vec![ceiling],
            connections: 1_000,
            floor: NoiseFloor::default(),
        }
    }

    #[test]
    fn it_holds_for_the_same_program_on_the_same_machine_alone() {
        let here =
            Environment { cpu: "a CPU".into(), cpus: 4, kernel: "6.1".into(), ..Environment::default() };
        assert!(calibration().holds_for("1.2.3", &here));
        assert!(!calibration().holds_for("1.2.4", &here));
        assert!(!calibration().holds_for("1.2.3", &Environment { cpus: 2, ..here.clone() }));
        assert!(!calibration().holds_for("1.2.3", &Environment { kernel: "6.2".into(), ..here }));
    }

    #[test]
    fn a_ceiling_is_told_in_two_digits_downwards() {
        let of = |deliveries_per_s| {
            let ceiling = calibration().ceilings.remove(0);
            Ceiling { deliveries_per_s, ..ceiling }.rounded()
        };
        assert_eq!([87_654.0, 100_000.0, 1_299_999.0, 999.9].map(of), [87_000, 100_000, 1_200_000, 990]);
    }
}
