//! Crowds over Bayeux: advice, forgotten sessions, publications.

use crate::tool;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::tool::http::{Answer, Request, Target};
use crate::tool::{LOAD, Tool, arms, number, whole};
use serde_json::{Value, json};

const BACK: &str = "reconnect = { backoff = \"full-jitter\", base = \"50ms\", max = \"1s\" }\n";

/// Returns a scenario on the built-in server with extra arguments.
fn builtin(arguments: &str, more: &str) -> String {
    format!(
        "transports = [\"bayeux\", \"bayeux-websocket\"]\n{more}[target]\nserver = \"builtin\"\nargs = [{arguments}]\n{LOAD}"
    )
}

fn arm<'r>(run: &'r Value, transport: &str) -> &'r Value {
    arms(run).iter().find(|arm| arm["transport"] == transport).expect("the arm")
}

#[test]
fn peers_hear_their_rooms_through_their_sessions() {
    let tool = Tool::new();
    let text = builtin("", "")
        + "[subscriptions]\nrooms = { size = 4 }\n[publisher]\nmode = \"peer\"\nrate = \"20/s\"\n";
    let run = tool.measure(&text, &["-c", "16"]);
    for arm in arms(&run) {
        whole(arm);
        assert_eq!(number(arm, "/published/failed"), 0.0);
        assert_eq!(number(arm, "/bayeux/handshakes"), 16.0);
        // Each client subscribed, and published in its turn.
        let spoken = number(arm, "/published/sent");
        assert!(number(arm, "/bayeux/commands") >= 16.0 + spoken, "{:#}", arm["bayeux"]);
    }
    let second = &arm(&run, "bayeux")["bayeux"];
    assert_eq!(number(second, "/second_connections"), 16.0, "one each, and none was given up: {second:#}");
    assert!((1.0..=16.0).contains(&number(second, "/second_open_max")), "{second:#}");
    assert_eq!(number(&arm(&run, "bayeux-websocket")["bayeux"], "/second_connections"), 0.0);
}

#[test]
fn a_second_connection_without_work_is_closed_after_a_second() {
    let tool = Tool::new();
    let text = builtin("", "")
        + "[subscriptions]\nrooms = { size = 2 }\n[publisher]\nmode = \"peer\"\nrate = \"0.8/s\"\ncount = 4\n";
    // Two clients in one room take turns every 1.25 s: each publishes again after 2.5 s.
    let run = tool.measure(&text, &["-c", "2", "-d", "5s", "--set", "transports=[\"bayeux\"]"]);
    let arm = arm(&run, "bayeux");
    whole(arm);
    assert_eq!(number(arm, "/bayeux/second_connections"), 4.0, "{:#}", arm["bayeux"]);
    assert!(number(arm, "/bayeux/second_open_max") <= 2.0, "{:#}", arm["bayeux"]);
}

#[test]
fn a_crowd_shares_fewer_second_connections_than_it_has_clients() {
    let tool = Tool::new();
    // All clients publish more often than the idle time-out of a second connection: all want one, eight are
    // allowed, and each is handed on as soon as it is idle.
    let text = builtin("", "")
        + "[subscriptions]\nrooms = { size = 1 }\n[publisher]\nmode = \"peer\"\nrate = \"2/s\"\nconnections = 8\n";
    let run = tool.measure(&text, &["-c", "90", "-d", "2s", "--set", "transports=[\"bayeux\"]"]);
    let arm = arm(&run, "bayeux");
    whole(arm);
    assert!(number(arm, "/bayeux/second_open_max") <= 8.0, "{:#}", arm["bayeux"]);
    assert!(number(arm, "/bayeux/second_connections") > 90.0, "{:#}", arm["bayeux"]);
    // A client that had to wait until another was idle for a second would be that late.
    assert!(number(arm, "/published/lag/p50_us") < 300_000.0, "{:#}", arm["published"]);
}

#[test]
fn an_advised_interval_is_kept_and_counted() {
    let tool = Tool::new();
    let text = builtin("\"--bayeux-interval\", \"200ms\"", "") + "[publisher]\nrate = \"50/s\"\n";
    let run = tool.measure(&text, &["--set", "transports=[\"bayeux\"]"]);
    let arm = arm(&run, "bayeux");
    whole(arm);
    let obeyed = number(arm, "/bayeux/advice/interval_obeyed");
    assert!(obeyed >= 8.0 * 4.0, "{:#}", arm["bayeux"]);
    // In a measure phase of 1 s no client can connect more often than each 200 ms.
    assert!(number(arm, "/bayeux/connects") <= 8.0 * 6.0, "{:#}", arm["bayeux"]);
    assert!(number(arm, "/bayeux/messages_per_reply") > 5.0, "{:#}", arm["bayeux"]);
    assert!(number(arm, "/long_poll/deaf/min_us") >= 195_000.0, "{:#}", arm["long_poll"]);
}

