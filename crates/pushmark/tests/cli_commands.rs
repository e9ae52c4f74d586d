//! The commands around `run`: servers, schema, completions, the manual page, help.

mod tool;

use serde_json::Value;
use tool::{Tool, have, http, until};

#[test]
fn every_command_is_named_and_explained() {
    let tool = Tool::new();
    let help = tool.run(&["--help"]).expect(0).out;
    let man = tool.run(&["man"]).expect(0).out;
    let completions = tool.run(&["completions", "bash"]).expect(0).out;
    for command in ["run", "report", "serve", "servers", "doctor", "runs", "schema", "completions", "man"] {
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

/// Starts a server in the foreground, uses it, ends it as a terminal would.
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
