//! The anatomy all figures share: number and title, the sentence that says what it shows, two
//! drawings of one function of the width, caption, table and downloads.

use maud::{Markup, PreEscaped, html};

use super::canvas::{Drawing, c, escape, text_style};
use super::case::Case;
use super::table::Table;
use super::tokens::with_light_colours;
use super::width::wrap;

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
    /// What it shows, made by rules from the data.
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

    /// A prefix for ids, unique over figures, cases and both drawings.
    pub(crate) fn id(self, case: &Case<'_>, figure: &str) -> String {
        format!("{}{figure}-{}", case.key, if self.is_narrow() { "n" } else { "w" })
    }
}

/// Draws both sizes.
pub(crate) fn both(width: f64, draw: impl Fn(Size) -> Drawing) -> (Drawing, Drawing) {
    (draw(Size::Wide(width)), draw(Size::Narrow))
}

impl Figure {
    /// As it stands in the page.
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
                    // Quotes of one kind only: the other is an entity in every text.
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

    /// As a file of its own: light colours, its words, and where it is from.
    pub(crate) fn svg(&self, case: &Case<'_>) -> String {
        svg_file(&self.wide, &self.title, &self.sentence, &source(case))
    }

    /// The table as a file of its own, with the run's id on each line.
    pub(crate) fn csv(&self, case: &Case<'_>) -> String {
        let mut table = self.table.clone();
        table.columns.push(("run".into(), "run".into()));
        for row in &mut table.rows {
            row.push(super::table::Cell::text(case.run().id.clone()));
        }
        table.csv()
    }
}

/// A drawing in the page, with the words that stand for it.
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

/// A drawing as a file of its own: light colours, its words above, where it is from below.
pub(crate) fn svg_file(drawing: &Drawing, title: &str, sentence: &str, source: &str) -> String {
    let margin = 16.0;
    let says = wrap(sentence, 14.0, drawing.width);
    let foot = wrap(source, 11.5, drawing.width);
    let top = 34.0 + 20.0 * says.len() as f64;
    let bottom = top + drawing.height + 12.0;
    let (width, height) = (drawing.width + 2.0 * margin, bottom + 16.0 * foot.len() as f64 + 12.0);
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-labelledby="t d"><title id="t">{2}</title><desc id="d">{3}</desc><style>{4}</style><rect width="{0}" height="{1}" fill="var(--bg)"/>"#,
        c(width),
        c(height),
        escape(title),
        escape(sentence),
        text_style()
    );
    out.push_str(&format!(
        r#"<text x="{margin}" y="26" fill="var(--ink)" font-size="16" font-weight="650">{}</text>"#,
        escape(title)
    ));
    for (i, line) in says.iter().enumerate() {
        out.push_str(&format!(
            r#"<text x="{margin}" y="{}" fill="var(--ink)" font-size="14">{}</text>"#,
            c(46.0 + 20.0 * i as f64),
            escape(line)
        ));
    }
    out.push_str(&format!(r#"<g transform="translate({margin} {})">{}</g>"#, c(top), drawing.body));
    for (i, line) in foot.iter().enumerate() {
        out.push_str(&format!(
            r#"<text x="{margin}" y="{}" class="n" fill="var(--ink2)">{}</text>"#,
            c(bottom + 16.0 * i as f64 + 8.0),
            escape(line)
        ));
    }
    out.push_str("</svg>\n");
    with_light_colours(&out)
}

/// `run id · verdict · n · pushmark version`.
pub(crate) fn source(case: &Case<'_>) -> String {
    let run = case.run();
    format!("{} · {} · n = {} · pushmark {}", run.id, case.state().name(), case.n(), run.pushmark_version)
}

/// A download without a server: percent-encoded, which for text is smaller than base64.
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
