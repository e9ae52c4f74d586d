//! The anatomy all figures share: number and title, the sentence that says what it shows, two
//! drawings of one function of the width, caption, table and downloads.

use maud::{Markup, PreEscaped, html};
use pushmark_chart::canvas::{Drawing, c};
use pushmark_chart::file;
use pushmark_chart::table::Table;

use super::case::Case;

/// Width of a drawing over the whole page.
pub(crate) const FULL: f64 = 1152.0;
/// Width of one of two side by side.
pub(crate) const HALF: f64 = 556.0;
/// Width on a narrow page.
pub(crate) const NARROW: f64 = 372.0;

/// One figure, ready to be numbered.
pub(crate) struct Figure {
    /// Its name for downloads and links.
    pub(crate) id: &'static str,
    /// The quantity.
    pub(crate) title: String,
    /// The sentence on what the figure shows, made by rules from the data.
    pub(crate) sentence: String,
    /// How it was measured.
    pub(crate) caption: String,
    pub(crate) wide: Drawing,
    pub(crate) narrow: Drawing,
    pub(crate) table: Table,
}

/// Which of the two drawings of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    Wide(f64),
    Narrow,
}

impl Size {
    pub(crate) fn width(self) -> f64 {
        match self {
            Size::Wide(width) => width,
            Size::Narrow => NARROW,
        }
    }

    pub(crate) fn is_narrow(self) -> bool {
        self == Size::Narrow
    }

    /// Returns a prefix for ids, unique over figures, cases and both drawings.
    pub(crate) fn id(self, case: &Case<'_>, figure: &str) -> String {
        format!("{}{figure}-{}", case.key, if self.is_narrow() { "n" } else { "w" })
    }
}

/// Draws both sizes.
pub(crate) fn both(width: f64, draw: impl Fn(Size) -> Drawing) -> (Drawing, Drawing) {
    (draw(Size::Wide(width)), draw(Size::Narrow))
}

impl Figure {
    /// Renders the figure for the page.
    pub(crate) fn html(&self, number: usize, case: &Case<'_>) -> Markup {
        let id = format!("{}f{number}", case.key);
        let table_id = format!("{id}-table");
        let name = format!("{}-{}", case.run().id, self.id);
        let class = if self.wide.width > HALF { "full" } else { "half" };
        html! {
            figure id=(id) class=(class) {
                h3 { span { (number) } " " (self.title) }
                p.s { (self.sentence) }
                div.d {
                    (self.inline(&id, "w", &self.wide))
                    (self.inline(&id, "x", &self.narrow))
                }
                span.links {
                    a download={ (name) ".csv" } href=(data("text/csv", &self.csv(case))) { "CSV" }
                    // Only one kind of quote, because the other is an entity in every text.
                    a download={ (name) ".svg" } href=(data("image/svg+xml", &self.svg(case).replace('"', "'"))) { "SVG" }
                }
                figcaption { (self.caption) }
                details { summary { "table" } (self.table.html(&table_id)) }
            }
        }
    }

    fn inline(&self, id: &str, which: &str, drawing: &Drawing) -> Markup {
        inline(id, which, drawing, &self.title, &format!("{} {}.", self.sentence, self.caption))
    }

    /// Renders a separate file with light colours, the figure's sentence and its source.
    pub(crate) fn svg(&self, case: &Case<'_>) -> String {
        file::svg(&self.wide, &self.title, &self.sentence, &source(case))
    }

    /// Renders the table as a separate file, with the run's id on each line.
    pub(crate) fn csv(&self, case: &Case<'_>) -> String {
        let mut table = self.table.clone();
        table.columns.push(("run".into(), "run".into()));
        for row in &mut table.rows {
            row.push(pushmark_chart::table::Cell::text(case.run().id.clone()));
        }
        table.csv()
    }
}

/// Renders a drawing in the page, with its alternative text.
pub(crate) fn inline(id: &str, which: &str, drawing: &Drawing, title: &str, says: &str) -> Markup {
    let (title_id, desc_id) = (format!("{id}{which}t"), format!("{id}{which}d"));
    html! {
        svg class=(which) viewBox={ "0 0 " (c(drawing.width)) " " (c(drawing.height)) }
            width=(c(drawing.width)) height=(c(drawing.height)) role="img" aria-labelledby={ (title_id) " " (desc_id) } {
            title id=(title_id) { (title) }
            desc id=(desc_id) { (says) }
            (PreEscaped(&drawing.body))
        }
    }
}

/// Returns `run id · verdict · n · pushmark version`.
pub(crate) fn source(case: &Case<'_>) -> String {
    let run = case.run();
    format!("{} · {} · n = {} · pushmark {}", run.id, case.state().name(), case.n(), run.pushmark_version)
}

/// Returns a download that needs no server. Percent-encoded text is smaller than base64.
pub(crate) fn data(kind: &str, content: &str) -> String {
    let mut out = format!("data:{kind};charset=utf-8,");
    for c in content.chars() {
        match c {
            '%' => out.push_str("%25"),
            '#' => out.push_str("%23"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '"' => out.push_str("%22"),
            ' ' => out.push_str("%20"),
            '\n' => out.push_str("%0A"),
            c => out.push(c),
        }
    }
    out
}
