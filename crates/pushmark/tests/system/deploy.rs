//! What starts agents and monitors elsewhere (`deploy/`), and the keys for it, as far as one machine can try it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::tool::{self, Running, Tool, arms, end, have, nats_server, root, until, whole};

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the words of every command line of pushmark in a text: a shell's, a list of YAML or a unit's.
fn commands(text: &str) -> Vec<Vec<String>> {
    // A line that goes on is one line; folded YAML goes on until it is indented less.
    let joined = text.replace("\\\n", " ").replace(">-\n", ">- ").replace("$(cat /keys/team.pub)", "KEY");
    let mut found = Vec::new();
    let mut lines = joined.lines().peekable();
    while let Some(line) = lines.next() {
        let mut line = line.trim().to_owned();
        let folded = line.contains(">- ");
        while folded && lines.peek().is_some_and(|next| next.trim_start().starts_with("--")) {
            line += " ";
            line += lines.next().expect("peeked").trim();
        }
        if let Some(list) = line.strip_prefix("command: [").and_then(|rest| rest.strip_suffix(']')) {
            let words: Vec<String> = list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect();
            if ["agent", "monitor", "run"].contains(&words[0].as_str()) {
                found.push(words);
            }
            continue;
        }
        // A drawing of machines is no command.
        if line.contains('─') {
            continue;
        }
        let starts = ["exec pushmark ", "ExecStart=/usr/local/bin/pushmark ", "pushmark "];
        let begins = |start: &str| line.starts_with(start) || start != "pushmark " && line.contains(start);
        if let Some(start) = starts.into_iter().find(|start| begins(start)) {
            let rest = &line[line.find(start).expect("it begins") + start.len()..];
            let rest = rest.split(" < ").next().expect("a part");
            let words = rest.split_whitespace().take_while(|word| !matches!(*word, "#" | "&" | "…"));
            found.push(words.map(str::to_owned).collect());
        }
    }
    found
}

#[test]
fn every_command_that_is_shown_is_one() {
    let tool = Tool::new();
    let mut seen = 0;
    let pages = files(&root().join("deploy")).into_iter().chain([root().join("docs/many-machines.md")]);
    for path in pages {
        for words in commands(&fs::read_to_string(&path).expect("text")) {
            // What a shell fills in stands for something here; the only variables that are read are addresses.
            let filled = |word: &'_ String| {
                if word.contains("$POD_IP") { "127.0.0.1".to_owned() } else { word.clone() }
            };
            let words: Vec<String> = words.iter().map(filled).chain(["--help".to_owned()]).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ended = tool.run(&words);
            assert_eq!(ended.code, 0, "{}: {words:?}: {}", path.display(), ended.err);
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen} commands");
}

#[test]
fn manifests_units_and_scripts_are_valid() {
    let deploy = root().join("deploy");
    let kubernetes = root().join("target/deploy/bin/kubernetes-validate");
    if have(kubernetes.is_file(), "kubernetes-validate") {
        let manifests: Vec<PathBuf> = files(&deploy.join("kubernetes"))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
            .collect();
        assert_eq!(manifests.len(), 4);
        let mut command = Command::new(kubernetes);
        let ended = end({
            command.arg("--strict").args(manifests).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        });
        ended.expect(0);
    }
    let tool = Tool::new();
    if have(Path::new("/usr/bin/systemd-analyze").exists(), "systemd-analyze") {
        for name in ["pushmark-agent.service", "pushmark-monitor.service"] {
            let unit = fs::read_to_string(deploy.join("systemd").join(name)).expect("a unit");
            let unit = tool.write(name, &unit.replace("/usr/local/bin/pushmark", tool::program()));
            let mut command = Command::new("systemd-analyze");
            command.args(["verify", "--man=no"]).arg(unit).stdout(Stdio::piped()).stderr(Stdio::piped());
            let ended = end(command).expect(0);
            assert!(!ended.err.contains(name), "{ended:#?}");
        }
    }
    let mut shell = Command::new("sh");
    shell.arg("-n").arg(deploy.join("ssh/agents")).stdout(Stdio::piped()).stderr(Stdio::piped());
    end(shell).expect(0);
}

/// A NATS server with the keys of `cluster init`, on a port of its own.
fn secured(tool: &Tool, agents: &[&str]) -> Option<(Running, String)> {
    let program = nats_server()?;
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let mut arguments = vec!["cluster", "init", "keys", "--host", "localhost", "--host", "127.0.0.1"];
    agents.iter().for_each(|agent| arguments.extend(["--agent", agent]));
    let told = tool.run(&arguments).expect(0);
    assert!(agents.iter().all(|agent| told.out.contains(&format!("--name {agent}"))), "{told:#?}");
    let conf = fs::read_to_string(tool.path("keys/nats.conf")).expect("its configuration");
    tool.write("keys/nats.conf", &conf.replace("port: 4222", &format!("listen: 127.0.0.1:{port}")));
    let mut command = Command::new(program);
    command.args(["-c", "nats.conf"]).current_dir(tool.path("keys")).stdin(Stdio::null());
    let mut nats = Running::of(command);
    nats.wait_for("Server is ready");
    Some((nats, format!("tls://localhost:{port}")))
}

