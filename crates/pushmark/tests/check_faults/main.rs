//! Every case of the conformance suite is shown to be able to fail: a proxy in front of the real built-in
//! server breaks one thing, and the case for it must report that.

#![allow(unreachable_pub, reason = "a test has no users")]

mod bayeux;
mod connections;
mod control;
mod emitters;
mod fault;
mod foreign;
mod frames;
mod polling;
mod proxy;
mod publishing;
mod requests;
mod streams;
mod subject;
#[path = "../tool/mod.rs"]
mod tool;
mod websocket;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fault::Fault;
use pushmark_check::{self as check, Finding, Options, Verdict};
use subject::Built;

/// Servers with a fault that are checked at the same time: most of their time is waiting.
const AT_ONCE: usize = 12;

/// A fault, the case that must fail because of it, and words that its reason must contain.
pub type Row = (&'static str, &'static str, fn() -> Fault);

fn rows() -> Vec<Row> {
    [
        publishing::TERMS,
        control::FAULTS,
        connections::FAULTS,
        publishing::FAULTS,
        emitters::FAULTS,
        polling::FAULTS,
        streams::FAULTS,
        websocket::FAULTS,
        bayeux::FAULTS,
        requests::FAULTS,
        foreign::FAULTS,
    ]
    .concat()
}

fn all() -> impl Iterator<Item = &'static check::Case> {
    check::cases().chain(check::foreign_cases())
}

fn run(fault: Fault, only: &[&str]) -> Vec<Finding> {
    let built = Built::new(Arc::new(fault));
    let options = Options { only: only.iter().map(|id| (*id).to_owned()).collect(), seed: 7 };
    let is_of_a_transport = only.iter().any(|id| id.starts_with(char::is_alphabetic));
    let subject = if is_of_a_transport { built.foreign() } else { built.subject() };
    check::check(&subject, &options, &|_| {}, &|| false)
}

/// The proxy alone changes nothing, so the failures below come from the faults.
#[test]
fn behind_a_proxy_that_breaks_nothing_every_case_passes() {
    let mut findings = run(Fault::default(), &[]);
    findings.extend(run(Fault::default(), &["poll", "long-poll", "stream", "sse", "websocket"]));
    assert_eq!(findings.len(), all().count());
    let not_passed: Vec<String> = findings
        .iter()
        .filter(|finding| finding.verdict != Verdict::Pass)
        .map(|finding| format!("{}: {:?}", finding.case.id, finding.verdict))
        .collect();
    assert!(not_passed.is_empty(), "{not_passed:#?}");
}

#[test]
fn an_emitter_that_skips_its_last_tick_and_counts_it_keeps_the_contract() {
    let findings = run(emitters::last_tick_skipped(), &["5.4/1"]);
    assert_eq!(findings.first().map(|finding| &finding.verdict), Some(&Verdict::Pass));
}

#[test]
fn each_case_has_a_fault_and_each_fault_a_case() {
    let rows = rows();
    for case in all() {
        assert!(rows.iter().any(|(id, _, _)| *id == case.id), "{} has no fault: write it", case.id);
    }
    for (id, says, _) in &rows {
        assert!(all().any(|case| case.id == *id), "no case {id}");
        assert!(!says.is_empty(), "{id}: a fault says how it is noticed");
    }
}

#[test]
fn each_case_fails_of_its_fault_and_says_why() {
    let rows = rows();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let work = || {
        while let Some((id, says, fault)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let findings = run(fault(), &[id]);
            let verdict = findings.first().map(|finding| &finding.verdict);
            match verdict {
                Some(Verdict::Fail { came, .. }) if came.contains(says) => {}
                _ => wrong.lock().expect("a list").push(format!("{id} should say {says:?}: {verdict:?}")),
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
