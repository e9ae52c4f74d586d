//! The description of one random run: everything is drawn from its seed.

use std::fmt;

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::poller::Poller;

use super::noise::Noise;
use crate::scenario::Ask;

/// Rates whose interval divides every drawn measure phase, so that each channel has the same number of
/// publications in it for any first instant.
const RATES: [f64; 6] = [5.0, 10.0, 20.0, 50.0, 100.0, 250.0];
const TRANSPORTS: [&str; 7] =
    ["poll", "long-poll", "stream", "sse", "websocket", "bayeux", "bayeux-websocket"];
/// Those over which clients publish too.
const PEERS: [&str; 3] = ["websocket", "bayeux", "bayeux-websocket"];
/// The most deliveries a second: one core of a small machine sends them and another reads them with ease.
const DELIVERIES_MAX: f64 = 4_000.0;

/// A drawn run.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(super) transport: &'static str,
    poller: Poller,
    threads: u64,
    pub(super) connections: u64,
    channels: u64,
    size: u64,
    pub(super) rate: f64,
    pub(super) emitter: bool,
    /// The clients themselves publish.
    peers: bool,
    batch_ms: u64,
    warmup_ms: u64,
    pub(super) duration_ms: u64,
    pub(super) faults: Vec<Fault>,
    pub(super) noise: Noise,
}

/// A fault of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Drop(u64),
    Duplicate(u64),
    Swap(u64),
    Truncate(u64),
    Corrupt(u64),
    Delay(u64),
    Bimodal(u64, u64),
    Freeze(u64, u64),
    Reset(u64, u64),
    SlowWrite(u64),
    /// The server collects its writes for this many ms.
    Batch(u64),
}

impl Fault {
    fn arguments(self) -> [String; 2] {
        let (flag, value) = match self {
            Fault::Drop(n) => ("--drop", format!("1/{n}")),
            Fault::Duplicate(n) => ("--dup", format!("1/{n}")),
            Fault::Swap(n) => ("--swap", format!("1/{n}")),
            Fault::Truncate(n) => ("--truncate", format!("1/{n}")),
            Fault::Corrupt(n) => ("--corrupt", format!("1/{n}")),
            Fault::Delay(ms) => ("--delay", format!("{ms}ms")),
            Fault::Bimodal(ms, every) => ("--delay", format!("bimodal:2ms,{ms}ms,{every}")),
            Fault::Freeze(ms, at_ms) => ("--freeze", format!("{ms}ms@{at_ms}ms")),
            Fault::Reset(n, at_ms) => ("--reset", format!("1/{n}@{at_ms}ms")),
            Fault::SlowWrite(bytes) => ("--slow-write", bytes.to_string()),
            Fault::Batch(ms) => ("--batch", format!("{ms}ms")),
        };
        [flag.to_owned(), value]
    }

    /// Whether the time of a write is also the time at which the client had the whole message.
    pub(super) fn keeps_times(self) -> bool {
        !matches!(
            self,
            Fault::SlowWrite(_)
                | Fault::Duplicate(_)
                | Fault::Swap(_)
                | Fault::Truncate(_)
                | Fault::Reset(..)
        )
    }
}

impl Drawn {
    /// The run of a seed.
    pub(crate) fn of(seed: u64) -> Drawn {
        let mut draw = Draw::new(seed, Purpose::Check, 0);
        let transport = TRANSPORTS[draw.below(TRANSPORTS.len() as u64) as usize];
        let poller = if draw.below(2) == 0 { Poller::Epoll } else { Poller::IoUring };
        let rate = RATES[draw.below(RATES.len() as u64) as usize];
        let channels = if draw.below(3) == 0 { 1 + draw.below(4) } else { 1 };
        // Each client subscribes to one channel.
        let connections_max = (DELIVERIES_MAX / rate).min(300.0) as u64;
        let connections = channels.max(2 + draw.below(connections_max - 1));
        let duration_ms = 1_000 * (1 + draw.below(3));
        let mut drawn = Drawn {
            transport,
            poller,
            threads: 1 + draw.below(3),
            connections,
            channels,
            size: drawn_size(&mut draw),
            rate,
            emitter: draw.below(3) == 0,
            peers: false,
            batch_ms: [0, 0, 1, 5][draw.below(4) as usize],
            warmup_ms: [0, 600, 1_000][draw.below(3) as usize],
            duration_ms,
            faults: Vec::new(),
            noise: Noise::of(&mut draw),
        };
        // The server makes no deliveries to polls.
        let faults = if transport == "poll" { 0 } else { [0, 0, 1, 1, 1, 2][draw.below(6) as usize] };
        for _ in 0..faults {
            let fault = drawn.fault(&mut draw);
            let (same, held) = (fault.arguments()[0].clone(), transport == "long-poll");
            // A reset needs a connection that is the subscription, and time between publications.
            let unfit = match fault {
                Fault::Reset(..) => {
                    held || transport == "bayeux" || rate > 10.0 || drawn.noise != Noise::Quiet
                }
                // A stream has no messages whose content could be compared.
                Fault::Corrupt(_) => transport == "stream" || drawn.emitter,
                // One piece per millisecond: a message must be written before the next is due.
                Fault::SlowWrite(bytes) => drawn.size as f64 / bytes as f64 > 300.0 / rate,
                _ => false,
            };
            if !unfit && drawn.faults.iter().all(|other| other.arguments()[0] != same) {
                drawn.faults.push(fault);
            }
        }
        // By draws of their own, so that a seed is otherwise the run that it was before clients published.
        let peers = PEERS.contains(&transport) && Draw::new(seed, Purpose::Check, 2).below(2) == 0;
        let reset = drawn.faults.iter().any(|fault| matches!(fault, Fault::Reset(..)));
        // A client whose connection was reset does not publish.
        drawn.peers = peers && !drawn.emitter && !reset;
        drawn
    }

