//! The Autobahn cases against our framing as a server, as a client, and against the client conversation that
//! the driver uses.

use std::net::SocketAddr;
use std::path::Path;

use conformance::session::{Heard, Session};
use conformance::wire::{MakePoller, POLLERS};
use conformance::{echo, kosoku, ports, process::Process, tools, wait};
use pushmark_proto::client::{Config, Transport};

fn assert_expected(section: &str, reports: &Path) {
    let deviations = kosoku::deviations(section, reports);
    assert!(deviations.is_empty(), "{}", deviations.join("\n"));
}

#[test]
fn a_server_on_our_framing_behaves_as_the_cases_expect() {
    if !tools::present(&["kosoku"]) {
        return;
    }
    let reports = tempfile::tempdir().expect("a folder");
    let address = echo::serve().to_string();
    // It exits with 1 if a case failed. The expectations decide.
    let output = kosoku::command("fuzzingclient", reports.path(), &[], &address).output();
    let output = output.expect("kosoku runs");
    assert!(reports.path().join("index.json").exists(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_expected("server", reports.path());
}

#[test]
fn a_client_on_our_framing_behaves_as_the_cases_expect() {
    run_clients("client", &[], |address, target| {
        // A case that ends the connection differently is judged by the other side.
        let _ = echo::connect(address, target, |_| {});
    });
}

#[test]
fn the_client_conversation_by_epoll_behaves_as_the_cases_expect() {
    converse(POLLERS[0]);
}

#[test]
fn the_client_conversation_by_io_uring_behaves_as_the_cases_expect() {
    converse(POLLERS[1]);
}

fn converse(poller: MakePoller) {
    // It receives binary messages but sends only text.
    let binary = ["1.2.*", "9.2.*", "9.4.*", "9.6.*", "9.8.*"];
    run_clients("conversation", &binary, |address, target| {
        let mut config = Config::new(Transport::WebSocket);
        config.message_max = 64 << 20;
        let mut session = Session::open_by(poller, address, config, target);
        loop {
            match session.hear() {
                Ok(Heard::Message(message)) => drop(session.write_text(&message)),
                Ok(_) => {}
                Err(_) => return session.drain(),
            }
        }
    });
}

/// Starts the fuzzing server and runs a client for each of its cases.
fn run_clients(section: &str, excluded: &[&str], client: impl Fn(SocketAddr, &str)) {
    if !tools::present(&["kosoku"]) {
        return;
    }
    let reports = tempfile::tempdir().expect("a folder");
    let address = ports::free();
    let mut command = kosoku::command("fuzzingserver", reports.path(), excluded, &address.to_string());
    let mut server = Process::start(&mut command);
    let count: u32 = wait::until("the number of cases", || {
        let mut count = None;
        let _ = echo::connect(address, "/getCaseCount", |text| {
            count = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        });
        count
    });
    for case in 1..=count {
        client(address, &format!("/runCase?case={case}&agent=pushmark"));
    }
    let _ = echo::connect(address, "/updateReports?agent=pushmark", |_| {});
    wait::until("the reports", || {
        (server.ended() && reports.path().join("index.json").exists()).then_some(())
    });
    assert_expected(section, reports.path());
}
