//! Other users of the CPUs: the programs that used most CPU time between two readings, by name.

use std::collections::{BTreeMap, HashMap, HashSet};

use procfs::process::{Process, Stat};

/// Nanoseconds of a clock tick of utime and stime.
const TICK_NS: u64 = 10_000_000;
/// The number of programs that are named.
const NAMED_MAX: usize = 3;
/// Programs that use less of a CPU than this are not named.
const SHARE_MIN: f64 = 0.01;

/// The CPU use of every process so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Others(HashMap<(i32, u64), One>);

#[derive(Clone, Debug)]
struct One {
    name: String,
    parent: i32,
    cpu_ns: u64,
}

impl Others {
    /// Reads them all: some 10 µs a process.
    pub(crate) fn read() -> Others {
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        let stats = all.filter_map(|process: Process| process.stat().ok());
        Others(stats.map(|stat| ((stat.pid, stat.starttime), One::of(stat))).collect())
    }

    /// The programs that used most since an earlier reading, with their cores: `("cc", 0.72)`. `ours` and
    /// their descendants are left out. A program that started and ended in between is not seen.
    pub(crate) fn busiest_since(&self, earlier: &Others, ours: &[i32], passed_ns: u64) -> Vec<(String, f64)> {
        let ours = self.below(ours);
        let mut by_name = BTreeMap::<&str, u64>::new();
        for (key, now) in self.0.iter().filter(|((pid, _), _)| !ours.contains(pid)) {
            let before = earlier.0.get(key).map_or(0, |one| one.cpu_ns);
            *by_name.entry(&now.name).or_default() += now.cpu_ns.saturating_sub(before);
        }
        let cores = |ns: u64| ns as f64 / passed_ns.max(1) as f64;
        let mut all: Vec<(String, f64)> =
            by_name.into_iter().map(|(name, ns)| (name.to_owned(), cores(ns))).collect();
        all.retain(|(_, cores)| *cores >= SHARE_MIN);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(NAMED_MAX);
        all
    }

    /// These processes and all below them.
    fn below(&self, roots: &[i32]) -> HashSet<i32> {
        let mut found: HashSet<i32> = roots.iter().copied().collect();
        loop {
            let before = found.len();
            let more = self.0.iter().filter(|(_, one)| found.contains(&one.parent)).map(|((pid, _), _)| *pid);
            let more: Vec<i32> = more.collect();
            found.extend(more);
            if found.len() == before {
                return found;
            }
        }
    }
}

impl One {
    fn of(stat: Stat) -> One {
        One { cpu_ns: (stat.utime + stat.stime) * TICK_NS, parent: stat.ppid, name: stat.comm }
    }
}

/// `cc 0.72, rustc 0.55 cores`; empty without programs.
pub(crate) fn named(busiest: &[(String, f64)]) -> String {
    let each: Vec<String> = busiest.iter().map(|(name, cores)| format!("{name} {cores:.2}")).collect();
    if each.is_empty() { String::new() } else { format!("{} cores", each.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(all: &[(i32, i32, &str, u64)]) -> Others {
        let one = |&(pid, parent, name, cpu_ns): &(i32, i32, &str, u64)| {
            ((pid, 1), One { name: name.to_owned(), parent, cpu_ns })
        };
        Others(all.iter().map(one).collect())
    }

    #[test]
    fn those_who_used_most_are_named_and_ours_are_not() {
        let before = others(&[(1, 0, "init", 900), (10, 1, "node", 100), (20, 1, "us", 5)]);
        let after = others(&[
            (1, 0, "init", 901),
            (10, 1, "node", 600),
            (11, 1, "node", 300),
            (12, 1, "cc", 250),
            (20, 1, "us", 900),
            (21, 20, "server", 900),
            (22, 21, "worker", 900),
        ]);
        let busiest = after.busiest_since(&before, &[20], 1_000);
        assert_eq!(busiest, [("node".to_owned(), 0.8), ("cc".to_owned(), 0.25)]);
        assert_eq!(named(&busiest), "node 0.80, cc 0.25 cores");
        assert_eq!(named(&[]), "");
    }

    #[test]
    fn a_program_that_fills_a_core_is_found() {
        let before = Others::read();
        let mut spinner =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let tree =
            |others: &Others| others.0.get(&key(others, spinner.id() as i32)).map_or(0, |one| one.cpu_ns);
        fn key(others: &Others, pid: i32) -> (i32, u64) {
            *others.0.keys().find(|(other, _)| *other == pid).unwrap_or(&(pid, 0))
        }
        let mut now = Others::read();
        while tree(&now) < 100_000_000 {
            now = Others::read();
        }
        spinner.kill().unwrap();
        spinner.wait().unwrap();
        // Whatever else runs here: of all, those that used 100 ms or more.
        let all = now.busiest_since(&before, &[], 1_000_000_000);
        assert!(!all.is_empty() && all.is_sorted_by(|a, b| a.1 >= b.1), "{all:?}");
    }
}
