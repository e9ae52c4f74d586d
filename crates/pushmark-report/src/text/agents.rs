//! The other machines of an arm: the agents that made its load, and the monitor beside its server; their shares, and
//! how far their clocks may be apart.

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::terminal::Pen;
use pushmark_model::run::{AgentClock, AgentPart, MonitorPart, VerdictState};

use super::super::case::{ArmView, Case};

/// Writes a blank line, a head and a line a machine of the first arm; nothing if all was done here.
pub(super) fn lines(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let starts = || case.arms.iter().flat_map(|arm| arm.starts.iter());
    let monitors = || starts().filter_map(|start| start.monitor.as_ref());
    let agents = starts().find(|start| !start.agents.is_empty()).map_or(&[][..], |start| &start.agents);
    if agents.is_empty() && monitors().next().is_none() {
        return Vec::new();
    }
    let head = format!(
        "  {:18}{:>9}{:>10}{:>15}{:>18}",
        if agents.is_empty() { "machines".to_owned() } else { format!("{} agents", agents.len()) },
        "shards",
        "clients",
        "busiest core",
        "clock within µs"
    );
    let mut out = vec![String::new(), pen.dim(&head)];
    for agent in agents {
        let lost = starts()
            .flat_map(|start| start.agents.iter())
            .find(|other| other.name == agent.name && other.lost.is_some());
        out.push(line(lost.unwrap_or(agent), pen));
    }
    let apart_us = case.arms.iter().filter_map(ArmView::clocks_us);
    out.extend(apart_us.reduce(f64::max).map(|us| {
        pen.dim(&format!("  of two machines: a latency may be off by {} ms", TERMINAL.three(us / 1_000.0)))
    }));
    out.extend(case.arms.iter().find_map(loopback_share).map(|text| pen.dim(&text)));
    let lost = monitors().find(|monitor| monitor.lost.is_some());
    out.extend(lost.or_else(|| monitors().next()).map(|monitor| monitor_line(monitor, pen)));
    out
}

/// The latency that no second clock is in.
fn loopback_share(arm: &ArmView<'_>) -> Option<String> {
    let [p50, p99] = arm.loopback_share()?;
    let ms = |us: Option<i64>| us.map_or("–".to_owned(), |us| TERMINAL.three(us as f64 / 1_000.0));
    Some(format!("  of one machine, no second clock: p50 {}, p99 {} ms", ms(p50), ms(p99)))
}

fn monitor_line(monitor: &MonitorPart, pen: &Pen) -> String {
    let did = if monitor.started { "started and watched the server" } else { "watched the server" };
    let lost = if monitor.lost.is_some() { "   lost" } else { "" };
    format!(
        "{}{}{did:>34}{:>18}{lost}",
        pen.gutter(state(monitor.lost.as_ref())),
        pen.bold(&format!("{:18}", monitor.name)),
        clock(monitor.clock)
    )
}

fn state(lost: Option<&String>) -> VerdictState {
    if lost.is_some() { VerdictState::Incomplete } else { VerdictState::Valid }
}

fn clock(clock: Option<AgentClock>) -> String {
    clock.map_or("not known".to_owned(), |clock| {
        format!("{} … {}", TERMINAL.three(clock.low_us), TERMINAL.three(clock.high_us))
    })
}

fn line(agent: &AgentPart, pen: &Pen) -> String {
    let lost = if agent.lost.is_some() { "   lost" } else { "" };
    format!(
        "{}{}{:>9}{:>10}{:>13} %{:>18}{lost}",
        pen.gutter(state(agent.lost.as_ref())),
        pen.bold(&format!("{:18}", agent.name)),
        agent.shards,
        TERMINAL.count(agent.connections),
        TERMINAL.three(agent.generator.busiest_core * 100.0),
        clock(agent.clock)
    )
}
