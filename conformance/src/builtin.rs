//! The built-in server, running in a thread of the test.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use pushmark_builtin::{Access, Options, Stop};

use crate::http::{self, Answer};
use crate::{PATIENCE, wait};

/// A running built-in server. Dropping it stops it.
#[derive(Debug)]
pub struct Builtin {
    /// The address it listens on.
    pub address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Builtin {
    /// Starts a server on a port that the system chooses.
    ///
    /// # Panics
    /// If the server does not start listening.
    pub fn start() -> Builtin {
        let stop = Stop::new().expect("an event descriptor");
        // Test pages are loaded from files.
        let access = Access { origins: vec!["null".to_owned()], ..Access::default() };
        let options = Options { stop: Some(stop.clone()), access, ..Options::default() };
        let (sender, ready) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let told = |address| sender.send(address).expect("the test waits");
            pushmark_builtin::serve(options, told).expect("the server runs to its end");
        });
        let address = ready.recv_timeout(PATIENCE).expect("the server listens");
        Builtin { address, stop, thread: Some(thread) }
    }

    /// Returns a URL on this server.
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Publishes one message.
    ///
    /// # Panics
    /// If the server does not accept it.
    pub fn publish(&self, channel: &str, message: &[u8]) {
        let answer = http::post(self.address, &format!("/publish?channel={channel}"), message);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Returns the content of `/stats`.
    ///
    /// # Panics
    /// If the content is not JSON.
    pub fn stats(&self) -> serde_json::Value {
        let Answer { body, .. } = http::get(self.address, "/stats");
        serde_json::from_slice(&body).expect("/stats is JSON")
    }

    /// Waits until a channel has `count` subscribers.
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
