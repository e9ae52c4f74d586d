//! Targets of this test, reached by templates alone: each behaves differently, and each behaviour is
//! reported correctly.

use crate::tool;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance::process::Process;
use conformance::tools;

use crate::tool::http::{Answer, Request, Target};
use crate::tool::{LOAD, Tool, arms, came, number, whole};
use serde_json::Value;

/// Returns `[target.subscribe]` for one transport, and how to publish.
fn templates(target: &Target, transport: &str, template: &str) -> String {
    let at = target.url("");
    let template = template.replace("{at}", &at);
    format!("[target.subscribe]\n{transport} = {template}\n[target.publish]\nurl = \"{at}/publish\"\n")
}

/// Serves an event stream: head, then each publication as one event.
fn event_stream(answer: &mut Answer<'_>) -> io::Result<()> {
    answer.head("text/event-stream")?;
    relay(answer, 0, |message| [b"data: ", message, b"\n\n"].concat())
}

/// Writes the publications from `seen` on, framed, until the test or the client ends.
fn relay(answer: &mut Answer<'_>, mut seen: usize, frame: impl Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    while !answer.hub.over() {
        for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
            answer.stream.write_all(&frame(&message))?;
            seen += 1;
        }
    }
    Ok(())
}

#[test]
fn each_client_has_its_own_identity_and_no_result_holds_it() {
    let target = Target::start(|request, answer| match (&*request.path, request.header("authorization")) {
        ("/publish", _) => answer.publish(request),
        ("/sse", token) if token.starts_with("Bearer tok-") => event_stream(answer),
        _ => answer.sized("401 Unauthorized", "", b"who are you?"),
    });
    let tool = Tool::new();
    let rows: String = (0..8).map(|n| format!("user{n},tok-secret-{n}\n")).collect();
    tool.write("users.csv", &format!("name,token\n{rows}"));
    let run = tool.measure(
        &format!(
            "[target]\nclients = \"users.csv\"\nheaders = {{ x-key = \"literal-secret\" }}\n{}{LOAD}",
            templates(
                &target,
                "sse",
                "{ url = \"{at}/sse?user={client.name}&n={client}\", headers = { authorization = \"Bearer {client.token}\" } }"
            )
        ),
        &[],
    );
    whole(&arms(&run)[0]);
    let mut seen: Vec<(String, String, String)> = target
        .hub
        .requests()
        .iter()
        .filter(|request| request.path == "/sse")
        .map(|r| (r.argument("n").into(), r.argument("user").into(), r.header("authorization").into()))
        .collect();
    seen.sort();
    let expected: Vec<_> =
        (0..8).map(|n| (n.to_string(), format!("user{n}"), format!("Bearer tok-secret-{n}"))).collect();
    assert_eq!(seen, expected);
    let kept = tool.all_text("out");
    for secret in ["tok-secret", "literal-secret"] {
        let at = kept.find(secret).map(|at| &kept[at.saturating_sub(80)..at + 30]);
        assert_eq!(at, None, "a secret was kept");
    }
}

#[test]
fn cookies_are_kept_for_each_client() {
    // The first poll of a client gets its session; every later poll must send it back. Polls return the
    // latest publication. One connection publishes, so that no older publication overtakes it.
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            let client = request.argument("client");
            let latest = answer.hub.after(0, Duration::ZERO).and_then(|all| all.last().cloned());
            let body = latest.unwrap_or_default();
            match request.header("cookie") {
                "" => {
                    answer.sized("200 OK", &format!("Set-Cookie: sid=s{client}; Path=/; HttpOnly\r\n"), &body)
                }
                cookie if cookie == format!("sid=s{client}") => answer.sized("200 OK", "", &body),
                cookie => answer.sized("403 Forbidden", "", cookie.as_bytes()),
            }
        }
    });
    let tool = Tool::new();
    let run = tool.measure(
        &format!(
            "[target]\ncookies = true\n{}{LOAD}poll_interval = \"100ms\"\n[publisher]\nrate = \"5/s\"\n\
             connections = 1\n",
            templates(&target, "poll", "\"{at}/latest?client={client}\"")
        ),
        &[],
    );
    let arm = &arms(&run)[0];
    assert_eq!(arm["connections"]["failed"], serde_json::json!({}));
    assert_eq!(number(arm, "/connections/lost"), 0.0, "{}", arm["connections"]);
    assert_eq!(number(arm, "/delivery/missing"), 0.0);
    assert!(came(arm) > 0.0);
    for n in 0..8 {
        let of_one: Vec<Request> = target
            .hub
            .requests()
            .into_iter()
            .filter(|r| r.path == "/latest" && r.argument("client") == n.to_string())
            .collect();
        assert!(of_one.len() > 3);
        assert_eq!(of_one[0].header("cookie"), "");
        assert!(of_one[1..].iter().all(|r| r.header("cookie") == format!("sid=s{n}")));
    }
}

