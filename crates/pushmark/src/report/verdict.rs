//! The verdict strip: what may be believed, before any figure is read. Then the arms, then the
//! thresholds, failed first.

use maud::{Markup, PreEscaped, html};
use pushmark_model::run::{Reason, VerdictState};

use super::canvas::Canvas;
use super::case::Case;
use super::marks::marker;
use super::numbers::PAGE;
use super::thresholds::{self, Outcome};
use super::tokens::glyph;
use super::words;

/// Reasons that stand open; the rest is folded.
const OPEN: usize = 3;

/// The sentence of the strip, in two halves: what is doubted, and what of the rest.
pub(crate) fn sentence(case: &Case<'_>) -> (String, String) {
    let state = case.state();
    let worst: Vec<&str> = case.arms.iter().filter(|a| a.state == state).map(|a| a.name()).collect();
    let all = case.arms.len();
    let whole_run = state != VerdictState::Valid && (worst.is_empty() || worst.len() == all);
    if state == VerdictState::Valid {
        let arms = match all {
            1 => "the arm".to_string(),
            n => format!("all {} arms", words::number(n)),
        };
        return (format!("The figures of {arms} can be believed."), String::new());
    }
    let doubt = match state {
        VerdictState::Suspect => "doubtful",
        VerdictState::Incomplete => "incomplete: stopped before the end",
        _ => "not the server's",
    };
    if whole_run {
        let of = if all == 1 { "this run" } else { "all arms" };
        return (format!("The figures of {of} are {doubt}."), String::new());
    }
    let many =
        if worst.len() == 1 { "one arm".to_string() } else { format!("{} arms", words::number(worst.len())) };
    let first =
        format!("The figures of {many} of {} are {doubt}: {}.", words::number(all), words::list(&worst));
    let rest: Vec<_> = case.arms.iter().filter(|a| a.state != state).collect();
    let second = if rest.iter().all(|a| a.state == VerdictState::Valid) {
        match rest.len() {
            1 => format!("The other, {}, is valid.", rest[0].name()),
            n => format!("The other {} are valid.", words::number(n)),
        }
    } else {
        let named: Vec<String> = rest.iter().map(|a| format!("{} is {}", a.name(), a.state.name())).collect();
        format!("Of the others {}.", named.join(", "))
    };
    (first, second)
}

/// The strip.
pub(crate) fn strip(case: &Case<'_>) -> Markup {
    let state = case.state();
    let reasons = case.reasons();
    let (first, second) = sentence(case);
    html! {
        section class={ "strip " (state.name()) } aria-label="verdict" {
            p.word { span { (glyph(state)) } " " (state.name()) }
            div {
                p { b { (first) } " " (second) }
                @for reason in reasons.iter().take(OPEN) { (said(reason)) }
                @if reasons.len() > OPEN {
                    details.more {
                        summary { (reasons.len() - OPEN) " more" }
                        @for reason in &reasons[OPEN..] { (said(reason)) }
                    }
                }
            }
        }
    }
}

fn said(reason: &Reason) -> Markup {
    html! {
        dl {
            dt { "seen" } dd { (reason.seen) }
            dt { "why it matters" } dd { (reason.why) }
            dt { "try" } dd { (with_code(&reason.try_)) }
        }
    }
}

/// Words that begin like an option are set as code, with their values.
fn with_code(text: &str) -> Markup {
    html! {
        @for (i, word) in text.split_inclusive(' ').enumerate() {
            @let bare = word.trim_end_matches([' ', ',', '.']);
            @let code = bare.starts_with("--") || (bare.contains('=') && i > 0);
            @if code { code { (bare) } (&word[bare.len()..]) } @else { (word) }
        }
    }
}

/// Marker, name, verdict, outcome of each arm.
pub(crate) fn arms(case: &Case<'_>) -> Markup {
    html! {
        ul.arms {
            @for arm in &case.arms {
                li {
                    (key(arm.mark, arm.state))
                    b style={ "color:" (arm.mark.paint) } { (arm.name()) }
                    " " span class=(arm.state.name()) { (glyph(arm.state)) " " (arm.state.name()) }
                    " · " (arm.outcome.name())
                    @if let Some(error) = arm.starts.iter().find_map(|a| a.error.as_ref()) { ": " (error) }
                }
            }
        }
    }
}

/// A marker in a line of text.
pub(crate) fn key(mark: super::tokens::Mark, state: VerdictState) -> Markup {
    let mut canvas = Canvas::new("k", 14.0, 14.0);
    marker(&mut canvas, mark, state, 7.0, 7.0);
    html! { svg.key width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" { (PreEscaped(canvas.finish().body)) } }
}

/// Each threshold, failed first.
pub(crate) fn threshold_list(case: &Case<'_>) -> Markup {
    let rows = thresholds::rows(case);
    html! {
        @if !rows.is_empty() {
            ul.thresholds {
                @for row in &rows {
                    li {
                        code { (row.expression) } " "
                        @let words = row.words(&PAGE, "fail");
                        @if row.outcome() == Outcome::Pass { (words) } @else { b { (words) } }
                    }
                }
            }
        }
    }
}
