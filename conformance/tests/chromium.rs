//! A browser receives messages of our server over every transport that browsers support.

use std::collections::BTreeMap;

use conformance::builtin::Builtin;
use conformance::process::Process;
use conformance::session::{Heard, Session};
use conformance::{messages, own, tools};
use pushmark_proto::client::{Config, Transport};
use serde_json::Value;

const TRANSPORTS: [&str; 4] = ["sse", "websocket", "stream", "long-poll"];

/// Headless, separate, and without background activity.
const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--mute-audio",
    // The page is a file, so the server is another origin, and the contract does not support CORS.
    "--disable-web-security",
];

#[test]
fn chromium_hears_every_message_over_every_transport() {
    if !tools::present(&["chromium"]) {
        return;
    }
    let server = Builtin::start();
    let sent = messages(60);
    // The page publishes its report on a channel of the tested server.
    let mut reports = Session::open(server.address, Config::new(Transport::Sse), "/sse?channel=report");
    assert_eq!(reports.hear(), Ok(Heard::Opened(200)));

    let profile = tempfile::tempdir().expect("a folder");
    let page = own("pages/hear.html");
    let url = format!("file://{}?server={}&count={}", page.display(), server.url(""), sent.len());
    let mut command = tools::command("chromium");
    command.args(FLAGS).arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
    command.stderr(std::process::Stdio::null());
    let _browser = Process::start(&mut command).with_children();

    for transport in TRANSPORTS {
        // A held long poll shows that the answer with its first cursor has already been sent.
        server.wait_for_subscribers(transport, 1);
    }
    for message in &sent {
        TRANSPORTS.iter().for_each(|transport| server.publish(transport, message.as_bytes()));
    }

    let mut heard = BTreeMap::new();
    while heard.len() < TRANSPORTS.len() {
        let report: Value = serde_json::from_str(&reports.message()).expect("a report is JSON");
        assert!(report["error"].is_null(), "{report}");
        let transport = report["transport"].as_str().expect("a transport").to_owned();
        let messages = report["messages"].as_array().expect("messages");
        let messages = messages.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>();
        heard.insert(transport, messages);
    }
    for (transport, heard) in heard {
        assert_eq!(heard, sent, "{transport}: in order, unchanged, none missing");
    }
}