#[test]
fn without_a_head_a_subscription_is_assumed_after_a_while() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            let seen = answer.hub.count();
            // Sends nothing before the first publication.
            while !answer.hub.over() && answer.hub.count() == seen {
                answer.hub.after(seen, Duration::from_millis(500));
            }
            answer.head("text/event-stream")?;
            relay(answer, seen, |message| [b"data: ", message, b"\n\n"].concat())
        }
    });
    let tool = Tool::new();
    let load = LOAD.replace("settle = \"200ms\"", "settle = \"1500ms\"");
    let run = tool.measure(&format!("{}{load}", templates(&target, "sse", "\"{at}/sse\"")), &[]);
    whole(&arms(&run)[0]);
    assert_eq!(arms(&run)[0]["subscribed_by"], "settle");
}

#[test]
fn a_cursor_is_found_in_a_json_answer() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            // A request without a cursor is answered at once with the first cursor.
            let news = match request.argument("since").parse() {
                Ok(since) => answer.hub.after(since, Duration::from_secs(5)).map(|news| (since, news)),
                Err(_) => Some((answer.hub.count(), Vec::new())),
            };
            let (since, news) = news.unwrap_or((answer.hub.count(), Vec::new()));
            let texts: Vec<String> = news.iter().map(|m| String::from_utf8_lossy(m).into_owned()).collect();
            let body = serde_json::json!({ "events": texts, "page": { "next": since + texts.len() } });
            answer.sized("200 OK", "Content-Type: application/json\r\n", body.to_string().as_bytes())
        }
    });
    let tool = Tool::new();
    let template = "{ url = \"{at}/poll?since={cursor}\", cursor = \"json:/page/next\" }";
    let run = tool.measure(
        &format!("{}{LOAD}[publisher]\nrate = \"50/s\"\n", templates(&target, "long-poll", template)),
        &[],
    );
    let arm = &arms(&run)[0];
    whole(arm);
    assert_eq!(number(arm, "/long_poll/missed_deaf"), 0.0);
    // Each message in an answer is one delivery.
    assert!(number(arm, "/long_poll/answers") <= came(arm));
}

#[test]
fn a_304_is_a_redundant_answer() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            let etag = format!("\"v{}\"", answer.hub.count());
            if request.header("if-none-match") == etag {
                let head = format!("HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n");
                return answer.stream.write_all(head.as_bytes());
            }
            let latest = answer.hub.after(0, Duration::ZERO).and_then(|all| all.last().cloned());
            answer.sized("200 OK", &format!("ETag: {etag}\r\n"), &latest.unwrap_or_default())
        }
    });
    let tool = Tool::new();
    let run = tool.measure(
        &format!(
            "{}{LOAD}poll_interval = {{ interval = \"50ms\", conditional = true }}\n[publisher]\nrate = \"4/s\"\n",
            templates(&target, "poll", "\"{at}/latest\"")
        ),
        &[],
    );
    let arm = &arms(&run)[0];
    let (requests, not_modified) = (number(arm, "/poll/requests"), number(arm, "/poll/not_modified"));
    assert_eq!(number(arm, "/poll/redundant"), not_modified, "each state is shown once: {}", arm["poll"]);
    // 20 polls a second and client, 4 of them with a new state.
    assert!(not_modified > requests * 0.6 && not_modified < requests * 0.9, "{not_modified} of {requests}");
    assert_eq!(number(arm, "/delivery/missing"), 0.0);
}

/// Starts a target that answers every request the same way.
fn refusing(status: &'static str, headers: &'static str, body: &'static str) -> Target {
    Target::start(move |_, answer| answer.sized(status, headers, body.as_bytes()))
}

