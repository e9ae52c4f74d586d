//! The foreign tools that the tests need (`conformance/tools.toml`): finds and installs missing ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};

use crate::shell;

/// A row of `tools.toml`.
#[derive(Debug)]
struct Tool {
    name: String,
    seen: Seen,
    source: Source,
}

/// How one sees that it is there.
#[derive(Debug)]
enum Seen {
    /// In PATH, or in Debian's folders for daemons.
    Program(String),
    File(String),
    Probe(Vec<String>),
}

/// Its source.
#[derive(Debug)]
enum Source {
    Apt(Vec<String>),
    /// Commands that pin versions; repeated at every installation.
    Run(Vec<Vec<String>>),
}

/// Makes sure that every tool is there: gets them, or says how to.
pub(crate) fn ready(install: bool) -> anyhow::Result<()> {
    ready_of("conformance/tools.toml", install)
}

/// The same of another table, seen from the root of the tree.
pub(crate) fn ready_of(table: &str, install: bool) -> anyhow::Result<()> {
    let tools = read(&shell::root().join(table))?;
    if install {
        for tool in tools.iter().filter(|tool| !tool.is_there()) {
            println!("installing: {:<14} {}", tool.name, tool.source.line());
        }
        install_packages(&tools)?;
        for command in tools.iter().flat_map(|tool| tool.source.commands()) {
            shell::run(shell::command(command))?;
        }
    }
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !tool.is_there()).collect();
    for tool in &missing {
        println!("missing: {:<14} {}", tool.name, tool.source.line());
    }
    match missing.len() {
        0 => Ok(()),
        _ if install => bail!("what was installed is not to be seen"),
        n => bail!("{n} of what {table} lists is missing; --install gets it"),
    }
}

/// Debian's packages, all at once, after one update of their lists.
fn install_packages(tools: &[Tool]) -> anyhow::Result<()> {
    let missing = tools.iter().filter(|tool| !tool.is_there());
    let packages: Vec<&str> = missing.flat_map(|tool| tool.source.packages()).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let apt = |arguments: &[&str]| {
        let sudo: &[&str] = if is_root() { &[] } else { &["sudo"] };
        let frontend = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"];
        shell::run(shell::command(&[sudo, &frontend, arguments].concat()))
    };
    apt(&["update"])?;
    apt(&[&["install", "--no-install-recommends"], &packages[..]].concat())
}

fn is_root() -> bool {
    // /proc/self belongs to the user that runs us.
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

impl Tool {
    fn is_there(&self) -> bool {
        match &self.seen {
            Seen::Program(program) => in_path(program).is_some(),
            Seen::File(file) => shell::root().join(file).exists(),
            Seen::Probe(words) => {
                let mut probe = shell::command(words);
                probe.stdout(Stdio::null()).stderr(Stdio::null());
                probe.status().is_ok_and(|status| status.success())
            }
        }
    }
}

impl Source {
    fn packages(&self) -> impl Iterator<Item = &str> {
        let packages = if let Source::Apt(packages) = self { &packages[..] } else { &[] };
        packages.iter().map(|package| &package[..])
    }

    fn commands(&self) -> &[Vec<String>] {
        if let Source::Run(commands) = self { commands } else { &[] }
    }

    fn line(&self) -> String {
        match self {
            Source::Apt(packages) => {
                format!("apt-get install --no-install-recommends {}", packages.join(" "))
            }
            Source::Run(commands) => {
                commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" && ")
            }
        }
    }
}

/// Where a program is.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_owned(), Path::new("/sbin").to_owned()])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn read(path: &Path) -> anyhow::Result<Vec<Tool>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> anyhow::Result<Vec<Tool>> {
    let table: toml::Table = text.parse()?;
    let rows = table.get("tool").and_then(toml::Value::as_array).context("no [[tool]]")?;
    rows.iter().map(tool).collect()
}

fn tool(row: &toml::Value) -> anyhow::Result<Tool> {
    let text = |key: &str| row.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let name = text("name").context("a tool without a name")?;
    let seen = match (text("program"), text("file"), row.get("probe")) {
        (Some(program), None, None) => Seen::Program(program),
        (None, Some(file), None) => Seen::File(file),
        (None, None, Some(probe)) => Seen::Probe(words(probe)?),
        _ => bail!("{name}: one of program, file, probe says how it is seen"),
    };
    let source = match (row.get("apt"), row.get("run").and_then(toml::Value::as_array)) {
        (Some(apt), None) => Source::Apt(words(apt)?),
        (None, Some(run)) => Source::Run(run.iter().map(words).collect::<anyhow::Result<_>>()?),
        _ => bail!("{name}: one of apt, run says where it comes from"),
    };
    Ok(Tool { name, seen, source })
}

fn words(value: &toml::Value) -> anyhow::Result<Vec<String>> {
    let list = value.as_array().context("a list of words is wanted")?;
    list.iter().map(|word| Ok(word.as_str().context("a word is wanted")?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_tools_can_be_read_and_each_says_how_to_get_it() {
        for (table, least) in [("conformance/tools.toml", 6), ("bench/peers/tools.toml", 6)] {
            let tools = read(&shell::root().join(table)).unwrap();
            assert!(tools.len() >= least);
            assert!(tools.iter().all(|tool| !tool.source.line().is_empty()));
        }
    }

    #[test]
    fn a_row_that_does_not_say_enough_is_refused() {
        for (row, why) in [
            ("program = 'a'\napt = ['a']", "without a name"),
            ("name = 'a'\napt = ['a']", "how it is seen"),
            ("name = 'a'\nprogram = 'a'", "where it comes from"),
            ("name = 'a'\nprogram = 'a'\napt = [1]", "a word is wanted"),
        ] {
            let error = parse(&format!("[[tool]]\n{row}\n")).unwrap_err();
            assert!(format!("{error:#}").contains(why), "{row}: {error:#}");
        }
    }

    #[test]
    fn a_program_is_found_in_the_path() {
        assert!(in_path("sh").is_some());
        assert!(in_path("no-such-program-anywhere").is_none());
    }
}
