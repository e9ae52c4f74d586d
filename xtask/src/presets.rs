//! `cargo xtask presets [NAME ...]`: runs real servers, by their presets or by scenarios of their own, each beside its
//! ecosystem's own client, and writes the pages of `docs/servers`. A page is made by running it, or not at all.

mod page;
mod process;

use std::collections::BTreeMap;
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
const LOAD: [&str; 6] = ["-c", "200", "-r", "20/s", "-d", "10s"];

/// `docs/servers/servers.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    server: Vec<Server>,
}

/// A real server: of a preset, or described by a scenario of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    /// The name of its page; of its preset, if it has one.
    name: String,
    title: String,
    /// What it is, in words.
    server: String,
    /// How its program is got, beside `npm ci`.
    install: Option<String>,
    /// The command that starts it; it prints its port.
    start: Vec<String>,
    /// The URL for the preset; absent: the scenario `NAME.toml` beside the page, in which `PORT` is the port.
    url: Option<String>,
    /// How to publish, if the preset does not say.
    publish: Option<String>,
    #[serde(default = "websocket")]
    transport: String,
    /// Further arguments.
    #[serde(default)]
    more: Vec<String>,
    /// Secrets of the scenario, by name.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// The ecosystem's client, in words.
    client: String,
    /// The command that starts that client; it prints what it hears.
    hear: Vec<String>,
    /// What a user should know.
    note: String,
}

fn websocket() -> String {
    "websocket".to_owned()
}

impl Server {
    /// The file that describes it, from the root.
    fn described(&self) -> String {
        match self.url {
            Some(_) => format!("presets/{}.toml", self.name),
            None => format!("{FOLDER}/{}.toml", self.name),
        }
    }
}

/// What a run showed.
struct Seen {
    /// The command, with `PORT` for the port.
    command: String,
    /// The preset or the scenario.
    described: String,
    /// What pushmark said.
    text: String,
    run: Value,
    /// Messages that the other client heard, each with its latency from its stamp, µs.
    heard: Vec<Option<i64>>,
}

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let text = fs::read_to_string(shell::root().join(FOLDER).join("servers.toml"))?;
    let list: List = toml::from_str(&text).context("docs/servers/servers.toml")?;
    let names = || list.server.iter().map(|server| server.name.as_str());
    if let Some(unknown) = arguments.iter().find(|name| !names().any(|known| known == name.as_str())) {
        bail!("no real server {unknown} is known{}", nearest(unknown, names()));
    }
    shell::run(shell::cargo(&["build", "--release", "--quiet", "-p", "pushmark"]))?;
    let mut failed = Vec::new();
    for server in list.server.iter().filter(|s| arguments.is_empty() || arguments.contains(&s.name)) {
        println!("== {}", server.name);
        match measure(server).and_then(|seen| page::write(server, &seen)) {
            Ok(page) => {
                fs::write(shell::root().join(FOLDER).join(format!("{}.md", server.name)), page)?;
            }
            Err(error) => {
                println!("   {error:#}");
                failed.push(server.name.as_str());
            }
        }
    }
    let index = page::index(&list.server);
    fs::write(shell::root().join(FOLDER).join("README.md"), index)?;
    ensure!(failed.is_empty(), "without a new page: {}", failed.join(", "));
    Ok(())
}

fn measure(server: &Server) -> anyhow::Result<Seen> {
    let mut started = Process::start(&server.start)?;
    let line: Value = serde_json::from_str(&started.line()?).context("the server's first line")?;
    let port = port_in(&line).context("the server prints no port")?;
    let hear: Vec<String> = server.hear.iter().map(|word| word.replace("{port}", &port)).collect();
    let mut client = Process::start(&hear)?;
    let first = client.line()?;
    let stands = ["said", "subscribed"].iter().any(|word| first.contains(word));
    ensure!(stands, "the client did not subscribe: {first}");

    let results = shell::root().join("results/servers");
    let output = results.join(&server.name);
    if output.is_dir() {
        fs::remove_dir_all(&output)?;
    }
    fs::create_dir_all(&results)?;
    let described = fs::read_to_string(shell::root().join(server.described()))?;
    let mut words = vec!["run".to_owned()];
    // Typed with the name in the tree; run with the port in it.
    let scenario = results.join(format!("{}.toml", server.name));
    match &server.url {
        Some(url) => words.extend([url.replace("{port}", &port), "--preset".to_owned(), server.name.clone()]),
        None => {
            fs::write(&scenario, described.replace("PORT", &port))?;
            words.push(scenario.display().to_string());
        }
    }
    if let Some(publish) = &server.publish {
        words.extend(["--publish".to_owned(), publish.replace("{port}", &port)]);
    }
    words.extend(["-t".to_owned(), server.transport.clone()]);
    words.extend(LOAD.map(str::to_owned));
    words.extend(server.more.iter().cloned());
    let as_typed = |word: &String| match *word == scenario.display().to_string() {
        true => server.described(),
        false => quoted(&word.replace(&port, "PORT")),
    };
    let typed = words.iter().map(as_typed).collect::<Vec<_>>().join(" ");
    words.extend(["-q".to_owned(), "-o".to_owned(), output.display().to_string()]);
    let program = shell::target().join("release/pushmark").display().to_string();
    let mut command = shell::command(&[vec![program], words].concat());
    let mut secrets = String::new();
    for (name, value) in &server.secrets {
        let value = filled_in(value)?;
        let variable = format!("PUSHMARK_SECRET_{}", name.to_uppercase());
        command.env(&variable, value.trim());
        secrets += &format!("{variable}={} ", server.secrets[name]);
    }
    let done = command.output()?;
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
    Ok(Seen { command: format!("{secrets}pushmark {typed}"), described, text, run, heard })
}

/// The port that a server says it listens at, by itself or in its URL.
fn port_in(line: &Value) -> Option<String> {
    let of_url = || line["url"].as_str()?.split(':').nth(2)?.split('/').next()?.parse().ok();
    line["port"].as_u64().or_else(of_url).map(|port: u64| port.to_string())
}

/// The value of a secret: as it is, or `$(…)`: what a command prints.
fn filled_in(value: &str) -> anyhow::Result<String> {
    let Some(command) = value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) else {
        return Ok(value.to_owned());
    };
    let words: Vec<&str> = command.split(' ').collect();
    let printed = shell::command(&words).output().with_context(|| command.to_owned())?;
    Ok(String::from_utf8(printed.stdout)?)
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
    fn every_server_of_the_list_has_a_page_and_a_preset_or_a_scenario() {
        let folder = shell::root().join(FOLDER);
        let list: List = toml::from_str(&fs::read_to_string(folder.join("servers.toml")).unwrap()).unwrap();
        for server in &list.server {
            for path in [folder.join(format!("{}.md", server.name)), shell::root().join(server.described())] {
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
    fn a_port_is_told_by_itself_or_in_a_url() {
        let port = |line: &str| port_in(&serde_json::from_str(line).unwrap());
        assert_eq!(port("{\"port\":4711}").as_deref(), Some("4711"));
        assert_eq!(port("{\"url\":\"http://127.0.0.1:4711/cometd\"}").as_deref(), Some("4711"));
        assert_eq!(port("{\"url\":\"http://here/\"}"), None);
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("ws://127.0.0.1:PORT"), "ws://127.0.0.1:PORT");
        assert_eq!(quoted("http://h/p?room={channel}"), "'http://h/p?room={channel}'");
    }
}
