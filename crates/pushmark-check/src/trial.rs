//! A running case: how it reaches the server, and the helpers that the cases share.

use std::time::{Duration, Instant};

use pushmark_model::stamp::{STAMP_LEN, Scanner, Stamp, write_payload};
use pushmark_net::Clock;
use serde_json::Value;

use super::chance::{Chance, encoded};
use super::endpoint::Endpoint;
use super::journal::Journal;
use super::outcome::{Miss, Outcome, Step, brief, failed, holds};
use super::patience::PATIENCE;
use super::subject::{Instance, Subject};
use super::wire::{Answer, Wire};

/// Receive buffer, in bytes, of a client that does not read.
pub(super) const SLEEPER_BUFFER: usize = 4096;

/// A running case.
pub(super) struct Trial<'a> {
    pub(super) subject: &'a Subject,
    pub(super) chance: Chance,
    pub(super) journal: Journal,
    /// The address of this case's server: the subject, or one started only for the case.
    endpoint: Endpoint,
    /// Names of the emitters it may have set.
    emitters: Vec<String>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(subject: &'a Subject, mut chance: Chance) -> Trial<'a> {
        if subject.lacks("3.8").is_some() {
            chance.keep_whole();
        }
        Trial {
            subject,
            chance,
            journal: Journal::default(),
            endpoint: subject.endpoint.clone(),
            emitters: Vec::new(),
        }
    }

    /// Continues only if a clause is offered.
    pub(super) fn needs(&self, clause: &str) -> Outcome {
        match self.subject.lacks(clause) {
            Some(why) => Err(Miss::NotOffered(why)),
            None => Ok(()),
        }
    }

    /// Whether a clause is offered.
    pub(super) fn has(&self, clause: &str) -> bool {
        self.subject.lacks(clause).is_none()
    }

    /// Starts a server for this case alone, and talks to it from now on.
    pub(super) fn fresh(&mut self) -> Step<Box<dyn Instance>> {
        let Some(launch) = &self.subject.launch else {
            return Err(Miss::NotOffered("it runs already and is left running".into()));
        };
        let instance = launch.launch().map_err(|error| failed(format!("it does not start: {error:#}")))?;
        self.endpoint = instance.address().into();
        Ok(instance)
    }

    /// Talks to another address from now on.
    pub(super) fn moves_to(&mut self, address: std::net::SocketAddr) {
        self.endpoint = address.into();
    }

    /// Returns the name of a new emitter, which is cleared when the case ends, whatever its outcome.
    pub(super) fn emitter(&mut self) -> String {
        let name = self.chance.channel();
        self.emitters.push(name.clone());
        name
    }

    /// Removes everything that would keep running after the case.
    pub(super) fn clean(mut self) {
        for name in std::mem::take(&mut self.emitters) {
            // It does not matter if it was never set or ended with its server.
            let _ = self.ask("DELETE", &format!("/emitters/{name}"), b"");
        }
    }

    /// A connection.
    pub(super) fn connect(&mut self) -> Step<Wire> {
        Wire::connect(&self.endpoint, None, self.chance.fork(), self.journal.clone())
    }

    /// Opens a connection of a client that will stop reading.
    pub(super) fn connect_sleeper(&mut self) -> Step<Wire> {
        Wire::connect(&self.endpoint, Some(SLEEPER_BUFFER), self.chance.fork(), self.journal.clone())
    }

    /// Sends one request on a new connection.
    pub(super) fn ask(&mut self, method: &str, target: &str, body: &[u8]) -> Step<Answer> {
        self.connect()?.ask(method, target, &[], body)
    }

    /// Sends a GET on a new connection.
    pub(super) fn get(&mut self, target: &str) -> Step<Answer> {
        self.ask("GET", target, b"")
    }

    /// A connection with a requested subscription, and the head of the answer.
    pub(super) fn subscribe(&mut self, target: &str, headers: &[&str]) -> Step<(Wire, Answer)> {
        let mut wire = self.connect()?;
        wire.send("GET", target, headers, b"")?;
        let head = wire.head()?.is(200)?;
        Ok((wire, head))
    }

    /// Publishes a message. Returns the answer's document.
    pub(super) fn publish(&mut self, channel: &str, message: &[u8]) -> Step<Value> {
        let target = format!("/publish?channel={}", encoded(channel));
        self.ask("POST", &target, message)?.is(200)?.json()
    }

    /// Returns the server's statistics.
    pub(super) fn stats(&mut self) -> Step<Value> {
        self.get("/stats")?.is(200)?.json()
    }

    /// Polls the statistics until `says` returns true for them.
    pub(super) fn until_stats(&mut self, what: &str, says: impl Fn(&Value) -> bool) -> Step<Value> {
        let started = Instant::now();
        loop {
            let stats = self.stats()?;
            if says(&stats) {
                return Ok(stats);
            }
            if started.elapsed() > PATIENCE {
                return Err(failed(format!("/stats never said: {what}; {}", brief(&stats.to_string()))));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until `count` requests or subscriptions of a channel are registered: a publication sent on
    /// another connection may otherwise overtake them. Without /stats there is no way to know, and the case
    /// relies on its usual pause.
    pub(super) fn until_registered(&mut self, channel: &str, count: u64) -> Outcome {
        if !self.has("2.3") {
            return Ok(());
        }
        let listed = |stats: &Value| {
            let said = &stats["channels"][channel]["subscribers"];
            said.is_null() && count == 0 || said.as_u64() == Some(count)
        };
        self.until_stats(&format!("{count} subscribers of {channel}"), listed).map(drop)
    }

    /// Waits until a request on this connection is held: one is registered and nothing was answered. If the
    /// server answered instead, that answer explains more than statistics that never listed the request.
    pub(super) fn until_held(&mut self, wire: &mut Wire, channel: &str) -> Outcome {
        self.until_registered(channel, 1).or_else(|miss| {
            wire.is_quiet(Duration::from_millis(1))?;
            Err(miss)
        })
    }

    /// Returns the number at a JSON pointer of the statistics; not offered if it is absent.
    pub(super) fn stat(&self, stats: &Value, pointer: &str) -> Step<u64> {
        let Some(value) = stats.pointer(pointer) else {
            return Err(Miss::NotOffered(format!("/stats has no {}", &pointer[1..])));
        };
        value.as_u64().ok_or_else(|| failed(format!("{}: {value} where a number is wanted", &pointer[1..])))
    }
}

/// The current time, in the unit of stamps.
pub(super) fn now_us() -> u64 {
    Clock::now() / 1000
}

/// A message of that size with a stamp of that sequence.
pub(super) fn stamped(nonce: u32, publisher: u16, sequence: u64, size: usize) -> Vec<u8> {
    let now = now_us();
    let stamp = Stamp { nonce, publisher, channel: 0, sequence, due_us: now, sent_us: now };
    let mut message = vec![0; size.max(STAMP_LEN)];
    write_payload(&stamp, &mut message);
    message
}

/// All stamps in some bytes.
pub(super) fn stamps(bytes: &[u8]) -> Vec<Stamp> {
    let mut found = Vec::new();
    Scanner::default().scan(bytes, |stamp| found.push(stamp));
    found
}

/// The sequences of the stamps in some bytes.
pub(super) fn sequences(bytes: &[u8]) -> Vec<u64> {
    stamps(bytes).iter().map(|stamp| stamp.sequence).collect()
}

/// Fails unless the stamps count up by one from `first`.
pub(super) fn counts_up(what: &str, sequences: &[u64], first: u64, count: usize) -> Outcome {
    let wanted = (first..).take(count);
    holds(sequences.iter().copied().eq(wanted), || {
        format!(
            "{what}: {} where {first} to {} is wanted",
            brief(&format!("{sequences:?}")),
            first + count as u64 - 1
        )
    })
}
