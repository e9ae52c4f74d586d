//! Circles of modules inside one crate: none of them could be read, tested or moved without the others.
//!
//! Modules are compared with their siblings: the top modules of a crate, and those of each folder inside it.
//! A module names a sibling through their parent: by its path from `crate::`, by as many `super::` as it is
//! deep, or by a name that the parent takes from that sibling. The parent itself knows all and is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::code::code_only;
use super::tree::{Offence, Tree};

/// The folder of the crates that are checked, each by itself.
const CRATES: &str = "crates/";

/// One file of a crate.
struct File<'t> {
    path: &'t str,
    /// Its path inside `src/`.
    inside: &'t str,
    code: String,
}

/// A file, seen from a folder that it is somewhere below, or that it is the parent of.
struct Source<'t> {
    path: &'t str,
    /// Its path inside the folder; `mod.rs`: the parent.
    inside: &'t str,
    code: &'t str,
}

impl<'t> Source<'t> {
    /// Returns the file as seen from a folder of `src/`; the empty one is `src/` itself.
    fn of(file: &'t File<'t>, folder: &str) -> Option<Source<'t>> {
        let parents: [&str; 2] = if folder.is_empty() { ["lib.rs", "main.rs"] } else { ["", ""] };
        let is_parent = parents.contains(&file.inside) || file.inside.strip_suffix(".rs") == Some(folder);
        let inside = match is_parent {
            true => "mod.rs",
            false if folder.is_empty() => file.inside,
            false => file.inside.strip_prefix(folder)?.strip_prefix('/')?,
        };
        Some(Source { path: file.path, inside, code: &file.code })
    }

    /// The sibling that the file is part of; `None`: the parent.
    fn module(&self) -> Option<&'t str> {
        let first = self.inside.split('/').next().unwrap_or(self.inside);
        Some(first.trim_end_matches(".rs")).filter(|module| *module != "mod")
    }

    /// How many `super::` lead from the file to the parent.
    fn depth(&self) -> usize {
        self.inside.split('/').filter(|part| *part != "mod.rs").count()
    }
}

/// For each module of a folder, the siblings that its product code names, with the place of the first.
type Uses<'t> = BTreeMap<&'t str, BTreeMap<&'t str, (&'t str, usize)>>;

/// The modules of each folder use each other one way.
pub(super) fn none(tree: &Tree) -> Vec<Offence> {
    let of_crate = |files: &Vec<File<'_>>| -> Vec<Offence> {
        folders(files).into_iter().flat_map(|folder| circles(&uses(files, folder))).collect()
    };
    crates(tree).values().flat_map(of_crate).collect()
}

/// The product files of each crate.
fn crates(tree: &Tree) -> BTreeMap<&str, Vec<File<'_>>> {
    let mut crates: BTreeMap<&str, Vec<File<'_>>> = BTreeMap::new();
    for (path, text) in tree.product(CRATES) {
        let Some((name, inside)) = path[CRATES.len()..].split_once("/src/") else { continue };
        crates.entry(name).or_default().push(File { path, inside, code: code_only(text) });
    }
    crates
}

/// The folders of a crate; the empty one is `src/` itself.
fn folders<'t>(files: &[File<'t>]) -> BTreeSet<&'t str> {
    let above = |inside: &'t str| inside.match_indices('/').map(|(at, _)| &inside[..at]);
    files.iter().flat_map(|file| above(file.inside)).chain([""]).collect()
}

fn circles(uses: &Uses<'_>) -> Vec<Offence> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|module| (*module, reached(uses, module))).collect();
    let mut offences = Vec::new();
    for (module, used) in uses {
        for (other, (path, line)) in used {
            if reached.get(other).is_some_and(|from| from.contains(module)) {
                let what = format!("{module} uses {other}, which leads back to {module}");
                offences.push(Offence::new(path, *line, what));
            }
        }
    }
    offences
}

