//! Conditions for every page and drawing of a report.

use std::collections::HashMap;
use std::fmt::Display;

use pushmark_chart::canvas::{Drawing, TextBox};

/// Rows of a CSV by its column names.
pub fn rows(csv: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(|row| row.expect("a row of the figure's CSV")).collect()
}

/// Checks that a page fetches and runs nothing.
pub fn assert_offline(page: &str) {
    for fetching in ["<script", "<link", "<img", "<iframe", "src=", "@import", "javascript:", "onload"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
}

/// Returns the ids that a page has more than once; downloads have the ids of their own documents.
pub fn ids_twice(page: &str) -> Vec<&str> {
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| &rest[..rest.find('"').unwrap_or(0)]).collect();
    ids.sort_unstable();
    ids.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect()
}

/// Returns texts that leave their drawing or cover another text, in both drawings of every figure.
pub fn misplaced(of: &str, drawings: Vec<(impl Display, Drawing, Drawing)>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, wide, narrow) in drawings {
        for (size, drawing) in [("wide", &wide), ("narrow", &narrow)] {
            wrong.extend(outside(drawing).iter().map(|t| format!("{of}, {id} {size}: outside: {t:?}")));
            wrong.extend(overlapping(drawing).iter().map(|o| format!("{of}, {id} {size}: overlap: {o:?}")));
        }
    }
    wrong
}

fn outside(drawing: &Drawing) -> Vec<&TextBox> {
    let leaves = |t: &&TextBox| {
        let [left, top, right, bottom] = t.bounds;
        !(left >= -0.5 && top >= -0.5 && right <= drawing.width + 0.5 && bottom <= drawing.height + 0.5)
    };
    drawing.texts.iter().filter(leaves).collect()
}

fn overlapping(drawing: &Drawing) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (i, a) in drawing.texts.iter().enumerate() {
        for b in &drawing.texts[i + 1..] {
            let (p, q) = (a.bounds, b.bounds);
            if p[0] + 1.0 < q[2] && q[0] + 1.0 < p[2] && p[1] + 1.5 < q[3] && q[1] + 1.5 < p[3] {
                out.push((a.text.clone(), b.text.clone()));
            }
        }
    }
    out
}
