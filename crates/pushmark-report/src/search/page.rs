//! A search as one offline page: the answer, the conditions, and every probe with its run.

use maud::{DOCTYPE, html};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::tokens::glyph;
use pushmark_model::run::VerdictState;
use pushmark_model::search::{Answer, SearchFile};

use super::{text, words};
use crate::page::head;

/// Style rules in addition to those of every page.
const MORE: &str = "table.probes td,table.probes th{padding:2px 18px 2px 0;text-align:left}\
    table.probes .n{text-align:right}table.probes tr.not td{color:var(--ink2)}";

/// The document.
pub(super) fn html(file: &SearchFile) -> String {
    let mut sentences = words::answer(file, &PAGE).into_iter();
    let title = sentences.next().unwrap_or_default();
    let foot = format!("pushmark find-max {} {}", file.name, file.started_at);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{}: {title}", file.name), &foot, MORE))
            body {
                main {
                    h1 { (file.name) ": " (title) }
                    p.sub {
                        (file.target) " · " (file.transport) " · over " (file.over.name())
                        " · a fresh server each probe · " (file.started_at)
                    }
                    @for sentence in sentences { p.s { (capital(&sentence)) "." } }
                    section.part {
                        h2 { "Conditions" }
                        ul.method { @for expression in &file.keep { li { code { (expression) } } } }
                    }
                    section.part {
                        h2 { "Probes" }
                        (probes(file))
                    }
                    section.part {
                        h2 { "How it was searched" }
                        ul.method {
                            li { "The load is doubled until a condition fails, then bisected to "
                                (PAGE.percent(file.limits.precision)) " of the lower side; "
                                (file.limits.runs) " runs of each side; the lower side once more in a longer window." }
                            li { "A load that failed once does not count as held: chance can lower the result, never raise it." }
                            li { "A probe with invalid figures is repeated once, then bounds the search." }
                        }
                        pre { (file.command) }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn probes(file: &SearchFile) -> maud::Markup {
    html! {
        table.probes {
            thead { tr {
                th.n { "#" } th.n { (file.over.name()) } th { "why" } th.n { "window" } th { "answer" }
                th { "values" } th { "verdict" } th { "run" }
            } }
            tbody {
                @for (i, row) in file.probes.iter().enumerate() {
                    @let state = row.verdict.unwrap_or(VerdictState::Valid);
                    tr class=[(row.answer != Answer::Held).then_some("not")] {
                        td.n { (i + 1) }
                        td.n { (words::load(file.over, row.at, &PAGE)) }
                        td { (text::why(row)) }
                        td.n { (PAGE.duration(row.window_s * 1e6)) }
                        td { (text::answer_word(row.answer)) }
                        td { (text::values(row)) }
                        td { @if row.verdict.is_some() { span class=(state.name()) { (glyph(state)) " " (state.name()) } } @else { "–" } }
                        td { @if let Some(run) = &row.run { a href={ (run) "/report.html" } { (run) } } @else { "–" } }
                    }
                }
            }
        }
    }
}

fn capital(text: &str) -> String {
    pushmark_chart::words::capital(text)
}
