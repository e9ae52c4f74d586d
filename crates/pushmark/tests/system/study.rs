//! The first study: its exact matrix, the variables of its test plan as keys, and a slice of its suites as
//! a real run.

use crate::tool;
use std::net::TcpListener;

use crate::tool::{Tool, arms, number};
use serde_json::Value;

fn cases(suite: &str) -> Vec<Value> {
    let tool = Tool::new();
    let file = tool::root().join("studies/suites").join(suite).display().to_string();
    let ended = tool.run(&["suite", &file, "--dry-run", "--format", "json"]).expect(0);
    let plan: Value = serde_json::from_str(&ended.out).expect("JSON");
    plan["cases"].as_array().expect("cases").clone()
}

#[test]
fn the_matrix_is_the_195_tests_of_the_study() {
    let cases = cases("comet-195.toml");
    assert_eq!(cases.len(), 195);
    let has =
        |case: &&Value, axes: &[(&str, &str)]| axes.iter().all(|(axis, value)| case["axes"][axis] == *value);
    let count = |axes: &[(&str, &str)]| cases.iter().filter(|case| has(case, axes)).count();
    for server in ["node-0.8", "tomcat-6", "tomcat-7"] {
        assert_eq!(count(&[("server", server)]), 65, "{server}");
        assert_eq!(count(&[("server", server), ("emit", "no-events"), ("style", "comet")]), 5, "{server}");
        assert_eq!(
            count(&[("server", server), ("emit", "no-events"), ("style", "long-poll")]),
            20,
            "{server}"
        );
        for emit in ["1s", "5s", "10s", "30s"] {
            for style in ["comet", "long-poll"] {
                assert_eq!(
                    count(&[("server", server), ("emit", emit), ("style", style)]),
                    5,
                    "{server} {emit}"
                );
            }
        }
    }
    assert_eq!(count(&[("clients", "20000")]), 39);
    // Exactly these cases need more descriptors than a process with 20,000 has.
    let refused: Vec<&Value> = cases.iter().filter(|case| case.get("refused").is_some()).collect();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    if limit.is_some_and(|files| (15_101..20_100).contains(&files)) {
        assert_eq!((refused.len(), cases.len() - refused.len()), (39, 156));
        assert!(refused.iter().all(|case| case["axes"]["clients"] == "20000"), "{refused:#?}");
    }
}

#[test]
fn the_matrix_of_today_has_two_more_styles_and_six_servers() {
    let cases = cases("comet-today.toml");
    assert_eq!(cases.len(), 6 * (4 * 4 * 5 + 3 * 5 + 4 * 5));
    assert_eq!(self::cases("comet-keep-alive.toml").len(), 5 * 2 * (2 * 2 + 1) * 4);
}

fn idle(more: &str) -> String {
    format!(
        "transports = [\"long-poll\"]\n[target]\nserver = \"builtin\"\n{more}\n[load]\nconnections = 20\n\
         ramp = {{ over = \"300ms\" }}\nsettle = \"200ms\"\nwarmup = \"0s\"\nduration = \"3s\"\ndrain = \"1s\"\n\
         hold = \"500ms\"\nkeep_alive = false\ncursor = false\n[publisher]\nmode = \"none\"\n"
    )
}

#[test]
fn a_case_without_publications_has_answers_overshoot_connections_and_cost() {
    let tool = Tool::new();
    let run = tool.measure(&idle("log = true"), &[]);
    let arm = &arms(&run)[0];
    let timeouts = number(arm, "/long_poll/timeouts");
    assert!((60.0..=120.0).contains(&timeouts), "20 clients, 3 s, held 500 ms: {timeouts}");
    assert_eq!(number(arm, "/long_poll/answers"), 0.0);
    assert_eq!(number(arm, "/observed/messages"), 0.0, "a time-out is no message");
    assert_eq!(number(arm, "/long_poll/hold_overshoot/count"), timeouts);
    assert!(number(arm, "/long_poll/new_connections") >= timeouts, "each answer closes its connection");
    assert!(number(arm, "/server/cpu_us") > 0.0);
    // The figures are also kept by second, with the host beside the server.
    let windows = std::fs::read_to_string(tool.path("out/windows.csv")).expect("windows.csv");
    let mut lines = csv::Reader::from_reader(windows.as_bytes());
    let windows: Vec<pushmark_model::run::Window> = lines.deserialize().map(Result::unwrap).collect();
    let measured: u64 = windows.iter().filter(|w| w.phase == "measure").filter_map(|w| w.timeouts).sum();
    assert!(measured as f64 >= timeouts * 0.5, "{measured} of {timeouts}");
    assert!(windows.iter().any(|w| w.host_cpu_us > Some(0) && w.host_used_bytes > Some(0)));
    assert!(windows.iter().all(|w| w.emit_duration_max_us.is_none()), "nothing was published");
    // The server logged its requests: the log was on.
    assert!(tool.all_text("out").contains("GET /long-poll?channel="), "no request in the server's log");
}

#[test]
fn an_emit_lasts_until_its_last_listener_and_counts_them() {
    let tool = Tool::new();
    let scenario = "transports = [\"stream\"]\n[target]\nserver = \"builtin\"\n[load]\nconnections = 20\n\
         ramp = { over = \"300ms\" }\nsettle = \"200ms\"\nwarmup = \"0s\"\nduration = \"3s\"\ndrain = \"1s\"\n\
         [subscriptions]\nnames = [\"event1\"]\n[publisher]\nmode = \"emitter\"\ninterval = \"1s\"\n";
    let run = tool.measure(scenario, &[]);
    assert_eq!(number(&arms(&run)[0], "/published/due"), 3.0);
    let file = std::fs::File::open(tool.path("out/windows.csv")).expect("windows.csv");
    let windows: Vec<pushmark_model::run::Window> =
        csv::Reader::from_reader(file).deserialize().map(Result::unwrap).collect();
    let emits: Vec<_> = windows.iter().filter_map(|w| w.emit_duration_max_us).collect();
    assert_eq!(emits.len(), 3, "one a second of measure: {emits:?}");
    let received = number(&arms(&run)[0], "/delivery/from_sent/max_us");
    assert!(emits.iter().all(|us| *us as f64 <= received * 1.01 + 1.0), "{emits:?} within {received}");
    assert!(windows.iter().filter_map(|w| w.receivers_per_publication).all(|n| n == 20.0));
}

#[test]
fn who_remembers_nothing_misses_what_is_published_meanwhile() {
    let missed = |cursor: bool| {
        let tool = Tool::new();
        let scenario = format!(
            "transports = [\"long-poll\"]\n[target]\nserver = \"builtin\"\n[load]\nconnections = 20\n\
             ramp = {{ over = \"300ms\" }}\nsettle = \"1500ms\"\nwarmup = \"0s\"\nduration = \"2s\"\ndrain = \"1s\"\n\
             keep_alive = false\ncursor = {cursor}\n[publisher]\nmode = \"emitter\"\ninterval = \"1ms\"\n"
        );
        let run = tool.measure(&scenario, &[]);
        number(&arms(&run)[0], "/delivery/missing")
    };
    assert!(missed(false) > 0.0, "a thousand a second, and a connection for each answer");
    assert_eq!(missed(true), 0.0);
}

#[test]
fn a_port_of_ones_own_is_the_servers() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let tool = Tool::new();
    tool.write("s.toml", &idle(&format!("port = {port}")));
    let ended = tool.run(&["run", "s.toml", "-q", "-o", "out"]).expect(3);
    assert!(ended.err.contains(&port.to_string()), "{ended:#?}");
}
