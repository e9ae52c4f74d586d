//! What the target has shown of itself so far: how payloads arrive, and what it said that is not a payload.

use std::collections::{HashMap, HashSet};

use pushmark_model::plan::{ArmPlan, Wait};
use pushmark_model::template::Values;

use super::payloads::Payloads;
use super::spoken::Spoken;
use crate::trouble;

/// What a shard knows of its target from what clients have received.
#[derive(Debug)]
pub(crate) struct Seen {
    /// How payloads arrive.
    pub(super) payloads: Payloads,
    /// The latest messages to clients that are not publications.
    pub(super) spoken: Spoken,
    /// The target has sent a head to a waiting client, so clients without a head are not subscribed.
    pub(super) heads: bool,
    /// A client that is not subscribed yet, and the bytes it has received so far.
    before_subscribed: Option<(u32, Vec<u8>)>,
    /// What has come of answers to clients, where some are responded to.
    pub(super) answers: HashMap<u32, Vec<u8>>,
    /// Clients whose current message is no publication, as the scenario tells them (`ignore`).
    pub(super) ignored: HashSet<u32>,
}

impl Seen {
    pub(crate) fn new(arm: &ArmPlan) -> Seen {
        Seen {
            payloads: Payloads::of(arm),
            spoken: Spoken::default(),
            heads: false,
            before_subscribed: None,
            answers: HashMap::new(),
            ignored: HashSet::new(),
        }
    }

    /// Notes whether the message that begins with these bytes is no publication.
    #[cold]
    pub(super) fn ignore(&mut self, index: u32, like: &Wait, begin: &[u8]) {
        if like.matched(begin, &Values::default()).is_some() {
            self.ignored.insert(index);
        } else {
            self.ignored.remove(&index);
        }
    }

    /// Keeps what one client receives before its subscription is established, to show it if that never
    /// happens.
    #[cold]
    pub(super) fn note_before_subscribed(&mut self, index: u32, subscribed: bool, came: &[u8]) {
        let mine = self.before_subscribed.as_ref().is_none_or(|(whose, _)| *whose == index);
        if subscribed {
            self.forget_before_subscribed(index);
        } else if mine {
            let (_, kept) = self.before_subscribed.get_or_insert_with(|| (index, Vec::new()));
            kept.extend_from_slice(&came[..came.len().min(trouble::SHOWN_MAX - kept.len())]);
        }
    }

    /// Another client's bytes may be kept from now on.
    pub(super) fn forget_before_subscribed(&mut self, index: u32) {
        self.before_subscribed.take_if(|(whose, _)| *whose == index);
    }

    /// Returns what this client received before its subscription was established, if that was kept.
    pub(super) fn came_to(&self, index: u32) -> &[u8] {
        match &self.before_subscribed {
            Some((whose, came)) if *whose == index => came,
            _ => &[],
        }
    }

    /// Returns what another client received that also waits for its subscription.
    pub(super) fn came_to_another(&self) -> String {
        match &self.before_subscribed {
            Some((_, came)) => format!("{} (another client)", trouble::shown(came)),
            None => "something else".to_owned(),
        }
    }
}
