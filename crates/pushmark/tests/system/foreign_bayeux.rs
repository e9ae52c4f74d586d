//! Other Bayeux servers: an old and a current CometD, and Faye's. The deliveries to our crowd, from
//! outside and between clients, become a table of `conformance/BAYEUX.md`.

use crate::tool::{LOAD, POLLERS, Tool, arms, came, number, whole};
use conformance::process::Process;
use conformance::{interop, tools};
use serde_json::Value;

/// The foreign rows of `servers.toml`, with the transports that a scenario may use.
const SERVERS: [(&str, &[&str]); 2] =
    [("cometd-jetty-6", &["bayeux"]), ("cometd-8", &["bayeux", "bayeux-websocket"])];

/// Over one connection, because a server may take messages of two connections in either order.
const BY_POST: &str = "[publisher]\nrate = \"50/s\"\nconnections = 1\n";
const BY_BAYEUX: &str = "[publisher]\nmode = \"peer\"\nrate = \"20/s\"\n";

#[test]
fn crowds_of_ours_hear_everything_on_servers_of_others() {
    if !tools::present(&["node", "npm packages", "javac", "maven"]) {
        return;
    }
    let tool = Tool::new();
    let mut rows = Vec::new();
    for (server, transports) in SERVERS {
        for transport in transports {
            let target = format!("[target]\nserver = \"{server}\"\n");
            let [posted, talked] = [(BY_POST, POLLERS[0]), (BY_BAYEUX, POLLERS[1])]
                .map(|(publisher, poller)| heard(&tool, transport, &target, publisher, poller));
            rows.push(vec![format!("`{server}`"), (*transport).to_owned(), posted, talked]);
        }
    }
    for transport in ["bayeux", "bayeux-websocket"] {
        let talked = heard_on_faye(&tool, transport);
        rows.push(vec!["Faye 1.4.3".to_owned(), transport.to_owned(), "–".to_owned(), talked]);
    }
    interop::keep("servers", &["server", "transport", "by POST", "by Bayeux"], &rows);
}

/// Runs a small crowd and checks that all is accounted for. Returns how many of the intended deliveries
/// arrived.
fn heard(tool: &Tool, transport: &str, target: &str, publisher: &str, poller: &str) -> String {
    let out = tool.path("out");
    if out.exists() {
        std::fs::remove_dir_all(&out).expect("the last run's folder");
    }
    let run = tool.measure(
        &format!("transports = [\"{transport}\"]\n{target}{LOAD}{publisher}"),
        &["--poller", poller],
    );
    let arm: &Value = &arms(&run)[0];
    whole(arm);
    if transport == "bayeux-websocket" && publisher == BY_POST {
        // Heard over two connections it has no order without acknowledgement.
        assert_eq!(number(arm, "/delivery/out_of_order"), 0.0, "{:#}", arm["delivery"]);
    }
    assert_eq!(arm["outcome"], "held");
    format!("{} of {}", came(arm), number(arm, "/delivery/intended"))
}

/// Runs a crowd on Faye's server, which accepts publications only over Bayeux: its clients publish to one
/// another.
fn heard_on_faye(tool: &Tool, transport: &str) -> String {
    let mut server = Process::start(&mut tools::node("faye-server.mjs"));
    let line: Value = serde_json::from_str(&server.line()).expect("JSON");
    let url = line["url"].as_str().expect("an URL");
    let url = if transport == "bayeux" { url.to_owned() } else { url.replacen("http", "ws", 1) };
    let target = format!("[target.subscribe]\n{transport} = \"{url}\"\n");
    let [by_epoll, by_ring] = POLLERS.map(|poller| heard(tool, transport, &target, BY_BAYEUX, poller));
    assert_eq!(by_epoll, by_ring);
    by_epoll
}
