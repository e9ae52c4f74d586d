//! Push against pull: a small slice of the study's suite as a real run, and refused settings.

use crate::tool::{Tool, number};

/// Every scheme of the study and of its later work, over a small crowd.
const SLICE: &str = r#"
name = "slice"
analysis = "Each scheme of push against pull, for a second."
cooldown = { max = "0s" }
[scenario]
target.server = "builtin"
load = { ramp = { rate = 1000 }, settle = "300ms", warmup = "0s", duration = "1s", drain = "300ms" }
publisher = { interval = "200ms", count = 5 }
[axes.style]
values = [
  { name = "pull", set = { transports = ["poll"], "load.poll_interval" = "150ms" } },
  { name = "conditional", set = { transports = ["poll"], "load.poll_interval" = { interval = "50ms", conditional = true } } },
  { name = "adaptive", set = { transports = ["poll"], "load.poll_interval" = { interval = "100ms", adaptive = { min = "50ms", max = "300ms" } } } },
  { name = "push", set = { transports = ["long-poll"] } },
  { name = "or", set = { transports = ["sse"], "load.poll_interval" = "150ms", "load.hybrid" = { push_max = 3 } } },
  { name = "and", set = { transports = ["sse"], "load.hybrid" = { safety_poll = "150ms" } } },
]
[axes.clients]
key = "load.connections"
values = [6]
[[matrix]]
[[figures]]
id = "crossover"
title = "The largest crowd"
kind = "crossover"
x = "clients"
y = "delivery"
line = "style"
"#;

#[test]
fn a_slice_of_the_study_has_a_figure_for_every_scheme() {
    let tool = Tool::new();
    tool.write("slice.toml", SLICE);
    let done = tool.run(&["suite", "slice.toml", "-o", "out", "--quiet"]);
    // The verdict does not matter here.
    assert!(matches!(done.code, 0 | 6), "{}: {}", done.code, done.err);
    let mut seen = Vec::new();
    for name in tool.names("out").into_iter().filter(|name| tool.path("out").join(name).is_dir()) {
        let run = tool.run_json(&format!("out/{name}"));
        let (style, arm) = (run["case"]["axes"]["style"].as_str().unwrap().to_owned(), &run["arms"][0]);
        let clients = number(arm, "/connections/asked");
        // Every client has the same five publications, over whichever scheme.
        assert_eq!(number(arm, "/delivery/intended"), clients * 5.0, "{name}");
        let fates = ["delivered", "late", "missing", "superseded", "excused", "unserved", "unpublished"];
        let told: f64 = fates.iter().map(|fate| number(arm, &format!("/delivery/{fate}"))).sum();
        assert_eq!(told, clients * 5.0, "{name}");
        assert!(number(arm, "/delivery/trip/count") > 0.0, "{name}");
        match style.as_str() {
            "conditional" => assert!(number(arm, "/poll/not_modified") > 0.0, "{name}"),
            "adaptive" => {
                let mean_us = number(arm, "/poll/interval_mean_us");
                assert!((50_000.0..400_000.0).contains(&mean_us), "{name}: {mean_us}");
            }
            "or" => {
                assert_eq!(number(arm, "/hybrid/push/connections/opened"), 3.0, "{name}");
                assert_eq!(number(arm, "/hybrid/pull/connections/opened"), clients - 3.0, "{name}");
                assert!(number(arm, "/poll/requests") > 0.0, "{name}");
            }
            "and" => assert!(number(arm, "/hybrid/safety/requests") >= clients * 4.0, "{name}"),
            _ => assert!(arm.get("hybrid").is_none(), "{name}"),
        }
        seen.push(style);
    }
    seen.sort();
    assert_eq!(seen.len(), 6, "{seen:?}");
    let page = std::fs::read_to_string(tool.path("out").join("report.html")).unwrap();
    assert!(page.contains("id=\"f-crossover\"") && page.contains("latency one accepts"));
}

#[test]
fn a_hybrid_that_is_none_is_refused_with_what_would_be_taken() {
    let tool = Tool::new();
    let refused = |load: &str, more: &str, words: &[&str]| {
        let text =
            format!("transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n[load]\n{load}\n{more}\n");
        tool.write("s.toml", &text);
        let done = tool.run(&["run", "s.toml"]);
        assert_eq!(done.code, 2, "{load}: {}", done.err);
        for word in words {
            assert!(done.err.contains(word), "{load}: no {word:?} in {}", done.err);
        }
    };
    refused(
        "hybrid = {}",
        "",
        &["a hybrid needs exactly one key", "found 0 of its keys", "pull_share = 0.5"],
    );
    refused("hybrid = { pull_share = 1.5 }", "", &["some clients must poll", "above 0 and below 1"]);
    refused(
        "connections = 10\nhybrid = { push_max = 10 }",
        "",
        &["1 to below load.connections, which is 10"],
    );
    refused("hybrid = { safety_poll = \"0s\" }", "", &["must be above 0"]);
    refused("hybrid = { pul_share = 0.5 }", "", &["did you mean `pull_share`?"]);
    refused("poll_interval = { adaptive = \"tttr\" }", "", &["\"ttr\", \"halving\""]);
    refused("poll_interval = { adaptive = { weight = 2 } }", "", &["`weight` must be a share"]);
    refused("poll_interval = { adaptive = { min = \"9s\", max = \"1s\" } }", "", &["not a range"]);
    let emitter = "[publisher]\nmode = \"emitter\"\ncheck = true";
    refused("", emitter, &["an emitter cannot draw padding from the seed"]);
}
