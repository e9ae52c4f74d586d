//! Compressed WebSocket messages: a server that compresses is heard as one that does not, byte for byte.

use conformance::process::Process;
use conformance::tools;
use serde_json::Value;

use crate::tool::{POLLERS, Tool, arms, came, http, number, whole};

/// Starts the server. Returns it with its port.
fn started(arguments: &[&str]) -> (Process, u64) {
    let mut server = Process::start(tools::node("deflate-server.mjs").args(arguments));
    let line: Value = serde_json::from_str(&server.line()).expect("JSON");
    let port = line["port"].as_u64().expect("a port");
    (server, port)
}

/// Payloads of 60 B to 40 kB whose content is compared. The generator reads them in several parts.
fn scenario(port: u64, deflate: &str) -> String {
    format!(
        "transports = [\"websocket\"]\n[target.subscribe.websocket]\n\
         url = \"ws://127.0.0.1:{port}/ws?channel={{channel}}\"\n{deflate}\n\
         [target.publish]\nurl = \"http://127.0.0.1:{port}/publish?channel={{channel}}\"\n\
         [load]\nconnections = 8\nramp = {{ rate = 400 }}\nsettle = \"300ms\"\nwarmup = \"0s\"\n\
         duration = \"2s\"\ndrain = \"1s\"\n\
         [publisher]\nrate = \"40/s\"\nconnections = 1\nsize = \"60B..40kB\"\ncheck = true\n"
    )
}

#[test]
fn compressed_messages_are_heard_whole() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    for (arguments, deflate) in [
        (&[][..], "deflate = \"on\""),
        (&["15", "alone"], "deflate = { context_takeover = false }"),
        (&["10"], "deflate = { window_bits = 10 }"),
        (&["9", "alone"], "deflate = { context_takeover = false, window_bits = 9 }"),
    ] {
        for poller in POLLERS {
            let (_server, port) = started(arguments);
            let tool = Tool::new();
            let run = tool.measure(&scenario(port, deflate), &["--poller", poller]);
            let arm = &arms(&run)[0];
            whole(arm);
            assert_eq!(number(arm, "/delivery/corrupt"), 0.0, "{deflate}");
            assert_eq!(number(arm, "/connections/lost"), 0.0, "{deflate}: {:#}", arm["connections"]);
            let wire = &arm["wire"];
            assert_eq!(number(wire, "/inflating"), 8.0, "{deflate}: {wire:#}");
            // 20 kB on average, and the envelope.
            assert!(number(wire, "/inflated_bytes") > came(arm) * 10_000.0, "{deflate}: {wire:#}");
            assert!(number(wire, "/bytes_in") < number(wire, "/inflated_bytes"), "{deflate}: {wire:#}");
            assert!(number(wire, "/inflate_us") > 0.0, "{deflate}: {wire:#}");
        }
    }
}

#[test]
fn compression_is_neither_offered_nor_told_by_default() {
    if !tools::present(&["node", "npm packages"]) {
        return;
    }
    let (_server, port) = started(&[]);
    let tool = Tool::new();
    let run = tool.measure(&scenario(port, ""), &[]);
    let arm = &arms(&run)[0];
    whole(arm);
    assert!(arm["wire"].get("inflating").is_none(), "{:#}", arm["wire"]);
    let (_, counts) = http::ask(&format!("127.0.0.1:{port}"), "GET", "/counts", "").expect("an answer");
    assert!(counts.contains("\"sockets\":8,\"compressed\":0"), "{counts}");
}

#[test]
fn a_window_that_is_none_is_refused() {
    let tool = Tool::new();
    tool.write("s.toml", &scenario(1, "deflate = { window_bits = 8 }"));
    tool.run(&["run", "s.toml"]).expect(2).says(&["no window has this size", "9 to 15"]);
    tool.write("s.toml", &scenario(1, "deflate = \"off\""));
    tool.run(&["run", "s.toml"]).expect(2).says(&["\"on\", or a table"]);
}