fn uses<'t>(files: &'t [File<'t>], folder: &str) -> Uses<'t> {
    let sources: Vec<Source<'t>> = files.iter().filter_map(|file| Source::of(file, folder)).collect();
    let root = ["crate".to_owned(), folder.replace('/', "::")].join("::");
    let root = format!("{}::", root.trim_end_matches(':'));
    let modules: BTreeSet<&str> = sources.iter().filter_map(Source::module).collect();
    let taken = taken(&sources, &modules, &root);
    let mut uses = Uses::new();
    for source in &sources {
        let Some(module) = source.module() else { continue };
        let of_module = uses.entry(module).or_default();
        for (at, name) in named(source.code, &root, source.depth()) {
            let other = modules.get(name).or_else(|| taken.get(name)).copied();
            if let Some(other) = other.filter(|other| *other != module) {
                let line = source.code[..at].matches('\n').count() + 1;
                of_module.entry(other).or_insert((source.path, line));
            }
        }
    }
    uses
}

/// The names that the parent takes from its modules, each with its module. `root` is the parent's path.
fn taken<'t>(sources: &[Source<'t>], modules: &BTreeSet<&'t str>, root: &str) -> BTreeMap<String, &'t str> {
    let mut taken = BTreeMap::new();
    for parent in sources.iter().filter(|source| source.module().is_none()) {
        for at in starts(parent.code, "use ") {
            let path = parent.code[at..].split(';').next().unwrap_or_default();
            let path = path.strip_prefix(root).or_else(|| path.strip_prefix("self::")).unwrap_or(path);
            let Some(module) = modules.get(word(path)) else { continue };
            // `a::{b, c::D as E}` gives b and E.
            let names = path.split(['{', ',', '}']).filter_map(|p| p.trim_end().rsplit(splits).next());
            taken.extend(names.map(|name| (name.to_owned(), *module)));
        }
    }
    taken
}