#[test]
fn a_refusal_ends_with_3_and_says_what_was_sent_and_what_came_back() {
    let cases = [
        ("302 Found", "Location: /login\r\n", "redirect: redirected with status 302"),
        ("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "auth: credentials refused with status 401"),
        ("503 Service Unavailable", "Retry-After: 5\r\n", "status_5xx: answered with status 503"),
    ];
    let each = [("sse", "http"), ("websocket", "ws"), ("long-poll", "http"), ("poll", "http")];
    let all = cases.iter().flat_map(|case| each.map(|transport| (case, transport)));
    std::thread::scope(|scope| {
        for ((status, headers, kind), (transport, scheme)) in all {
            scope.spawn(move || {
                let target = refusing(status, headers, "go away");
                let tool = Tool::new();
                let url = format!("{scheme}://{}/hear?room=7", target.address);
                tool.write("s.toml", &format!("[target.subscribe]\n{transport} = \"{url}\"\n{LOAD}"));
                // The run ends early, because all clients have been refused.
                let ended = tool.run(&["run", "s.toml", "-q", "-d", "300s"]).expect(3);
                let headers = headers.trim_end();
                let expected = format!(
                    "pushmark: no client could subscribe\n  {transport}\n    \
                 sent    GET /hear?room=7 HTTP/1.1 to {}\n    \
                 failed  8 of 8: {}\n    \
                 first   {kind}; received HTTP/1.1 {status} | {headers} | Content-Length: 7 | go away\n",
                    target.address,
                    kind.split(':').next().unwrap()
                );
                assert_eq!(ended.err, expected);
                assert_eq!(ended.out, "");
                assert!(!tool.path("results").exists(), "nothing was measured");
            });
        }
    });
}

#[test]
fn a_compressed_answer_is_a_failure_of_its_own_kind() {
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => answer.sized(
            "200 OK",
            "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n",
            b"\x1f\x8b...",
        ),
    });
    let tool = Tool::new();
    tool.write("s.toml", &format!("{}{LOAD}", templates(&target, "sse", "\"{at}/sse\"")));
    let ended = tool.run(&["run", "s.toml", "-q"]).expect(3);
    ended.says(&["failed  8 of 8: compressed", "Content-Encoding: gzip"]);
    assert!(
        target
            .hub
            .requests()
            .iter()
            .filter(|r| r.path == "/sse")
            .all(|r| r.header("accept-encoding") == "identity")
    );
}

#[test]
fn a_target_on_ipv6_is_reached() {
    let target = Target::on("[::1]:0", |request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => event_stream(answer),
    });
    let tool = Tool::new();
    let run = tool.measure(&format!("{}{LOAD}", templates(&target, "sse", "\"{at}/sse\"")), &[]);
    whole(&arms(&run)[0]);
    let host = target.hub.requests()[0].header("host").to_owned();
    assert_eq!(host, format!("[::1]:{}", target.address.port()));
}

#[test]
fn a_publication_that_is_refused_is_counted_and_its_deliveries_excused() {
    // Requests are counted as each is answered, so of two simultaneous ones exactly one is refused.
    let asked = AtomicUsize::new(0);
    let target = Target::start(move |request, answer| match &*request.path {
        "/publish" if asked.fetch_add(1, Ordering::Relaxed) % 2 == 1 => {
            answer.sized("500 Internal Server Error", "", b"no")
        }
        "/publish" => answer.publish(request),
        _ => event_stream(answer),
    });
    let tool = Tool::new();
    let run = tool.measure(&format!("{}{LOAD}", templates(&target, "sse", "\"{at}/sse\"")), &[]);
    let arm = &arms(&run)[0];
    assert_eq!(number(arm, "/published/due"), 10.0);
    assert_eq!(number(arm, "/published/failed"), 5.0, "{}", arm["published"]);
    assert_eq!(number(arm, "/delivery/excused"), 40.0);
    assert_eq!(came(arm), 40.0);
    // A target that refuses has reached its own limit: this is an outcome, and no doubt about the figures.
    assert_eq!(arm["outcome"], "degraded");
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["code"] != "excused"), "{reasons:?}");
}

