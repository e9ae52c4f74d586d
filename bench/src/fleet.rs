//! A fleet that this machine does not have: what a coordinator does for ten million clients of 1,000 agents. Each agent's
//! orders are written and sealed, its records are read and added, and the arm is closed. No socket is opened.

use std::net::SocketAddr;

use clap::Args as ClapArgs;
use pushmark_cluster::{SealKey, Signer, wire};
use pushmark_model::agent::{Begin, RemoteOrder, Said};
use pushmark_model::cluster::Terms;
use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::{ArmPlan, ShardPlan};
use pushmark_model::record::Record;
use pushmark_model::transport::Transport;
use pushmark_run::gather::Gathered;

use crate::plan::{Ask, arm};
use crate::run::Common;
use crate::table::Table;
use crate::usage;

/// Longest time for all of it, on one core.
const WITHIN_S: f64 = 10.0;
/// Publications to all clients, one a second.
const SECONDS: u32 = 3;

/// Flags of `fleet`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Clients of all agents together
    #[arg(long, default_value_t = 10_000_000)]
    clients: u64,
    /// Agents, of one shard each
    #[arg(long, default_value_t = 1_000)]
    agents: u32,
}

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let arm = arm(&Ask::of(Transport::Sse, args.clients, 1_000_000));
    let mut table = Table::new(
        format!("{} clients, {} agents, {SECONDS} deliveries to each client", args.clients, args.agents),
        &["what", "CPU-s"],
    );
    let (planned_s, bytes) = timed(|| planned(&arm, args.agents))?;
    let said = said(args);
    let (merged_s, received) = timed(|| merged(&arm, args.agents, &said))?;
    table.row(vec!["orders written, sealed and signed".to_owned(), format!("{planned_s:.2}")]);
    table.row(vec!["records read and added, the arm closed".to_owned(), format!("{merged_s:.2}")]);
    let all_s = planned_s + merged_s;
    table.row(vec!["both".to_owned(), format!("{all_s:.2}")]);
    table.note(format!(
        "orders: {} KiB, records: {} KiB",
        bytes >> 10,
        said.iter().map(Vec::len).sum::<usize>() >> 10
    ));
    table.note(format!("resident at the end: {} MiB", usage::rss_bytes() >> 20));
    table.target(format!("all within {WITHIN_S} s of one core: {all_s:.2} s"), all_s <= WITHIN_S);
    let whole = args.clients * u64::from(SECONDS);
    table.target(format!("every delivery is in the sum: {received} of {whole}"), received == whole);
    Ok(table.print(common.format))
}

/// Returns the CPU time of some work on this thread, s, with its result.
fn timed<R>(work: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<(f64, R)> {
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    let before_ns = usage::of_thread(me).cpu_ns;
    let done = work()?;
    Ok(((usage::of_thread(me).cpu_ns - before_ns) as f64 / 1e9, done))
}

/// Writes the order of each agent. Returns their length, bytes.
fn planned(arm: &ArmPlan, agents: u32) -> anyhow::Result<usize> {
    let (signer, _) = Signer::draw()?;
    let to: SocketAddr = "192.0.2.1:80".parse()?;
    let mut bytes = 0;
    let mut clients = 0;
    for shard in 0..agents {
        let plan = ShardPlan {
            arm: arm.clone(),
            shard,
            shards: agents,
            start_ns: 0,
            subscribe_to: to,
            half: None,
            publish_to: None,
            before_to: Vec::new(),
            port: 80,
            clock_ahead_us: 0,
            machine_shards: vec![shard],
        };
        clients += arm.share_of(shard, agents, None);
        let terms = Terms { challenge: [0; 16], seal_to: SealKey::draw().public() };
        let order = RemoteOrder::Begin { arm: 0, begin: Begin::new(&[plan], &[]), run: String::new() };
        let signed = signer.sign(&format!("agent-{shard}"), "bench", terms, 1, &order)?;
        bytes += wire::encode(&signed).len();
    }
    anyhow::ensure!(clients == arm.connections, "{clients} of {} clients are planned", arm.connections);
    Ok(bytes)
}

/// What the agents say, as it comes over the bus: a record for each second, and a last one.
fn said(args: &Args) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for second in 0..=SECONDS {
        for shard in 0..args.agents {
            let mut draw = Draw::new(u64::from(second), Purpose::Nonce, u64::from(shard));
            let mut record = Record { shard, second, last: second == SECONDS, ..Record::default() };
            let clients = (args.clients - u64::from(shard)).div_ceil(u64::from(args.agents));
            record.connected = clients;
            if second < SECONDS {
                record.counts.received = clients;
                for _ in 0..clients {
                    // From some µs to a second: a wide distribution is the dear one.
                    let latency_ns = 1_000 << draw.below(20);
                    let latency_ns = latency_ns + draw.below(latency_ns);
                    record.times.latency.record_ns(0, latency_ns);
                    record.times.read_lag.record_ns(0, latency_ns / 8);
                }
            }
            all.push(wire::encode(&Said::Record(Box::new(record))));
        }
    }
    all
}

/// Adds what was said. Returns the deliveries in the sum.
fn merged(arm: &ArmPlan, agents: u32, said: &[Vec<u8>]) -> anyhow::Result<u64> {
    let mut gathered = Gathered::new(arm, agents);
    for message in said {
        let Some(Said::Record(record)) = wire::decode::<Said>(message) else { anyhow::bail!("no record") };
        gathered.add(&record);
    }
    gathered.close()?;
    anyhow::ensure!(gathered.is_complete(), "a shard has not ended");
    Ok(gathered.total().counts.received)
}
