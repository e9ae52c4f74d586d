//! Runs over agents on a bus: a real NATS server, agents as processes of their own.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::relay::Relay;
use crate::tool::{self, Ended, Running, Tool, arms, end, have, is_true, nats_server, number, until, whole};

/// What the clock of an agent or a monitor in a time namespace of these tests is ahead, µs.
pub(crate) const HOUR_US: f64 = 3.6e9;
pub(crate) const SCENARIO: &str = "transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n\
    args = [\"--drop\", \"1/7\", \"--dup\", \"1/11\"]\n[load]\nconnections = 60\nramp = { rate = 400 }\n\
    settle = \"300ms\"\nwarmup = \"500ms\"\nduration = \"2s\"\ndrain = \"1s\"\n\
    [subscriptions]\nchannels = 7\nper_connection = 2\n[publisher]\nrate = \"10/s\"\nconnections = 7\n";

/// A NATS server, and agents on it.
pub(crate) struct Bus {
    pub(crate) tool: Tool,
    port: u16,
    nats: Option<Running>,
    pub(crate) agents: Vec<Running>,
}

impl Bus {
    pub(crate) fn open() -> Option<Bus> {
        nats_server()?;
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
        let mut bus = Bus { tool: Tool::new(), port, nats: None, agents: Vec::new() };
        bus.start_nats();
        Some(bus)
    }

    fn start_nats(&mut self) {
        self.start_nats_with(&[]);
    }

    fn start_nats_with(&mut self, more: &[&str]) {
        let mut command = Command::new(nats_server().expect("it was there"));
        command.args(["-a", "127.0.0.1", "-p", &self.port.to_string()]).args(more).stdin(Stdio::null());
        let mut nats = Running::of(command);
        nats.wait_for("Server is ready");
        self.nats = Some(nats);
    }

    /// Kills the NATS server, and starts another in its place after a while.
    pub(crate) fn restart(&mut self, away: Duration) {
        self.nats.as_ref().expect("it runs").signal(Signal::KILL);
        self.nats = None;
        tool::pass(away);
        self.start_nats();
    }

