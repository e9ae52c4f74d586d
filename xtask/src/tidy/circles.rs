//! Circles of modules inside one crate: none of them could be read, tested or moved without the others.

use std::collections::{BTreeMap, BTreeSet};

use super::code::code_only;
use super::tree::{Offence, Tree};

/// The crate whose modules are checked.
const CRATE: &str = "crates/pushmark/src/";

/// For each module of the crate, the modules that its product code names, with the place of the first.
type Uses = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// The top modules of the tool use each other one way.
pub(super) fn none(tree: &Tree) -> Vec<Offence> {
    let uses = uses(tree);
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|module| (module, reached(&uses, module))).collect();
    let mut offences = Vec::new();
    for (module, used) in &uses {
        for (other, (path, line)) in used {
            if reached.get(other).is_some_and(|from| from.contains(module)) {
                let what = format!("{module} uses {other}, which leads back to {module}");
                offences.push(Offence::new(path, *line, what));
            }
        }
    }
    offences
}

fn uses(tree: &Tree) -> Uses {
    let mut uses = Uses::new();
    for (path, text) in tree.product(CRATE) {
        let inside = path.strip_prefix(CRATE).unwrap_or(path);
        let module = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
        if matches!(module, "lib" | "main") {
            continue;
        }
        let of_module = uses.entry(module.to_owned()).or_default();
        for (at, line) in code_only(text).lines().enumerate() {
            for other in named(line).filter(|other| *other != module) {
                of_module.entry(other.to_owned()).or_insert_with(|| (path.to_owned(), at + 1));
            }
        }
    }
    uses
}

/// The modules that a line names as `crate::module`.
fn named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

/// All modules that one leads to, itself only through another.
fn reached<'u>(uses: &'u Uses, from: &str) -> BTreeSet<&'u String> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(module) = left.pop() {
        for other in uses.get(module).into_iter().flat_map(|used| used.keys()) {
            if reached.insert(other) {
                left.push(other);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("{CRATE}{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|(path, text)| (&path[..], *text)).collect();
        none(&Tree::of(&files)).into_iter().map(|offence| offence.what).collect()
    }

    #[test]
    fn a_circle_of_three_is_told_at_each_of_its_edges() {
        let circle =
            [("a.rs", "use crate::b::B;\n"), ("b/c.rs", "use crate::d;\n"), ("d.rs", "use crate::a;\n")];
        assert_eq!(offences(&circle).len(), 3);
        assert_eq!(offences(&circle[..2]).len(), 0, "a uses b uses d");
    }

    #[test]
    fn a_module_may_use_its_own_parts_and_tests_may_use_anything() {
        assert!(offences(&[("a/x.rs", "use crate::a::y;\n"), ("a/y.rs", "use crate::a::x;\n")]).is_empty());
        let by_test = [("a.rs", "use crate::b;\n"), ("b_tests.rs", "use crate::a;\n")];
        assert!(offences(&by_test).is_empty());
        let said = [("a.rs", "use crate::b;\n"), ("b.rs", "// not crate::a\nfn b() {}\n")];
        assert!(offences(&said).is_empty());
    }
}
