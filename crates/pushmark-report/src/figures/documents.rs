//! What a server says of its own answers (instrumented requests), beside what the clients saw of the same emits.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::table::{Cell, Table};
use pushmark_model::run::Documents;

use super::asking::{Of, draw, time_rows, with_tail};
use crate::case::{ArmView, Case};
use crate::figure::{Figure, HALF, both};

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    let arm = case.arms.iter().find(|a| read(a).next().is_some())?;
    let times: [(&'static str, Of); 4] = [
        ("to a request", |a| Some(&a.documents.as_ref()?.emit)),
        ("whole emit", |a| Some(&a.documents.as_ref()?.emit_duration)),
        ("last client", |a| Some(&a.delivery.as_ref()?.spread.as_ref()?.last)),
        ("held", |a| Some(&a.documents.as_ref()?.held)),
    ];
    let (wide, narrow) = both(HALF, |size| draw(case, arm, "documents", &[], &times, size));
    let sum = |f: fn(&Documents) -> u64| -> u64 { read(arm).map(f).sum() };
    let mut table = Table::new(&[("quantity", "quantity"), ("value", "value")]);
    let mut push = |name: &str, cell: Cell| table.push(vec![Cell::text(name), cell]);
    push("documents read", Cell::count(sum(|d| d.read)));
    push("of them time-outs", Cell::count(sum(|d| d.timeouts)));
    push("answers that were no such document", Cell::count(sum(|d| d.unreadable)));
    let receivers = arm.estimate(|a| a.documents.as_ref()?.receivers, false).map(|e| e.value);
    push("requests that an event was emitted to, mean", Cell::number(receivers));
    push("most requests registered", Cell::count(read(arm).map(|d| d.registered_max).max().unwrap_or(0)));
    time_rows(&mut table, arm, &times);
    let receivers = receivers.map_or_else(|| "–".to_owned(), |n| PAGE.three(n));
    Some(Figure {
        id: "documents",
        title: "Emits by the server's own clock".into(),
        sentence: format!("By its own count the server emitted each event to {receivers} requests."),
        caption: format!(
            "{}; to a request, whole emit: from the beginning of the emit, by the server's clock; last client: received − due; held: from a request's arrival to its answer, by the server's clock; marker p50, tick p99",
            case.statistic()
        ),
        wide,
        narrow,
        table: with_tail(table, arm),
    })
}

fn read<'a>(arm: &'a ArmView<'_>) -> impl Iterator<Item = &'a Documents> {
    arm.starts.iter().filter_map(|start| start.documents.as_ref())
}