    pub(crate) fn freeze_nats(&self, away: Duration) {
        let nats = self.nats.as_ref().expect("it runs");
        nats.signal(Signal::STOP);
        tool::pass(away);
        nats.signal(Signal::CONT);
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn agent(&mut self, name: &str, more: &[&str]) {
        self.wait(&[&["agent", "--name", name, "--threads", "1"], more].concat());
    }

    pub(crate) fn monitor(&mut self, name: &str, more: &[&str]) {
        self.wait(&[&["monitor", "--name", name], more].concat());
    }

    fn wait(&mut self, arguments: &[&str]) {
        let mut agent = self.tool.start(&[arguments, &["--nats", &self.url()]].concat());
        agent.wait_for("waits at");
        self.agents.push(agent);
    }

    pub(crate) fn measure(&self, tool: &Tool, scenario: &str, more: &[&str]) -> Value {
        tool.measure(scenario, &[&["--nats", &self.url()], more].concat())
    }

    /// Runs a scenario whose coordinator is killed in measure.
    fn loses_its_coordinator(&self, scenario: &str) {
        let tool = Tool::new();
        tool.write("s.toml", scenario);
        let mut running = tool.start(&["run", "s.toml", "--nats", &self.url(), "-o", "out"]);
        running.wait_for("measure");
        running.signal(Signal::KILL);
    }

    fn refused(&self, more: &[&str]) -> Ended {
        self.tool.write("s.toml", SCENARIO);
        self.tool.run(&[&["run", "s.toml", "-q", "--nats", &self.url()], more].concat()).never_panicked()
    }
}

/// Returns a run's counts, by arm. Late deliveries count as received, because lateness depends on the machine.
pub(crate) fn counted(run: &Value) -> Vec<Vec<f64>> {
    let keys = ["/connections/opened", "/published/due", "/published/sent", "/delivery/intended"];
    let more = ["/delivery/expected", "/delivery/missing", "/delivery/duplicate"];
    let mut arms: Vec<&Value> = arms(run).iter().collect();
    arms.sort_by_key(|arm| arm["transport"].to_string());
    let of = |arm: &Value| keys.iter().chain(&more).map(|key| number(arm, key)).collect();
    arms.into_iter().map(of).collect()
}

/// A server that outlives its coordinator, and a scenario for it. `publish`: more of how to publish.
pub(crate) fn outliving(bus: &Bus, publish: &str) -> (Running, String) {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let server = bus.tool.start(&["serve", "--port", &port.to_string(), "--drop", "1/7", "--dup", "1/11"]);
    until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let (_, load) = SCENARIO.split_once("[load]").expect("a load");
    let scenario = format!(
        "transports = [\"sse\"]\n[target.subscribe]\nsse = \"http://127.0.0.1:{port}/sse?channel={{channels}}\"\n\
         [target.publish]\nurl = \"http://127.0.0.1:{port}/publish?channel={{channel}}\"\n{publish}[load]{load}"
    );
    (server, scenario)
}

#[test]
fn agents_on_a_bus_count_what_threads_count() {
    let Some(mut bus) = Bus::open() else { return };
    for (number_of, name) in (1..).zip(["a", "b", "c"]) {
        bus.agent(name, &[]);
        if number_of == 2 {
            continue;
        }
        let threads = Tool::new().measure(SCENARIO, &["--threads", &number_of.to_string()]);
        let machines = bus.measure(&Tool::new(), SCENARIO, &[]);
        assert_eq!(counted(&machines), counted(&threads), "{number_of} agents");
        for arm in arms(&machines) {
            let agents = arm["agents"].as_array().expect("agents");
            assert_eq!(agents.len(), number_of);
            let clients: f64 = agents.iter().map(|agent| number(agent, "/connections")).sum();
            assert_eq!(clients, 60.0);
            // What an agent has published itself is a part of what its clients hear.
            let share = arm["delivery"]["loopback_share"]["count"].as_f64();
            assert_eq!(share.is_some(), number_of > 1, "{:#}", arm["delivery"]);
            let part = share.unwrap_or(0.0) / number(arm, "/delivery/delivered");
            assert!(
                number_of == 1 || (0.1..0.7).contains(&part),
                "{part} of the deliveries, {number_of} agents"
            );
            for agent in agents {
                assert!(number(agent, "/generator/cpu_us") > 0.0, "{agent:#}");
                // One machine has one clock.
                is_true(&agent["clock"], 0.0);
            }
        }
        until("no spool is left", || {
            std::fs::read_dir(bus.tool.path("spool")).is_ok_and(|mut files| files.next().is_none())
        });
    }
    // What is listed is what is there.
    let listed = bus.tool.run(&["agents", "--nats", &bus.url()]).expect(0);
    assert!(["a", "b", "c"].iter().all(|name| listed.out.contains(&format!("\n{name} "))), "{listed:#?}");
    let json: Value =
        serde_json::from_str(&bus.tool.run(&["agents", "--nats", &bus.url(), "--json"]).expect(0).out)
            .unwrap();
    assert_eq!(json.as_array().map(Vec::len), Some(3));
}

#[test]
fn an_agent_that_is_killed_is_told_and_the_others_go_on() {
    let Some(mut bus) = Bus::open() else { return };
    bus.agent("a", &[]);
    bus.agent("b", &[]);
    let tool = Tool::new();
    tool.write("s.toml", &SCENARIO.replace(r#"args = ["--drop", "1/7", "--dup", "1/11"]"#, ""));
    let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
    running.wait_for("measure");
    tool::pass(Duration::from_millis(700));
    bus.agents[1].signal(Signal::KILL);
    let ended = running.end();
    assert!(matches!(ended.code, 5 | 6), "{ended:#?}");
    let run = tool.run_json("out");
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().any(|reason| reason["code"] == "agent_lost"), "{reasons:#?}");
    let arm = &arms(&run)[0];
    assert!(
        arm["agents"][0]["lost"].is_null() && arm["agents"][1]["lost"].is_string(),
        "{:#}",
        arm["agents"]
    );
    // The server is not charged for deliveries without a client, or without a publication.
    let fate = |name: &str| number(&arm["delivery"], &format!("/{name}"));
    assert_eq!((fate("missing"), fate("unserved")), (0.0, 0.0), "{:#}", arm["delivery"]);
    assert!(fate("delivered") > 0.0, "{:#}", arm["delivery"]);
}

#[test]
fn a_run_needs_no_bus_between_its_start_and_its_end() {
    let Some(mut bus) = Bus::open() else { return };
    bus.agent("a", &[]);
    bus.agent("b", &[]);
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    let threads = Tool::new().measure(SCENARIO, &["--threads", "2"]);
    let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
    running.wait_for("measure");
    bus.nats = None;
    tool::pass(Duration::from_millis(1_500));
    bus.start_nats();
    running.end().measured();
    assert_eq!(counted(&tool.run_json("out")), counted(&threads));
}

/// The agents are left alone in the middle of a run, and finish it.
#[test]
fn a_run_whose_coordinator_was_killed_is_made_from_what_its_agents_have_kept() {
    let Some(mut bus) = Bus::open() else { return };
    bus.agent("a", &["--spool", "kept-a"]);
    bus.agent("b", &["--spool", "kept-b"]);
    let (_server, scenario) = outliving(&bus, "headers = { x-key = \"quite-secret\" }\n");
    let whole_run = bus.measure(&Tool::new(), &scenario, &[]);

    bus.loses_its_coordinator(&scenario);
    let spools = || ["kept-a", "kept-b"].map(|folder| bus.tool.names(folder));
    // An agent writes its last word when the arm is over.
    let reconciled = |folders: &[&str], results: &str| {
        bus.tool.run(&[&["runs", "-o", results, "reconcile"], folders].concat()).never_panicked()
    };
    let read = |results: &str| {
        let names = bus.tool.names(results);
        bus.tool.run_json(&format!("{results}/{}", names[0]))
    };
    let mut tries = 0;
    until("both spools have an end", || {
        tries += 1;
        let results = format!("tried-{tries}");
        reconciled(&["kept-a", "kept-b"], &results);
        let agents = arms(&read(&results))[0]["agents"].as_array().expect("agents").clone();
        agents.iter().all(|agent| agent["lost"].is_null())
    });
    assert!(spools().iter().all(|names| names.len() == 1), "{:?}", spools());
    let run = read(&format!("tried-{tries}"));
    assert_eq!(counted(&run), counted(&whole_run));
    assert!(number(&arms(&run)[0], "/delivery/loopback_share/count") > 0.0);
    let kept = bus.tool.all_text("kept-a") + &bus.tool.all_text("kept-b");
    assert!(!kept.contains("quite-secret") && !run.to_string().contains("quite-secret"));

    // A second coordinator collects them over the bus, while they are measured or after.
    let collected = |results: &str, more: &[&str]| {
        let own = ["runs", "-o", results, "reconcile", "--nats", &bus.url()];
        bus.tool.run(&[&own[..], more].concat()).never_panicked()
    };
    collected("over", &[]).measured();
    let of_claim = |results: &str| {
        let names = bus.tool.names(results);
        names.into_iter().find(|name| name.starts_with("reconciled-")).expect("a run")
    };
    let name = of_claim("over");
    assert_eq!(counted(&bus.tool.run_json(&format!("over/{name}"))), counted(&whole_run));
    collected("over", &[]).expect(3).says(&["a, b keep ", "which is made already"]);
    let claim = name.strip_prefix("reconciled-").expect("its claim");
    collected("again", &["--claim", claim]).measured();
    collected("other", &["--claim", "another"]).expect(3).says(&["which is made already or not asked for"]);

    // A folder that was copied twice is one; a missing one is told.
    reconciled(&["kept-a", "kept-b", "kept-a"], "twice");
    assert_eq!(counted(&read("twice")), counted(&whole_run));
    let half = reconciled(&["kept-a"], "half");
    assert!(matches!(half.code, 5 | 6), "{half:#?}");
    assert!(half.out.contains("1 of 2 shards are in no spool that was given"), "{half:#?}");
    reconciled(&["none"], "x").expect(2).says(&["none"]);
    reconciled(&["tried-1"], "x").expect(2).says(&["no spool in"]);
}

/// The coordinator is killed, and another goes on at once: it waits for the agents, and tells the whole run.
#[test]
fn a_second_coordinator_goes_on() {
    let Some(mut bus) = Bus::open() else { return };
    bus.agent("a", &[]);
    bus.agent("b", &[]);
    let (_server, scenario) = outliving(&bus, "");
    let whole_run = bus.measure(&Tool::new(), &scenario, &[]);
    bus.loses_its_coordinator(&scenario);
    let tool = Tool::new();
    let second = tool.run(&["runs", "-o", "second", "reconcile", "--nats", &bus.url()]).measured();
    assert!(second.err.contains("still measures"), "{second:#?}");
    let name = tool.names("second").into_iter().find(|name| name.starts_with("reconciled-")).expect("a run");
    let run = tool.run_json(&format!("second/{name}"));
    assert_eq!(counted(&run), counted(&whole_run));
    assert!(arms(&run)[0]["agents"].as_array().expect("agents").iter().all(|agent| agent["lost"].is_null()));
}

/// The measured agent stays away for less time than it takes to be given up.
#[test]
fn an_agent_that_is_cut_off_one_way_or_both_tells_everything_later() {
    let Some(mut bus) = Bus::open() else { return };
    let relay = Relay::to(bus.port);
    let url = format!("nats://127.0.0.1:{}", relay.port);
    bus.agent("a", &[]);
    let mut agent =
        bus.tool.start(&["agent", "--nats", &url, "--name", "b", "--threads", "1", "--spool", "b"]);
    agent.wait_for("waits at");
    let threads = Tool::new().measure(SCENARIO, &["--threads", "2"]);
    for (up, down) in [(true, false), (false, true), (true, true)] {
        let tool = Tool::new();
        tool.write("s.toml", SCENARIO);
        let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
        running.wait_for("measure");
        relay.hold(up, down);
        tool::pass(Duration::from_secs(4));
        relay.hold(false, false);
        running.end().measured();
        let run = tool.run_json("out");
        assert_eq!(counted(&run), counted(&threads), "up {up}, down {down}");
        let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
        assert!(reasons.iter().all(|reason| reason["code"] != "agent_lost"), "{reasons:#?}");
    }
}

#[test]
fn a_frozen_agent_tells_everything_later() {
    let Some(mut bus) = Bus::open() else { return };
    bus.agent("a", &[]);
    bus.agent("b", &[]);
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
    running.wait_for("measure");
    bus.agents[0].signal(Signal::STOP);
    tool::pass(Duration::from_secs(2));
    bus.agents[0].signal(Signal::CONT);
    running.end().measured();
    let run = tool.run_json("out");
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["code"] != "agent_lost"), "{reasons:#?}");
    assert!(reasons.iter().any(|reason| reason["code"] == "stood_still"), "{reasons:#?}");
    let fates = ["delivered", "late", "missing", "superseded", "excused", "unserved", "unpublished"];
    let delivery = &arms(&run)[0]["delivery"];
    let sum: f64 = fates.iter().map(|fate| number(delivery, &format!("/{fate}"))).sum();
    assert_eq!(sum, number(delivery, "/intended"), "{delivery:#}");
}

