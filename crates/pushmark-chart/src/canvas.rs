//! A small writer of SVG: lines, rectangles, paths, haloed texts. It keeps the box of every text, so that
//! a test can check that each text lies inside the drawing.

use std::fmt::Write as _;

use super::pattern::Pattern;
use super::tokens::{BG, INK, INK2};
use super::width::text_width;

/// Alignment of a text to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// To the right of its place.
    Start,
    /// Around its place.
    Middle,
    /// To the left of its place.
    End,
}

/// The three kinds of text in a drawing, each one class of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tick labels and values, 12 px.
    Tick,
    /// Notes, 11.5 px.
    Note,
    /// Names of arms, 12.5 px, half bold.
    Name,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Kind::Tick => "t",
            Kind::Note => "n",
            Kind::Name => "m",
        }
    }

    /// Its size in pixels.
    pub fn size(self) -> f64 {
        match self {
            Kind::Tick => 12.0,
            Kind::Note => 11.5,
            Kind::Name => 12.5,
        }
    }

    /// The width of a text of this kind, in pixels.
    pub fn width(self, text: &str) -> f64 {
        text_width(text, self.size(), self == Kind::Name)
    }
}

/// A text about to be drawn.
#[derive(Clone, Debug)]
pub struct Text {
    x: f64,
    y: f64,
    kind: Kind,
    anchor: Anchor,
    halo: bool,
    upward: bool,
    spans: Vec<(String, &'static str)>,
}

impl Text {
    fn new(kind: Kind, x: f64, y: f64, text: impl Into<String>, paint: &'static str) -> Text {
        let spans = vec![(text.into(), paint)];
        Text { x, y, kind, anchor: Anchor::Start, halo: false, upward: false, spans }
    }

    /// A number or name at an axis.
    pub fn tick(x: f64, y: f64, text: impl Into<String>) -> Text {
        Text::new(Kind::Tick, x, y, text, INK)
    }

    /// A remark in the second colour.
    pub fn note(x: f64, y: f64, text: impl Into<String>) -> Text {
        Text::new(Kind::Note, x, y, text, INK2)
    }

    /// Makes one line of several words, each in its paint.
    pub fn spans(kind: Kind, x: f64, y: f64, spans: Vec<(String, &'static str)>) -> Text {
        Text { x, y, kind, anchor: Anchor::Start, halo: false, upward: false, spans }
    }

    /// Places it by this anchor.
    pub fn anchor(self, anchor: Anchor) -> Text {
        Text { anchor, ..self }
    }

    /// Ends it at its place.
    pub fn end(self) -> Text {
        self.anchor(Anchor::End)
    }

    /// Centres it on its place.
    pub fn middle(self) -> Text {
        self.anchor(Anchor::Middle)
    }

    /// Adds a rim in the ground colour, so that a line below does not cut the letters.
    pub fn halo(self) -> Text {
        Text { halo: true, ..self }
    }

    /// Turns the text to read upward: only for words in a narrow band, never for an axis.
    pub fn upward(self) -> Text {
        Text { upward: true, ..self }
    }

    /// Paints its first words.
    pub fn paint(mut self, paint: &'static str) -> Text {
        self.spans[0].1 = paint;
        self
    }

    /// Its width in pixels.
    pub fn width(&self) -> f64 {
        self.spans.iter().map(|(text, _)| self.kind.width(text)).sum()
    }

    /// Returns left, top, right, bottom.
    pub fn bounds(&self) -> [f64; 4] {
        let width = self.width();
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (up, down) = (self.kind.size() * 0.78, self.kind.size() * 0.22);
        if self.upward {
            [self.x - up, self.y - width + before, self.x + down, self.y + before]
        } else {
            [self.x - before, self.y - up, self.x - before + width, self.y + down]
        }
    }
}

/// A placed text: its words and the largest box it fills.
#[derive(Clone, Debug)]
pub struct TextBox {
    /// Its words.
    pub text: String,
    /// Left, top, right, bottom.
    pub bounds: [f64; 4],
}

/// A finished drawing.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Width of the view box.
    pub width: f64,
    /// Height of the view box.
    pub height: f64,
    /// Everything inside the `svg` element.
    pub body: String,
    /// Every text in it.
    pub texts: Vec<TextBox>,
}

/// A drawing in the making.
pub struct Canvas {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// Prefix for ids, which must be unique on the page.
    id: String,
    patterns: u8,
    body: String,
    texts: Vec<TextBox>,
}

impl Canvas {
    /// An empty canvas; `id` begins the ids of its patterns.
    pub fn new(id: &str, width: f64, height: f64) -> Canvas {
        Canvas { width, height, id: id.to_string(), patterns: 0, body: String::new(), texts: Vec::new() }
    }

