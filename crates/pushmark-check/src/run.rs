//! Runs the cases of a check in sequence, or in parallel if they do not disturb each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::chance::Chance;
use super::outcome::Miss;
use super::trial::Trial;
use super::{Case, Finding, Subject, Verdict, With, cases, foreign_cases};

/// Cases that run at once: most of their time is waiting.
const AT_ONCE: usize = 8;
/// Requests shown with a failure.
const SENT_SHOWN: usize = 3;

/// The selected checks.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Numbers of sections, clauses or cases; empty: all.
    pub only: Vec<String>,
    /// The seed of all random draws.
    pub seed: u64,
}

impl Options {
    /// The requested cases of a subject, in order.
    fn chosen(&self, subject: &Subject) -> Vec<&'static Case> {
        let is_meant = |case: &&Case| self.only.is_empty() || self.only.iter().any(|n| case.is_meant_by(n));
        match subject.foreign {
            None => cases().filter(is_meant).collect(),
            Some(_) => foreign_cases().filter(is_meant).collect(),
        }
    }
}

/// Runs the requested cases; `stop` is asked between them. Returns findings in the order of the contract.
/// `told` receives each finding when its case ends.
pub fn check(
    subject: &Subject,
    options: &Options,
    told: &(dyn Fn(&Finding) + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<Finding> {
    let chosen = options.chosen(subject);
    let tag = tag();
    let findings = Mutex::new(Vec::new());
    for (with, at_once) in [(With::Others, AT_ONCE), (With::Nobody, 1), (With::OwnServer, 2)] {
        let group: Vec<(usize, &Case)> =
            chosen.iter().copied().enumerate().filter(|(_, case)| case.with == with).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&(at, case)) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                if stop() {
                    return;
                }
                let finding = run(subject, case, options.seed, &tag);
                told(&finding);
                findings.lock().expect("no case panics with it").push((at, finding));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..at_once.min(group.len()) {
                scope.spawn(work);
            }
        });
    }
    let mut findings = findings.into_inner().expect("no case panics with it");
    findings.sort_by_key(|(at, _)| *at);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

fn run(subject: &Subject, case: &'static Case, seed: u64, tag: &str) -> Finding {
    let started = Instant::now();
    let tag = format!("{tag}{}", number(case));
    let mut trial = Trial::new(subject, Chance::new(seed, case.id, &tag));
    let outcome = trial.needs(case.clause()).and_then(|()| (case.run)(&mut trial));
    let verdict = match outcome {
        Ok(()) => Verdict::Pass,
        Err(Miss::NotOffered(why)) => Verdict::NotOffered(why),
        Err(Miss::Failed(came)) => Verdict::Fail { sent: trial.journal.tail(SENT_SHOWN), came },
    };
    trial.clean();
    Finding { case, verdict, took: started.elapsed() }
}

/// Distinguishes the names of this check from those of another one on the same server.
fn tag() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    digits(since.as_millis() as u64 ^ (u64::from(std::process::id()) << 20), 6)
}

/// Distinguishes the names of a case from those of the others: random names alone would sometimes collide.
fn number(case: &Case) -> String {
    let at = cases().chain(foreign_cases()).position(|other| other.id == case.id);
    digits(at.unwrap_or_default() as u64, 2)
}

fn digits(mut left: u64, count: u32) -> String {
    let mut digits = String::new();
    for _ in 0..count {
        digits.push(char::from_digit((left % 36) as u32, 36).unwrap_or('0'));
        left /= 36;
    }
    digits
}