    fn fault(&self, draw: &mut Draw) -> Fault {
        let one_in = [2, 3, 7, 20, 100][draw.below(5) as usize];
        let published_ms = self.warmup_ms + self.duration_ms;
        match draw.below(11) {
            0 => Fault::Drop(one_in),
            1 => Fault::Duplicate(one_in),
            2 => Fault::Swap(one_in),
            3 => Fault::Truncate(one_in),
            4 => Fault::Corrupt(one_in),
            5 => Fault::Delay(1 + draw.below(80)),
            6 => Fault::Bimodal(20 + draw.below(300), 2 + draw.below(20)),
            7 => Fault::Freeze(50 + draw.below(400), draw.below(published_ms)),
            // Between two publications: their interval divides 100 ms.
            8 => Fault::Reset(
                2 + draw.below(4),
                self.warmup_ms + 50 + 100 * draw.below(self.duration_ms / 100),
            ),
            9 => Fault::SlowWrite(40 + draw.below(200)),
            _ => Fault::Batch(1 + draw.below(20)),
        }
    }

    /// Whether a publication may overtake an earlier one inside the server.
    pub(super) fn overtakes(&self) -> bool {
        // Of two clients' publications on one channel the later one may be there first.
        self.peers || self.faults.iter().any(|fault| matches!(fault, Fault::Bimodal(..)))
    }

    /// The scenario.
    pub(crate) fn ask(&self) -> Ask {
        // The row of the server has a flag for its batches.
        let batches = self.faults.iter().find(|fault| matches!(fault, Fault::Batch(_)));
        let others = self.faults.iter().filter(|fault| !matches!(fault, Fault::Batch(_)));
        let words: Vec<[String; 2]> = others.map(|fault| fault.arguments()).collect();
        let words: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        let mut ask = Ask::builtin(self.transport)
            .arguments(&words)
            .top(&format!("threads = {}", self.threads))
            .top(&format!("batch = \"{}ms\"", self.batch_ms))
            .connections(self.connections)
            .phases(400, self.warmup_ms, self.duration_ms, 1_500)
            .subscriptions(&format!("channels = {}", self.channels))
            .rate(self.rate)
            .publisher(&format!("size = \"{}B\"", self.size))
            .publisher(match (self.emitter, self.peers) {
                (true, _) => "mode = \"emitter\"",
                (_, true) => "mode = \"peer\"",
                _ => "connections = 1",
            });
        if self.transport == "poll" {
            ask = ask.load("poll_interval = \"200ms\"");
        }
        if let Some(batches) = batches {
            ask = ask.flag("batch", &batches.arguments()[1]);
        }
        if self.checks_content() {
            ask = ask.publisher("check = true");
        }
        ask.by(self.poller)
    }

    /// Whether the received content is compared with the published content.
    pub(super) fn checks_content(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault, Fault::Corrupt(_)))
    }

    /// Publications of each channel in warm-up: the number of the first one in measure.
    pub(super) fn warmed(&self) -> u64 {
        (self.rate * self.warmup_ms as f64 / 1_000.0).round() as u64
    }

    /// Publications of each channel in measure.
    pub(super) fn measured(&self) -> u64 {
        (self.rate * self.duration_ms as f64 / 1_000.0).round() as u64
    }
}

/// Small ones, ordinary ones and large ones, odd and even.
fn drawn_size(draw: &mut Draw) -> u64 {
    match draw.below(4) {
        0 => 49 + draw.below(16),
        1 => 65 + draw.below(200),
        2 => 200 + draw.below(2_000),
        _ => 1_000 + draw.below(16_000),
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match (self.emitter, self.peers) {
            (true, _) => "emitter",
            (_, true) => "peer",
            _ => "external",
        };
        write!(
            f,
            "{} over {} by {}, {} clients of {} channels in {} threads, {} B at {}/s, {} + {} ms, batch {} ms, {}",
            self.transport,
            mode,
            self.poller.name(),
            self.connections,
            self.channels,
            self.threads,
            self.size,
            self.rate,
            self.warmup_ms,
            self.duration_ms,
            self.batch_ms,
            self.noise.name(),
        )?;
        for fault in &self.faults {
            write!(f, ", {}", fault.arguments().join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_draws_the_same_run_and_seeds_draw_all_there_is() {
        let all: Vec<String> = (0..400).map(|seed| Drawn::of(seed).to_string()).collect();
        let again: Vec<String> = (0..400).map(|seed| Drawn::of(seed).to_string()).collect();
        assert_eq!(all, again);
        let of = |part: fn(&Drawn) -> String| -> BTreeSet<String> {
            (0..400).map(|seed| part(&Drawn::of(seed))).collect()
        };
        assert_eq!(of(|d| d.transport.to_owned()).len(), TRANSPORTS.len());
        assert_eq!(of(|d| d.noise.name().to_owned()).len(), Noise::ALL.len());
        assert_eq!(of(|d| d.poller.name().to_owned()).len(), 2);
        let flags: BTreeSet<String> = (0..400)
            .flat_map(|seed| Drawn::of(seed).faults)
            .map(|fault| fault.arguments()[0].clone())
            .collect();
        assert_eq!(flags.len(), 10, "{flags:?}");
        assert!(of(|d| d.size.to_string()).len() > 200);
        let by_peers = (0..400).filter(|seed| Drawn::of(*seed).peers).count();
        assert!(by_peers > 30, "{by_peers}");
    }
}
