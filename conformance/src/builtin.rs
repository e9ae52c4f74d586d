//! The built-in server, in a thread of the test.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use pushmark_server::{Options, Stop};

use crate::http::{self, Answer};
use crate::{PATIENCE, wait};

/// A running built-in server. Dropping it stops it.
#[derive(Debug)]
pub struct Builtin {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Builtin {
    /// Starts one on a port the system chooses.
    ///
    /// # Panics
    /// If it does not come to listen.
    pub fn start() -> Builtin {
        let stop = Stop::new().expect("an event descriptor");
        let options = Options { stop: Some(stop.clone()), ..Options::default() };
        let (sender, ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let told = |address| sender.send(address).expect("the test waits");
            pushmark_server::serve(options, told).expect("the server runs to its end");
        });
        let address = ready.recv_timeout(PATIENCE).expect("the server listens");
        Builtin { address, stop, thread: Some(thread) }
    }

    /// An URL of it.
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Publishes one message.
    ///
    /// # Panics
    /// If it is not taken.
    pub fn publish(&self, channel: &str, message: &[u8]) {
        let answer = http::post(self.address, &format!("/publish?channel={channel}"), message);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// What `/stats` says.
    ///
    /// # Panics
    /// If it is no JSON.
    pub fn stats(&self) -> serde_json::Value {
        let Answer { body, .. } = http::get(self.address, "/stats");
        serde_json::from_slice(&body).expect("/stats is JSON")
    }

    /// Waits until a channel has that many subscribers.
    pub fn wait_for_subscribers(&self, channel: &str, count: u64) {
        wait::until(&format!("{count} subscribers of {channel}"), || {
            (self.stats()["channels"][channel]["subscribers"].as_u64() == Some(count)).then_some(())
        });
    }
}

impl Drop for Builtin {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server panicked");
        }
    }
}