#[test]
fn a_hold_that_ends_is_measured_against_what_was_advised() {
    let tool = Tool::new();
    let text = builtin("\"--bayeux-timeout\", \"300ms\"", "") + "[publisher]\nrate = \"1/s\"\ncount = 1\n";
    let run = tool.measure(&text, &["-d", "2s", "--set", "transports=[\"bayeux\"]"]);
    let arm = arm(&run, "bayeux");
    whole(arm);
    assert_eq!(number(arm, "/bayeux/hold_advised_us"), 300_000.0);
    let timeouts = number(arm, "/long_poll/timeouts");
    assert!((8.0 * 3.0..=8.0 * 8.0).contains(&timeouts), "{:#}", arm["long_poll"]);
    assert_eq!(number(arm, "/bayeux/connects_empty"), timeouts);
    assert_eq!(number(arm, "/long_poll/hold_overshoot/count"), timeouts);
    let overshoot = number(arm, "/long_poll/hold_overshoot/min_us");
    assert!((0.0..100_000.0).contains(&overshoot), "{:#}", arm["long_poll"]);
    assert!((number(arm, "/long_poll/ceiling_per_s") - 8.0 / 0.3).abs() < 1e-6);
}

#[test]
fn order_is_promised_where_every_session_is_granted_acknowledge() {
    let tool = Tool::new();
    for acknowledge in [true, false] {
        let set = format!("target.acknowledge={acknowledge}");
        let text = builtin("", "") + "[publisher]\nrate = \"50/s\"\n";
        let _ = std::fs::remove_dir_all(tool.path("out"));
        for arm in arms(&tool.measure(&text, &["--set", &set])) {
            whole(arm);
            assert_eq!(arm["bayeux"]["order_promised"], acknowledge, "{}: {set}", arm["transport"]);
            assert_eq!(arm["subscribed_by"], "acknowledged");
        }
    }
}

#[test]
fn a_crowd_without_keep_alive_hears_everything_too() {
    let tool = Tool::new();
    let text = builtin("", "") + "keep_alive = false\n[publisher]\nrate = \"20/s\"\n";
    let run = tool.measure(&text, &["--set", "transports=[\"bayeux\"]"]);
    let arm = arm(&run, "bayeux");
    whole(arm);
    assert!(number(arm, "/long_poll/new_connections") >= number(arm, "/long_poll/answers"));
}

