//! The agents on other machines that made an arm's load: their shares, and how far their clocks may be apart.

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::terminal::Pen;
use pushmark_model::run::{AgentPart, VerdictState};

use super::super::case::Case;

/// Writes a blank line, a head and a line an agent of the first arm; nothing if the load was made here.
pub(super) fn lines(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let starts = case.arms.iter().flat_map(|arm| arm.starts.iter());
    let Some(first) = starts.clone().find(|start| !start.agents.is_empty()) else { return Vec::new() };
    let head = format!(
        "  {:18}{:>9}{:>10}{:>15}{:>18}",
        format!("{} agents", first.agents.len()),
        "shards",
        "clients",
        "busiest core",
        "clock within µs"
    );
    let mut out = vec![String::new(), pen.dim(&head)];
    for agent in &first.agents {
        let lost = starts
            .clone()
            .flat_map(|start| start.agents.iter())
            .find(|other| other.name == agent.name && other.lost.is_some());
        out.push(line(lost.unwrap_or(agent), pen));
    }
    out
}

fn line(agent: &AgentPart, pen: &Pen) -> String {
    let state = if agent.lost.is_some() { VerdictState::Incomplete } else { VerdictState::Valid };
    let clock = agent.clock.map_or("not known".to_owned(), |clock| {
        format!("{} … {}", TERMINAL.three(clock.low_us), TERMINAL.three(clock.high_us))
    });
    let lost = if agent.lost.is_some() { "   lost" } else { "" };
    format!(
        "{}{}{:>9}{:>10}{:>13} %{:>18}{lost}",
        pen.gutter(state),
        pen.bold(&format!("{:18}", agent.name)),
        agent.shards,
        TERMINAL.count(agent.connections),
        TERMINAL.three(agent.generator.busiest_core * 100.0),
        clock
    )
}
