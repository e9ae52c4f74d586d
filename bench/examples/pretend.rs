//! Load tools of known conduct, and the server they are let loose on: the tests of `bench peers` hold
//! what it says against what these did. As any tool, they are told what to do in their environment.
//!
//! `serve --port 0 [--truth FILE]` is the built-in server; `lossy` hears events and forgets one in ten;
//! `deaf` connects and never reads; `burns` hears, and burns 300 ms in itself and 300 in a child.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pushmark_net::Clock;
use rustix::time::{ClockId, clock_gettime};

const BURNS: Duration = Duration::from_millis(300);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments[0].as_str() {
        "serve" => serve(&arguments),
        "lossy" => hear(|nth| nth % 10 != 9),
        "deaf" => {
            let _crowd = crowd();
            thread::sleep(hold());
        }
        "burns" => {
            thread::spawn(|| {
                sleep_until(number("FROM_US"));
                let own = std::env::current_exe().expect("it runs");
                let mut child = Command::new(own).arg("burn").spawn().expect("it can be started twice");
                burn();
                child.wait().expect("it is ours");
            });
            hear(|_| true);
        }
        "burn" => burn(),
        other => panic!("{other} is no conduct"),
    }
}

fn serve(arguments: &[String]) {
    let truth =
        arguments.iter().position(|word| word == "--truth").map(|at| arguments[at + 1].clone().into());
    let options = pushmark_builtin::Options { truth, ..pushmark_builtin::Options::default() };
    pushmark_builtin::serve(options, |address| println!("listening on http://{address}")).expect("it serves");
}

/// Hears every client's events; counts those due in the window, but for what is forgotten.
fn hear(keeps: fn(u64) -> bool) {
    let (from_us, until_us) = (number("FROM_US"), number("UNTIL_US"));
    let (heard, handled) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for socket in crowd() {
        let (heard, handled) = (Arc::clone(&heard), Arc::clone(&handled));
        thread::spawn(move || {
            for line in BufReader::new(socket).lines().map_while(Result::ok) {
                let Some(stamp) = line.rfind("pm1:") else { continue };
                let due_us = u64::from_str_radix(&line[stamp + 27..stamp + 37], 36).expect("base 36");
                if (from_us..until_us).contains(&due_us) && keeps(heard.fetch_add(1, Ordering::Relaxed)) {
                    handled.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    thread::sleep(hold());
    println!("some last words\n{{\"handled\": {}, \"late\": 0}}", handled.load(Ordering::Relaxed));
}

fn crowd() -> Vec<TcpStream> {
    let url = std::env::var("URL").expect("URL");
    let (address, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    let one = |_| {
        let mut socket = TcpStream::connect(address).expect("it listens");
        write!(socket, "GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it is heard");
        socket
    };
    (0..number("N")).map(one).collect()
}

fn burn() {
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it is positive");
    let began = used();
    while used() - began < BURNS {
        std::hint::black_box((0..1_000u64).sum::<u64>());
    }
}

fn hold() -> Duration {
    Duration::from_millis(number("HOLD_MS"))
}

fn sleep_until(at_us: u64) {
    thread::sleep(Duration::from_nanos((at_us * 1_000).saturating_sub(Clock::now())));
}

fn number(name: &str) -> u64 {
    std::env::var(name).expect(name).parse().expect(name)
}