    /// Ends the drawing.
    pub fn finish(self) -> Drawing {
        let mut body = String::new();
        if self.patterns != 0 {
            body.push_str("<defs>");
            for pattern in Pattern::ALL {
                if self.patterns & pattern.bit() != 0 {
                    body.push_str(&pattern.definition(&self.id));
                }
            }
            body.push_str("</defs>");
        }
        body.push_str(&self.body);
        Drawing { width: self.width, height: self.height, body, texts: self.texts }
    }

    /// Returns the paint of a hatched or dotted area.
    pub fn pattern(&mut self, pattern: Pattern) -> String {
        self.patterns |= pattern.bit();
        format!("url(#{}-{})", self.id, pattern.name())
    }

    /// Appends raw SVG.
    pub fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    /// Opens a group with a `<title>`, which is shown under the mouse.
    pub fn open_titled(&mut self, title: &str) {
        let _ = write!(self.body, "<g><title>{}</title>", escape(title));
    }

    /// Closes the group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// Adds a line.
    pub fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, stroke: &str, style: &str) {
        let d = format!("M{} {}L{} {}", c(x1), c(y1), c(x2), c(y2));
        self.path(&d, "none", stroke, style);
    }

    /// Adds a path; `style` = further attributes, such as `stroke-width="2"`.
    pub fn path(&mut self, d: &str, fill: &str, stroke: &str, style: &str) {
        let _ = write!(self.body, r#"<path d="{d}" fill="{fill}""#);
        if stroke != "none" {
            let _ = write!(self.body, r#" stroke="{stroke}""#);
        }
        if !style.is_empty() {
            let _ = write!(self.body, " {style}");
        }
        self.body.push_str("/>");
    }

    /// Adds a rectangle.
    pub fn rect(&mut self, x: f64, y: f64, w: f64, h: f64, fill: &str, style: &str) {
        let space = if style.is_empty() { "" } else { " " };
        let (x, y, w, h) = (c(x), c(y), c(w.max(0.0)), c(h.max(0.0)));
        let _ = write!(
            self.body,
            r#"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{fill}"{space}{style}/>"#
        );
    }

    /// Adds a text, and keeps its bounds.
    pub fn text(&mut self, text: Text) {
        let whole: String = text.spans.iter().map(|(t, _)| t.as_str()).collect();
        if whole.is_empty() {
            return;
        }
        self.texts.push(TextBox { text: whole, bounds: text.bounds() });
        let class = text.kind.class();
        let halo = if text.halo { " h" } else { "" };
        let _ = write!(self.body, r#"<text x="{}" y="{}" class="{class}{halo}""#, c(text.x), c(text.y));
        match text.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body.push_str(r#" text-anchor="middle""#),
            Anchor::End => self.body.push_str(r#" text-anchor="end""#),
        }
        if text.upward {
            let _ = write!(self.body, r#" transform="rotate(-90 {} {})""#, c(text.x), c(text.y));
        }
        if let [(only, paint)] = text.spans.as_slice() {
            let _ = write!(self.body, r#" fill="{paint}">{}</text>"#, escape(only));
            return;
        }
        self.body.push('>');
        for (span, paint) in &text.spans {
            let _ = write!(self.body, r#"<tspan fill="{paint}">{}</tspan>"#, escape(span));
        }
        self.body.push_str("</text>");
    }
}

/// Returns a coordinate with one decimal at most.
pub fn c(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 { "0".into() } else { format!("{rounded}") }
}

/// Returns a path through points: steps from one rounded point to the next, so that nothing drifts.
pub fn polyline(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    let mut last = (0.0, 0.0);
    for (i, (x, y)) in points.iter().enumerate() {
        let here = ((x * 10.0).round(), (y * 10.0).round());
        let _ = match i {
            0 => write!(d, "M{} {}", c(*x), c(*y)),
            _ => {
                let (dx, dy) = (c((here.0 - last.0) / 10.0), c((here.1 - last.1) / 10.0));
                let space = if dy.starts_with('-') { "" } else { " " };
                write!(
                    d,
                    "{}{dx}{space}{dy}",
                    if i == 1 {
                        "l"
                    } else if dx.starts_with('-') {
                        ""
                    } else {
                        " "
                    }
                )
            }
        };
        last = here;
    }
    d
}

/// Escapes text for XML.
pub fn escape(text: &str) -> String {
    let entity = |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match entity(c) {
            Some(entity) => out.push_str(entity),
            None => out.push(c),
        }
    }
    out
}

/// Returns the style of texts in a drawing that is saved as a file.
pub fn text_style() -> String {
    format!(
        "text{{font-family:Segoe UI,-apple-system,Roboto,Ubuntu,Cantarell,Noto Sans,Liberation Sans,Arial,sans-serif;\
         font-variant-numeric:tabular-nums lining-nums}}.t{{font-size:12px}}.n{{font-size:11.5px}}\
         .m{{font-size:12.5px;font-weight:600}}.h{{paint-order:stroke;stroke:{BG};stroke-width:4px;stroke-linejoin:round}}"
    )
}
