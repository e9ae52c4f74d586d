//! Subscriptions to many channels at once: `/a/*` and `/a/**`, by their text.
//!
//! A publication looks up only its own patterns: one for each segment of its channel, and one more.

use std::collections::HashMap;
use std::sync::Arc;

use pushmark_proto::bayeux::channel;

use crate::channel::Subscriber;
use crate::hub::Full;

/// The most different patterns of one thread.
const PATTERNS_MAX: usize = 1 << 16;

/// Distinguishes pattern numbers from channel numbers, which are far lower.
const PATTERN: u32 = 1 << 31;

/// All patterns of one thread.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    ids: HashMap<Arc<str>, u32>,
    list: Vec<Pattern>,
    /// Free places in the list.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Pattern {
    name: Arc<str>,
    subscribers: Vec<Subscriber>,
}

/// Returns whether this is a pattern's number.
pub(crate) fn is_pattern_id(id: u32) -> bool {
    id & PATTERN != 0
}

impl Patterns {
    /// Returns whether there are no subscriptions to patterns.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns a pattern's number. The caller must add a subscriber, because a pattern exists only while it
    /// has one.
    pub(crate) fn id(&mut self, name: &str) -> Result<u32, Full> {
        if let Some(&id) = self.ids.get(name) {
            return Ok(id);
        }
        if self.ids.len() >= PATTERNS_MAX {
            return Err(Full);
        }
        let name: Arc<str> = Arc::from(name);
        let pattern = Pattern { name: name.clone(), subscribers: Vec::new() };
        let place = match self.free.pop() {
            Some(place) => {
                self.list[place as usize] = pattern;
                place
            }
            None => {
                self.list.push(pattern);
                (self.list.len() - 1) as u32
            }
        };
        self.ids.insert(name, place | PATTERN);
        Ok(place | PATTERN)
    }

    /// Returns a pattern's number if it has a subscriber.
    pub(crate) fn known(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// Returns its text.
    pub(crate) fn name(&self, id: u32) -> &str {
        &self.list[place(id)].name
    }

    /// Adds a subscriber. Returns its position.
    pub(crate) fn subscribe(&mut self, id: u32, subscriber: Subscriber) -> u32 {
        let subscribers = &mut self.list[place(id)].subscribers;
        subscribers.push(subscriber);
        (subscribers.len() - 1) as u32
    }

    /// Removes the subscriber at a position. Returns the subscriber that moved to this position, if any.
    pub(crate) fn unsubscribe(&mut self, id: u32, position: u32) -> Option<Subscriber> {
        let pattern = &mut self.list[place(id)];
        pattern.subscribers.swap_remove(position as usize);
        if pattern.subscribers.is_empty() {
            self.ids.remove(&pattern.name);
            pattern.subscribers = Vec::new();
            self.free.push(id & !PATTERN);
            return None;
        }
        pattern.subscribers.get(position as usize).copied()
    }

    /// Returns the subscriber at a position.
    pub(crate) fn at(&mut self, id: u32, position: u32) -> &mut Subscriber {
        &mut self.list[place(id)].subscribers[position as usize]
    }

    /// Iterates over the subscribers that receive a channel through a pattern. A subscriber may appear
    /// several times.
    pub(crate) fn hearers(&self, channel: &str) -> impl Iterator<Item = &Subscriber> {
        let name = format!("/{channel}");
        // Collected, because the names are made one after the other. A channel has few segments.
        let patterns: Vec<u32> =
            channel::patterns(&name).filter_map(|pattern| self.ids.get(&*pattern).copied()).collect();
        patterns.into_iter().flat_map(|id| &self.list[place(id)].subscribers)
    }
}

fn place(id: u32) -> usize {
    (id & !PATTERN) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_heard_through_its_patterns() {
        let mut patterns = Patterns::default();
        for (token, name) in ["/**", "/*", "/a/*", "/a/**", "/a/b/*", "/b/**"].into_iter().enumerate() {
            let id = patterns.id(name).unwrap();
            assert!(is_pattern_id(id));
            patterns.subscribe(id, Subscriber { token: token as u64, nth: 0 });
        }
        let hearers = |channel: &str| {
            let mut tokens: Vec<u64> = patterns.hearers(channel).map(|s| s.token).collect();
            tokens.sort_unstable();
            tokens
        };
        assert_eq!(hearers("a"), [0, 1]);
        assert_eq!(hearers("a/b"), [0, 2, 3]);
        assert_eq!(hearers("a/b/c"), [0, 3, 4]);
        assert_eq!(hearers("c/d"), [0]);
    }

    #[test]
    fn a_pattern_nobody_hears_leaves_nothing() {
        let mut patterns = Patterns::default();
        let id = patterns.id("/a/*").unwrap();
        for token in 0..2 {
            patterns.subscribe(id, Subscriber { token, nth: 0 });
        }
        assert_eq!(patterns.unsubscribe(id, 0), Some(Subscriber { token: 1, nth: 0 }));
        assert_eq!(patterns.unsubscribe(id, 0), None);
        assert!(patterns.is_empty());
        assert_eq!(patterns.id("/b/*"), Ok(id), "its place is used again");
        assert_eq!(patterns.name(id), "/b/*");
    }
}
