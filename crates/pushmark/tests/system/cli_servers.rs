//! `pushmark servers` on a registry of this test: what is missing, what is built, when a build is
//! repeated, and what a failed build reports.

use crate::tool;
use std::fs;

use crate::tool::{Ended, Tool};
use serde_json::Value;

/// A folder `own` with a registry of these rows.
struct Own {
    tool: Tool,
}

/// The build counts how often it runs.
const MADE: &str = "folder = \"made\"\ninputs = [\"shared\"]\nbuild = [\"sh\", \"-c\", \"echo made 1.0 > made; echo x >> ../builds\"]\n\
    built = [\"made\"]\nversion = [\"cat\", \"made\"]\nclean = [\"rm\", \"made\"]\n\
    run = [\"{pushmark}\", \"serve\", \"--port\", \"{port}\"]\n";

fn row(name: &str, lines: &str) -> String {
    let run = if lines.contains("\nrun =") { "" } else { "run = [\"x\"]\n" };
    format!("[[server]]\nname = \"{name}\"\ntransports = [\"sse\"]\ncontract = true\n{run}{lines}\n")
}

impl Own {
    fn new(rows: &[String]) -> Own {
        let text = fs::read_to_string(tool::servers().join("servers.toml")).unwrap();
        let contract = &text[..text.find("[[server]]").unwrap()];
        let own = Own { tool: Tool::new() };
        for folder in ["own/made", "own/shared", "own/cracked"] {
            fs::create_dir_all(own.tool.path(folder)).unwrap();
        }
        own.tool.write("own/made/source", "1");
        own.tool.write("own/servers.toml", &format!("{contract}{}", rows.concat()));
        own
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.tool.run(&[arguments, &["--servers", "own"]].concat())
    }

    fn rows(&self) -> Value {
        serde_json::from_str(&self.run(&["servers", "list", "--format", "json"]).expect(0).out).expect("JSON")
    }

    #[track_caller]
    fn listed(&self, name: &str) -> Value {
        let rows = self.rows();
        let found = rows.as_array().unwrap().iter().find(|row| row["name"] == name);
        found.unwrap_or_else(|| panic!("{name} in {rows:#}")).clone()
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.tool.path("own/builds")).unwrap_or_default().lines().count()
    }
}

#[test]
fn the_servers_of_the_tree_are_listed() {
    let tool = Tool::new();
    let list = tool.run(&["servers", "list", "--versions"]).expect(0).out;
    let line = list.lines().position(|line| line.contains("builtin  ")).expect("a row");
    let lines: Vec<&str> = list.lines().skip(line).take(4).map(str::trim).collect();
    assert!(lines[0].contains("present") && lines[0].contains("event loop"), "{list}");
    assert!(lines[0].contains("ready, "), "{list}");
    assert!(lines[2].starts_with("poll, long-poll, stream, sse, websocket"), "{list}");
    assert!(lines[3].starts_with("pushmark "), "{list}");
    let rows: Value =
        serde_json::from_str(&tool.run(&["servers", "list", "--format", "json"]).expect(0).out).unwrap();
    assert_eq!(rows[0]["name"], "builtin");
    assert_eq!((&rows[0]["ready"], &rows[0]["built"]), (&true.into(), &Value::Null));
}

#[test]
fn what_is_missing_is_named_with_the_command_that_installs_it() {
    let need = "[need.tool]\nwhat = \"the tool\"\nprogram = \"no-such-program\"\ninstall = \"apt-get install tool\"\n";
    let own = Own::new(&[need.into(), row("absent", "needs = [\"tool\"]\n")]);
    let list = own.run(&["servers", "list"]).expect(0).out;
    assert!(list.contains("cannot run here"), "{list}");
    assert!(list.contains("the tool is missing: apt-get install tool"), "{list}");
    let absent = own.listed("absent");
    assert_eq!(absent["ready"], false);
    assert_eq!(absent["missing"][0]["install"], "apt-get install tool");
    own.run(&["servers", "start", "absent"])
        .expect(4)
        .says(&["absent cannot run here", "the tool is missing: apt-get install tool"]);
    own.run(&["servers", "build", "absent"]).expect(0).says(&["absent: nothing to build"]);
}

