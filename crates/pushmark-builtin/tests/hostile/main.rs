//! Hostile clients: whatever they send, the server's memory is bounded and other clients are answered.
//!
//! Each kind of attack runs against a separate server process, whose peak memory the kernel records. During
//! the attack, another client repeatedly requests `/health` on new connections. A kind fails if the peak
//! exceeds its bound, an answer takes too long, or a condition of the attack itself is not met. `cargo test
//! -p pushmark-builtin --test hostile -- NAME` runs the kinds whose names contain NAME.

mod bayeux;
mod floods;
mod heads;
mod memory;
mod pipelined;
mod server;
mod sockets;
mod wire;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use server::{Server, Watch};

/// The longest that `/health` may take, including the connect, while two servers are attacked on two shared
/// cores.
const HEALTH_MAX: Duration = Duration::from_secs(3);

/// Kinds that run at the same time.
const TOGETHER: usize = 2;

/// One kind of attack.
struct Kind {
    name: &'static str,
    /// The highest allowed peak of the server's memory, MiB. An idle server has about 8.
    peak_max_mib: u64,
    attack: fn(&Server) -> Result<(), String>,
}

const fn kind(name: &'static str, peak_max_mib: u64, attack: fn(&Server) -> Result<(), String>) -> Kind {
    Kind { name, peak_max_mib, attack }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == server::SERVE) {
        server::be_one();
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let kinds: Vec<Kind> =
        [pipelined::KINDS, floods::KINDS, sockets::KINDS, heads::KINDS, bayeux::KINDS, memory::KINDS]
            .into_iter()
            .flatten()
            .map(|&Kind { name, peak_max_mib, attack }| Kind { name, peak_max_mib, attack })
            .filter(|kind| wanted.is_empty() || wanted.iter().any(|part| kind.name.contains(part.as_str())))
            .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        kinds.iter().for_each(|kind| println!("{}: test", kind.name));
        return ExitCode::SUCCESS;
    }
    println!("{} kinds of hostile clients, seed {}", kinds.len(), wire::seed());
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                while let Some(kind) = kinds.get(next.fetch_add(1, Relaxed)) {
                    if let Err(why) = meet(kind) {
                        println!("test {} ... FAILED\n{why}", kind.name);
                        failed.lock().expect("no kind panics with it").push(kind.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no kind panics with it");
    println!("in {:.1} s", began.elapsed().as_secs_f64());
    println!("{} passed, {} failed", kinds.len() - failed.len(), failed.len());
    // Exits and prints the failed names like the standard harness, so that they can be run again by name.
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

fn meet(kind: &Kind) -> Result<(), String> {
    let began = Instant::now();
    let server = Server::start();
    let watch = Watch::begin(&server);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (kind.attack)(&server)));
    let outcome = outcome.unwrap_or_else(|_| Err("the attack panicked".to_owned()));
    let health = watch.end();
    let peak_mib = server.peak_mib();
    println!(
        "{:44} peak {:>4} MiB of {:>4}   /health {:>5.0} ms   {:>4.1} s",
        kind.name,
        peak_mib,
        kind.peak_max_mib,
        health.as_ref().map_or(f64::NAN, |health| health.as_secs_f64() * 1e3),
        began.elapsed().as_secs_f64(),
    );
    outcome?;
    let health = health?;
    if health > HEALTH_MAX {
        return Err(format!("/health took {health:?}, at most {HEALTH_MAX:?}"));
    }
    if peak_mib > kind.peak_max_mib {
        return Err(format!("the server's memory reached {peak_mib} MiB, at most {}", kind.peak_max_mib));
    }
    Ok(())
}
