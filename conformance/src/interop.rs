//! The interoperability tables of `BAYEUX.md`. A test fails if its results differ from the page.

use std::fmt::Write as _;

/// If this variable is 1, a table is written instead of compared.
pub const BLESS: &str = "PUSHMARK_BLESS";

/// Compares rows with a section of `BAYEUX.md`, or writes them into it.
///
/// # Panics
/// If the section is missing or differs.
pub fn keep(section: &str, titles: &[&str], rows: &[Vec<String>]) {
    let file = crate::own("BAYEUX.md");
    let page = std::fs::read_to_string(&file).expect("BAYEUX.md");
    let (begin, end) = (format!("<!-- {section} -->\n"), format!("<!-- /{section} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("BAYEUX.md has no {begin}"));
    let (said, after) = rest.split_once(&end).unwrap_or_else(|| panic!("BAYEUX.md has no {end}"));
    let seen = render(titles, rows);
    if std::env::var_os(BLESS).is_some_and(|value| value == "1") {
        std::fs::write(&file, format!("{before}{begin}{seen}{end}{after}"))
            .expect("BAYEUX.md can be written");
    } else {
        assert_eq!(said, seen, "BAYEUX.md differs from the results; {BLESS}=1 writes the results");
    }
}

fn render(titles: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("\n| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text + "\n"
}
