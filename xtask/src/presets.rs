//! `cargo xtask presets [NAME ...]`: runs presets against their real servers, each beside its ecosystem's own
//! client, and writes the pages of `docs/servers`. A page is made by running it, or not at all.

mod page;
mod process;

use std::fs;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::nearest;
use crate::shell;
use process::Process;

/// Where the list and the pages are.
const FOLDER: &str = "docs/servers";
/// What every page measures with, as it is typed.
const LOAD: [&str; 9] =
    ["-t", "websocket", "-c", "200", "-r", "20/s", "-d", "10s", "--set=publisher.connections=1"];

/// `docs/servers/servers.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    server: Vec<Server>,
}

/// A real server of a preset.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    preset: String,
    title: String,
    /// What it is, in words.
    server: String,
    /// The command that starts it; it prints its port.
    start: Vec<String>,
    /// The URL for the preset.
    url: String,
    /// How to publish, if the preset does not say.
    publish: Option<String>,
    /// The ecosystem's client, in words.
    client: String,
    /// The command that starts that client; it prints what it hears.
    hear: Vec<String>,
    /// What a user should know.
    note: String,
}

/// What a run showed.
struct Seen {
    /// The command, with `PORT` for the port.
    command: String,
    /// What pushmark said.
    text: String,
    run: Value,
    /// Messages that the other client heard, each with its latency from its stamp, µs.
    heard: Vec<Option<i64>>,
}

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let text = fs::read_to_string(shell::root().join(FOLDER).join("servers.toml"))?;
    let list: List = toml::from_str(&text).context("docs/servers/servers.toml")?;
    let names = || list.server.iter().map(|server| server.preset.as_str());
    if let Some(unknown) = arguments.iter().find(|name| !names().any(|known| known == name.as_str())) {
        bail!("no real server of the preset {unknown} is known{}", nearest(unknown, names()));
    }
    shell::run(shell::cargo(&["build", "--release", "--quiet", "-p", "pushmark"]))?;
    for server in list.server.iter().filter(|s| arguments.is_empty() || arguments.contains(&s.preset)) {
        println!("== {}", server.preset);
        let seen = measure(server).with_context(|| server.preset.clone())?;
        let preset = fs::read_to_string(shell::root().join(format!("presets/{}.toml", server.preset)))?;
        let page = page::write(server, &preset, &seen)?;
        fs::write(shell::root().join(FOLDER).join(format!("{}.md", server.preset)), page)?;
    }
    let index = page::index(&list.server);
    fs::write(shell::root().join(FOLDER).join("README.md"), index)?;
    Ok(())
}

fn measure(server: &Server) -> anyhow::Result<Seen> {
    let mut started = Process::start(&server.start)?;
    let line: Value = serde_json::from_str(&started.line()?).context("the server's first line")?;
    let port = line["port"].as_u64().context("the server prints no port")?.to_string();
    let hear: Vec<String> = server.hear.iter().map(|word| word.replace("{port}", &port)).collect();
    let mut client = Process::start(&hear)?;
    let first = client.line()?;
    ensure!(first.contains("said"), "the client did not subscribe: {first}");

    let output = shell::root().join("results/presets").join(&server.preset);
    if output.is_dir() {
        fs::remove_dir_all(&output)?;
    }
    let mut words = vec!["run".to_owned(), server.url.replace("{port}", &port)];
    words.extend(["--preset".to_owned(), server.preset.clone()]);
    if let Some(publish) = &server.publish {
        words.extend(["--publish".to_owned(), publish.replace("{port}", &port)]);
    }
    words.extend(LOAD.map(str::to_owned));
    let typed = words.iter().map(|word| quoted(&word.replace(&port, "PORT"))).collect::<Vec<_>>().join(" ");
    words.extend(["-q".to_owned(), "-o".to_owned(), output.display().to_string()]);
    let program = shell::target().join("release/pushmark").display().to_string();
    let done = shell::command(&[vec![program], words].concat()).output()?;
    let text = fs::read_to_string(output.join("run.json"));
    let text = text.with_context(|| String::from_utf8_lossy(&done.stderr).into_owned())?;
    let run: Value = serde_json::from_str(&text)?;
    let all = run["arms"][0]["published"]["due"].as_u64().unwrap_or_default();
    let mut heard = Vec::new();
    // Those of the warm-up are heard too.
    while let Ok(line) = client.line() {
        let line: Value = serde_json::from_str(&line).context("a line of the client")?;
        heard.push(latency_us(&line));
        if heard.len() as u64 >= all && client.is_quiet() {
            break;
        }
    }
    let text = String::from_utf8_lossy(&done.stdout);
    let text = text.lines().filter(|line| !line.contains("report ")).collect::<Vec<_>>().join("\n");
    let text = text.replace(&format!(":{port}"), ":PORT");
    Ok(Seen { command: format!("pushmark {typed}"), text, run, heard })
}

/// The time from the stamp in a message to its receipt: both are of the same clock.
fn latency_us(line: &Value) -> Option<i64> {
    let message = line["message"].as_str()?;
    let sent = message.get(message.rfind("pm1:")?..)?.get(38..48)?;
    let sent_us = i64::from_str_radix(sent, 36).ok()?;
    Some(line["at_us"].as_i64()? - sent_us)
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// The median of some values.
fn median(values: &[i64]) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// The pages of the tree are those of the list.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_of_the_list_has_a_page_and_a_preset() {
        let folder = shell::root().join(FOLDER);
        let list: List = toml::from_str(&fs::read_to_string(folder.join("servers.toml")).unwrap()).unwrap();
        for server in &list.server {
            for path in [
                folder.join(format!("{}.md", server.preset)),
                shell::root().join(format!("presets/{}.toml", server.preset)),
            ] {
                assert!(path.is_file(), "{}", path.display());
            }
        }
        assert_eq!(fs::read_to_string(folder.join("README.md")).unwrap(), page::index(&list.server));
    }

    #[test]
    fn a_latency_is_from_the_stamp_to_the_receipt() {
        let line = serde_json::json!({
            "message": "xxpm1:000001:00:0000:0000002:000000000a:000000000k", "at_us": 120,
        });
        assert_eq!(latency_us(&line), Some(100));
        assert_eq!(latency_us(&serde_json::json!({"message": "hello", "at_us": 1})), None);
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("ws://127.0.0.1:PORT"), "ws://127.0.0.1:PORT");
        assert_eq!(quoted("http://h/p?room={channel}"), "'http://h/p?room={channel}'");
    }
}
