//! The verdict strip above all figures: which figures can be trusted. Then the arms, then the thresholds,
//! failed first.

use maud::{Markup, PreEscaped, html};
use pushmark_chart::canvas::Canvas;
use pushmark_chart::marks::marker;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::tokens::glyph;
use pushmark_chart::words;
use pushmark_model::run::{Reason, VerdictState};

use super::case::Case;
use super::thresholds::{self, Outcome};
use super::{doubted, troubles};

/// Reasons that are shown unfolded; the others are folded.
const OPEN: usize = 3;

/// Returns the sentence of the strip in two halves: the doubts, and the rest.
pub(crate) fn sentence(case: &Case<'_>) -> (String, String) {
    let mut sentences =
        doubted::clauses(case).into_iter().map(|clause| format!("{}.", words::capital(&clause)));
    let first = sentences.next().unwrap_or_default();
    (first, sentences.collect::<Vec<_>>().join(" "))
}

/// Renders the strip.
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

/// Renders options and their values as code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (i, word) in text.split_inclusive(' ').enumerate() {
            @let bare = word.trim_end_matches([' ', ',', '.']);
            @let code = bare.starts_with("--") || (bare.contains('=') && i > 0);
            @if code { code { (bare) } (&word[bare.len()..]) } @else { (word) }
        }
    }
}

/// Renders marker, name, verdict and outcome of each arm.
pub(crate) fn arms(case: &Case<'_>) -> Markup {
    html! {
        ul.arms {
            @for arm in &case.arms {
                li {
                    (key(arm.mark, arm.state))
                    b style={ "color:" (arm.mark.paint) } { (arm.name()) }
                    " " span class=(arm.state.name()) { (glyph(arm.state)) " " (arm.state.name()) }
                    " · " (arm.outcome.name())
                    @if let Some(death) = troubles::death(arm) { ": " (death) }
                    @for trouble in troubles::of(arm, &PAGE) { " · " (trouble) }
                    @if let Some(error) = arm.starts.iter().find_map(|a| a.error.as_ref()) { ": " (error) }
                }
            }
        }
    }
}

/// Renders a marker in a line of text.
pub(crate) fn key(mark: pushmark_chart::tokens::Mark, state: VerdictState) -> Markup {
    let mut canvas = Canvas::new("k", 14.0, 14.0);
    marker(&mut canvas, mark, state, 7.0, 7.0);
    html! { svg.key width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" { (PreEscaped(canvas.finish().body)) } }
}

/// Renders each threshold, failed first.
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