#[test]
fn a_process_is_started_waited_for_and_ended_with_its_children() {
    let tool = Tool::new();
    tool.write(
        "start.sh",
        "sleep 1000 & echo $! > child.pid; echo $PPID $MARK > parent; exec \"$1\" serve --port \"$2\"\n",
    );
    let program = tool::program();
    let run = tool.measure(
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
             [target.process]\nstart = [\"sh\", \"start.sh\", {program:?}, \"{{port}}\"]\n\
             ready = \"http://127.0.0.1:{{port}}/health\"\nenv = {{ MARK = \"here\" }}\n{LOAD}"
        ),
        &[],
    );
    let arm = &arms(&run)[0];
    whole(arm);
    assert_eq!(arm["subscribed_by"], "acknowledged");
    assert!(number(arm, "/server/cpu_us") > 0.0, "its cost is seen: {}", arm["server"]);
    let parent = std::fs::read_to_string(tool.path("parent")).unwrap();
    assert!(parent.trim_end().ends_with(" here"), "{parent}");
    let child = std::fs::read_to_string(tool.path("child.pid")).unwrap();
    let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", child.trim())) {
        // An unreaped zombie has ended as well.
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    tool::until("its children have ended", gone);
}

#[test]
fn a_process_is_stopped_by_its_own_command() {
    let tool = Tool::new();
    let program = tool::program();
    let run = tool.measure(
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
             [target.process]\nstart = [\"sh\", \"-c\", \"echo $$ > pid; exec \\\"$0\\\" serve --port {{port}}\", {program:?}]\n\
             stop = [\"sh\", \"-c\", \"echo {{port}} > asked; kill -INT $(cat pid)\"]\n{LOAD}"
        ),
        &[],
    );
    whole(&arms(&run)[0]);
    let asked = std::fs::read_to_string(tool.path("asked")).expect("its stop command ran");
    assert!(asked.trim().parse::<u16>().is_ok(), "{asked}");
    assert!(arms(&run)[0]["server"].get("ended").is_none(), "it did not end by itself");
}

/// Four clients receive 20 messages a second for a second: 80. A target that waits for a CPU sends fewer;
/// messages that were sent before measure and read in it add some. Double deliveries would be 160.
const ABOUT_80: std::ops::RangeInclusive<f64> = 20.0..=140.0;

/// Starts a ticker, which publishes by itself, with its own timestamps.
fn ticker() -> Target {
    Target::start(|_, answer| {
        answer.head("text/event-stream")?;
        while !answer.hub.over() {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
            let text = format!("data: {{\"price\": 17.5, \"ts\": {}}}\n\n", now.as_millis());
            answer.stream.write_all(text.as_bytes())?;
            tool::pass(Duration::from_millis(50));
        }
        Ok(())
    })
}

/// Returns the figures of an observed arm.
fn observed(run: &Value) -> &Value {
    let arm = &arms(run)[0];
    assert_eq!(arm["observe"], true);
    assert!(arm.get("delivery").is_none() && arm.get("published").is_none(), "{arm:#}");
    &arm["observed"]
}

#[test]
fn a_bare_url_is_observed() {
    let target = ticker();
    let tool = Tool::new();
    let url = target.url("/ticks");
    let ended = tool.run(&["run", &url, "-c", "4", "-d", "1s", "-o", "out"]).counted();
    assert!(ended.out.contains("[target.publish]"), "it says how to measure deliveries:\n{}", ended.out);
    let run = tool.run_json("out");
    let seen = observed(&run);
    let messages = number(seen, "/messages");
    assert!(ABOUT_80.contains(&messages), "{messages}");
    assert!(number(seen, "/payload_bytes") > messages * 30.0);
    // The target pauses 50 ms; waits for a CPU make the gap longer, which is not tested here.
    let gap = number(seen, "/gap/p50_us");
    assert!((45_000.0..500_000.0).contains(&gap), "{gap}");
    assert!(seen.get("latency").is_none(), "nothing says which number is a time");
    assert_eq!(number(&arms(&run)[0], "/connections/opened"), 4.0);
}

