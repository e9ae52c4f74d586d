//! Reference servers are data: the product does not know them by name.

use super::code::{lines_with, words_only};
use super::tree::{Offence, Tree};

const REGISTRY: &str = "servers/servers.toml";

/// Names of the registry in strings and comments of `crates/`. An identifier starts no server,
/// and `server = "NAME"` in a string is a scenario: data that happens to lie in Rust.
pub(super) fn no_server(tree: &Tree) -> Vec<Offence> {
    let names = match names(tree) {
        Ok(names) => names,
        Err(offence) => return vec![offence],
    };
    let mut offences = Vec::new();
    for (path, text) in tree.product("crates/") {
        let words = words_only(text);
        for name in &names {
            let words = ["\"", "\\\""].iter().fold(words.clone(), |words, quote| {
                words.replace(&format!("server = {quote}{name}{quote}"), "")
            });
            let what = format!("{name} is a row of {REGISTRY}");
            offences.extend(lines_with(&words, name).map(|line| Offence::new(path, line, &what[..])));
        }
    }
    offences
}

fn names(tree: &Tree) -> Result<Vec<String>, Offence> {
    let offence = |what: String| Offence::new(REGISTRY, 0, what);
    let text = tree.text(REGISTRY).ok_or_else(|| offence("the registry of servers is missing".into()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| offence(error.to_string()))?;
    let rows = table.get("server").and_then(toml::Value::as_array);
    let rows = rows.ok_or_else(|| offence("no [[server]] in it".into()))?;
    let name = |row: &toml::Value| row.get("name").and_then(toml::Value::as_str).map(str::to_owned);
    Ok(rows.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: &str = "[[server]]\nname = \"swift-ws\"\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let tree = Tree::of(&[("servers/servers.toml", SERVERS), (path, text)]);
        no_server(&tree).iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn a_server_named_in_the_product_offends_in_comments_too() {
        assert_eq!(lines("crates/pushmark/src/a.rs", "//! a\nconst A: &str = \"swift-ws\";\n"), [2]);
        assert_eq!(lines("crates/pushmark/src/a.rs", "//! As swift-ws does.\n"), [1]);
        assert!(lines("crates/pushmark/src/a.rs", "//! As swift-ws-2 does.\n").is_empty());
    }

    #[test]
    fn an_embedded_scenario_and_an_identifier_do_not_offend() {
        let scenario = "const A: &str = \"[target]\\nserver = \\\"swift-ws\\\"\\n\";\n";
        assert!(lines("crates/pushmark/src/a.rs", scenario).is_empty());
        assert!(
            lines("crates/pushmark/src/a.rs", "const B: &str = r#\"server = \"swift-ws\"\"#;\n").is_empty()
        );
        let tree = Tree::of(&[
            ("servers/servers.toml", "[[server]]\nname = \"swift\"\n"),
            ("crates/pushmark/src/a.rs", "fn swift() {}\n"),
        ]);
        assert!(no_server(&tree).is_empty());
    }

    #[test]
    fn tests_may_name_servers() {
        assert!(lines("crates/pushmark/tests/a.rs", "//! swift-ws\n").is_empty());
        assert!(lines("conformance/src/a.rs", "//! swift-ws\n").is_empty());
    }

    #[test]
    fn a_missing_registry_offends_rather_than_allows() {
        assert_eq!(no_server(&Tree::of(&[])).len(), 1);
        assert_eq!(no_server(&Tree::of(&[("servers/servers.toml", "a = 1\n")])).len(), 1);
    }
}
