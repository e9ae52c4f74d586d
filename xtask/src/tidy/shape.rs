//! The outside of files: how they open, how long and how heavy they are.

use super::code;
use super::tree::{Offence, Tree, ending};

const LINES_MAX: usize = 500;

const BYTES_MAX: u64 = 1 << 20;

/// Longer files that are one idea all the same, with the reason.
const LONG: [(&str, &str); 2] = [
    ("crates/pushmark-model/src/metrics.rs", "one table: every metric with what it means"),
    (
        "crates/pushmark/tests/system/scenario_errors.rs",
        "every message for a wrong scenario, as it is printed",
    ),
];

/// Small files that only call what they are named after; `fuzz/README.md` has a line for each.
const TARGETS: &str = "fuzz/fuzz_targets/";

/// Rust that does not begin with `//!`.
pub(super) fn openings(tree: &Tree) -> Vec<Offence> {
    let silent = tree.rust().filter(|(path, text)| !path.starts_with(TARGETS) && !text.starts_with("//!"));
    silent.map(|(path, _)| Offence::new(path, 1, "begin with //! and what the file is")).collect()
}

/// Source over 500 lines, a module of tests at its end counted apart. Data that tests hold up
/// against the code may be as long as it is.
pub(super) fn lengths(tree: &Tree) -> Vec<Offence> {
    let source = tree.texts().filter(|(path, _)| {
        matches!(ending(path), Some("rs" | "js" | "mjs" | "py" | "java" | "go"))
            && !path.contains("/tests/data/")
            && !LONG.iter().any(|(long, _)| long == path)
    });
    let counted = source.map(|(path, text)| {
        let product = code::without_tests(text);
        (path, product.lines().count().max(text[product.len()..].lines().count()))
    });
    let long = counted.filter(|(_, lines)| *lines > LINES_MAX);
    long.map(|(path, lines)| Offence::new(path, 0, format!("{lines} lines: make it two files"))).collect()
}

/// Files over 1 MiB.
pub(super) fn weights(tree: &Tree) -> Vec<Offence> {
    let heavy = tree.files().filter(|(_, file)| file.len > BYTES_MAX);
    heavy.map(|(path, file)| Offence::new(path, 0, format!("{} KiB", file.len >> 10))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(offences: Vec<Offence>) -> Vec<String> {
        offences.into_iter().map(|offence| offence.path).collect()
    }

    #[test]
    fn a_file_that_does_not_say_what_it_is_offends() {
        let tree =
            Tree::of(&[("a/src/a.rs", "//! A.\n"), ("a/src/b.rs", "use a;\n"), ("a/c.py", "import a\n")]);
        assert_eq!(paths(openings(&tree)), ["a/src/b.rs"]);
    }

    #[test]
    fn a_long_file_offends_unless_it_is_data_of_tests() {
        let long = "//!\n".repeat(501);
        let short = "//!\n".repeat(500);
        let tree = Tree::of(&[
            ("a/src/a.rs", &long),
            ("a/src/b.rs", &short),
            ("a/src/d.rs", &format!("{short}#[cfg(test)]\nmod tests {{\n}}\n")),
            ("a/tests/data/c.rs", &long),
            ("Cargo.lock", &long),
        ]);
        assert_eq!(paths(lengths(&tree)), ["a/src/a.rs"]);
    }

    #[test]
    fn a_heavy_file_offends() {
        let heavy = "a".repeat((1 << 20) + 1);
        assert_eq!(paths(weights(&Tree::of(&[("a.bin", &heavy), ("b.bin", &heavy[1..])]))), ["a.bin"]);
    }
}
