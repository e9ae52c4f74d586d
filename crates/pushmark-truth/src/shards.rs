//! With one thread, several threads or processes the same data give the same figures, bit for bit.

use std::os::unix::net::UnixStream;
use std::thread;

use anyhow::{Context as _, anyhow};
use pushmark_model::frame;
use pushmark_model::histogram::Distribution;
use pushmark_model::record::{Broadcast, Record, sketch_bin};
use pushmark_net::Clock;

use super::Check;
use super::bench::Bench;
use super::scenario::Ask;
use pushmark_host::server::registry::Registry;
use pushmark_run::gather::Gathered;
use pushmark_run::scenario_file::{self, Asked};

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    replayed(bench)?;
    driven(bench)
}

/// Subscribers of the replayed arm, and publications that all of them receive.
const CROWD: u64 = 42;
const PUBLICATIONS: u64 = 1_000;

/// The latency of one delivery, µs: zero and below among them.
fn latency_us(subscriber: u64, publication: u64) -> i64 {
    ((subscriber * 7_919 + publication * 104_729) % 300_000) as i64 - 500
}

/// The same deliveries recorded by one, two and seven shards.
fn replayed(bench: &mut Bench) -> anyhow::Result<()> {
    let (path, _) = bench.write(&Ask::builtin("sse").connections(CROWD).duration(10_000).rate(100.0))?;
    let loaded = scenario_file::load(&Asked::File(&path), &[], &Registry::embedded())?;
    let plan = loaded.plan.of_run(Clock::realtime());
    let told_by = |shards: u64, who: Who| {
        let mut gathered = Gathered::new(&plan.arms[0], shards as u32);
        for shard in 0..shards {
            gathered.add(&who.tells(told(shard, shards))?);
        }
        let delivery = gathered.delivery(0).expect("an arm that publishes");
        let text = serde_json::to_string(&delivery).expect("it is data");
        anyhow::Ok((delivery, text))
    };
    let (whole, text) = told_by(1, Who::Thread)?;
    for (shards, who) in [(2, Who::Thread), (7, Who::Thread), (1, Who::Agent), (7, Who::Agent)] {
        let (_, parts) = told_by(shards, who)?;
        let got = if parts == text { "the same" } else { "another" };
        let what = format!("figures of {shards} shards, {}", who.name());
        bench.keep(Check::holds(what, "the same", got, parts == text));
    }
    let all = || (0..CROWD).flat_map(|s| (0..PUBLICATIONS).map(move |p| latency_us(s, p)));
    bench.keep(Check::exact("replayed: counted", all().count() as u64, whole.latency.count));
    bench.keep(Check::exact(
        "replayed: negative",
        all().filter(|&us| us < 0).count() as u64,
        whole.latency.negative,
    ));
    let zeros = super::bench::distribution(&whole.latency)?.positive().count_at(0);
    bench.keep(Check::exact("replayed: zero", all().filter(|&us| us == 0).count() as u64, zeros));
    Ok(())
}

/// The place in which a shard runs.
#[derive(Clone, Copy)]
enum Who {
    Thread,
    Agent,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Thread => "threads",
            Who::Agent => "agents",
        }
    }

    /// A record as it arrives: an agent sends it as a frame over a socket.
    fn tells(self, record: Record) -> anyhow::Result<Record> {
        let Who::Agent = self else { return Ok(record) };
        let (mut agent, mut run) = UnixStream::pair()?;
        let writing = thread::spawn(move || frame::write(&mut agent, &record));
        let arrived = frame::read(&mut run)?;
        writing.join().map_err(|_| anyhow!("the writer panicked"))??;
        arrived.context("a frame arrives")
    }
}

/// The record of one of several shards: every `shards`-th subscriber belongs to it.
fn told(shard: u64, shards: u64) -> Record {
    let mine = || (0..CROWD).filter(move |s| s % shards == shard);
    let mut record = Record { shard: shard as u32, last: true, ..Record::default() };
    let put = |into: &mut Distribution, us: i64| match u64::try_from(us) {
        Ok(us) => into.record_us(us),
        Err(_) => into.record_negative_us(us.unsigned_abs()),
    };
    for publication in 0..PUBLICATIONS {
        let seen = || mine().map(|s| latency_us(s, publication));
        seen().for_each(|us| put(&mut record.times.latency, us));
        let mut sketch: Vec<(u16, u32)> = seen().map(|us| (sketch_bin(us), 1)).collect();
        sketch.sort_unstable();
        record.broadcasts.push(Broadcast {
            channel: 0,
            sequence: publication,
            due_second: 0,
            sent_after_us: 0,
            planned: mine().count() as u32,
            received: mine().count() as u32,
            first_us: seen().min().unwrap_or(0),
            last_us: seen().max().unwrap_or(0),
            sketch,
            sampled: false,
        });
    }
    let n = mine().count() as u64 * PUBLICATIONS;
    (record.counts.intended, record.counts.delivered, record.counts.received) = (n, n, n);
    record.counts.publications_due = if shard == 0 { PUBLICATIONS } else { 0 };
    record
}

/// The same scenario driven by one thread, by two, and by three in two processes: the same counts.
fn driven(bench: &mut Bench) -> anyhow::Result<()> {
    let mut counts = Vec::new();
    for (threads, agents) in [(1, 0), (2, 0), (3, 2)] {
        let ask = Ask::builtin("websocket")
            .connections(bench.scale.pick(21, 201))
            .duration(bench.scale.pick(2_000, 10_000))
            .top(&format!("threads = {threads}"))
            .top(&format!("agents = {agents}"))
            .subscriptions("channels = 3")
            .subscriptions("per_connection = 2")
            .rate(20.0)
            .arguments(&["--drop", "1/7", "--dup", "1/11"]);
        let measured = bench.run(&ask)?;
        let d = measured.delivery();
        counts.push(format!("{} of {}, {} again", d.delivered + d.late, d.intended, d.duplicate));
    }
    let one = counts.remove(0);
    for (who, theirs) in ["2 threads", "3 threads of 2 agents"].into_iter().zip(counts) {
        bench.keep(Check::exact(format!("counts of 1 thread and of {who}"), one.clone(), theirs));
    }
    Ok(())
}
