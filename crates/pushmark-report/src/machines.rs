//! The other machines of a case: what each did, what it cost them, and how far their clocks may be apart.

use maud::{Markup, html};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::table::{Cell, Table};
use pushmark_model::run::{AgentClock, Arm};

use super::case::{ArmView, Case};

/// Renders the section; nothing if all was done on one machine.
pub(crate) fn html(case: &Case<'_>) -> Markup {
    let table = table(case);
    let id = format!("{}machines", case.key);
    html! {
        @if !table.rows.is_empty() {
            section.part {
                h2 { "Machines" }
                p.s { (note(case)) }
                div.full { (table.html(&id)) }
            }
        }
    }
}

fn starts<'c>(case: &'c Case<'_>) -> impl Iterator<Item = &'c Arm> {
    case.arms.iter().flat_map(|arm| arm.starts.iter().copied())
}

fn note(case: &Case<'_>) -> String {
    let share = case.arms.iter().find_map(ArmView::loopback_share);
    let ms = |us: Option<i64>| us.map_or("–".to_owned(), |us| PAGE.three(us as f64 / 1_000.0));
    let share = share.map_or(String::new(), |[p50, p99]| {
        format!(
            " Published and received on one machine: p50 {}, p99 {} ms; no second clock is in these.",
            ms(p50),
            ms(p99)
        )
    });
    format!(
        "A clock's interval holds its offset from the coordinator's through all of measure; a latency between two \
         machines is uncertain by as much as both together. It is found by probes; what a machine says of its own wall clock is \
         shown, and nothing rests on it.{share}"
    )
}

fn table(case: &Case<'_>) -> Table {
    let columns = [
        ("arm", "arm"),
        ("machine", "machine"),
        ("did", "did"),
        ("clients", "clients"),
        ("busiest core, %", "busiest_core"),
        ("other programs, %", "foreign_cpu"),
        ("clock from, µs", "clock_low_us"),
        ("to", "clock_high_us"),
        ("its wall clock", "wall_clock"),
        ("lost", "lost"),
    ];
    let mut table = Table::new(&columns);
    let share = |share: f64| Cell::number(Some(share * 100.0));
    let bound = |clock: Option<AgentClock>, of: fn(AgentClock) -> f64| Cell::number(clock.map(of));
    for arm in starts(case) {
        let name = arm.transport.name();
        for agent in &arm.agents {
            table.push(vec![
                Cell::text(name),
                Cell::text(format!("{} ({})", agent.name, agent.host)),
                Cell::text("load"),
                Cell::count(agent.connections),
                share(agent.generator.busiest_core),
                share(agent.foreign.cpu),
                bound(agent.clock, |clock| clock.low_us),
                bound(agent.clock, |clock| clock.high_us),
                Cell::text(agent.wall_clock.clone()),
                Cell::text(agent.lost.clone().unwrap_or_default()),
            ]);
        }
        if let Some(monitor) = &arm.monitor {
            table.push(vec![
                Cell::text(name),
                Cell::text(format!("{} ({})", monitor.name, monitor.host)),
                Cell::text(if monitor.started { "server, started and watched" } else { "server, watched" }),
                Cell::absent(),
                Cell::absent(),
                Cell::absent(),
                bound(monitor.clock, |clock| clock.low_us),
                bound(monitor.clock, |clock| clock.high_us),
                Cell::text(monitor.wall_clock.clone()),
                Cell::text(monitor.lost.clone().unwrap_or_default()),
            ]);
        }
    }
    table
}
