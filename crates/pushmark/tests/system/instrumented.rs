//! Instrumented requests: what a server says of its own answers stands beside what the clients saw.

use pushmark_host::server::registry::Registry;
use serde_json::Value;

use crate::tool::{self, Tool, came, have, number, whole};

const CLIENTS: f64 = 12.0;
const PUBLICATIONS: f64 = 5.0;

/// Publications that all arrive in measure, and a hold that ends between two of them.
fn scenario(server: &str, transport: &str) -> String {
    format!(
        "transports = [\"{transport}\"]\ntarget.server = \"{server}\"\n\
         load = {{ connections = 12, instrumented = true, hold = \"250ms\", ramp = {{ rate = 1000 }}, \
         settle = \"300ms\", warmup = \"0s\", duration = \"3s\", drain = \"1s\" }}\n\
         publisher = {{ mode = \"emitter\", interval = \"500ms\", count = 5, size = \"700B\" }}\n"
    )
}

fn arm(server: &str, transport: &str) -> Value {
    Tool::new().measure(&scenario(server, transport), &[])["arms"][0].clone()
}

#[test]
fn the_documents_of_a_stream_agree_with_what_arrived() {
    let registry = Registry::load(Some(&tool::servers())).expect("servers.toml can be read");
    for server in ["builtin", "node"] {
        let row = registry.find(server).expect("the server");
        if !have(registry.missing(row).is_empty(), server) {
            continue;
        }
        let arm = arm(server, "stream");
        whole(&arm);
        let of = |part: &str| number(&arm["documents"], part);
        assert_eq!(of("/read"), CLIENTS * PUBLICATIONS, "{server}");
        assert_eq!((of("/timeouts"), of("/unreadable")), (0.0, 0.0), "{server}");
        assert_eq!((of("/receivers"), of("/registered_max")), (CLIENTS, CLIENTS), "{server}");
        assert_eq!((of("/emit/count"), of("/emit_duration/count")), (CLIENTS * PUBLICATIONS, PUBLICATIONS));
        assert_eq!(of("/emit/max_us"), of("/emit_duration/max_us"), "{server}: the last is the latest");
        // A stream is answered from its request on: the later the event, the longer.
        assert!(of("/held/max_us") >= 1_500_000.0 && of("/held/min_us") < of("/held/max_us"), "{server}");
    }
}

#[test]
fn a_time_out_of_an_instrumented_long_poll_is_no_message() {
    let arm = arm("builtin", "long-poll");
    let (documents, polls) = (&arm["documents"], &arm["long_poll"]);
    assert_eq!(number(&arm["delivery"], "/unstamped"), 0.0);
    assert!(came(&arm) > 0.0);
    assert_eq!(number(documents, "/timeouts"), number(polls, "/timeouts"), "{documents:#} {polls:#}");
    assert!(number(documents, "/timeouts") >= CLIENTS, "{documents:#}");
    let answers = number(polls, "/answers") + number(polls, "/timeouts");
    assert_eq!(number(documents, "/read"), answers, "{documents:#} {polls:#}");
    assert!(number(documents, "/held/max_us") >= 250_000.0, "{documents:#}");
}

#[test]
fn what_offers_no_such_requests_is_refused() {
    let tool = Tool::new();
    let refused = |text: &str, words: &[&str]| {
        tool.write("s.toml", text);
        tool.run(&["run", "s.toml"]).expect(2).says(words);
    };
    let asked = "load.instrumented = true\n";
    refused(
        &format!(
            "{asked}target.subscribe.stream = \"http://127.0.0.1:1/s\"\ntarget.publish.url = \"http://127.0.0.1:1/p\""
        ),
        &["load.instrumented", "`http://127.0.0.1:1` offers no instrumented requests"],
    );
    refused(
        &format!("{asked}target.server = \"builtin\"\ntransports = [\"sse\"]"),
        &["`builtin` has no `sse`"],
    );
    refused(
        &format!(
            "{asked}target.server = \"builtin\"\nsubscriptions = {{ channels = 4, per_connection = 2 }}"
        ),
        &["a connection subscribes to 2"],
    );
    refused(
        &format!("{asked}target.server = \"builtin\"\npublisher.check = true"),
        &["the content of a publication inside a document is not compared"],
    );
}
