//! Which clients publish, when and how much, and which clients receive it: all decided by the seed.

use crate::tool;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use crate::tool::http::Target;
use crate::tool::{LOAD, Tool, arms, came, number, whole};
use pushmark_model::stamp::{STAMP_LEN, Stamp};
use serde_json::Value;

fn builtin(more: &str) -> String {
    format!("transports = [\"sse\", \"websocket\"]\n[target]\nserver = \"builtin\"\n{LOAD}{more}")
}

#[test]
fn from_outside_by_the_server_and_by_the_clients() {
    for (mode, transports) in [("external", 2), ("emitter", 2), ("peer", 1)] {
        let tool = Tool::new();
        let scenario = builtin(&format!("[publisher]\nmode = \"{mode}\"\nrate = \"50/s\"\n"));
        let scenario = if mode == "peer" { scenario.replace("\"sse\", ", "") } else { scenario };
        let run = tool.measure(&scenario, &[]);
        assert_eq!(arms(&run).len(), transports);
        for arm in arms(&run) {
            whole(arm);
            assert_eq!(number(arm, "/published/due"), 50.0, "{mode}");
            assert_eq!(number(arm, "/published/sent"), 50.0, "{mode}");
            assert_eq!(number(arm, "/delivery/intended"), 400.0);
            // The time until the target accepted a message is known only for requests from outside.
            assert_eq!(arm["published"].get("accept").is_some(), mode == "external", "{mode}");
        }
    }
}

#[test]
fn chat_rooms_of_peers_as_the_tree_has_them() {
    let tool = Tool::new();
    let scenario = tool::root().join("scenarios/chat-peers.toml");
    let ended = tool.run(&[
        "run",
        &scenario.display().to_string(),
        "-q",
        "-o",
        "out",
        "-c",
        "30",
        "-d",
        "1s",
        "--set",
        "load.warmup=0s",
        "--set",
        "load.settle=200ms",
        "--set",
        "load.drain=1s",
        "--set",
        "publisher.rate=20/s",
    ]);
    assert!(matches!(ended.code, 0 | 6 | 99), "{ended:#?}");
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    whole(arm);
    // Three rooms of ten.
    assert_eq!(number(arm, "/delivery/intended"), number(arm, "/published/sent") * 10.0);
}

/// A test target's record of a run: the subscriptions, and the times of the publications.
#[derive(Debug, PartialEq)]
struct Seen {
    subscribed: BTreeSet<(u32, String)>,
    published: BTreeSet<(u32, u64, usize, u64)>,
}

fn target() -> Target {
    Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => {
            answer.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
            let own: Vec<String> = request.argument("channels").split(',').map(str::to_owned).collect();
            let mut seen = 0;
            while !answer.hub.over() {
                for message in answer.hub.after(seen, Duration::from_millis(500)).unwrap_or_default() {
                    seen += 1;
                    if own.contains(&format!("c{}", stamp_of(&message).channel)) {
                        answer.stream.write_all(&[b"data: ", &message[..], b"\n\n"].concat())?;
                    }
                }
            }
            Ok(())
        }
    })
}

fn stamp_of(message: &[u8]) -> Stamp {
    let stamp: &[u8; STAMP_LEN] = message.last_chunk().expect("a stamp");
    Stamp::parse(stamp).expect("a stamp")
}

fn seen(target: &Target) -> Seen {
    let requests = target.hub.requests();
    let subscribed = requests.iter().filter(|r| r.path == "/sse");
    let published: Vec<(Stamp, usize)> =
        requests.iter().filter(|r| r.path == "/publish").map(|r| (stamp_of(&r.body), r.body.len())).collect();
    let first = published.iter().map(|(stamp, _)| stamp.due_us).min().expect("something");
    Seen {
        subscribed: subscribed
            .map(|r| (r.argument("client").parse().expect("a number"), r.argument("channels").to_owned()))
            .collect(),
        published: published
            .iter()
            .map(|(s, size)| (s.channel, s.sequence, *size, s.due_us - first))
            .collect(),
    }
}

