//! A figure of a suite in the page: number and title, the paragraph on what it shows, the drawing or the
//! matrix, caption, downloads and table.

use maud::{Markup, html};
use pushmark_chart::canvas::Drawing;
use pushmark_chart::file;
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::words;
use pushmark_model::suite::Figure;

use super::super::figure::{data, inline};
use super::cells::View;

/// The content that a kind of figure makes.
pub(crate) struct Drawn {
    /// Sentences made by rules from the data.
    pub(crate) says: Vec<String>,
    /// How it was measured.
    pub(crate) caption: String,
    pub(crate) body: Body,
    /// The same numbers, with interval, n and reason as columns.
    pub(crate) table: Table,
}

/// The part between the paragraph and the caption.
pub(crate) enum Body {
    /// Two drawings of one function of the width.
    Drawing { wide: Drawing, narrow: Drawing },
    /// An HTML table.
    Html(Markup),
}

/// A figure and its drawing.
pub(crate) struct Entry {
    pub(crate) figure: Figure,
    pub(crate) drawn: Result<Drawn, String>,
}

impl Entry {
    /// Returns the name of the figure as part of an address.
    pub(crate) fn anchor(&self) -> String {
        format!("f-{}", plain(&self.figure.id))
    }

    /// Renders the figure for the page.
    pub(crate) fn html(&self, view: &View<'_>) -> Markup {
        let id = self.anchor();
        let name = format!("{}-{}", view.suite.name, self.figure.id);
        html! {
            figure.full id=(id) {
                h3 {
                    @if let Some(number) = &self.figure.number { span { (number) } " " }
                    (self.figure.title)
                }
                @match &self.drawn {
                    Err(reason) => p.none { "– not drawn: " (reason) },
                    Ok(drawn) => {
                        p.s { (drawn.says.join(" ")) }
                        @match &drawn.body {
                            Body::Html(body) => (body),
                            Body::Drawing { wide, narrow } => div.d {
                                (inline(&id, "w", wide, &self.figure.title, &self.words(drawn)))
                                (inline(&id, "x", narrow, &self.figure.title, &self.words(drawn)))
                            },
                        }
                        span.links {
                            @if let Some(csv) = self.csv(view) {
                                a download={ (name) ".csv" } href=(data("text/csv", &csv)) { "CSV" }
                            }
                            @if let Some(svg) = self.svg(view) {
                                // Only one kind of quote, because the other is an entity in every text.
                                a download={ (name) ".svg" } href=(data("image/svg+xml", &svg.replace('"', "'"))) { "SVG" }
                            }
                        }
                        figcaption { (self.caption(view, drawn)) }
                        details { summary { "table" } (drawn.table.html(&format!("{id}-table"))) }
                    }
                }
            }
        }
    }

    /// Returns the caption; if crowds or cycles were shrunk, each figure states it.
    fn caption(&self, view: &View<'_>, drawn: &Drawn) -> String {
        match shrunk(view) {
            Some(scale) => format!("{}; {scale}", drawn.caption),
            None => drawn.caption.clone(),
        }
    }

    fn words(&self, drawn: &Drawn) -> String {
        format!("{} {}.", drawn.says.join(" "), drawn.caption)
    }

    pub(crate) fn svg(&self, view: &View<'_>) -> Option<String> {
        let drawn = self.drawn.as_ref().ok()?;
        let Body::Drawing { wide, .. } = &drawn.body else { return None };
        Some(file::svg(wide, &self.figure.title, &drawn.says.join(" "), &source(view, &self.figure)))
    }

    /// Renders the table as a separate file, with the suite on each line.
    pub(crate) fn csv(&self, view: &View<'_>) -> Option<String> {
        let mut table = self.drawn.as_ref().ok()?.table.clone();
        table.columns.push(("suite".into(), "suite".into()));
        for row in &mut table.rows {
            row.push(Cell::text(view.suite.name.clone()));
        }
        Some(table.csv())
    }

    pub(crate) fn drawings(self) -> Option<(String, Drawing, Drawing)> {
        match self.drawn.ok()?.body {
            Body::Drawing { wide, narrow } => Some((self.figure.id, wide, narrow)),
            Body::Html(_) => None,
        }
    }
}

/// Describes how crowds and cycles were shrunk; `None` if they are as written.
fn shrunk(view: &View<'_>) -> Option<String> {
    let as_written = view.suite.scale == 1.0 && view.suite.scale_time == 1.0;
    (!as_written).then(|| scale(view))
}

/// Turns a name into part of an address or an id.
pub(crate) fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Returns the source line of a downloaded figure: suite, number, verdicts, n, version.
fn source(view: &View<'_>, figure: &Figure) -> String {
    let mut parts = vec![format!("suite {}", view.suite.name)];
    if let (Some(study), Some(number)) = (&view.suite.study, &figure.number) {
        parts.push(format!("{number} of study {}", study.number));
    }
    parts.push(verdicts(view));
    parts.push(starts(view));
    parts.extend(shrunk(view));
    if let Some(run) = view.run() {
        parts.push(format!("pushmark {}", run.pushmark_version));
    }
    parts.join(" · ")
}

/// Returns `scale 1: as written`, or how crowds and cycles were shrunk.
pub fn scale(view: &View<'_>) -> String {
    let share = |v: f64| pushmark_chart::scale::plain_tick(v);
    match (view.suite.scale, view.suite.scale_time) {
        (1.0, 1.0) => "scale 1: as written".into(),
        (crowd, 1.0) => format!("scale {}: crowds and cycles shrunk", share(crowd)),
        (1.0, time) => format!("scale of time {}: cycles shrunk", share(time)),
        (crowd, time) => format!("scale {}, of time {}: crowds and cycles shrunk", share(crowd), share(time)),
    }
}

/// Returns `150 valid, 3 suspect, 39 refused`.
pub fn verdicts(view: &View<'_>) -> String {
    let parts: Vec<String> = view.counts().into_iter().map(|(f, n)| format!("{n} {}", f.name())).collect();
    if parts.is_empty() { "no case".into() } else { parts.join(", ") }
}

/// Returns `n = 5`, `n = 1 to 3`.
pub(crate) fn starts(view: &View<'_>) -> String {
    match view.starts() {
        None => "nothing was run".into(),
        Some((least, most)) if least == most => format!("n = {least}"),
        Some((least, most)) => format!("n = {least} to {most}"),
    }
}

/// Returns `16 cases × 5 starts`.
pub(crate) fn size(view: &View<'_>) -> String {
    let cases = words::plural(view.cells.len(), "case");
    let starts = words::plural(view.suite.repeat as usize, "start");
    format!("{cases} × {starts}")
}
