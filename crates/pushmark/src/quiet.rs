//! Cool-down: what the case before left behind (a server that ends, sockets that close, pages
//! that are written) is not to be measured with the next one.

use std::time::{Duration, Instant};

use pushmark_model::suite::Cooldown;

use crate::monitor::HostUse;

/// The host is looked at over so long: fifty of its ticks a CPU.
const LOOK: Duration = Duration::from_millis(500);
/// A stop signal is heard within this time.
const NAP: Duration = Duration::from_millis(50);

/// How the host was when a case began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quiet {
    /// How long was waited.
    pub(crate) waited: Duration,
    /// Share of all CPUs' time that was busy, when last looked at; absent where nobody looked.
    pub(crate) busy: Option<f64>,
    /// Whether it was as quiet as asked.
    pub(crate) reached: bool,
}

/// Waits until the host is quiet, or as long as is allowed, or until `stop` says so.
pub(crate) fn wait(
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

/// Share of all CPUs' time that is busy over some time; ends early where `stop` says so.
pub(crate) fn busy_share(time: Duration, stop: impl Fn() -> bool) -> f64 {
    let (before, began) = (HostUse::read(), Instant::now());
    while began.elapsed() < time && !stop() {
        std::thread::sleep(NAP.min(time.saturating_sub(began.elapsed())));
    }
    let after = HostUse::read();
    let all_ns = began.elapsed().as_nanos() as f64 * after.softirq_ns_by_cpu.len().max(1) as f64;
    (after.busy_ns.saturating_sub(before.busy_ns) as f64 / all_ns.max(1.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::units::Nanos;

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
