//! How floods ended: the word of each start, and the likeliest limit.

use pushmark_model::run::Flood;
use pushmark_report::suite::parts::View;

use super::{NOTHING_NAMED, by_value};
use crate::questions::Question;

/// Returns a sentence for each value of the axis.
pub(super) fn answer(view: &View<'_>, question: &Question) -> String {
    let Some(groups) = by_value(view, question) else { return NOTHING_NAMED.into() };
    let mut sentences = Vec::new();
    for (value, cells) in groups {
        let floods: Vec<&Flood> = cells
            .iter()
            .flat_map(|c| c.arms())
            .flat_map(|a| a.starts.iter().filter_map(|s| s.flood.as_ref()))
            .collect();
        if !floods.is_empty() {
            sentences.push(format!("{value}: {}.", ends(&floods)));
        }
    }
    if sentences.is_empty() { "No flood of it was run yet.".into() } else { sentences.join(" ") }
}

/// Returns `the server died (heap) in 2 of 3`; an ending that all share has no count.
fn ends(floods: &[&Flood]) -> String {
    let mut ends: Vec<(String, usize)> = Vec::new();
    for flood in floods {
        let limit = flood.limits.first();
        let limit = limit.map_or("no limit shows".to_string(), |l| {
            format!("{}{}", l.kind.replace('_', " "), if l.ours { ", which is ours" } else { "" })
        });
        let end = format!("{} ({limit})", flood.end.words());
        match ends.iter_mut().find(|e| e.0 == end) {
            Some(known) => known.1 += 1,
            None => ends.push((end, 1)),
        }
    }
    match ends.as_slice() {
        [(end, _)] => end.clone(),
        _ => {
            let of = floods.len();
            let each: Vec<String> = ends.iter().map(|(end, n)| format!("{end} in {n} of {of}")).collect();
            each.join("; ")
        }
    }
}
