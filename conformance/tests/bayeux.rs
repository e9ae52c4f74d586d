//! Third-party Bayeux clients on the built-in server: CometD's for Java and JavaScript, current and from
//! 2017, and Faye's. The results become a table of `BAYEUX.md`.

use std::net::SocketAddr;

use conformance::builtin::Builtin;
use conformance::process::Process;
use conformance::session::Session;
use conformance::{interop, messages, own, tools};
use pushmark_proto::client::{Config, Transport};
use serde_json::{Value, json};

const NEEDED: [&str; 4] = ["node", "npm packages", "javac", "cometd client"];
const TRANSPORTS: [&str; 2] = ["long-polling", "websocket"];
const COUNT: usize = 100;

/// An npm client: its name in our program, and its package.
const CLIENTS: [(&str, &str); 3] = [("cometd", "cometd"), ("cometd-3", "cometd-3"), ("faye", "faye")];

#[test]
fn clients_of_others_hear_and_publish_on_the_built_in_server() {
    if !tools::present(&NEEDED) {
        return;
    }
    let mut rows = Vec::new();
    for (client, package) in CLIENTS {
        for transport in TRANSPORTS {
            let heard = npm_hears(client, transport);
            let published = npm_publishes(client, transport);
            rows.push(row(&format!("npm {}", version(package)), transport, heard, Some(published)));
        }
    }
    for transport in TRANSPORTS {
        for (extensions, words) in
            [(&[][..], ""), (&["ack", "timesync"][..], ", acknowledge and timesync extensions")]
        {
            let heard = java_hears(transport, extensions);
            rows.push(row(&format!("CometD for Java 8.0.8{words}"), transport, heard, None));
        }
    }
    let titles = ["client", "transport", "heard", "published"];
    interop::keep("clients", &titles, &rows);
}

fn row(client: &str, transport: &str, heard: usize, published: Option<usize>) -> Vec<String> {
    let of = |count: usize| format!("{count} of {COUNT}");
    vec![client.to_owned(), transport.to_owned(), of(heard), published.map_or("–".to_owned(), of)]
}

/// An npm client subscribes and receives posted messages. Returns how many arrived in order.
fn npm_hears(client: &str, transport: &str) -> usize {
    let server = Builtin::start();
    let url = server.url("/cometd");
    let count = COUNT.to_string();
    let arguments = [client, transport, &url, "/news", &count];
    let mut process = Process::start(tools::node("bayeux-hear.mjs").args(arguments));
    let subscribed = line(&mut process);
    assert_eq!(subscribed, json!({ "subscribed": "/news", "transport": transport }), "{client}");
    let heard = hears(&server, &mut process);
    assert_eq!(line(&mut process), json!({ "disconnected": true }), "{client}: its disconnect is answered");
    heard
}

fn java_hears(transport: &str, extensions: &[&str]) -> usize {
    let server = Builtin::start();
    let folder = own("java/target");
    let path = format!("{0}/classes:{0}/lib/*", folder.display());
    let mut command = tools::command("java");
    command.args(["-cp", &path, "pushmark.Hear", transport, &server.url("/cometd"), "1", "/news"]);
    let mut process = Process::start(command.args(extensions));
    let subscribed = line(&mut process);
    assert_eq!(subscribed["subscribed"], "/news", "{subscribed}");
    hears(&server, &mut process)
}

fn hears(server: &Builtin, process: &mut Process) -> usize {
    server.wait_for_subscribers("news", 1);
    let sent = messages(COUNT);
    sent.iter().for_each(|message| server.publish("news", message.as_bytes()));
    let heard = |message: &&String| {
        let line = line(process);
        assert_eq!(line["channel"], "/news");
        line["message"].as_str() == Some(message)
    };
    sent.iter().filter(heard).count()
}

/// An npm client publishes, and a plain WebSocket without Bayeux receives it.
fn npm_publishes(client: &str, transport: &str) -> usize {
    let server = Builtin::start();
    let address: SocketAddr = server.address;
    let mut session = Session::open(address, Config::new(Transport::WebSocket), "/ws?channel=talk");
    server.wait_for_subscribers("talk", 1);
    let sent = messages(COUNT);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), json!(sent).to_string()).expect("a file can be written");
    let url = server.url("/cometd");
    let mut command = tools::node("bayeux-publish.mjs");
    command.args([client, transport, &url, "/talk"]).arg(file.path());
    let mut process = Process::start(&mut command);
    let heard = sent.iter().filter(|message| &session.message() == *message).count();
    assert_eq!(line(&mut process), json!({ "published": COUNT }), "{client}");
    heard
}

fn line(process: &mut Process) -> Value {
    let line = process.line();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
}

/// Name and version of a package, as installed by `npm ci`.
fn version(package: &str) -> String {
    let file = own("node/node_modules").join(package).join("package.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let word = |key: &str| manifest[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("name"), word("version"))
}
