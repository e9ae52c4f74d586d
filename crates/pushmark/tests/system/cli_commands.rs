//! The commands around `run`: servers, schema, completions, the manual page, help.

use crate::tool::{Tool, have, http, number, until};
use serde_json::Value;

#[test]
fn every_command_is_named_and_explained() {
    let tool = Tool::new();
    let help = tool.run(&["--help"]).expect(0).out;
    let man = tool.run(&["man"]).expect(0).out;
    let completions = tool.run(&["completions", "bash"]).expect(0).out;
    for command in
        ["run", "report", "serve", "servers", "doctor", "calibrate", "runs", "schema", "completions", "man"]
    {
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(&format!("{command} "))),
            "{command}: {help}"
        );
        assert!(man.contains(command) && completions.contains(command), "{command}");
        let own = tool.run(&[command, "--help"]).expect(0).out;
        assert!(own.contains("Usage: pushmark "), "{own}");
    }
    assert!(man.starts_with(".ie") || man.contains(".TH pushmark 1"), "{}", &man[..200]);
    for shell in ["zsh", "fish"] {
        assert!(tool.run(&["completions", shell]).expect(0).out.contains("pushmark"));
    }
    assert!(tool.run(&["--version"]).expect(0).out.starts_with("pushmark "));
}

#[test]
fn the_schema_is_one_that_editors_read() {
    let tool = Tool::new();
    let schema: Value = serde_json::from_str(&tool.run(&["schema"]).expect(0).out).expect("JSON");
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    for key in ["target", "load", "publisher", "subscriptions", "thresholds", "transports", "seed"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}

/// Starts a server in the foreground, uses it, and ends it as a terminal would.
fn foreground(name: &str, publish: &str) {
    let tool = Tool::new();
    let mut running = tool.start(&["servers", "start", name]);
    let line = running.wait_for(&format!("{name} on port "));
    let port: u16 = line.split("port ").nth(1).unwrap().split(';').next().unwrap().parse().expect("its port");
    let address = format!("127.0.0.1:{port}");
    until("it serves", || http::ask(&address, "GET", "/health", "").is_ok_and(|(status, _)| status == 200));
    let (status, _) = http::ask(&address, "POST", publish, "hello").expect("an answer");
    assert!((200..300).contains(&status), "{status}");
    running.signal(rustix::process::Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
    assert!(http::ask(&address, "GET", "/health", "").is_err(), "nothing listens any more");
}

#[test]
fn the_built_in_server_runs_in_the_foreground() {
    foreground("builtin", "/publish?channel=a");
}

#[test]
fn nchan_runs_in_the_foreground() {
    let module = std::path::Path::new("/usr/lib/nginx/modules/ngx_nchan_module.so").exists();
    if have(module, "nginx with Nchan") {
        foreground("nchan", "/publish?channel=a");
    }
}

#[test]
fn a_machine_is_calibrated_against_a_server_that_has_nothing_to_do() {
    let tool = Tool::new();
    let ended = tool.run(&["calibrate", "-t", "sse", "--seconds", "1", "--format", "json"]).expect(0);
    let found: Value = serde_json::from_str(&ended.out).expect("JSON");
    let ceiling = &found["ceilings"][0];
    assert_eq!(ceiling["transport"], "sse");
    assert!(number(ceiling, "/deliveries_per_s") >= 1_000.0, "{found:#}");
    assert!((0.0..0.8).contains(&number(ceiling, "/busiest_core")), "at a rate that is believed: {ceiling}");
    assert!(number(ceiling, "/cpu_us_per_delivery") > 0.0);
    assert!(number(&found, "/connections") >= 1_000.0);
    assert!(number(&found, "/floor/p50_us") <= number(&found, "/floor/p99_us"));
    assert!(ended.err.contains("sse at 25000/s: "), "each step is told: {}", ended.err);
    assert!(tool.names("").is_empty(), "one transport is no calibration to keep");
}

#[test]
fn a_calibration_is_told_with_later_runs_on_the_same_machine_alone() {
    let run = |tool: &Tool| {
        tool.measure(
            "transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n[load]\nconnections = 5\nsettle = \"100ms\"\n\
             warmup = \"0s\"\nduration = \"300ms\"\ndrain = \"200ms\"\n[publisher]\nrate = \"20/s\"\n",
            &[],
        )
    };
    let first = run(&Tool::new());
    assert!(first["calibration"].is_null());
    let of = |key: &str| first["environment"][key].clone();
    for (kernel, told) in [(of("kernel"), true), ("0.1".into(), false)] {
        let tool = Tool::new();
        let calibration = serde_json::json!({
            "schema": "pushmark.calibration/1", "at": "2026-11-22T00:00:00Z", "pushmark_version": env!("CARGO_PKG_VERSION"),
            "cpu": of("cpu"), "cpus": of("cpus"), "kernel": kernel, "connections": 7,
            "ceilings": [{
                "transport": "sse", "deliveries_per_s": 87654.0, "by": "server", "busiest_core": 0.5, "cpu_us_per_delivery": 5.0
            }],
            "floor": { "p50_us": 90, "p99_us": 200, "max_us": 400, "read_lag_p99_us": 50 }
        });
        std::fs::create_dir(tool.path("results")).expect("a folder");
        tool.write("results/calibration.json", &calibration.to_string());
        assert_eq!(run(&tool)["calibration"]["connections"] == 7, told);
        let page = std::fs::read_to_string(tool.path("out/report.html")).expect("a page");
        assert_eq!(page.contains("at least 87\u{202f}000 messages/s over sse"), told);
    }
}