/// Answers like a minimal Bayeux server. `connect` returns the reply to a connect, beyond its channel and
/// id. Publications are refused.
fn speak(
    request: &Request,
    answer: &mut Answer<'_>,
    connect: impl Fn(&mut Answer<'_>) -> Value,
) -> io::Result<()> {
    if request.path == "/publish" {
        return answer.publish(request);
    }
    let asked: Vec<Value> = serde_json::from_slice(&request.body).map_err(io::Error::other)?;
    let mut replies = Vec::new();
    for asked in asked {
        let said = match asked["channel"].as_str() {
            Some("/meta/handshake") => json!({
                "clientId": "k7", "version": "1.0", "supportedConnectionTypes": ["long-polling"],
                "successful": true,
            }),
            Some("/meta/subscribe") => json!({ "subscription": asked["subscription"], "successful": true }),
            Some("/meta/connect") => connect(answer),
            _ => json!({ "successful": false, "error": "403::denied" }),
        };
        let mut reply = json!({ "channel": asked["channel"], "id": asked["id"] });
        reply.as_object_mut().expect("an object").extend(said.as_object().expect("an object").clone());
        replies.push(reply);
    }
    let body = Value::Array(replies).to_string();
    answer.sized("200 OK", "Content-Type: application/json\r\n", body.as_bytes())
}

fn by_hand(target: &Target) -> String {
    format!(
        "[target.subscribe]\nbayeux = \"{at}/bayeux\"\n[target.publish]\nurl = \"{at}/publish\"\n{LOAD}{BACK}",
        at = target.url("")
    )
}

#[test]
fn a_session_that_is_forgotten_begins_anew_with_its_subscription() {
    // The first connects of a session are answered; at the fourth the session is unknown.
    static CONNECTS: AtomicU64 = AtomicU64::new(0);
    let target = Target::start(|request, answer| {
        speak(request, answer, |_| match CONNECTS.fetch_add(1, Ordering::Relaxed) {
            3 => json!({
                "successful": false, "error": "402:k7:unknown", "advice": { "reconnect": "handshake" },
            }),
            _ => {
                tool::pass(Duration::from_millis(100));
                json!({ "successful": true })
            }
        })
    });
    let run = Tool::new().measure(&by_hand(&target), &["-c", "1"]);
    let arm = &arms(&run)[0];
    let bayeux = &arm["bayeux"];
    assert_eq!(number(bayeux, "/handshakes"), 2.0, "{bayeux:#}");
    assert_eq!(number(bayeux, "/unknown_client"), 1.0, "{bayeux:#}");
    assert_eq!(number(bayeux, "/advice/handshake"), 1.0, "{bayeux:#}");
    let connections = &arm["connections"];
    assert_eq!(connections["lost_by"], json!({ "forgotten": 1 }), "{connections:#}");
    assert_eq!((number(connections, "/opened"), number(connections, "/reconnected")), (1.0, 1.0));
    // On the existing connection: forgetting a session closes nothing.
    assert_eq!(number(arm, "/long_poll/new_connections"), 0.0);
    let asked = target.hub.requests();
    let subscriptions =
        asked.iter().filter(|r| String::from_utf8_lossy(&r.body).contains("/meta/subscribe")).count();
    assert_eq!(subscriptions, 2);
}

#[test]
fn advice_not_to_come_back_is_obeyed() {
    static CONNECTS: AtomicU64 = AtomicU64::new(0);
    let target = Target::start(|request, answer| {
        speak(request, answer, |_| match CONNECTS.fetch_add(1, Ordering::Relaxed) {
            2.. => json!({ "successful": false, "advice": { "reconnect": "none" } }),
            _ => json!({ "successful": true }),
        })
    });
    let run = Tool::new().measure(&by_hand(&target), &["-c", "1"]);
    let arm = &arms(&run)[0];
    assert_eq!(arm["connections"]["lost_by"], json!({ "dismissed": 1 }), "{:#}", arm["connections"]);
    assert_eq!(number(arm, "/bayeux/advice/none"), 1.0, "{:#}", arm["bayeux"]);
    assert_eq!(CONNECTS.load(Ordering::Relaxed), 3, "nothing was asked after it");
}

#[test]
fn a_server_that_never_answers_a_connect_is_given_up() {
    let target = Target::start(|request, answer| {
        speak(request, answer, |answer| {
            let first = answer.hub.requests().len() < 4;
            if !first {
                while !answer.hub.over() {
                    tool::pass(Duration::from_millis(20));
                }
            }
            json!({ "successful": true, "advice": { "reconnect": "retry", "timeout": 300 } })
        })
    });
    let text = by_hand(&target).replace(BACK, "handshake_timeout = \"300ms\"\n");
    let run = Tool::new().measure(&text, &["-c", "1"]);
    let arm = &arms(&run)[0];
    // The time-out is the advised one plus the time for an answer, not the 45 s of the scenario's hold.
    assert_eq!(arm["connections"]["lost_by"], json!({ "timeout_answer": 1 }), "{:#}", arm["connections"]);
}

/// Returns a scenario with a single peer, which receives only its own messages.
fn peer_of(target: &Target) -> String {
    let publisher = "[publisher]\nmode = \"peer\"\nrate = \"10/s\"\n";
    format!("[target.subscribe]\nbayeux = \"{}\"\n{LOAD}{publisher}", target.url("/bayeux"))
}

#[test]
fn a_publication_that_is_refused_excuses_its_deliveries() {
    let held = |_: &mut Answer<'_>| {
        tool::pass(Duration::from_millis(100));
        json!({ "successful": true })
    };
    let target = Target::start(move |request, answer| speak(request, answer, held));
    let run = Tool::new().measure(&peer_of(&target), &["-c", "1"]);
    let arm = &arms(&run)[0];
    let sent = number(arm, "/published/sent");
    assert_eq!(sent, 10.0);
    assert_eq!(arm["published"]["failed_by"], json!({ "refused": 10 }), "{:#}", arm["published"]);
    assert_eq!(number(arm, "/delivery/excused"), 10.0, "{:#}", arm["delivery"]);
    assert_eq!(number(arm, "/delivery/missing"), 0.0, "{:#}", arm["delivery"]);
    assert_eq!(number(arm, "/connections/lost"), 0.0, "a refusal ends no session");
}

#[test]
fn a_second_connection_that_breaks_costs_what_it_carried_and_nothing_else() {
    let target = Target::start(|request, answer| {
        if !String::from_utf8_lossy(&request.body).contains("/meta/") {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        speak(request, answer, |_| {
            tool::pass(Duration::from_millis(100));
            json!({ "successful": true })
        })
    });
    let run = Tool::new().measure(&peer_of(&target), &["-c", "1"]);
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/published/failed"), 10.0, "{:#}", arm["published"]);
    assert!(number(arm, "/bayeux/second_connections") >= 10.0, "a new one each time: {:#}", arm["bayeux"]);
    assert_eq!(number(arm, "/delivery/excused"), 10.0, "{:#}", arm["delivery"]);
    assert_eq!(number(arm, "/connections/lost"), 0.0, "{:#}", arm["connections"]);
    assert_eq!(number(arm, "/bayeux/handshakes"), 1.0, "the session goes on: {:#}", arm["bayeux"]);
}

#[test]
fn a_target_that_answers_publications_late_is_not_a_late_publisher() {
    let target = Target::start(|request, answer| {
        if !String::from_utf8_lossy(&request.body).contains("/meta/") {
            tool::pass(Duration::from_millis(400));
        }
        speak(request, answer, |_| {
            tool::pass(Duration::from_millis(100));
            json!({ "successful": true })
        })
    });
    let run = Tool::new().measure(&peer_of(&target), &["-c", "1"]);
    let published = &arms(&run)[0]["published"];
    let (lag, own) = (number(published, "/lag/p50_us"), number(published, "/own_lag/p50_us"));
    assert!(lag > 50_000.0, "publications wait for the answer to earlier ones: {published:#}");
    assert!(own < lag / 2.0, "that wait is the target's: {published:#}");
}
