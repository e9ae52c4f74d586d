//! A process and everything it started: found in `/proc`, summed, and still counted after exit.
//!
//! Belongs to the tree: the root, any process whose parent belongs to it, and any process of the root's
//! process group (which finds a grandchild whose parent ended before it was seen), and its daemons
//! ([`crate::server::lineage`]). A process stays in the tree when its parent ends. A process that ended and
//! was waited for is also in its parent's cutime + cstime, which covers children that lived between two
//! readings.

use std::collections::{HashMap, HashSet};

use procfs::process::{Process, Stat};

use super::process::{ProcessUse, ThreadUse, Tracked};
use crate::server::lineage::{self, Lineage};

/// Most processes followed; servers that start more are not supported.
const PROCESSES_MAX: usize = 4_096;

/// A followed process tree.
#[derive(Debug)]
pub struct Tree {
    root: i32,
    lineage: Lineage,
    alone: bool,
    page_bytes: u64,
    members: HashMap<i32, Tracked>,
    strangers: HashSet<i32>,
    /// CPU and run-queue wait of members that have ended.
    ended: (u64, u64),
    last: ProcessUse,
}

impl Tree {
    /// Follows `root` and its descendants; `None` if neither the process nor a daemon of it exists.
    pub fn new(root: i32) -> Option<Tree> {
        let mut tree = Tree::of(root);
        tree.alone = false;
        tree.find_members();
        tree.is_alive().then_some(tree)
    }

    /// Follows one process without its descendants.
    pub fn alone(root: i32) -> Option<Tree> {
        Some(Tree::of(root)).filter(Tree::is_alive)
    }

    fn of(root: i32) -> Tree {
        Tree {
            root,
            lineage: Lineage::of(root),
            alone: true,
            page_bytes: procfs::page_size(),
            members: Tracked::new(root).map(|tracked| (root, tracked)).into_iter().collect(),
            strangers: HashSet::new(),
            ended: (0, 0),
            last: ProcessUse::default(),
        }
    }

    /// Whether any of its processes existed at the last reading.
    pub fn is_alive(&self) -> bool {
        !self.members.is_empty()
    }

    /// Reads every process; the sum keeps the use of ended ones.
    pub fn read(&mut self) -> ProcessUse {
        if !self.alone {
            self.find_members();
        }
        let page_bytes = self.page_bytes;
        let mut sum = ProcessUse::default();
        let mut waited_for_ns = 0;
        let ended = &mut self.ended;
        let lineage = &self.lineage;
        self.members.retain(|&pid, member| {
            let alive = member.read(page_bytes);
            let now = member.last();
            if !alive {
                ended.0 += now.cpu_ns;
                ended.1 += now.run_queue_wait_ns;
                // No other process waits for a daemon. Its use has been read.
                if member.stat().is_some_and(|stat| lineage.is_orphan(&stat)) {
                    lineage::collect(pid);
                }
                return false;
            }
            sum.cpu_ns += now.cpu_ns;
            sum.run_queue_wait_ns += now.run_queue_wait_ns;
            sum.rss_bytes += now.rss_bytes;
            sum.threads += now.threads;
            waited_for_ns += member.children_cpu_ns();
            true
        });
        if !self.alone {
            self.ended.0 = self.ended.0.max(waited_for_ns);
        }
        sum.cpu_ns = self.last.cpu_ns.max(sum.cpu_ns + self.ended.0);
        sum.run_queue_wait_ns = self.last.run_queue_wait_ns.max(sum.run_queue_wait_ns + self.ended.1);
        self.last = sum;
        sum
    }

