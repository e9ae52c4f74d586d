//! Clients whose connections are closed come back, according to their policy and their server.

use crate::tool;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::tool::http::Target;
use crate::tool::{LOAD, Tool, arms, came, number};

const BACK: &str = "reconnect = { backoff = \"full-jitter\", base = \"50ms\", max = \"1s\" }\n";

#[test]
fn half_a_crowd_that_is_reset_comes_back() {
    let tool = Tool::new();
    let scenario = |reconnect: &str| {
        format!(
            "transports = [\"sse\", \"websocket\"]\n[target]\nserver = \"builtin\"\nargs = [\"--reset\", \"1/2@1500ms\"]\n\
             {LOAD}{reconnect}[publisher]\nrate = \"50/s\"\nconnections = 1\n"
        )
    };
    // One connection publishes. With two, of two late publications the later may be read first. By 1.5 s
    // each client has received something, so it comes back with an id.
    let run = tool.measure(&scenario(BACK), &["-d", "3s", "--set", "transports=[\"sse\"]"]);
    let arm = &arms(&run)[0];
    let connections = &arm["connections"];
    assert_eq!(
        (number(connections, "/lost"), number(connections, "/reconnected")),
        (4.0, 4.0),
        "{connections}"
    );
    assert_eq!(connections["lost_by"], serde_json::json!({ "reset": 4 }));
    // Messages published meanwhile arrive through the last id: none is missing, none arrives twice.
    let delivery = &arm["delivery"];
    assert_eq!(number(delivery, "/missing"), 0.0, "{delivery:#}");
    assert_eq!(number(delivery, "/duplicate"), 0.0, "{delivery:#}");
    assert_eq!(number(delivery, "/out_of_order"), 0.0, "{delivery:#}");
    assert!(came(arm) + number(delivery, "/unserved") >= number(delivery, "/intended"), "{delivery:#}");
    assert_eq!(arm["outcome"], "degraded");

    // Without a policy the clients stay away, and their undelivered messages are unserved.
    let alone = Tool::new();
    let run = alone.measure(&scenario(""), &["-d", "3s"]);
    for arm in arms(&run) {
        let (connections, delivery) = (&arm["connections"], &arm["delivery"]);
        assert_eq!((number(connections, "/lost"), number(connections, "/reconnected")), (4.0, 0.0));
        // Four clients, 50 messages a second, for 1.7 s: 340.
        assert!(number(delivery, "/unserved") > 200.0, "{delivery:#}");
        assert_eq!(number(delivery, "/intended"), 150.0 * 8.0);
        // A reset discards data that was written and not yet read, and the reset itself is read a moment
        // later: on a busy machine each client loses some publications.
        assert!(number(delivery, "/missing") <= 20.0, "{delivery:#}");
    }
}

#[test]
fn the_pause_a_server_asks_for_is_kept_and_the_last_id_given_back() {
    // Each connection receives three events and is closed; it must come back after 400 ms.
    static IDS: AtomicU64 = AtomicU64::new(0);
    static ENDS: Mutex<Vec<Instant>> = Mutex::new(Vec::new());
    static COMES: Mutex<Vec<(Instant, String)>> = Mutex::new(Vec::new());
    let target = Target::start(|request, answer| {
        COMES.lock().unwrap().push((Instant::now(), request.header("last-event-id").to_owned()));
        answer.head("text/event-stream")?;
        answer.stream.write_all(b"retry: 400\n\n")?;
        for _ in 0..3 {
            let id = IDS.fetch_add(1, Ordering::Relaxed);
            answer.stream.write_all(format!("id: event-{id}\ndata: tick\n\n").as_bytes())?;
            tool::pass(Duration::from_millis(30));
        }
        ENDS.lock().unwrap().push(Instant::now());
        Err(std::io::ErrorKind::ConnectionReset.into())
    });
    let tool = Tool::new();
    let run = tool.measure(
        &format!("[target.subscribe]\nsse = \"{}\"\n{LOAD}{BACK}", target.url("/events")),
        &["-c", "1", "-d", "3s"],
    );
    assert!(number(&arms(&run)[0], "/connections/reconnected") >= 3.0, "{}", arms(&run)[0]["connections"]);
    let (comes, ends) = (COMES.lock().unwrap(), ENDS.lock().unwrap());
    assert_eq!(comes[0].1, "");
    for (n, ((back, id), end)) in comes[1..].iter().zip(ends.iter()).enumerate() {
        assert_eq!(*id, format!("event-{}", n * 3 + 2));
        let pause = back.duration_since(*end);
        assert!(pause >= Duration::from_millis(395), "it came back after {pause:?}");
        // The jitter is at most 50 ms; the rest is for a busy machine.
        assert!(pause < Duration::from_millis(1_200), "it came back after {pause:?}");
    }
}

#[test]
fn a_204_means_never_again() {
    static CAME: AtomicU64 = AtomicU64::new(0);
    let target = Target::start(|_, answer| {
        if CAME.fetch_add(1, Ordering::Relaxed) == 0 {
            answer.head("text/event-stream")?;
            answer.stream.write_all(b"retry: 50\n\ndata: bye\n\n")?;
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        answer.stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
    });
    let tool = Tool::new();
    let text = format!("[target.subscribe]\nsse = \"{}\"\n{LOAD}{BACK}", target.url("/events"));
    tool.measure(&text, &["-c", "1", "-d", "2s"]);
    assert_eq!(CAME.load(Ordering::Relaxed), 2, "once to hear, once to be told to stay away");
}

#[test]
fn a_server_that_comes_up_late_is_found_by_a_client_that_tries_again() {
    let tool = Tool::new();
    // Refuses all clients at first.
    let started = Mutex::new(None::<Instant>);
    let target = Target::start(move |request, answer| {
        let since = started.lock().unwrap().get_or_insert_with(Instant::now).elapsed();
        match &*request.path {
            "/publish" => answer.publish(request),
            _ if since < Duration::from_millis(700) => answer.sized("503 Service Unavailable", "", b""),
            _ => {
                answer.head("text/event-stream")?;
                let mut seen = answer.hub.count();
                while !answer.hub.over() {
                    for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                        answer.stream.write_all(&[b"data: ", &message[..], b"\n\n"].concat())?;
                        seen += 1;
                    }
                }
                Ok(())
            }
        }
    });
    let run = tool.measure(
        &format!(
            "[target.subscribe]\nsse = \"{at}/sse\"\n[target.publish]\nurl = \"{at}/publish\"\n{LOAD}{BACK}",
            at = target.url("")
        ),
        &["--set", "load.settle=3s"],
    );
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/connections/opened"), 8.0, "{}", arm["connections"]);
    assert!(number(arm, "/connections/failed/status_5xx") >= 8.0);
    assert_eq!(came(arm), number(arm, "/delivery/intended"));
}
