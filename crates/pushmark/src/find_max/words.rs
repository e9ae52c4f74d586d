//! What a search found, in a sentence, and how the process ends with it.

use pushmark_model::search::{Ended, Found, Over, SearchFile, Side};

use crate::exit::Exit;
use crate::report::numbers::Notation;

/// `820 connections held, 840 not`, and what is to be known of it: a sentence each.
pub(crate) fn answer(file: &SearchFile, n: &Notation) -> Vec<String> {
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
        Ended::Most => Some("it is the highest load asked for: --to searches further".to_owned()),
        Ended::LowestFails => Some("it is the lowest load asked for".to_owned()),
        Ended::Machine => Some("beyond it lies what this machine can hold, not the server".to_owned()),
        Ended::Generator => {
            Some("beyond it the figures are not the server's: this is the generator's limit".to_owned())
        }
        Ended::Probes => Some("the probes allowed were used up: --probes allows more".to_owned()),
        Ended::Stopped => Some("the search was stopped: this is how far it came".to_owned()),
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

/// Whatever was found is a result; nothing that holds crosses what was asked.
pub(super) fn exit_of(found: &Found<f64>) -> Exit {
    match (found.ended, found.held.is_some()) {
        (Ended::Probes, _) => Exit::Incomplete,
        (Ended::Stopped, _) => Exit::Pass,
        (_, true) => Exit::Pass,
        (Ended::Machine, false) => Exit::Refused,
        (Ended::Generator, false) => Exit::Invalid,
        (_, false) => Exit::Threshold,
    }
}
