//! Texts inside a style sheet.

/// Returns a text as a CSS string with its quotes: nothing in it ends the string, the sheet or the
/// element.
///
/// A line end would end the string (CSS Syntax 3, section 4.3.5), and a `<` could end the element. These
/// and other special characters become blanks, are left out, or are escaped.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' | '"' => {}
            '<' => out.push_str("\\3c "),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::draw::{Draw, Purpose};

    #[test]
    fn no_text_leaves_its_string() {
        let alphabet: Vec<char> = "ab\\\"'<>/}{;*\n\r\u{c}\0\t\u{7f}\u{85}\u{2028}é".chars().collect();
        for seed in 0..2_000 {
            let mut draw = Draw::new(seed, Purpose::Size, 0);
            let text: String =
                (0..draw.below(24)).map(|_| alphabet[draw.below(alphabet.len() as u64) as usize]).collect();
            let css = string(&text);
            let inside = css.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("a string");
            let unescaped = inside.replace("\\3c ", "");
            assert!(
                !unescaped.contains(['"', '\\', '<']) && !unescaped.contains(char::is_control),
                "seed {seed}: {text:?} became {css:?}"
            );
        }
    }

    #[test]
    fn common_headings_stay_readable() {
        assert_eq!(string("p99, ms"), "\"p99, ms\"");
        assert_eq!(string("< 1 ms"), "\"\\3c  1 ms\"");
    }
}