#[test]
fn the_targets_own_timestamps_give_a_latency() {
    let target = ticker();
    let tool = Tool::new();
    let run = tool.measure(
        &format!(
            "[target]\nstamp = {{ json = \"/ts\", unit = \"ms\" }}\n[target.subscribe]\nsse = \"{}\"\n{LOAD}\
             [thresholds]\n\"observed.messages\" = \"> 0\"\n",
            target.url("/ticks")
        ),
        &[],
    );
    let latency = &observed(&run)["latency"];
    assert!(number(latency, "/count") >= 20.0, "{latency:#}");
    // Its stamps are whole ms of the wall clock: up to 1 ms is rounding, and no receipt is earlier than
    // its stamp.
    assert!((0.0..500_000.0).contains(&number(latency, "/p50_us")), "{latency:#}");
    assert!(number(latency, "/min_us") >= -1_000.0, "{latency:#}");
}

#[test]
fn a_stream_is_observed_by_its_bytes() {
    let target = Target::start(|_, answer| {
        answer.stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        while !answer.hub.over() {
            answer.stream.write_all(b"5\r\ntick\n\r\n")?;
            tool::pass(Duration::from_millis(50));
        }
        Ok(())
    });
    let tool = Tool::new();
    let url = target.url("/");
    tool.run(&["run", &url, "-t", "stream", "-c", "2", "-d", "1s", "-o", "out", "-q"]).counted();
    let run = tool.run_json("out");
    let bytes = number(observed(&run), "/payload_bytes");
    // Five bytes, about 20 times a second, to two clients.
    assert!((50.0..=350.0).contains(&bytes) && bytes % 5.0 == 0.0, "{bytes}");
    assert_eq!(arms(&run)[0]["outcome"], "held");
}

/// Starts a server that emits a message each 50 ms on every transport, without outside publications.
fn emitting() -> (tool::Running, String) {
    let tool = Tool::new();
    let mut command = tool.command(&["servers", "start", "builtin"]);
    command.stdout(std::process::Stdio::null());
    let mut server = tool::Running::piped(command);
    let line = server.wait_for("builtin on port ");
    let address = format!("127.0.0.1:{}", line.split("port ").nth(1).unwrap().split(';').next().unwrap());
    tool::until("it serves", || tool::http::ask(&address, "GET", "/health", "").is_ok_and(|(s, _)| s == 200));
    let emitter = r#"{"interval_us":50000,"size":64,"channels":["a"],"nonce":1}"#;
    let (status, text) = tool::http::ask(&address, "PUT", "/emitters/ticker", emitter).expect("an answer");
    assert_eq!(status, 200, "{text}");
    (server, address)
}

#[test]
fn every_transport_can_be_observed() {
    let (_server, address) = emitting();
    let tool = Tool::new();
    let url = format!("ws://{address}/ws?channel=a");
    tool.run(&["run", &url, "-c", "4", "-d", "1s", "-q", "-o", "ws"]).counted();
    let run = tool.run_json("ws");
    assert_eq!(arms(&run)[0]["transport"], "websocket");
    let messages = number(observed(&run), "/messages");
    assert!(ABOUT_80.contains(&messages), "{messages}");

    let url = format!("http://{address}/long-poll?channel=a");
    tool.run(&["run", &url, "-t", "long-poll", "-c", "4", "-d", "1s", "-q", "-o", "lp"]).counted();
    let run = tool.run_json("lp");
    let messages = number(observed(&run), "/messages");
    assert!(ABOUT_80.contains(&messages), "{messages}");
    let long_poll = &arms(&run)[0]["long_poll"];
    assert_eq!(number(long_poll, "/answers"), messages, "an answer with a body is news");
    assert_eq!(number(long_poll, "/timeouts"), 0.0);
}

#[test]
fn a_server_of_http2_only_is_told_as_such() {
    if !tools::present(&["node"]) {
        return;
    }
    let mut server = Process::start(&mut tools::node("http2-server.mjs"));
    let line: serde_json::Value = serde_json::from_str(&server.line()).expect("JSON");
    let port = line["port"].as_u64().expect("a port");
    let tool = Tool::new();
    for (transport, scheme) in [("sse", "http"), ("long-poll", "http"), ("websocket", "ws")] {
        let url = format!("{scheme}://127.0.0.1:{port}/");
        let ended = tool.run(&["run", &url, "-t", transport, "-c", "4", "-d", "1s"]).expect(3);
        assert!(ended.err.contains("the target speaks HTTP/2 only"), "{transport}: {}", ended.err);
    }
}
