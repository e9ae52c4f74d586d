//! Machines that were claimed by a coordinator that is gone, set free by the one that took its place.
//!
//! A coordinator listens as long as it lives to a subject of its claim. The bus itself tells whether there is a
//! listener, so that a coordinator that is busy is not taken for one that is gone.

use std::time::Duration;

use pushmark_cluster::{Bus, Silence, wire};
use pushmark_model::cluster::{Ask, Card};

use super::line::ask_one;

/// Times that there must be no listener, and the time between two of them: one whose connection broke is back by then.
const TIMES: usize = 4;
const BETWEEN: Duration = Duration::from_millis(500);
/// Time for the bus to tell.
const TOLD_WITHIN: Duration = Duration::from_millis(500);

/// Releases machines from a claim whose coordinator is gone. Their spools stay.
pub(super) fn free(bus: &Bus, cards: &[Card], claim: &str) {
    if !is_gone(bus, claim) {
        return;
    }
    for card in cards.iter().filter(|card| card.busy.is_some()) {
        // One that does not hear it, or works for another claim, needs no release from this one.
        let _ = ask_one(bus, &card.name, &Ask::Release { claim: claim.to_owned(), complete: false });
    }
}

fn is_gone(bus: &Bus, claim: &str) -> bool {
    (0..TIMES).all(|time| {
        if time > 0 {
            std::thread::sleep(BETWEEN);
        }
        bus.request(wire::claim(claim), Vec::new(), TOLD_WITHIN) == Err(Silence::NoListener)
    })
}
