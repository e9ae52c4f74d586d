//! Three NATS servers that know each other, and one of them is killed in mid-run: that of the coordinator, then those
//! of the agents. What was measured is that of threads all the same.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use pushmark_model::draw::{Draw, Purpose};
use rustix::process::Signal;

use crate::machines::{SCENARIO, counted};
use crate::tool::{Running, Tool, nats_server, until};

const SERVERS: usize = 3;

struct Cluster {
    tool: Tool,
    /// For clients, and for the other servers.
    ports: [(u16, u16); SERVERS],
    servers: [Option<Running>; SERVERS],
    _agents: Vec<Running>,
}

impl Cluster {
    fn open() -> Option<Cluster> {
        nats_server()?;
        let listeners: Vec<TcpListener> =
            (0..2 * SERVERS).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        let port = |at: usize| listeners[at].local_addr().expect("it").port();
        let ports = std::array::from_fn(|at| (port(2 * at), port(2 * at + 1)));
        drop(listeners);
        let mut cluster =
            Cluster { tool: Tool::new(), ports, servers: [const { None }; SERVERS], _agents: Vec::new() };
        (0..SERVERS).for_each(|at| cluster.start(at));
        for (at, name) in [(1, "a"), (2, "b")] {
            let own =
                ["agent", "--nats", &cluster.url(at), "--name", name, "--threads", "1", "--spool", name];
            let mut agent = cluster.tool.start(&own);
            agent.wait_for("waits at");
            cluster._agents.push(agent);
        }
        Some(cluster)
    }

    fn url(&self, at: usize) -> String {
        format!("nats://127.0.0.1:{}", self.ports[at].0)
    }

    fn start(&mut self, at: usize) {
        let (clients, others) = self.ports[at];
        let routes: Vec<String> =
            self.ports.iter().map(|(_, port)| format!("nats://127.0.0.1:{port}")).collect();
        let mut command = Command::new(nats_server().expect("it was there"));
        command.args(["-a", "127.0.0.1", "-p", &clients.to_string(), "--cluster_name", "here"]);
        command.args(["--cluster", &format!("nats://127.0.0.1:{others}"), "--routes", &routes.join(",")]);
        command.stdin(Stdio::null());
        let mut server = Running::of(command);
        server.wait_for("Server is ready");
        self.servers[at] = Some(server);
    }

    /// Both agents are there, seen from a server.
    fn whole(&self, at: usize) {
        until("both agents are heard of", || {
            let listed = self.tool.run(&["agents", "--nats", &self.url(at), "--json"]).never_panicked();
            ["\"a\"", "\"b\""].iter().all(|name| listed.out.contains(name))
        });
    }
}

#[test]
fn any_of_three_servers_may_be_killed() {
    let Some(mut cluster) = Cluster::open() else { return };
    let threads = Tool::new().measure(SCENARIO, &["--threads", "2"]);
    let mut draw = Draw::new(pushmark_net::Clock::realtime(), Purpose::Nonce, 0);
    let first = draw.below(SERVERS as u64) as usize;
    for at in [first, (first + 1) % SERVERS] {
        cluster.whole(0);
        let tool = Tool::new();
        tool.write("s.toml", SCENARIO);
        let mut running = tool.start(&["run", "s.toml", "--nats", &cluster.url(0), "-o", "out"]);
        running.wait_for("measure");
        cluster.servers[at].as_ref().expect("it runs").signal(Signal::KILL);
        cluster.servers[at] = None;
        let ended = running.end().measured();
        let run = tool.run_json("out");
        assert_eq!(counted(&run), counted(&threads), "server {at} was killed: {ended:#?}");
        let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
        assert!(reasons.iter().all(|reason| reason["code"] != "agent_lost"), "server {at}: {reasons:#?}");
        cluster.start(at);
    }
}
