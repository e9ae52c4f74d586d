//! README names only commands that exist, and CHANGELOG has a section for unreleased changes.

use super::tree::{Offence, Tree};

/// Requires a heading for unreleased changes in CHANGELOG.
pub(super) fn changelog(tree: &Tree) -> Vec<Offence> {
    let path = "CHANGELOG.md";
    match tree.text(path) {
        None => vec![Offence::new(path, 0, "the file does not exist")],
        Some(text) if !text.lines().any(|line| line.starts_with('#') && line.contains("Unreleased")) => {
            vec![Offence::new(path, 0, "no heading says Unreleased")]
        }
        Some(_) => Vec::new(),
    }
}

/// Finds commands in the code of README that neither pushmark nor `cargo xtask` has.
pub(super) fn commands(tree: &Tree) -> Vec<Offence> {
    let path = "README.md";
    let Some(text) = tree.text(path) else { return vec![Offence::new(path, 0, "the file does not exist")] };
    let of_tool = tree.text("crates/pushmark/src/cli.rs").map(of_command_line).unwrap_or_default();
    let chores: Vec<String> = crate::CHORES.iter().map(|chore| chore.name.to_owned()).collect();
    let mut offences = Vec::new();
    for (line, words) in code_lines(text) {
        for pair in words.windows(3) {
            let (known, named) = match [&pair[0][..], &pair[1][..], &pair[2][..]] {
                ["cargo", "xtask", named] => (&chores, named),
                [_, "--", named] | [_, "pushmark", named] => (&of_tool, named),
                _ => continue,
            };
            // A flag, a file, a URL or a placeholder is not a command.
            let is_command =
                named.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !named.starts_with('-');
            if is_command && !known.iter().any(|known| known == named) {
                offences.push(Offence::new(path, line, format!("there is no command {named}")));
            }
        }
    }
    offences
}

/// Variants of the enum from which clap makes commands, as they are typed.
fn of_command_line(text: &str) -> Vec<String> {
    let Some((_, body)) = text.split_once("derive(Subcommand") else { return Vec::new() };
    let body = body.split("\n}").next().unwrap_or(body);
    let variants = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = variants.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    let mut names: Vec<String> = variants
        .map(|line| kebab(line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()))
        .collect();
    names.push("help".to_owned());
    names
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(character.to_ascii_lowercase());
    }
    kebab
}

/// Words of code: lines of fenced blocks without their comments, and the text in backquotes.
/// Each begins with an empty word, so that a command at the start has something before it.
fn code_lines(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut lines = Vec::new();
    let mut fenced = false;
    let words = |code: &str| {
        let code = code.trim().trim_start_matches("$ ");
        let code = code.split(" #").next().unwrap_or(code);
        std::iter::once("").chain(code.split_whitespace()).map(str::to_owned).collect::<Vec<_>>()
    };
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            lines.push((at + 1, words(line)));
        } else {
            lines.extend(line.split('`').skip(1).step_by(2).map(|code| (at + 1, words(code))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLI: &str = "#[derive(Subcommand, Debug)]\nenum Command {\n    /// Doc\n    Run(Box<Args>),\n    \
                       FindMax,\n    Completions {\n        shell: Shell,\n    },\n}\nstruct Other;\n";

    fn said(readme: &str) -> Vec<String> {
        let tree = Tree::of(&[("README.md", readme), ("crates/pushmark/src/cli.rs", CLI)]);
        commands(&tree).into_iter().map(|offence| offence.to_string()).collect()
    }

    #[test]
    fn a_command_that_does_not_exist_offends() {
        assert_eq!(said("Try `pushmark fly`.\n"), ["README.md:1: there is no command fly"]);
        assert_eq!(said("```\ncargo run --release -- fly\n```\n"), ["README.md:2: there is no command fly"]);
        assert_eq!(said("a\n`cargo xtask fly`\n"), ["README.md:2: there is no command fly"]);
    }

    #[test]
    fn what_exists_and_what_is_no_command_does_not_offend() {
        assert!(said("`pushmark run`, `pushmark find-max a.toml`, `cargo xtask tidy`\n").is_empty());
        assert!(
            said("```sh\n$ pushmark run http://a/ # pushmark flies\npushmark --version\n```\n").is_empty()
        );
        assert!(said("pushmark is an instrument\n").is_empty(), "prose is no code");
        assert!(said("`pushmark COMMAND` `pushmark scenario.toml`\n").is_empty());
    }

    #[test]
    fn a_changelog_without_unreleased_offends() {
        let of = |text| changelog(&Tree::of(&[("CHANGELOG.md", text)])).len();
        assert_eq!(of("# Changelog\n\n## Unreleased\n"), 0);
        assert_eq!(of("# Changelog\n\n## 0.1.0\n"), 1);
        assert_eq!(changelog(&Tree::of(&[])).len(), 1);
    }
}