#[test]
fn a_clock_that_is_an_hour_ahead_changes_nothing() {
    let Some(mut bus) = Bus::open() else { return };
    let ahead = ["-T", "--monotonic", "3600", "--boottime", "3600"];
    let tried = Command::new("unshare").args(ahead).arg("true").stderr(Stdio::null()).status();
    if !have(tried.is_ok_and(|status| status.success()), "time namespaces (root)") {
        return;
    }
    bus.agent("a", &[]);
    let mut command = Command::new("unshare");
    command.args(ahead).args(["--", tool::program(), "agent", "--nats", &bus.url(), "--name", "b"]);
    command.args(["--threads", "1"]).current_dir(bus.tool.path("")).stdin(Stdio::null());
    let mut agent = Running::of(command);
    agent.wait_for("waits at");
    bus.agents.push(agent);
    let scenario =
        SCENARIO.replace(r#"args = ["--drop", "1/7", "--dup", "1/11"]"#, r#"args = ["--delay", "50ms"]"#);
    let run = bus.measure(&Tool::new(), &scenario, &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    // No second clock is in it: it is as right as on one machine.
    let p50_us = number(arm, "/delivery/loopback_share/p50_us");
    assert!((50_000.0..60_000.0).contains(&p50_us), "{p50_us} µs");
    // The target is a loopback address, which the machine's name for itself must not forbid here.
    let p50_us = number(arm, "/delivery/latency/p50_us");
    assert!((0.0..500_000.0).contains(&p50_us), "{p50_us} µs");
    is_true(&arm["agents"][0]["clock"], 0.0);
    is_true(&arm["agents"][1]["clock"], HOUR_US);
}

#[test]
fn what_an_agent_must_not_do_it_refuses() {
    let Some(mut bus) = Bus::open() else { return };
    let key = bus.tool.run(&["agents", "--new-key", "team.key"]).expect(0).out.trim().to_owned();
    bus.refused(&[]).expect(3).says(&["1 agents are wanted, 0 fit; none is there"]);
    bus.agent("a", &["--trust", &key, "--allow", "192.0.2.0/24", "--label", "zone=x"]);
    bus.refused(&["--agent", "z"]).expect(3).says(&["no agent is named z; there are a"]);
    bus.refused(&["--label", "zone=y"]).expect(3).says(&["1 agents are wanted, 0 fit; there are a"]);
    bus.refused(&[]).says(&["agent a refuses", "is not trusted here (--trust)"]);
    let key_file = bus.tool.path("team.key").display().to_string();
    let aimed = |target: &str| {
        let arguments = ["run", target, "-c", "2", "-t", "sse", "-d", "1s", "-q", "--sign-key", &key_file];
        bus.tool.run(&[&arguments[..], &["--nats", &bus.url()]].concat()).never_panicked()
    };
    aimed("http://198.51.100.1/events")
        .expect(4)
        .says(&["198.51.100.1:80 is not among the targets allowed here (--allow)"]);
    // With its own key a run goes through.
    let more = ["--sign-key", key_file.as_str()];
    whole(
        &arms(&bus.measure(
            &Tool::new(),
            &SCENARIO.replace("\"--drop\", \"1/7\", \"--dup\", \"1/11\"", ""),
            &more,
        ))[0],
    );
    // Another of its name is not let in, and one that anybody commands aims at nobody else.
    let url = bus.url();
    let start = |more: &[&str]| end(bus.tool.command(&[&["agent", "--nats", &url], more].concat()));
    start(&["--name", "a"]).says(&["agent a is there already"]);
    start(&["--name", "b", "--allow", "any"]).expect(2).says(&["--trust"]);
    start(&["--name", "b.c"]).expect(2).says(&["letters, digits, - and _"]);
    start(&["--name", "b", "--trust", "00"]).expect(2).says(&["64 hexadecimal digits"]);
}

#[test]
fn an_agent_works_for_one_run_at_a_time() {
    let Some(mut bus) = Bus::open() else { return };
    bus.agent("a", &[]);
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
    running.wait_for("ramp");
    bus.refused(&[]).expect(3).says(&["agent a refuses: it works for"]);
    running.end().measured();
}

#[test]
fn a_bus_may_ask_who_one_is() {
    let Some(mut bus) = Bus::open() else { return };
    bus.nats = None;
    bus.start_nats_with(&["--user", "load", "--pass", "pass:word"]);
    let url = bus.url();
    let agents = |login: &str| {
        bus.tool.write("login", login);
        bus.tool.run(&["agents", "--nats", &url, "--nats-login", "login"]).never_panicked()
    };
    assert_eq!(agents("load:pass:word\n").expect(0).out, "no agent waits here\n");
    agents("load:other\n").expect(3).says(&["no NATS server at"]);
    agents("load\n").expect(3).says(&["a line USER:PASSWORD is wanted"]);
}