/// The names that code takes from the parent, with where the path ends that leads there: `root`, or as many
/// `super::` as the code lies deep.
fn named<'c>(code: &'c str, root: &str, depth: usize) -> impl Iterator<Item = (usize, &'c str)> + use<'c> {
    let climb = "super::".repeat(depth);
    let ends: Vec<usize> = starts(code, root).chain(starts(code, &climb)).collect();
    ends.into_iter().flat_map(|at| firsts(&code[at..]).into_iter().map(move |name| (at, name)))
}

/// Where the text goes on after each place at which a path begins like this.
fn starts<'c>(code: &'c str, begin: &'c str) -> impl Iterator<Item = usize> + 'c {
    let within = |c: char| !splits(c) || c == ':';
    code.match_indices(begin)
        .filter(move |(at, _)| !code[..*at].ends_with(within))
        .map(|(at, b)| at + b.len())
}

/// The first name of a path, or of each path of a group in braces.
fn firsts(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let (mut firsts, mut deep, mut begins) = (Vec::new(), 0_usize, true);
    for (at, c) in group.char_indices() {
        match c {
            '}' if deep == 0 => break,
            '}' => deep -= 1,
            '{' => deep += 1,
            ',' => begins = deep == 0,
            c if begins && !c.is_whitespace() => {
                firsts.push(word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    firsts
}

/// Returns the identifier that a text begins with, or an empty text.
fn word(text: &str) -> &str {
    text.split(splits).next().unwrap_or_default()
}

/// Whether a character is no part of a name.
fn splits(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

/// All modules that one leads to, itself only through another.
fn reached<'t>(uses: &Uses<'t>, from: &str) -> BTreeSet<&'t str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(module) = left.pop() {
        for &other in uses.get(module).into_iter().flat_map(|used| used.keys()) {
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

    /// What offends in files of the crate `x`, with their places.
    fn offences(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|(path, text)| (&path[..], *text)).collect();
        none(&Tree::of(&files)).iter().map(Offence::to_string).collect()
    }

    #[test]
    fn a_circle_of_three_is_told_at_each_of_its_edges() {
        let circle =
            [("a.rs", "use crate::b::B;\n"), ("b/c.rs", "use crate::d;\n"), ("d.rs", "use crate::a;\n")];
        assert_eq!(offences(&circle).len(), 3);
        assert_eq!(offences(&circle[..2]).len(), 0, "a uses b uses d");
    }

    #[test]
    fn every_way_to_name_a_module_is_seen() {
        let back = ("b.rs", "use crate::a::A;\n");
        for (path, text) in [
            ("a.rs", "use crate::b;\n"),
            ("a.rs", "use crate::{b, c};\n"),
            ("a.rs", "use crate::{c, b::B};\n"),
            ("a.rs", "use crate::{\n    c::{self, b, C},\n    b::{B, d},\n};\n"),
            ("a.rs", "fn a() {\n    crate::b::b(1);\n}\n"),
            ("a.rs", "fn a(b: &[crate::b::B]) {}\n"),
            ("a.rs", "use super::b;\n"),
            ("a.rs", "use super::{c, b::B};\n"),
            ("a/mod.rs", "use super::b;\n"),
            ("a/c.rs", "fn c() {\n    super::super::b::b();\n}\n"),
        ] {
            let files = [("c.rs", ""), (path, text), back];
            assert_eq!(offences(&files).len(), 2, "{path}: {text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_use_is_none() {
        let back = ("b.rs", "use crate::a::A;\n");
        for (path, text) in [
            ("a.rs", "use crate::{c::{self, b}, c::b};\n"),
            ("a.rs", "use other_crate::b;\n"),
            ("a.rs", "// not crate::b\nfn a() { \"crate::b\"; }\n"),
            ("a.rs", "use crate::bb;\n"),
            ("a/c.rs", "use super::b;\n"),
            ("a_tests.rs", "use crate::b;\n"),
            ("a/tests.rs", "use crate::b;\n"),
            ("a.rs", "#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n"),
            ("lib.rs", "mod a;\nuse crate::b;\n"),
            ("main.rs", "use crate::b;\n"),
        ] {
            let files = [("c.rs", ""), (path, text), back];
            assert_eq!(offences(&files), [""; 0], "{path}: {text}");
        }
    }

    #[test]
    fn a_name_that_the_root_takes_from_a_module_is_a_use_of_it() {
        let back = ("b.rs", "use crate::a::A;\n");
        let using = ("a.rs", "fn a() {}\nuse crate::{B, other};\n");
        for root in [
            "pub use b::B;\n",
            "mod b;\nuse b::{self, B, d::D};\n",
            "pub use crate::b::{\n    Thing as B,\n};\n",
            "pub(crate) use self::b::c::{d::{B}};\n",
        ] {
            let told = offences(&[("lib.rs", root), using, back]);
            let at = "crates/x/src/a.rs:2: a uses b, which leads back to a";
            assert_eq!((told.len(), told.first().map(String::as_str)), (2, Some(at)), "{root}");
        }
        for root in ["pub use other::B;\n", "pub use b::Thing;\n", "struct B;\n"] {
            assert_eq!(offences(&[("lib.rs", root), using, back]), [""; 0], "{root}");
        }
    }

    #[test]
    fn files_of_a_folder_form_no_circle_either() {
        for (x, back) in [
            ("use crate::a::y;\n", "use crate::a::x;\n"),
            ("use super::y::Y;\n", "use crate::a::{z, x};\n"),
            ("use super::{Y, z};\n", "fn y() {\n    super::x::x();\n}\n"),
        ] {
            for parent in ["a.rs", "a/mod.rs"] {
                let files = [(parent, "mod x;\nmod y;\npub use y::Y;\n"), ("a/x.rs", x), ("a/y.rs", back)];
                let told = offences(&files);
                assert_eq!(told.len(), 2, "{parent}: {x}{back}");
                assert!(told[0].ends_with("x uses y, which leads back to x"), "{told:?}");
                assert!(offences(&files[..2]).is_empty() && offences(&files[1..2]).is_empty());
            }
        }
        let deeper = [("a/b/x.rs", "use crate::a::b::y;\n"), ("a/b/y.rs", "use super::x;\n")];
        assert_eq!(offences(&deeper).len(), 2);
    }

    #[test]
    fn a_folder_may_use_its_parent_and_what_lies_beside_it() {
        let files = [
            ("a.rs", "mod x;\nuse x::X;\npub struct A;\n"),
            ("a/x.rs", "use super::A;\nuse crate::b::y;\n"),
            ("b/y.rs", "use super::x;\n"),
            ("b/x.rs", ""),
        ];
        assert_eq!(offences(&files), [""; 0]);
    }

    #[test]
    fn each_crate_is_checked_by_itself() {
        let (a, b) = ("use crate::b;\n", "use crate::a;\n");
        let whole = [("crates/x/src/a.rs", a), ("crates/x/src/b.rs", b)];
        assert_eq!(none(&Tree::of(&whole)).len(), 2);
        let parts = [("crates/x/src/a.rs", a), ("crates/y/src/b.rs", b)];
        assert!(none(&Tree::of(&parts)).is_empty());
        let outside = [("crates/x/tests/a.rs", a), ("crates/x/tests/b.rs", b), ("xtask/src/a.rs", a)];
        assert!(none(&Tree::of(&outside)).is_empty());
    }
}
