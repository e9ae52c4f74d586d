//! Targets that accept and never answer, or never send the awaited text: no run of them passes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::tool::{Tool, arms, number};

/// Starts a target that accepts, sends `greeting` to each client, and then only reads. It ends with the
/// test's process.
fn target(greeting: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client: TcpStream = client.expect("a client");
            std::thread::spawn(move || {
                let mut buffer = [0; 4_096];
                let mut greeting = greeting;
                while let Ok(1..) = client.read(&mut buffer) {
                    if client.write_all(std::mem::take(&mut greeting)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Returns a scenario that only observes, with this measure phase.
fn scenario(subscribe: &str, measure: &str) -> String {
    format!(
        "[target.subscribe]\n{subscribe}\n[load]\nconnections = 8\nhandshake_timeout = \"2s\"\n\
         settle = \"1200ms\"\nwarmup = \"0s\"\nduration = \"{measure}\"\ndrain = \"100ms\"\n"
    )
}

#[test]
fn a_target_that_never_answers_makes_an_invalid_run() {
    let url = target(b"");
    for transport in ["sse", "stream", "long-poll"] {
        let tool = Tool::new();
        tool.write("a.toml", &scenario(&format!("{transport} = \"{url}\""), "300ms"));
        let ended = tool.run(&["run", "a.toml", "-o", "out"]).expect(6).never_panicked();
        assert!(ended.out.contains("8 of 8 subscriptions in"), "{}", ended.out);
        let run = tool.run_json("out");
        assert_eq!(number(&arms(&run)[0], "/connections/assumed_silent"), 8.0, "{transport}");
    }
}

#[test]
fn its_connects_fail_by_the_time_out() {
    let tool = Tool::new();
    tool.write("a.toml", &scenario(&format!("sse = \"{}\"", target(b"")), "60s"));
    let ended = tool.run(&["run", "a.toml", "-o", "out"]).expect(3);
    ended.says(&["no client could subscribe", "8 of 8: timeout_handshake"]);
}

#[test]
fn a_ready_text_that_never_comes_ends_the_run_with_what_came() {
    let greeting = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: welcome\n\n";
    let subscribe = format!("sse = {{ url = \"{}\", ready = \"connected\" }}", target(greeting));
    let tool = Tool::new();
    tool.write("a.toml", &scenario(&subscribe, "60s"));
    let begun = Instant::now();
    let ended = tool.run(&["run", "a.toml", "-o", "out"]).expect(3);
    ended.says(&["8 of 8: timeout_ready", "\"connected\" (ready) did not come in time", "data: welcome"]);
    assert!(begun.elapsed() < Duration::from_secs(40), "it did not wait for the end of measure");
}

#[test]
fn an_arm_that_ends_before_the_time_out_says_what_was_awaited() {
    let greeting = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: welcome\n\n";
    let subscribe = format!("sse = {{ url = \"{}\", ready = \"connected\" }}", target(greeting));
    let tool = Tool::new();
    let patient = scenario(&subscribe, "300ms").replace("\"2s\"", "\"60s\"");
    tool.write("a.toml", &patient);
    let ended = tool.run(&["run", "a.toml", "-o", "out"]).expect(3);
    ended.says(&[
        "8: not subscribed by the end",
        "waiting: \"connected\" (ready) did not come by the end of the arm",
        "data: welcome",
    ]);
}

#[test]
fn an_arm_whose_ready_text_never_comes_ends_at_once_and_the_others_are_measured() {
    let greeting = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: welcome\n\n";
    let url = target(greeting);
    let unready = format!("sse = {{ url = \"{url}\", ready = \"connected\" }}");
    let tool = Tool::new();
    // Both arms wait in vain: the run does not wait for their minutes of measure.
    let both = format!("{unready}\nstream = {{ url = \"{url}\", ready = \"joined\" }}");
    tool.write("a.toml", &scenario(&both, "60s"));
    let begun = Instant::now();
    let ended = tool.run(&["run", "a.toml", "-o", "none"]).expect(3);
    ended.says(&[
        "8 of 8: timeout_ready",
        "\"connected\" (ready) did not come in time",
        "\"joined\" (ready) did not come in time",
        "data: welcome",
    ]);
    assert!(begun.elapsed() < Duration::from_secs(100), "it waited for no end of measure");
    // The other arm is measured to its end, and the first is reported with its error.
    tool.write("b.toml", &scenario(&format!("{unready}\nstream = \"{url}\""), "4s"));
    let ended = tool.run(&["run", "b.toml", "-o", "out"]).never_panicked();
    assert!(matches!(ended.code, 5 | 6), "incomplete, or on a busy machine invalid: {ended:#?}");
    let run = tool.run_json("out");
    let of = |transport: &str| arms(&run).iter().find(|arm| arm["transport"] == transport).expect("an arm");
    assert_eq!(number(of("stream"), "/connections/opened"), 8.0);
    assert_eq!(number(of("sse"), "/connections/failed/timeout_ready"), 8.0);
    let error = of("sse")["error"].as_str().expect("why it ended");
    assert!(error.contains("\"connected\" (ready)") && error.contains("data: welcome"), "{error}");
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("\"connected\" (ready) did not come in time"), "{}", ended.out);
}
