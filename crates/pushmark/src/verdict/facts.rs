//! What a judgement needs and an arm does not hold.

use pushmark_model::run::Generator;

/// Circumstances of an arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Bound of the error between the clocks that were subtracted, ns; absent on one clock.
    pub clock_bound_ns: Option<u64>,
    /// Largest step of the wall clock seen, ns.
    pub clock_step_ns: Option<i64>,
    /// Connects refused by our own kernel for want of a port (EADDRNOTAVAIL).
    pub port_shortages: u64,
    /// Sockets refused for want of a descriptor (EMFILE, ENFILE).
    pub descriptor_shortages: u64,
    /// Stopped by a signal after so much of the measure phase, s.
    pub interrupted_after_s: Option<f64>,
    /// Ended by an error of ours or of the target before its time.
    pub broken_off: Option<String>,
    /// The server's process ended by itself.
    pub server_ended: bool,
    /// Warm-up ended by its limit, not by a steady state.
    pub no_steady_state: bool,
    /// The longest any one shard waited for a core, share of the window; absent: the mean is used.
    pub worst_shard_wait: Option<f64>,
}

impl Facts {
    /// Run-queue wait of the worst shard as a share of the window.
    pub(super) fn shard_wait(&self, generator: &Generator) -> Option<f64> {
        self.worst_shard_wait.or_else(|| {
            let of_us = generator.window_us * u64::from(generator.shards.max(1));
            (of_us > 0).then(|| generator.run_queue_wait_us as f64 / of_us as f64)
        })
    }
}
