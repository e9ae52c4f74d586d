//! Dependencies: a reason each, and their versions in one place.

use super::tree::{Offence, Tree};

/// Lines of the root's `[workspace.dependencies]` without a comment. Workspace crates need no comment.
pub(super) fn reasons(tree: &Tree) -> Vec<Offence> {
    let path = "Cargo.toml";
    let mut inside = false;
    let mut offences = Vec::new();
    for (at, line) in tree.text(path).unwrap_or_default().lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim() == "[workspace.dependencies]";
        }
        let Some((name, value)) = line.split_once('=').filter(|_| inside && !line.starts_with('#')) else {
            continue;
        };
        let reason = value.rsplit_once('#').map_or("", |(_, reason)| reason.trim());
        if !value.contains("path =") && reason.is_empty() {
            offences.push(Offence::new(path, at + 1, format!("{} has no reason", name.trim())));
        }
    }
    offences
}

/// Dependencies of members that are not `workspace = true`.
pub(super) fn versions(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.texts() {
        // The fuzz crate is a workspace of its own, because it needs another compiler.
        if !path.ends_with("/Cargo.toml") || path.starts_with("fuzz/") || path.starts_with("servers/") {
            continue;
        }
        let Ok(table) = text.parse::<toml::Table>() else { continue };
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, value) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
                if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                    offences.push(Offence::new(path, 0, format!("{name} is not `workspace = true`")));
                }
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_offends() {
        let manifest = "[workspace.dependencies]\nours = { path = \"a\" }\n\n# wire\na = \"1\"\n\
                        b = { version = \"1\", features = [\"c\"] } # what it is for\nd = \"1\" #\n\n\
                        [profile.dev]\nopt-level = 1\n";
        let tree = Tree::of(&[("Cargo.toml", manifest)]);
        let lines: Vec<usize> = reasons(&tree).iter().map(|offence| offence.line).collect();
        assert_eq!(lines, [5, 7]);
    }

    #[test]
    fn a_version_in_a_member_offends() {
        let manifest =
            "[dependencies]\na.workspace = true\nb = \"1\"\n[dev-dependencies]\nc = { version = \"1\" }\n";
        let tree = Tree::of(&[("crates/x/Cargo.toml", manifest), ("fuzz/Cargo.toml", manifest)]);
        let said: Vec<String> = versions(&tree).into_iter().map(|offence| offence.what).collect();
        assert_eq!(said, ["b is not `workspace = true`", "c is not `workspace = true`"]);
    }
}
