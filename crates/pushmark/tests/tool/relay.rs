//! A relay of TCP connections whose two directions can be held up apart: what is sent meanwhile arrives later.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A relay on a port of its own. Its threads end with the connections.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) port: u16,
    /// Nothing that clients send arrives.
    up: Arc<AtomicBool>,
    /// Nothing arrives at clients.
    down: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) fn to(port: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (up, down) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let relay = Relay { port: listener.local_addr().expect("it").port(), up, down };
        let (up, down) = (Arc::clone(&relay.up), Arc::clone(&relay.down));
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                pass(&client, &server, &up);
                pass(&server, &client, &down);
            }
        });
        relay
    }

    /// Holds up what clients send, and what is sent to them; or lets it go.
    pub(crate) fn hold(&self, up: bool, down: bool) {
        self.up.store(up, Ordering::Relaxed);
        self.down.store(down, Ordering::Relaxed);
    }
}

fn pass(from: &TcpStream, to: &TcpStream, held: &Arc<AtomicBool>) {
    let (mut from, mut to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
    let held = Arc::clone(held);
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            while held.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
