//! Hostile servers: whatever a target sends, a run against it ends by itself, in bounded memory, and
//! reports what it received.
//!
//! The program itself runs against each kind of target, with a small crowd and a short plan. A kind fails
//! if the run went on, panicked, ended with an undocumented code, printed control characters, took more
//! memory than its bound, passed although nothing was delivered, or lost deliveries of the honest half of
//! a target; and if the kind's own conditions do not hold. `cargo test -p pushmark --test hostile_servers
//! -- NAME` runs the kinds whose names contain NAME. Poller and transport are drawn by the kind's name;
//! `PUSHMARK_TEST_LONG=1` takes all.

mod bayeux;
mod bodies;
mod event_stream;
mod heads;
mod kind;
mod publish;
mod run;
mod sockets;
mod stamps;
mod tls;
#[path = "../tool/mod.rs"]
mod tool;
mod websocket;
mod wire;
mod words;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;

use kind::{Kind, PUBLISHED, holds};
use run::{Ended, Target};
use tool::POLLERS;
use tool::http::Hub;

/// Runs at the same time: they wait more than they work.
const TOGETHER: usize = 8;

/// Documented exit codes (README, exit codes).
const DOCUMENTED: [i32; 6] = [0, 3, 4, 5, 6, 99];

/// One run of the program against a kind.
struct Meeting<'k> {
    kind: &'k Kind,
    transport: &'static str,
    poller: &'static str,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut kinds = heads::kinds();
    for family in [
        bodies::kinds,
        event_stream::kinds,
        websocket::kinds,
        bayeux::kinds,
        tls::kinds,
        sockets::kinds,
        publish::kinds,
        stamps::kinds,
        words::kinds,
    ] {
        kinds.extend(family());
    }
    kinds.retain(|kind| wanted.is_empty() || wanted.iter().any(|part| kind.name.contains(part.as_str())));
    if arguments.iter().any(|argument| argument == "--list") {
        kinds.iter().for_each(|kind| println!("{}: test", kind.name));
        return ExitCode::SUCCESS;
    }
    let long = std::env::var("PUSHMARK_TEST_LONG").is_ok_and(|value| value == "1");
    let meetings: Vec<Meeting<'_>> = kinds.iter().flat_map(|kind| meetings(kind, long)).collect();
    println!("{} kinds of hostile servers, {} runs", kinds.len(), meetings.len());
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                while let Some(meeting) = meetings.get(next.fetch_add(1, Relaxed)) {
                    if let Err(why) = meet(meeting) {
                        println!(
                            "test {} ... FAILED\nover {} by {}: {why}",
                            meeting.kind.name, meeting.transport, meeting.poller
                        );
                        *failed.lock().expect("no meeting panics with it") += 1;
                    }
                }
            });
        }
    });
    let failed: usize = *failed.lock().expect("no meeting panics with it");
    println!("in {:.1} s", began.elapsed().as_secs_f64());
    println!("{} passed, {failed} failed", meetings.len() - failed);
    // Ends like the standard harness, which names the failed tests, so that each can be run again by its
    // name.
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// Returns one transport and one poller, drawn by the kind's name; all of them in a long run.
fn meetings(kind: &Kind, long: bool) -> Vec<Meeting<'_>> {
    let mut hasher = DefaultHasher::new();
    kind.name.hash(&mut hasher);
    let drawn = hasher.finish() as usize;
    let of = |transport, poller| Meeting { kind, transport, poller };
    if long {
        let each = kind.transports.iter();
        return each.flat_map(|transport| POLLERS.map(|poller| of(*transport, poller))).collect();
    }
    vec![of(kind.transports[drawn / 2 % kind.transports.len()], POLLERS[drawn % 2])]
}

fn meet(Meeting { kind, transport, poller }: &Meeting<'_>) -> Result<(), String> {
    let hub = Arc::new(Hub::default());
    let subscriptions = Target::start(hub.clone(), kind.serve.clone());
    let publications = Target::start(hub, kind.publish.clone());
    let at = [&subscriptions, &publications].map(|target| target.port.address.to_string());
    let ended = run::run(&kind.scenario(transport, &at[0], &at[1]), poller)?;
    drop((subscriptions, publications));
    println!(
        "{:48} {transport:16} {poller:8} exit {:>3}   peak {:>3} MiB   {:>4.1} s",
        kind.name,
        ended.code,
        ended.peak_kib >> 10,
        ended.took.as_secs_f64(),
    );
    judge(kind, &ended).map_err(|why| format!("{why}\nstdout:\n{}\nstderr:\n{}", ended.out, ended.err))
}

/// Checks the conditions of every kind, and the conditions of this kind.
fn judge(kind: &Kind, ended: &Ended) -> Result<(), String> {
    let said = format!("{}{}", ended.out, ended.err);
    holds(!said.contains("panicked"), || "it panicked".to_owned())?;
    holds(DOCUMENTED.contains(&ended.code), || format!("exit {} is nobody's", ended.code))?;
    holds(kind.codes.contains(&ended.code), || format!("exit {}, not {:?}", ended.code, kind.codes))?;
    let obeyed = said.chars().find(|c| c.is_control() && *c != '\n');
    holds(obeyed.is_none(), || format!("it printed {obeyed:?}"))?;
    let peak_mib = ended.peak_kib >> 10;
    holds(peak_mib <= kind.peak_max_mib, || {
        format!("its memory came to {peak_mib} MiB, at most {}", kind.peak_max_mib)
    })?;
    for text in &kind.says {
        holds(said.contains(text), || format!("it does not say {text:?}"))?;
    }
    let Some(run) = &ended.run else {
        return holds(ended.code != 0 && !kind.half, || "nothing was kept".to_owned());
    };
    let arm = &tool::arms(run)[0];
    accounts_add_up(run, arm)?;
    let came = fate(arm, "delivered") + fate(arm, "late");
    holds(ended.code != 0 || came > 0.0 || kind.observed, || {
        "it passed, and nothing was delivered".to_owned()
    })?;
    if kind.half {
        let owed = PUBLISHED * (kind::CLIENTS / 2) as f64;
        holds(came == owed, || format!("{came} came, the honest half was owed {owed}"))?;
    }
    kind.judge.map_or(Ok(()), |judge| judge(arm))
}

/// Checks that every intended delivery has one fate, or that the run reports broken accounts: the target
/// invented publications, and they were counted.
fn accounts_add_up(run: &Value, arm: &Value) -> Result<(), String> {
    let fates = ["delivered", "late", "missing", "superseded", "excused", "unserved", "unpublished"];
    let sum: f64 = fates.iter().map(|name| fate(arm, name)).sum();
    let reasons = run["verdict"]["reasons"].as_array().expect("a verdict has its reasons");
    let broken = reasons.iter().any(|reason| reason["code"] == "accounts");
    let invalid = run["verdict"]["state"] == "invalid";
    holds(sum == fate(arm, "intended") || (broken && invalid), || format!("the fates come to {sum}"))
}

/// Returns one of the counts of an arm's deliveries.
pub(crate) fn fate(arm: &Value, name: &str) -> f64 {
    arm["delivery"][name].as_f64().unwrap_or(0.0)
}
