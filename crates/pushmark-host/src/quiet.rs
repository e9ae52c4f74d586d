//! Cool-down between cases, so that the next case does not measure what the previous one left behind (a
//! server that ends, sockets that close, pages that are written). Before the first case, the host is
//! checked and other programs that use it are reported.

use std::time::{Duration, Instant};

use pushmark_model::suite::Cooldown;

use crate::monitor::HostUse;
use crate::monitor::others::{self, Others};
use crate::server::cpus::allowed_cpus;

/// Length of one check of the host: fifty ticks per CPU.
const LOOK: Duration = Duration::from_millis(500);
/// A stop signal is noticed within this time.
const NAP: Duration = Duration::from_millis(50);

/// The state of the host when a case began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quiet {
    /// Length of the wait.
    pub waited: Duration,
    /// Share of all CPUs' time that was busy at the last check; absent without a check.
    pub busy: Option<f64>,
    /// Whether the host was as quiet as required.
    pub reached: bool,
}

/// Waits until the host is quiet, the time limit is reached, or `stop` returns true.
pub fn wait(
    cooldown: &Cooldown,
    mut busy: impl FnMut(Duration) -> f64,
    stop: impl Fn() -> bool,
    mut tell: impl FnMut(Duration, f64),
) -> Quiet {
    let longest = Duration::from_nanos(cooldown.max.0);
    let began = Instant::now();
    let mut quiet = Quiet { waited: Duration::ZERO, busy: None, reached: false };
    while quiet.waited < longest && !stop() {
        let share = busy(LOOK.min(longest - quiet.waited));
        quiet = Quiet { waited: began.elapsed(), busy: Some(share), reached: share <= cooldown.quiet };
        if quiet.reached {
            break;
        }
        tell(quiet.waited, share);
    }
    quiet
}

/// Measures the share of all CPUs' time that is busy. Ends early if `stop` returns true.
pub fn busy_share(time: Duration, stop: impl Fn() -> bool) -> f64 {
    let (before, began) = (HostUse::read(), Instant::now());
    while began.elapsed() < time && !stop() {
        std::thread::sleep(NAP.min(time.saturating_sub(began.elapsed())));
    }
    let after = HostUse::read();
    let all_ns = began.elapsed().as_nanos() as f64 * after.softirq_ns_by_cpu.len().max(1) as f64;
    (after.busy_ns.saturating_sub(before.busy_ns) as f64 / all_ns.max(1.0)).min(1.0)
}

/// Length of the first check of the host. If the host seems busy, a second check takes one second.
const GLANCE: Duration = Duration::from_millis(250);
const WHOLE: Duration = Duration::from_millis(1_000);

/// Returns a warning about other programs that use this host, before a run begins, or `None` if they use less
/// than this share of its CPUs. Takes a quarter of a second, or one second more on a busy host.
pub fn before_a_run(bound: f64) -> Option<String> {
    let cpus = allowed_cpus().unwrap_or_default();
    let (before, began) = (Others::read(), Instant::now());
    let first = HostUse::read();
    let mut busy = 0.0;
    for look in [GLANCE, WHOLE] {
        std::thread::sleep(look.saturating_sub(began.elapsed()));
        let passed_ns = began.elapsed().as_nanos() as f64;
        let now = HostUse::read();
        let tasks_ns = now.tasks_ns(&cpus).saturating_sub(first.tasks_ns(&cpus)) as f64;
        let idle_ns = now.idle_ns(&cpus).saturating_sub(first.idle_ns(&cpus)) as f64;
        let all = if cpus.is_empty() { now.idle_ns_by_cpu.len() } else { cpus.len() }.max(1) as f64;
        // Idle time is exact, the time of tasks is not (`monitor::figures::foreign`).
        busy = (tasks_ns / passed_ns).min((all - idle_ns / passed_ns).max(0.0));
        if busy < bound * all {
            return None;
        }
    }
    let passed_ns = began.elapsed().as_nanos() as u64;
    let by = Others::read().busiest_since(&before, &[std::process::id() as i32], passed_ns);
    Some(told(busy, cpus.len(), &by))
}

/// `by` are programs with their cores.
fn told(busy: f64, cpus: usize, by: &[(String, f64)]) -> String {
    let by = others::named(by);
    let by = if by.is_empty() { String::new() } else { format!(" ({by})") };
    format!(
        "this host is busy before the run begins: other programs use {busy:.2} of {cpus} CPUs{by}; \
         they will distort times and CPU figures"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::units::Nanos;

    #[test]
    fn a_busy_host_is_told_with_who_it_is() {
        let by = [("rustc".to_owned(), 0.95), ("node".to_owned(), 0.4)];
        insta::assert_snapshot!(told(1.42, 2, &by), @"this host is busy before the run begins: other programs use 1.42 of 2 CPUs (rustc 0.95, node 0.40 cores); they will distort times and CPU figures");
        insta::assert_snapshot!(told(0.5, 2, &[]), @"this host is busy before the run begins: other programs use 0.50 of 2 CPUs; they will distort times and CPU figures");
    }

    const COOLDOWN: Cooldown = Cooldown { quiet: 0.1, max: Nanos(60_000_000_000) };

    #[test]
    fn it_waits_until_the_host_is_quiet_and_tells_how_busy_it_is() {
        let mut shares = [0.9, 0.4, 0.05, 0.0].into_iter();
        let mut told = Vec::new();
        let quiet = wait(&COOLDOWN, |_| shares.next().unwrap(), || false, |_, share| told.push(share));
        assert_eq!((quiet.busy, quiet.reached), (Some(0.05), true));
        assert_eq!(told, [0.9, 0.4]);
    }

    #[test]
    fn a_host_that_stays_busy_is_waited_for_no_longer_than_allowed() {
        let short = Cooldown { max: Nanos(2_000_000), ..COOLDOWN };
        let spin = |time: Duration| {
            let began = Instant::now();
            while began.elapsed() < time {
                std::hint::spin_loop();
            }
            0.7
        };
        let quiet = wait(&short, spin, || false, |_, _| {});
        assert_eq!((quiet.busy, quiet.reached), (Some(0.7), false));
        assert!(quiet.waited >= Duration::from_millis(2));
        let none = wait(
            &Cooldown { max: Nanos(0), ..COOLDOWN },
            |_| panic!("nobody looks at the host"),
            || false,
            |_, _| {},
        );
        assert_eq!(none, Quiet { waited: Duration::ZERO, busy: None, reached: false });
    }

    #[test]
    fn a_stop_ends_the_waiting() {
        let quiet = wait(&COOLDOWN, |_| panic!("nobody looks at the host"), || true, |_, _| {});
        assert!(!quiet.reached && quiet.busy.is_none());
    }

    #[test]
    fn this_hosts_share_is_a_share() {
        let share = busy_share(Duration::from_millis(60), || false);
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}
