//! The result of a search in one sentence.

use pushmark_chart::numbers::Notation;
use pushmark_model::search::{Ended, Over, SearchFile, Side};

/// Returns the answer, `820 connections held, 840 not`, and remarks on it: a sentence each.
pub(super) fn answer(file: &SearchFile, n: &Notation) -> Vec<String> {
    let unit = file.over.name();
    let load = |at: f64| format!("{} {unit}", load(file.over, at, n));
    let found = &file.found;
    let held = |side: Side<f64>| {
        let often = format!("in {} of {} probes", side.held, side.held + side.failed);
        let long = if found.confirmed { ", the longest of them last" } else { "" };
        format!("{} held {often}{long}", load(side.at))
    };
    let not = |side: Side<f64>, at: String| match side.failed {
        0 => format!("{at} could not be probed"),
        failed => format!("{at} failed in {failed} of {}", side.held + failed),
    };
    let mut out = vec![match (found.held, found.not) {
        (Some(low), Some(high)) => format!("{}; {}", held(low), not(high, load_of(file, high.at, n))),
        (Some(low), None) => held(low),
        (None, Some(high)) => format!("nothing held: {}", not(high, load(high.at))),
        (None, None) => "nothing was probed".to_owned(),
    }];
    out.extend(match found.ended {
        Ended::Bracketed => None,
        Ended::Most => Some("it is the highest load of the search: --to searches further".to_owned()),
        Ended::LowestFails => Some("it is the lowest load of the search".to_owned()),
        Ended::Machine => Some("above it this machine, not the server, is the limit".to_owned()),
        Ended::Generator => Some("above it the generator, not the server, is the limit".to_owned()),
        Ended::Probes => Some("all allowed probes were used: --probes allows more".to_owned()),
        Ended::Stopped => Some("the search was stopped before its end".to_owned()),
    });
    if found.held.is_some() && !found.confirmed {
        out.push("the lower side is not confirmed".to_owned());
    }
    for inversion in &found.inversions {
        let (failed, held) = (load_of(file, inversion.failed, n), load_of(file, inversion.held, n));
        out.push(format!("not in order: {failed} failed, and {held} held"));
    }
    out
}

fn load_of(file: &SearchFile, at: f64, n: &Notation) -> String {
    load(file.over, at, n)
}

/// A load without its unit.
pub(super) fn load(over: Over, at: f64, n: &Notation) -> String {
    match over {
        Over::Connections => n.count(at as u64),
        Over::Rate if at.fract() == 0.0 => n.count(at as u64),
        Over::Rate => n.three(at),
    }
}
