//! What is linked into pushmark: by `deny.toml`, as `cargo deny` reads it, with nothing installed.

use std::collections::BTreeMap;

use super::tree::{Offence, Tree};
use crate::shell;

const DENY: &str = "deny.toml";
const LOCK: &str = "Cargo.lock";
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages in two versions that `deny.toml` does not let pass, and packages from elsewhere.
pub(super) fn locked(tree: &Tree) -> Vec<Offence> {
    let (Some(deny), Some(lock)) = (table(tree, DENY), table(tree, LOCK)) else {
        return vec![Offence::new(DENY, 0, format!("{DENY} or {LOCK} cannot be read"))];
    };
    let skipped = names(&deny, "bans", "skip");
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut offences = Vec::new();
    for package in lock.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        let name = package.get("name").and_then(toml::Value::as_str).unwrap_or_default();
        *versions.entry(name).or_default() += 1;
        match package.get("source").and_then(toml::Value::as_str) {
            None | Some(SOURCE) => {}
            Some(other) => offences.push(Offence::new(LOCK, 0, format!("{name} comes from {other}"))),
        }
    }
    for (name, count) in &versions {
        if *count > 1 && !skipped.iter().any(|skipped| skipped == name) {
            offences.push(Offence::new(LOCK, 0, format!("{name} is there in {count} versions")));
        }
    }
    for name in &skipped {
        if versions.get(name.as_str()).is_none_or(|count| *count < 2) {
            offences.push(Offence::new(
                DENY,
                0,
                format!("{name} is skipped, and there is one version of it"),
            ));
        }
    }
    offences
}

/// Packages whose licence is not one of those that `deny.toml` allows.
pub(super) fn licences(tree: &Tree) -> Vec<Offence> {
    let platform = "x86_64-unknown-linux-gnu";
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", platform];
    let told = shell::cargo(&arguments).stderr(std::process::Stdio::null()).output();
    let metadata = told.ok().and_then(|told| serde_json::from_slice(&told.stdout).ok());
    let (Some(deny), Some(metadata)) = (table(tree, DENY), metadata) else {
        return vec![Offence::new(DENY, 0, "cargo metadata cannot be read".to_owned())];
    };
    refused(&metadata, &names(&deny, "licenses", "allow"))
}

fn refused(metadata: &serde_json::Value, allowed: &[String]) -> Vec<Offence> {
    let packages = metadata.get("packages").and_then(serde_json::Value::as_array);
    let foreign = packages.into_iter().flatten().filter(|package| !package["source"].is_null());
    let mut offences = Vec::new();
    for package in foreign {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence, allowed) {
            offences.push(Offence::new(DENY, 0, format!("{name} is under {licence:?}")));
        }
    }
    offences
}

/// Whether an SPDX expression can be met; `/` is how it was written once. `OR` binds weaker than `AND`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    !words.is_empty() && any_of(&mut words.as_slice(), allowed)
}

fn any_of(words: &mut &[&str], allowed: &[String]) -> bool {
    let mut met = all_of(words, allowed);
    while let Some((&"OR", rest)) = words.split_first() {
        *words = rest;
        met |= all_of(words, allowed);
    }
    met
}

fn all_of(words: &mut &[&str], allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while let Some((&"AND", rest)) = words.split_first() {
        *words = rest;
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut &[&str], allowed: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return false };
    *words = rest;
    if *word == "(" {
        let met = any_of(words, allowed);
        *words = words.get(1..).unwrap_or_default();
        return met;
    }
    let mut met = allowed.iter().any(|allowed| allowed == word);
    if let Some((&"WITH", rest)) = words.split_first() {
        // An exception is another licence: it would have to be allowed by its own name.
        met = false;
        *words = rest.get(1..).unwrap_or_default();
    }
    met
}

fn table(tree: &Tree, path: &str) -> Option<toml::Table> {
    tree.text(path)?.parse().ok()
}

/// The names of a list: texts, or tables with `name`.
fn names(deny: &toml::Table, section: &str, key: &str) -> Vec<String> {
    let list = deny.get(section).and_then(|section| section.get(key)).and_then(toml::Value::as_array);
    let name = |item: &toml::Value| {
        let named = item.get("name").unwrap_or(item);
        named.as_str().map(str::to_owned)
    };
    list.into_iter().flatten().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str =
        "[licenses]\nallow = [\"MIT\", \"ISC\"]\n[bans]\nskip = [{ name = \"b\" }, { name = \"c\" }]\n";

    #[test]
    fn a_second_version_and_another_source_offend() {
        let package =
            |name: &str, source: &str| format!("[[package]]\nname = \"{name}\"\nsource = \"{source}\"\n");
        let all = [("a", SOURCE), ("a", SOURCE), ("b", SOURCE), ("b", SOURCE), ("c", SOURCE), ("d", "git+x")];
        let lock: String = all.iter().map(|(name, source)| package(name, source)).collect();
        let tree = Tree::of(&[(DENY, RULES), (LOCK, &lock)]);
        let said: Vec<String> = locked(&tree).into_iter().map(|offence| offence.what).collect();
        assert_eq!(
            said,
            [
                "d comes from git+x",
                "a is there in 2 versions",
                "c is skipped, and there is one version of it"
            ]
        );
    }

    #[test]
    fn a_licence_is_met_by_one_that_is_allowed() {
        let allowed = ["MIT".to_owned(), "ISC".to_owned()];
        for (expression, met) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("MIT AND ISC", true),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("(GPL-3.0 OR MIT) AND Zlib", false),
            ("MIT WITH LLVM-exception", false),
            ("MIT WITH LLVM-exception OR ISC", true),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), met, "{expression}");
        }
        let metadata = serde_json::json!({ "packages": [
            { "name": "ours", "source": null, "license": "GPL-3.0" },
            { "name": "x", "source": SOURCE, "license": "GPL-3.0" },
        ] });
        let said: Vec<String> = refused(&metadata, &allowed).into_iter().map(|o| o.what).collect();
        assert_eq!(said, ["x is under \"GPL-3.0\""]);
    }
}
