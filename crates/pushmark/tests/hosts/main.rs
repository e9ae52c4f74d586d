//! Runs over hosts of their own: the server on one with a monitor beside it, two that make the load, and one from which
//! the run is started, where NATS runs. Run alone: the hosts share the cores of this machine.

#[path = "../tool/mod.rs"]
mod tool;

#[path = "../tool/hosts.rs"]
mod hosts;

use std::fs;
use std::path::PathBuf;

use hosts::Hosts;
use serde_json::Value;
use tool::{Ended, Running, Tool, arms, end, is_true, nats_server, number, root, until, whole};

/// The host of the run and of NATS, that of the server, and those that make the load.
const HERE: usize = 1;
const SERVER: usize = 2;
const LOAD: [usize; 2] = [3, 4];

struct Machines {
    tool: Tool,
    hosts: Hosts,
    running: Vec<Running>,
}

impl Machines {
    /// Agents on the hosts that make the load, and a monitor that starts these servers.
    fn open(serve: &[&str]) -> Option<Machines> {
        let nats = nats_server()?;
        let hosts = Hosts::open(4)?;
        let mut machines = Machines { tool: Tool::new(), hosts, running: Vec::new() };
        let key = machines.tool.run(&["agents", "--new-key", "team.key"]).expect(0).out.trim().to_owned();
        let address = machines.hosts.address(HERE);
        machines.start(
            HERE,
            nats.to_str().expect("UTF-8"),
            &["-a", &address, "-p", "4222"],
            "Server is ready",
        );
        let url = machines.url();
        let waits = |kind: &str, name: &str, more: &[&str]| {
            let own = [kind, "--nats", &url, "--name", name, "--trust", &key, "--spool", name];
            [&own[..], more].concat().iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
        };
        for (host, name) in LOAD.into_iter().zip(["a", "b"]) {
            machines.pushmark(host, &waits("agent", name, &["--threads", "1", "--allow", "10.99.0.0/24"]));
        }
        let servers = root().join("servers").display().to_string();
        // A host of its own reaches no registry, so its monitor must find them built.
        for name in serve.iter().filter(|name| **name != "builtin") {
            machines.tool.run(&["servers", "build", name]).expect(0);
        }
        let mut more = vec!["--servers", &servers];
        serve.iter().for_each(|name| more.extend(["--serve", name]));
        machines.pushmark(SERVER, &waits("monitor", "m", &more));
        Some(machines)
    }

    fn url(&self) -> String {
        format!("nats://{}:4222", self.hosts.address(HERE))
    }

    /// Ports at which the server's host listens: those of the monitor, without a server.
    fn listening(&self) -> Vec<String> {
        const LISTEN: &str = "0A";
        let mut command = self.hosts.command(SERVER, "cat", &["/proc/net/tcp", "/proc/net/tcp6"]);
        let table = String::from_utf8(command.output().expect("the table").stdout).expect("text");
        let ports = table.lines().filter_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            (columns.get(3) == Some(&LISTEN)).then(|| columns[1].to_owned())
        });
        let mut ports: Vec<String> = ports.collect();
        ports.sort();
        ports
    }

    fn start(&mut self, host: usize, program: &str, arguments: &[&str], ready: &str) {
        let mut command = self.hosts.command(host, program, arguments);
        command.current_dir(self.tool.path(""));
        let mut running = Running::of(command);
        running.wait_for(ready);
        self.running.push(running);
    }

    fn pushmark(&mut self, host: usize, arguments: &[String]) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.start(host, tool::program(), &arguments, "waits at");
    }

    /// Runs a command of pushmark on the host of the run.
    fn run(&self, arguments: &[&str]) -> Ended {
        end(self.command(arguments)).never_panicked()
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let url = self.url();
        let all = [arguments, &["--nats", &url, "--sign-key", "team.key", "-q"]].concat();
        let mut command = self.hosts.command(HERE, tool::program(), &all);
        command.current_dir(self.tool.path("")).env("PUSHMARK_SERVERS", root().join("servers"));
        command
    }
}

fn measured_over_hosts(arm: &Value, server: &str) {
    assert!(arm["error"].is_null(), "{server}: {}", arm["error"]);
    let agents = arm["agents"].as_array().expect("agents");
    assert_eq!(agents.len(), 2, "{server}");
    for agent in agents {
        assert!(number(agent, "/connections") > 0.0 && number(agent, "/generator/cpu_us") > 0.0, "{agent:#}");
        is_true(&agent["clock"], 0.0);
    }
    assert_eq!(arm["monitor"]["started"].as_bool(), Some(true), "{server}: {:#}", arm["monitor"]);
    is_true(&arm["monitor"]["clock"], 0.0);
    assert!(
        number(arm, "/server/cpu_us") > 0.0 && number(arm, "/server/ready_us") > 0.0,
        "{:#}",
        arm["server"]
    );
}

#[test]
fn a_slice_of_the_first_study_runs_over_four_hosts() {
    let Some(machines) = Machines::open(&["builtin", "tomcat-6"]) else { return };
    let before = machines.listening();
    // The server's own arrangement first: every delivery is accounted for.
    let scenario = "transports = [\"sse\", \"long-poll\"]\n[target]\nserver = \"builtin\"\n[load]\nconnections = 60\n\
        settle = \"300ms\"\nwarmup = \"500ms\"\nduration = \"2s\"\ndrain = \"1s\"\n[publisher]\nrate = \"10/s\"\n";
    machines.tool.write("s.toml", scenario);
    machines.run(&["run", "s.toml", "-o", "out"]).counted();
    for arm in arms(&machines.tool.run_json("out")) {
        whole(arm);
        measured_over_hosts(arm, "builtin");
    }

    let suite = root().join("studies/suites/comet-195.toml").display().to_string();
    let only = ["--only", "tomcat-6-comet-1s-1000", "--only", "tomcat-6-long-poll-1s-1000"];
    let scaled =
        [&["suite", &suite, "-o", "suite", "--scale", "0.1", "--scale-time", "0.01"], &only[..]].concat();
    let ended = machines.run(&scaled);
    assert!(matches!(ended.code, 0 | 5 | 6 | 99), "{ended:#?}");
    let folders: Vec<PathBuf> = fs::read_dir(machines.tool.path("suite"))
        .expect("the suite")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("run.json").is_file())
        .collect();
    assert_eq!(folders.len(), 2, "{ended:#?}");
    for folder in folders {
        let text = fs::read_to_string(folder.join("run.json")).expect("run.json");
        let run: Value = serde_json::from_str(&text).expect("JSON");
        let arm = &arms(&run)[0];
        measured_over_hosts(arm, "tomcat-6");
        assert!(number(arm, "/delivery/delivered") > 0.0, "{:#}", arm["delivery"]);
        // The collections of a JVM that ran on the other host.
        assert!(number(arm, "/server/heap/live_bytes") > 1e6, "{:#}", arm["server"]);
        let names: Vec<String> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(names.iter().any(|name| name.contains("gc.log")), "{names:?}");
    }
    // The monitor has stopped the servers that it had started.
    until("the server's host listens where it did before", || machines.listening() == before);
}
