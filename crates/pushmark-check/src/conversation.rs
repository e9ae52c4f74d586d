//! One client speaks with a target, and everything is shown as it happens (`pushmark try`): the way to write a
//! scenario for a target that one does not know yet.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use pushmark_model::plan::Mode;
use pushmark_model::transport::Transport;

use super::Subject;
use super::chance::Chance;
use super::journal::Journal;
pub use super::journal::Line;
use super::listener::Listener;
use super::outcome::{Miss, Outcome};
use super::publisher::Publisher;
use super::trial::{Trial, stamped, stamps};

/// How long the client listens at a time, before it looks whether its time is over.
const LOOK: Duration = Duration::from_millis(50);

/// What is asked of a conversation.
#[derive(Debug)]
pub struct Conversation<'c> {
    /// The name of the channel.
    pub channel: &'c str,
    /// How long the client listens after it has subscribed.
    pub listens: Duration,
}

/// Lets one client of an arm subscribe and listen. Publishes one message, if the scenario says how.
///
/// # Errors
/// Says why the client could not subscribe, or why its connection ended.
pub fn converse(
    subject: &Subject,
    transport: &str,
    asked: &Conversation<'_>,
    said: Sender<Line>,
) -> Result<(), String> {
    let mut trial = Trial::new(subject, Chance::new(1, "try", transport));
    trial.chance.keep_whole();
    trial.journal = Journal::live(said);
    let outcome = speak(&mut trial, transport, asked);
    match outcome {
        Ok(()) => Ok(()),
        Err(Miss::Failed(why) | Miss::NotOffered(why)) => Err(why),
    }
}

fn speak(t: &mut Trial<'_>, transport: &str, asked: &Conversation<'_>) -> Outcome {
    let journal = t.journal.clone();
    let mut listener = Listener::any(t, transport, asked.channel)?;
    journal.note("· subscribed".into());
    // It stays: a feed that ends at once may take its message with it.
    let mut publisher = None;
    let is_peer = listener.arm().publisher.as_ref().is_some_and(|publisher| publisher.mode == Mode::Peer);
    let peer = listener.arm().subscribe.peer.clone().filter(|_| is_peer);
    let publishes = peer.is_some() || listener.arm().publish.is_some();
    let message = stamped(t.chance.nonce(), 0, 1, 64);
    if let Some(peer) = peer {
        journal.note("· publishes one message itself, as peers do".into());
        listener.publish(&peer, &message)?;
    } else if publishes {
        journal.note("· publishes one message".into());
        publisher.insert(Publisher::open(t, transport)?).publish(asked.channel, &message)?;
    }
    let mut heard = false;
    let until = Instant::now() + asked.listens;
    let polls = listener.arm().transport == Transport::Poll;
    let pause = Duration::from_nanos(listener.arm().poll.interval_ns);
    let every = listener.arm().subscribe.every.clone();
    let mut due: Vec<Instant> =
        every.iter().map(|one| Instant::now() + Duration::from_nanos(one.after_ns)).collect();
    while Instant::now() < until {
        for (one, due) in every.iter().zip(&mut due).filter(|(_, due)| **due <= Instant::now()) {
            listener.say(&one.send)?;
            *due += Duration::from_nanos(one.after_ns);
        }
        if listener.is_quiet(LOOK) {
            continue;
        }
        if polls {
            std::thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
        }
        // Pings and comments come without a message.
        let next = due.iter().copied().chain([until]).min().unwrap_or(until);
        listener.waits_until(next);
        let piece = match listener.next() {
            Err(_) if Instant::now() >= next => continue,
            piece => piece?,
        };
        for stamp in stamps(&piece) {
            heard = true;
            let late_us = super::trial::now_us().saturating_sub(stamp.due_us);
            journal.note(format!(
                "· that is message {}, {:.1} ms after it was due",
                stamp.sequence,
                late_us as f64 / 1e3
            ));
        }
    }
    if publishes && !heard {
        let time = asked.listens;
        journal.note(format!(
            "· the message did not come within {time:?}: look at its answer, and at what the client subscribed to"
        ));
    }
    Ok(())
}
