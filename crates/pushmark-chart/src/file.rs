//! A drawing as a file of its own.

use crate::canvas::{Drawing, c, escape, text_style};
use crate::tokens::with_light_colours;
use crate::width::wrap;

/// Renders a drawing as a separate file: light colours, its words above, its source below.
pub fn svg(drawing: &Drawing, title: &str, sentence: &str, source: &str) -> String {
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
