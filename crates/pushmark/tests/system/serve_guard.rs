//! `pushmark serve` as a program: signals under attack, its token, and its messages about both.

use crate::tool;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::tool::{PATIENCE, Running, Tool, until};
use rustix::process::Signal;

/// Starts a server on a free port, and returns it with its address.
fn serve(tool: &Tool, arguments: &[&str], token: Option<&str>) -> (Running, String) {
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        free.local_addr().expect("it has one").port()
    };
    let port = port.to_string();
    let mut command = tool.command(&[&["serve", "--port", &port], arguments].concat());
    match token {
        Some(token) => command.env("PUSHMARK_TOKEN", token),
        None => command.env_remove("PUSHMARK_TOKEN"),
    };
    let running = Running::of(command);
    let address = format!("127.0.0.1:{port}");
    until("it listens", || TcpStream::connect(&address).is_ok());
    (running, address)
}

/// Sends a request on a separate connection; returns the status of its answer.
fn status(address: &str, request: &str, body: &[u8]) -> u16 {
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a deadline");
    let head =
        format!("{request}Host: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    socket.write_all(&[head.as_bytes(), body].concat()).expect("it is taken");
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).expect("an answer");
    std::str::from_utf8(&answer[9..]).expect("digits").parse().expect("a status")
}

#[test]
fn a_signal_is_obeyed_within_a_second_whatever_clients_do() {
    let tool = Tool::new();
    for signal in [Signal::TERM, Signal::INT] {
        let (running, address) = serve(&tool, &[], None);
        let publish = "POST /publish?channel=a HTTP/1.1\r\n";
        assert_eq!(status(&address, publish, &[b'x'; 1 << 20]), 200);
        let polls = format!("GET /poll?channel=a HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(1000);
        let mut floods = Vec::new();
        for _ in 0..16 {
            let mut socket = TcpStream::connect(&address).expect("it listens");
            socket.set_write_timeout(Some(Duration::from_millis(100))).expect("a deadline");
            let _ = socket.write_all(polls.as_bytes());
            floods.push(socket);
        }
        let asked = Instant::now();
        running.signal(signal);
        let ended = running.end().expect(0).never_panicked();
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(1), "{signal:?}: it took {took:?}\n{}", ended.err);
    }
}

#[test]
fn the_token_is_taken_from_the_environment_and_demanded() {
    let tool = Tool::new();
    let (_running, address) = serve(&tool, &[], Some("from-the-environment"));
    let publish = "POST /publish?channel=a HTTP/1.1\r\n";
    assert_eq!(status(&address, publish, b"x"), 401);
    let shown = format!("{publish}Authorization: Bearer from-the-environment\r\n");
    assert_eq!(status(&address, &shown, b"x"), 200);
    assert_eq!(status(&address, "GET /stats HTTP/1.1\r\n", b""), 200);
    let (_running, address) = serve(&tool, &["--token", "given", "--token-for-all"], Some("other"));
    assert_eq!(status(&address, &format!("{publish}Authorization: Bearer other\r\n"), b"x"), 401);
    assert_eq!(status(&address, "GET /stats HTTP/1.1\r\n", b""), 401);
    assert_eq!(status(&address, "GET /stats HTTP/1.1\r\nAuthorization: Bearer given\r\n", b""), 200);
}

#[test]
fn what_cannot_be_a_token_is_refused() {
    let tool = Tool::new();
    let mut command = tool.command(&["serve", "--token-for-all"]);
    command.env_remove("PUSHMARK_TOKEN");
    tool::end(command).expect(2).says(&["--token-for-all needs --token TOKEN"]);
    tool.run(&["serve", "--token", "two words"]).expect(2).says(&["1 to 256 visible ASCII characters"]);
}

#[test]
fn a_run_reaches_the_server_that_it_starts_with_a_token() {
    let tool = Tool::new();
    // Requests that set up its emitters need the token.
    let scenario = format!(
        "[target]\nserver = \"builtin\"\nargs = [\"--token\", \"s3cret\"]\n[publisher]\nmode = \"emitter\"\nrate = 5\n{}",
        tool::LOAD
    );
    tool.write("s.toml", &scenario);
    let mut command = tool.command(&["run", "s.toml", "-o", "out", "-q"]);
    command.env("PUSHMARK_TOKEN", "of a server elsewhere");
    let ended = tool::end(command);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let run = tool.run_json("out");
    let sse = tool::arms(&run).iter().find(|arm| arm["transport"] == "sse");
    tool::whole(sse.expect("every transport has an arm"));
}