/// Returns a plan without the parts that differ in every run, and without the target's port.
fn comparable(run: &Value, target: &Target) -> Value {
    let text = run["plan"].to_string().replace(&target.address.port().to_string(), "PORT");
    let mut plan: Value = serde_json::from_str(&text.replace("\"port\":PORT", "\"port\":0")).expect("JSON");
    for arm in plan["arms"].as_array_mut().expect("arms") {
        arm.as_object_mut().expect("an arm").remove("nonce").expect("a nonce");
    }
    plan
}

#[test]
fn a_run_can_be_repeated_from_its_run_json_alone() {
    let tool = Tool::new();
    let scenario = |target: &Target| {
        format!(
            "seed = 4711\n[target.subscribe]\nsse = \"{at}/sse?client={{client}}&channels={{channels}}\"\n\
             [target.publish]\nurl = \"{at}/publish?channel={{channel}}\"\n{LOAD}\
             [subscriptions]\nchannels = 7\nper_connection = 3\n\
             [publisher]\nrate = \"12/s\"\narrivals = \"poisson\"\nsize = \"64B..600B\"\n",
            at = target.url("")
        )
    };
    let first = target();
    let run = tool.measure(&scenario(&first), &[]);
    whole(&arms(&run)[0]);

    // The scenario from run.json, with a target at another address.
    let second = target();
    let mut value = run["scenario"].clone();
    let text = value.to_string().replace(&first.address.to_string(), &second.address.to_string());
    value = serde_json::from_str(&text).expect("JSON");
    tool.write("again.toml", &toml::to_string(&value).expect("a scenario"));
    let ended = tool.run(&["run", "again.toml", "-q", "-o", "again"]);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let again = tool.run_json("again");
    whole(&arms(&again)[0]);

    assert_eq!(comparable(&run, &first), comparable(&again, &second));
    let (a, b) = (seen(&first), seen(&second));
    assert_eq!(a, b);
    assert_eq!(a.subscribed.len(), 8);
    assert!(a.subscribed.iter().all(|(_, channels)| channels.split(',').collect::<BTreeSet<_>>().len() == 3));
    assert!(a.subscribed.iter().map(|(_, channels)| channels).collect::<BTreeSet<_>>().len() > 3, "drawn");
    let sizes: BTreeSet<usize> = a.published.iter().map(|p| p.2).collect();
    assert!(sizes.len() > 20 && sizes.first() >= Some(&64) && sizes.last() <= Some(&600), "{sizes:?}");

    // Another seed makes another run.
    let third = target();
    let other = tool.path("other.toml");
    std::fs::write(&other, scenario(&third)).unwrap();
    let ended = tool.run(&["run", "other.toml", "-q", "-o", "other", "--seed", "4712"]);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let c = seen(&third);
    assert_ne!(a.subscribed, c.subscribed);
    assert_ne!(a.published, c.published);
}

#[test]
fn poisson_arrivals_are_poisson_and_as_many_as_asked() {
    let target = target();
    let tool = Tool::new();
    let run = tool.measure(
        &format!(
            "[target.subscribe]\nsse = \"{at}/sse?client={{client}}&channels={{channels}}\"\n\
             [target.publish]\nurl = \"{at}/publish\"\n{LOAD}[publisher]\nrate = \"400/s\"\narrivals = \"poisson\"\n",
            at = target.url("")
        ),
        &["-c", "1"],
    );
    // Two publications that are due at once are sent on two connections; a target with threads may swap
    // them.
    let arm = &arms(&run)[0];
    let delivery = &arm["delivery"];
    assert_eq!(came(arm), number(delivery, "/intended"), "{delivery:#}");
    let mut dues: Vec<u64> = seen(&target).published.iter().map(|p| p.3).collect();
    dues.sort_unstable();
    let gaps: Vec<f64> = dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // The seed is fixed, so these two numbers are constant.
    assert!((340..460).contains(&dues.len()), "{}", dues.len());
    assert!((0.8..1.2).contains(&(variance.sqrt() / mean)), "{}", variance.sqrt() / mean);
}

#[test]
fn a_count_ends_the_publishing_of_each_channel() {
    let tool = Tool::new();
    let run = tool
        .measure(&builtin("[subscriptions]\nchannels = 2\n[publisher]\nrate = \"20/s\"\ncount = 5\n"), &[]);
    for arm in arms(&run) {
        whole(arm);
        assert_eq!(number(arm, "/published/sent"), 10.0);
        assert_eq!(number(arm, "/delivery/intended"), 40.0);
    }
}