#[test]
fn a_build_is_run_once_for_what_is_there() {
    let threads = MADE.replace("\"serve\"", "\"serve\", \"--threads\", \"2\"");
    let own = Own::new(&[row("made", MADE), row("made-threads", &threads)]);
    assert_eq!(own.listed("made")["built"], false);
    assert_eq!(own.listed("made")["state"], "not built");
    own.run(&["servers", "build"]).expect(0).says(&["made: built in "]);
    assert_eq!(own.builds(), 1, "the other row is of the same module");
    for name in ["made", "made-threads"] {
        own.run(&["servers", "build", name]).expect(0).says(&[&format!("{name}: already built")]);
        assert_eq!(own.listed(name)["built"], true);
    }
    assert_eq!(own.builds(), 1);
    let list = own.run(&["servers", "list", "--versions"]).expect(0).out;
    assert!(list.contains("made 1.0"), "{list}");

    // A source, an input, and a build product.
    for (path, content) in
        [("own/made/source", Some("2")), ("own/shared/a", Some("1")), ("own/made/made", None)]
    {
        match content {
            Some(text) => drop(own.tool.write(path, text)),
            None => fs::remove_file(own.tool.path(path)).unwrap(),
        }
        assert_eq!(own.listed("made")["built"], false, "{path}");
        let before = own.builds();
        own.run(&["servers", "build", "made-threads"]).expect(0);
        assert_eq!(own.builds(), before + 1, "{path}");
    }
    own.run(&["servers", "clean", "made"]).expect(0);
    assert!(!own.tool.path("own/made/made").exists());
    assert_eq!(own.listed("made")["state"], "not built");
}

#[test]
fn a_failed_build_shows_the_end_of_its_log() {
    let cracked = "folder = \"cracked\"\nbuild = [\"sh\", \"-c\", \"echo line 7: no such symbol >&2; exit 3\"]\nbuilt = [\"x\"]\n";
    let hollow = "folder = \"cracked\"\nbuild = [\"true\"]\nbuilt = [\"never\"]\n";
    let own = Own::new(&[row("cracked", cracked), row("hollow", hollow), row("made", MADE)]);
    let ended = own.run(&["servers", "build", "cracked"]).expect(3);
    let ended = ended.says(&["cracked: sh -c", "failed: exit status: 3", "| line 7: no such symbol"]);
    assert!(ended.err.contains("cracked.build.log"), "{}", ended.err);
    own.run(&["servers", "build", "hollow"]).expect(3).says(&["hollow", "never does not exist"]);
    own.run(&["servers", "build"]).expect(3).says(&["made: built in "]);
    own.run(&["servers", "start", "cracked"]).expect(3).says(&["no such symbol"]);
    own.run(&["servers", "build", "mate"]).expect(2).says(&["mate", "did you mean `made`?"]);
}

#[test]
fn a_build_that_is_broken_off_leaves_no_process() {
    let slow = "folder = \"cracked\"\nbuild = [\"sh\", \"-c\", \"sleep 1000 & echo $! > pid; wait\"]\nbuilt = [\"x\"]\n";
    let own = Own::new(&[row("slow", slow)]);
    let mut running = own.tool.start(&["servers", "build", "slow", "--servers", "own"]);
    running.wait_for("slow: sh -c");
    let path = own.tool.path("own/cracked/pid");
    let mut pid = String::new();
    tool::until("the build goes on", || {
        pid = fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
        !pid.is_empty()
    });
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(running.end().code, 137);
    tool::until("it has ended", || tool::is_gone(pid.parse().unwrap()));
    assert_eq!(own.listed("slow")["built"], false);
}

#[test]
fn flags_are_those_of_the_row() {
    let flagged = "flags = { limit = \"7\" }\nfolder = \"made\"\nrun = [\"sh\", \"-c\", \"echo limit {limit}, log {log}\"]\n";
    let own = Own::new(&[row("flagged", flagged)]);
    let said =
        |arguments: &[&str]| own.run(&[&["servers", "start", "flagged"], arguments].concat()).expect(0).out;
    assert!(said(&[]).starts_with("limit 7, log "));
    assert!(said(&["--flag", "limit=9"]).starts_with("limit 9, log "));
    own.run(&["servers", "start", "flagged", "--flag", "limits=9"])
        .expect(2)
        .says(&["`flagged` has no flag `limits`", "did you mean `limit`?"]);
    own.run(&["servers", "start", "flagged", "--flag", "limit"]).expect(2).says(&["NAME=VALUE"]);
    own.tool.write("s.toml", "[target]\nserver = \"flagged\"\nflags = { limt = 9 }\n");
    own.run(&["run", "s.toml"]).expect(2).says(&["s.toml:3", "no flag `limt`", "did you mean `limit`?"]);
    own.run(&["run", "s.toml", "--set", "target.flags={}", "--set", "target.flags.linit=3"])
        .expect(2)
        .says(&["--set target.flags.linit=3", "no flag `linit`"]);
    own.tool.write(
        "foreign.toml",
        "[target]\nflags = { heap = \"1g\" }\n[target.subscribe]\nsse = \"http://127.0.0.1:9/x\"\n",
    );
    own.run(&["run", "foreign.toml"])
        .expect(2)
        .says(&["foreign.toml:2", "`flags` needs a server of the registry"]);
}
