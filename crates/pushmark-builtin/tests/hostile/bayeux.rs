//! Bayeux bodies that exceed the bounds.

use std::time::Duration;

use crate::server::{Server, request};
use crate::wire::holds;
use crate::{Kind, kind};

pub(crate) const KINDS: &[Kind] = &[
    kind("a Bayeux batch of 100,000 messages", 64, |server| {
        let batch = format!("[{}]", vec![r#"{"channel":"/a","data":"x"}"#; 100_000].join(","));
        let (status, _) = server.ask("POST", "/cometd", batch.as_bytes());
        holds(status == 400, || format!("{status}"))
    }),
    kind("Bayeux batches of 4,096 publications", 192, |server| {
        let batch = format!("[{}]", vec![r#"{"channel":"/a","data":"x"}"#; 4096].join(","));
        let mut peer = server.peer();
        peer.flood(&request("POST", "/cometd", batch.as_bytes()), 16 << 20, Duration::from_millis(700));
        Ok(())
    }),
    kind("60,000 handshakes", 96, |server| {
        let asks = request("POST", "/cometd", HANDSHAKE.as_bytes()).repeat(60);
        let mut peer = server.peer();
        for _ in 0..1000 {
            peer.send(&asks);
            for _ in 0..60 {
                holds(peer.answer().is_some_and(|(status, _)| status == 200), || {
                    "a handshake was refused".to_owned()
                })?;
            }
        }
        Ok(())
    }),
    kind("a Bayeux session with 4,096 channels, again and again", 128, |server| {
        let client = handshake(server)?;
        let names: Vec<String> = (0..2048).map(|n| format!("\"/c{n}\"")).collect();
        let subscribe = format!(
            r#"{{"channel":"/meta/subscribe","clientId":"{client}","subscription":[{}]}}"#,
            names.join(",")
        );
        let batch = format!("[{}]", vec![subscribe; 150].join(","));
        let (status, _) = server.ask("POST", "/cometd", batch.as_bytes());
        holds(status == 200, || format!("{status}"))
    }),
    kind("a Bayeux session that leaves 400,000 channels", 128, |server| {
        let client = handshake(server)?;
        let names = vec!["\"/c1\""; 400_000].join(",");
        let leave =
            format!(r#"{{"channel":"/meta/unsubscribe","clientId":"{client}","subscription":[{names}]}}"#);
        let (status, _) = server.ask("POST", "/cometd", leave.as_bytes());
        holds(status == 200, || format!("{status}"))
    }),
    kind("a Bayeux client id of 3 MiB", 64, |server| {
        let id = "x".repeat(3 << 20);
        let body = format!(r#"{{"channel":"/meta/connect","clientId":"{id}","id":"1"}}"#);
        let (status, _) = server.ask("POST", "/cometd", body.as_bytes());
        holds(status == 200, || format!("{status}"))
    }),
    kind("Bayeux messages that are none", 32, |server| {
        for body in
            ["", "1", "[1]", "{}", "[{}]", "{\"channel\":1}", "[[]]", "{\"channel\":\"a\"}", "\u{feff}[]"]
        {
            let (status, _) = server.ask("POST", "/cometd", body.as_bytes());
            holds(status == 400, || format!("{body:?}: {status}"))?;
        }
        Ok(())
    }),
];

const HANDSHAKE: &str =
    r#"{"channel":"/meta/handshake","version":"1.0","supportedConnectionTypes":["long-polling"]}"#;

fn handshake(server: &Server) -> Result<String, String> {
    let (_, body) = server.ask("POST", "/cometd", HANDSHAKE.as_bytes());
    let reply: serde_json::Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    reply[0]["clientId"].as_str().map(str::to_owned).ok_or_else(|| reply.to_string())
}
