//! A disturbed generator reports it: its figures do not pass for the server's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use pushmark_model::run::{Run, VerdictState};

use super::Check;
use super::bench::Bench;
use super::command::UnderWay;
use super::scenario::Ask;
use pushmark_console::exit::Exit;
use pushmark_host::server::cpus;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    shared_core(bench)?;
    stopped(bench)
}

/// Threads that use all of one CPU.
struct Busy {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn on(cpu: u32, threads: usize) -> Busy {
        let over = Arc::new(AtomicBool::new(false));
        let spin = |over: Arc<AtomicBool>| {
            move || {
                // Unpinned it would disturb other processes.
                if cpus::pin_current_thread(&[cpu]).is_ok() {
                    while !over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            }
        };
        let threads = (0..threads).map(|_| std::thread::spawn(spin(Arc::clone(&over)))).collect();
        Busy { over, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has stopped spinning too.
            let _ = thread.join();
        }
    }
}

/// Other programs use the generator's core all the time.
fn shared_core(bench: &mut Bench) -> anyhow::Result<()> {
    let (_, generator) = cpus::halves_of_cpus()?;
    let ask = Ask::builtin("sse")
        .top("threads = 1")
        .connections(200)
        .duration(bench.scale.pick(3_000, 10_000))
        .publisher("mode = \"emitter\"")
        .rate(100.0);
    let run = UnderWay::start(bench, &ask)?;
    // If the generator has several CPUs, its only shard is on the first.
    let busy = Busy::on(*generator.first().context("a CPU")?, 3);
    let ended = run.wait()?;
    drop(busy);
    bench.add_up(&ended.run)?;
    let verdict = &ended.run.verdict;
    let codes: Vec<&str> = verdict.reasons.iter().map(|r| r.code.as_str()).collect();
    let invalid = verdict.state == VerdictState::Invalid;
    let got = format!("{} ({})", verdict.state.name(), codes.join(", "));
    bench.keep(Check::holds("a shared core: verdict", VerdictState::Invalid.name(), got, invalid));
    let expected = i32::from(Exit::Invalid.code());
    bench.keep(Check::exact("a shared core: exit", expected, ended.code.unwrap_or(-1)));
    Ok(())
}

/// The generator is stopped for a tenth of a second: messages wait unread, and the run reports that.
fn stopped(bench: &mut Bench) -> anyhow::Result<()> {
    const STOP: Duration = Duration::from_millis(100);
    let ask = Ask::builtin("sse")
        .top("threads = 1")
        .connections(10)
        .duration(4_000)
        .publisher("mode = \"emitter\"")
        .rate(100.0);
    let run = UnderWay::start(bench, &ask)?;
    run.wait_measure()?;
    std::thread::sleep(Duration::from_millis(1_000));
    let stopped_ms = run.stop_for(STOP)?.as_secs_f64() * 1e3;
    let ended = run.wait()?;
    bench.add_up(&ended.run)?;
    let (lag_ms, latency_ms) = largest(&ended.run)?;
    // The first unread message arrived within one interval of the stop, 10 ms.
    let low_ms = stopped_ms - 12.0;
    let name = |what: &str| format!("stopped for {} ms: {what}", super::short(stopped_ms));
    let at_least = |what: &str, ms: f64| {
        Check::new(
            name(what),
            format!("≥ {} ms", super::short(low_ms)),
            format!("{} ms", super::short(ms)),
            "in range",
            ms >= low_ms,
        )
    };
    bench.keep(at_least("largest read lag", lag_ms));
    bench.keep(at_least("largest latency", latency_ms));
    let told = ended.run.verdict.reasons.iter().any(|r| r.code == "read_lag");
    bench.keep(Check::exact(name("read lag is told"), true, told));
    Ok(())
}

/// The largest read lag and the largest latency, ms.
fn largest(run: &Run) -> anyhow::Result<(f64, f64)> {
    let delivery = run.arms[0].delivery.as_ref().context("a run that publishes")?;
    let ms = |us: Option<i64>| us.unwrap_or(0) as f64 / 1_000.0;
    Ok((ms(delivery.read_lag.max_us), ms(delivery.latency.max_us)))
}
