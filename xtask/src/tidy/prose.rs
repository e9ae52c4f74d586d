//! Texts: white space, and words that say that something is not finished.

use super::code::{code_only, has_word, words_only};
use super::tree::{Offence, Tree, ending};

/// Texts that are kept as they were captured or made, byte for byte.
const AS_FOUND: [&str; 3] = ["/tests/data/", "fuzz/corpus/", "record/"];

fn is_ours(path: &str) -> bool {
    !AS_FOUND.iter().any(|found| path.contains(found) || path.starts_with(found))
}

/// Tabs, spaces at line ends, CR, a missing line end.
pub(super) fn white_space(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_ours(path)) {
        for (at, line) in text.split('\n').enumerate() {
            // gofmt wants tabs.
            if line.contains('\t') && ending(path) != Some("go") {
                offences.push(Offence::new(path, at + 1, "a tab"));
            }
            if line.ends_with([' ', '\t', '\r']) {
                offences.push(Offence::new(path, at + 1, "white space at the line end"));
            }
        }
        if !text.ends_with('\n') {
            offences.push(Offence::new(path, 0, "no line end at the end"));
        }
    }
    offences
}

/// Marks of unfinished work. They are concatenated here, so that this file does not contain them.
pub(super) fn unfinished(tree: &Tree) -> Vec<Offence> {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let macros = [concat!("db", "g!"), concat!("to", "do!"), concat!("unimpl", "emented!")];
    let mut offences = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_ours(path)) {
        let mut find = |text: &str, words: &[&str]| {
            for (at, line) in text.lines().enumerate() {
                for word in words.iter().filter(|word| has_word(line, word)) {
                    offences.push(Offence::new(path, at + 1, *word));
                }
            }
        };
        match ending(path) {
            Some("rs") => {
                find(text, &marks);
                find(&code_only(text), &macros);
            }
            Some("js" | "mjs" | "py" | "java" | "go" | "sh" | "toml" | "md" | "html" | "yml" | "conf") => {
                find(text, &marks);
            }
            _ => {}
        }
    }
    offences
}

/// Phrases that a reader has to read twice. `GLOSSARY.md` has the field's terms.
const NOT_PLAIN: [&str; 9] = [
    concat!("that is no", "ne"),
    concat!("that are no", "ne"),
    concat!("no", "body"),
    concat!("who", "ever"),
    concat!("an", "ew"),
    concat!("un", "asked"),
    concat!("at ha", "nd"),
    concat!("so ma", "ny"),
    concat!("worth a wo", "rd"),
];

/// Plain words in the comments and texts of the product, and in the documents of the root.
pub(super) fn plain(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    let documents = tree.texts().filter(|(path, _)| !path.contains('/') && ending(path) == Some("md"));
    let documents = documents.map(|(path, text)| (path, text.to_owned()));
    let product = tree.product("").map(|(path, text)| (path, words_only(text)));
    for (path, text) in documents.chain(product) {
        for (at, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for phrase in NOT_PLAIN.iter().filter(|phrase| has_word(&line, phrase)) {
                offences.push(Offence::new(path, at + 1, format!("`{phrase}`")));
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(check: fn(&Tree) -> Vec<Offence>, path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn stray_white_space_offends() {
        assert_eq!(lines(white_space, "a.rs", "a\tb\nc \nd\r\ne"), [1, 2, 3, 0]);
        assert!(lines(white_space, "a.go", "\ta\n").is_empty());
        assert!(lines(white_space, "crates/a/tests/data/b.txt", "a \n").is_empty());
        assert!(lines(white_space, "fuzz/corpus/a/b.txt", "a \n").is_empty());
    }

    #[test]
    fn what_is_unfinished_offends() {
        let comment = format!("a\n// {}: b\n", concat!("TO", "DO"));
        assert_eq!(lines(unfinished, "a.rs", &comment), [2]);
        assert_eq!(lines(unfinished, "a.md", &comment), [2]);
        let call = format!("fn a() {{ {}() }}\n", concat!("to", "do!"));
        assert_eq!(lines(unfinished, "a.rs", &call), [1]);
        assert!(lines(unfinished, "a.rs", &format!("// {call}")).is_empty(), "only code calls macros");
    }

    #[test]
    fn a_phrase_that_is_read_twice_offends_in_texts_and_not_in_code_or_tests() {
        let phrase = NOT_PLAIN[2];
        let offences = |path: &str, text: String| plain(&Tree::of(&[(path, &text[..])])).len();
        assert_eq!(offences("crates/a/src/a.rs", format!("//! For {phrase}.\n")), 1);
        assert_eq!(offences("crates/a/src/a.rs", format!("const A: &str = \"{phrase}\";\n")), 1);
        assert_eq!(offences("README.md", format!("For {phrase}.\n")), 1);
        assert_eq!(offences("crates/a/src/a.rs", format!("//! A.\nfn {phrase}() {{}}\n")), 0);
        assert_eq!(offences("crates/a/tests/a.rs", format!("//! For {phrase}.\n")), 0);
    }
}
