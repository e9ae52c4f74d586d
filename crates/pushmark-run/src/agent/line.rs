//! An agent or a monitor on another machine, from the side of its run: signed orders to it, and what it says, in
//! order.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context as _;
use pushmark_cluster::{Bus, Due, Heard, Listening, Signer, wire};
use pushmark_model::agent::RemoteOrder;
use pushmark_model::cluster::{Answer, Ask, Card, Piece, Terms};
use pushmark_net::Clock;

/// Time for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How often an order is given until it is taken.
const TRIES: usize = 5;

/// The right to give one claimed machine orders.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) bus: Arc<Bus>,
    /// The name of the work.
    pub(super) claim: String,
    pub(super) card: Card,
    pub(super) signer: Arc<Signer>,
    /// Drawn by the machine for this work.
    pub(super) terms: Terms,
    /// The number of the last order.
    pub(super) numbers: Arc<AtomicU64>,
}

/// Returns what people call it: `agent a`.
pub(super) fn called(card: &Card) -> String {
    let kind = if card.beside.is_some() { "monitor" } else { "agent" };
    format!("{kind} {}", card.name)
}

/// Asks an agent or monitor, and waits for its answer.
pub(super) fn ask_one(bus: &Bus, name: &str, ask: &Ask) -> anyhow::Result<Answer> {
    let body = bus.request(wire::agent(name), wire::encode(ask), ANSWER_WITHIN)?;
    wire::decode(&body).context("an answer that cannot be read")
}

impl Command {
    /// Gives an order, again if nothing answers.
    pub(super) fn order(&self, order: &RemoteOrder) -> anyhow::Result<()> {
        let (name, called) = (&self.card.name, called(&self.card));
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let signed = self.signer.sign(name, &self.claim, self.terms, number, order)?;
        let mut last = None;
        for _ in 0..TRIES {
            match ask_one(&self.bus, name, &Ask::Order(signed.clone())) {
                Ok(Answer::Done) => return Ok(()),
                Ok(Answer::Refused(why)) => anyhow::bail!("{called} refuses: {why}"),
                Ok(other) => anyhow::bail!("{called} answers {other:?}"),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("it was tried").context(called))
    }

    /// Listens to what it says of an arm.
    pub(super) fn line(&self, arm: u32) -> io::Result<Line> {
        let subject = wire::said(&self.claim, &self.card.name);
        let heard = self.bus.subscribe(&[subject]).map_err(io::Error::other)?;
        let listening = Listening::new(Clock::now(), u64::MAX);
        Ok(Line { to: self.clone(), arm, heard, listening, whole: VecDeque::new() })
    }

    fn ask_again(&self, arm: u32, from: u64, to: u64) -> anyhow::Result<Answer> {
        let claim = self.claim.clone();
        ask_one(&self.bus, &self.card.name, &Ask::Again { claim, arm, from, to })
    }
}

/// What it says of one arm.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) to: Command,
    arm: u32,
    heard: Receiver<Heard>,
    listening: Listening,
    /// Messages that are complete, in order.
    whole: VecDeque<Vec<u8>>,
}

/// What comes through the line.
#[derive(Debug)]
pub(super) enum Heeded {
    /// A message.
    Message(Vec<u8>),
    /// Nothing is heard of it.
    Silent(String),
    /// It is back.
    Back(String),
    /// It is gone.
    Lost(String),
    /// Nothing in this time.
    Nothing,
}

impl Line {
    /// The plan of the arm is over then, on our clock: until that time a silent machine may be at work.
    pub(super) fn ends(&mut self, ends_ns: u64) {
        self.listening.ends(ends_ns);
    }

    /// Waits for what comes next. Pieces that are missing are asked for again.
    pub(super) fn next(&mut self, within: Duration) -> Heeded {
        if let Some(message) = self.whole.pop_front() {
            return Heeded::Message(message);
        }
        match self.heard.recv_timeout(within) {
            Ok(heard) => {
                let piece = wire::decode::<Piece>(&heard.body).filter(|piece| piece.arm == self.arm);
                if let Some(piece) = piece {
                    self.whole.extend(self.listening.take(Clock::now(), piece));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Heeded::Lost("the bus ended".into()),
        }
        if let Some(message) = self.whole.pop_front() {
            return Heeded::Message(message);
        }
        while let Some(due) = self.listening.due(Clock::now()) {
            let (called, host) = (called(&self.to.card), &self.to.card.host);
            match due {
                Due::Silent => return Heeded::Silent(format!("nothing is heard of {called} on {host}")),
                Due::Back => return Heeded::Back(format!("{called} on {host} is back")),
                Due::Lost(quiet_ns) => {
                    return Heeded::Lost(format!("nothing heard for {} s", quiet_ns / 1_000_000_000));
                }
                Due::Ask { from, to } => match self.to.ask_again(self.arm, from, to) {
                    Ok(Answer::Refused(why)) => return Heeded::Lost(why),
                    Ok(Answer::Spooled(known)) => self.listening.answered(Clock::now(), known),
                    // Asked again when it is time.
                    Ok(_) | Err(_) => {}
                },
            }
        }
        Heeded::Nothing
    }
}