    /// One pass over `/proc`; opens only new process ids.
    fn find_members(&mut self) {
        let pids: HashSet<i32> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        self.strangers.retain(|pid| pids.contains(pid));
        let new: HashMap<i32, Stat> = pids
            .into_iter()
            .filter(|pid| !self.members.contains_key(pid) && !self.strangers.contains(pid))
            .filter_map(|pid| Some((pid, Process::new(pid).ok()?.stat().ok()?)))
            .collect();
        // A parent may be listed after its child: repeat until nothing is added.
        loop {
            let found: Vec<i32> = new
                .iter()
                .filter(|(pid, stat)| !self.members.contains_key(pid) && self.owns(stat))
                .map(|(&pid, _)| pid)
                .collect();
            let before = self.members.len();
            for pid in found {
                if self.members.len() < PROCESSES_MAX
                    && let Some(member) = Tracked::new(pid)
                {
                    self.members.insert(pid, member);
                }
            }
            if self.members.len() == before {
                break;
            }
        }
        self.strangers.extend(new.into_keys().filter(|pid| !self.members.contains_key(pid)));
    }

    fn owns(&self, stat: &Stat) -> bool {
        self.lineage.owns(stat, |pid| self.members.contains_key(&pid))
    }

    /// Proportional memory of all its processes.
    pub fn pss_bytes(&self) -> Option<u64> {
        let each: Vec<u64> = self.members.values().filter_map(Tracked::pss_bytes).collect();
        (!each.is_empty()).then(|| each.iter().sum())
    }

    /// Each live thread of the root process by name.
    pub fn root_threads(&self) -> Vec<ThreadUse> {
        self.members.get(&self.root).map_or_else(Vec::new, Tracked::threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// A shell that runs `script` and prints a line when it has done its work.
    fn shell(script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh is everywhere");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        (child, lines)
    }

    fn line(lines: &mut impl BufRead) -> String {
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        line.trim().to_string()
    }

    /// Burns CPU until its utime + stime in /proc/self/stat reach 30 ticks.
    const BURN: &str = "while :; do read -r a < /proc/self/stat; set -- $a; \
                        [ $((${14} + ${15})) -ge 30 ] && break; done";

    #[test]
    fn a_child_that_burns_300_ms_shows_300_ms() {
        let (mut child, mut lines) = shell(&format!("read go; {BURN}; echo done; read end"));
        let mut tree = Tree::new(child.id() as i32).unwrap();
        let before = tree.read();
        writeln_to(&mut child, "go");
        assert_eq!(line(&mut lines), "done");
        let burned_ms = (tree.read().cpu_ns - before.cpu_ns) as f64 / 1e6;
        assert!((270.0..=330.0).contains(&burned_ms), "{burned_ms} ms");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(tree.read().threads, 0);
        assert!(!tree.is_alive());
    }

    #[test]
    fn a_grandchild_that_lived_between_two_readings_is_charged() {
        let (mut child, mut lines) = shell(&format!("read go; ( {BURN} ); echo done; read end"));
        let mut tree = Tree::new(child.id() as i32).unwrap();
        let before = tree.read();
        writeln_to(&mut child, "go");
        assert_eq!(line(&mut lines), "done");
        let burned_ms = (tree.read().cpu_ns - before.cpu_ns) as f64 / 1e6;
        assert!((260.0..=350.0).contains(&burned_ms), "{burned_ms} ms");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn memory_a_child_takes_is_seen() {
        let (mut child, mut lines) =
            shell("read go; x=$(head -c 30000000 /dev/zero | tr '\\0' a); echo ${#x}; read end");
        let mut tree = Tree::new(child.id() as i32).unwrap();
        let before = tree.read();
        writeln_to(&mut child, "go");
        assert_eq!(line(&mut lines), "30000000");
        let grown = tree.read().rss_bytes - before.rss_bytes;
        assert!(grown >= 29_000_000, "{grown} bytes");
        assert!(tree.pss_bytes().unwrap() >= 29_000_000);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn our_own_threads_have_names() {
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("shard-7".into())
            .spawn(move || receive.recv().unwrap_or_default())
            .unwrap();
        let mut tree = Tree::alone(std::process::id() as i32).unwrap();
        tree.read();
        // A thread sets its name after its start: poll until it has.
        while !tree.root_threads().iter().any(|t| t.name == "shard-7") {
            std::thread::yield_now();
        }
        drop(send);
        thread.join().unwrap();
    }

    fn writeln_to(child: &mut Child, text: &str) {
        use std::io::Write;
        writeln!(child.stdin.as_mut().expect("piped"), "{text}").expect("the child reads");
    }
}