const SCENARIO: &str = "transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n[load]\nconnections = 20\n\
    warmup = \"300ms\"\nduration = \"1s\"\ndrain = \"500ms\"\n[publisher]\nrate = \"10/s\"\n";

#[test]
fn each_machine_may_say_only_what_is_its_own() {
    let tool = Tool::new();
    let Some((_nats, url)) = secured(&tool, &["a", "b", "m"]) else { return };
    for name in ["team.key", "a.login", "nats.conf", "nats.key"] {
        let mode = fs::metadata(tool.path("keys").join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let public = fs::read_to_string(tool.path("keys/team.pub")).expect("the public key");
    let with = |words: &[&str], login: &str| {
        let login = format!("keys/{login}.login");
        let more = ["--nats", &url, "--nats-ca", "keys/ca.pem", "--nats-login", &login];
        [words, &more].concat().iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let start = |words: &[&str], login: &str| {
        let words = with(words, login);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut running = tool.start(&words);
        running.wait_for("waits at");
        running
    };
    let trust = ["--trust", public.trim(), "--address", "127.0.0.1", "--spool"];
    let agent =
        |name: &'static str| [&["agent", "--threads", "1", "--name", name], &trust[..], &[name]].concat();
    let _a = start(&agent("a"), "a");
    let _b = start(&agent("b"), "b");
    let monitor = [&["monitor", "--name", "m", "--serve", "builtin"], &trust[..], &["m"]].concat();
    let _m = start(&monitor, "m");
    tool.write("s.toml", SCENARIO);
    let run = |login: &str, folder: &str| {
        let words = with(&["run", "s.toml", "-q", "--sign-key", "keys/team.key", "-o", folder], login);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        tool.run(&words).never_panicked()
    };
    run("coordinator", "out").counted();
    let done = tool.run_json("out");
    whole(&arms(&done)[0]);
    assert_eq!(arms(&done)[0]["agents"].as_array().map(Vec::len), Some(2));
    // A coordinator is killed. Another one with its login collects what was kept, and sets all machines free.
    let words = with(&["run", "s.toml", "--sign-key", "keys/team.key", "-o", "lost"], "coordinator");
    let mut lost = tool.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
    lost.wait_for("measure");
    lost.signal(Signal::KILL);
    let words = with(&["runs", "-o", "made", "reconcile"], "coordinator");
    tool.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).never_panicked().measured();
    let words = with(&["agents", "--json"], "coordinator");
    let listed = tool.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    assert!(listed.out.contains("\"a\"") && !listed.out.contains("\"busy\""), "{listed:#?}");
    // Who has an agent's login cannot give orders, and cannot pass for another.
    run("a", "none").expect(3);
    let words = with(&agent("c"), "a");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut other = tool.start(&words);
    other.wait_for("waits at");
    let listed =
        tool.run(&with(&["agents"], "coordinator").iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    assert!(listed.out.contains("\na "), "{listed:#?}");
    run("coordinator", "again").says(&["agent c"]);
    // A second folder of this name is not written over.
    tool.run(&["cluster", "init", "keys", "--host", "h", "--agent", "a"]).expect(2).says(&["keys"]);
    tool.run(&["cluster", "init", "k2", "--host", "h", "--agent", "a.b"])
        .expect(2)
        .says(&["letters, digits"]);
}

/// The script is run with a stand-in for ssh that runs the command here.
#[test]
fn the_ssh_script_starts_agents_and_ends_them() {
    let tool = Tool::new();
    let Some((_nats, url)) = secured(&tool, &["x-example", "y"]) else { return };
    let port = url.rsplit(':').next().expect("a port").to_owned();
    fs::create_dir(tool.path("bin")).expect("a folder");
    let there = |name: &str, text: &str| {
        let path = tool.write(&format!("bin/{name}"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    };
    there("ssh", "#!/bin/sh\nshift\nexec sh -c \"$*\"\n");
    // The script knows NATS' usual port alone.
    let program = tool::program();
    there(
        "pushmark",
        &format!(
            "#!/bin/sh\nfor w in \"$@\"; do shift; set -- \"$@\" \"$(echo $w | sed s/:4222/:{port}/)\"; done\nexec {program} \"$@\" --address 127.0.0.1\n"
        ),
    );
    let path = format!("{}:{}", tool.path("bin").display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new(root().join("deploy/ssh/agents"));
    command.args(["keys", "localhost", "127.0.0.0/8", "me@x.example", "y"]).env("PATH", path);
    command.current_dir(tool.path("")).stdin(Stdio::null());
    let script = Running::of(command);
    let agents = || {
        let words =
            ["agents", "--nats", &url, "--nats-ca", "keys/ca.pem", "--nats-login", "keys/coordinator.login"];
        tool.run(&words).expect(0).out
    };
    until("both agents wait", || {
        let listed = agents();
        listed.contains("\nx-example ") && listed.contains("\ny ")
    });
    script.signal(rustix::process::Signal::TERM);
    script.end().expect(130);
    until("no agent waits", || agents() == "no agent waits here\n");
}
