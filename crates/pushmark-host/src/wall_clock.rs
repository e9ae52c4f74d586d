//! How a machine's wall clock is kept, for people. No figure rests on it: clocks of several machines are compared by
//! probes.

use std::fs;

use pushmark_net::WallClock;

/// Programs that discipline a wall clock.
const KEEPERS: [&str; 6] = ["chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "openntpd"];

/// Returns it in words: `kept by chronyd, off by at most 1,234 µs, PTP clock kvm`.
pub fn in_words() -> String {
    let keepers: Vec<String> =
        running().into_iter().filter(|name| KEEPERS.contains(&name.as_str())).collect();
    words(WallClock::read(), &keepers, &ptp_clocks())
}

fn words(clock: Option<WallClock>, keepers: &[String], ptp: &[String]) -> String {
    let by = if keepers.is_empty() { String::new() } else { format!(" by {}", keepers.join(" and ")) };
    let mut words = match clock {
        None => "not told by the kernel".to_owned(),
        Some(WallClock { synchronised: false, .. }) if keepers.is_empty() => {
            "not kept by any program".to_owned()
        }
        Some(WallClock { synchronised: false, .. }) => format!("not in step yet, kept{by}"),
        Some(WallClock { error_max_us, .. }) => format!("kept{by}, off by at most {error_max_us} µs"),
    };
    for name in ptp {
        words += &format!(", PTP clock {name}");
    }
    words
}

/// Names of all processes.
fn running() -> Vec<String> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let name = |folder: fs::DirEntry| fs::read_to_string(folder.path().join("comm")).ok();
    let mut names: Vec<String> = folders.filter_map(name).map(|name| name.trim().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Names of the hardware clocks of the precision time protocol (IEEE 1588).
fn ptp_clocks() -> Vec<String> {
    let clocks = fs::read_dir("/sys/class/ptp").into_iter().flatten().flatten();
    let name = |clock: fs::DirEntry| fs::read_to_string(clock.path().join("clock_name")).ok();
    clocks.filter_map(name).map(|name| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_told_in_words() {
        let clock = |synchronised| Some(WallClock { synchronised, error_max_us: 812 });
        let chrony = ["chronyd".to_owned()];
        assert_eq!(
            words(clock(true), &chrony, &["kvm".into()]),
            "kept by chronyd, off by at most 812 µs, PTP clock kvm"
        );
        assert_eq!(words(clock(true), &[], &[]), "kept, off by at most 812 µs");
        assert_eq!(words(clock(false), &[], &[]), "not kept by any program");
        assert_eq!(words(clock(false), &chrony, &[]), "not in step yet, kept by chronyd");
        assert_eq!(words(None, &chrony, &[]), "not told by the kernel");
    }
}
