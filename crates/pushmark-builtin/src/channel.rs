//! The channels as one thread sees them: its own subscribers, the latest message, and recent messages for
//! requests with a cursor.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pushmark_model::stamp::Stamp;

use crate::hub::{Full, Hub, raise};
use crate::publication::Publication;

/// The most payload bytes in all histories of one thread. Beyond it the oldest of any channel are dropped.
const HISTORY_BYTES_MAX: usize = 64 << 20;

/// The most payload bytes in the latest messages of all channels of one thread. At this bound the older half
/// is dropped, and a poll for such a channel finds no state. A server of 65,536 channels with 1 KiB each
/// keeps all of them.
const LATEST_BYTES_MAX: usize = 64 << 20;

/// The most subscriptions of one thread, over all channels, 24 bytes each. Beyond it they are refused. It
/// allows a crowd of 262,144 with 16 channels each.
const SUBSCRIPTIONS_MAX: usize = 1 << 22;

/// A subscription in a channel's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscriber {
    /// The connection.
    pub(crate) token: u64,
    /// The number of this subscription in its connection.
    pub(crate) nth: u32,
}

/// One channel.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// The subscribers of the next publication, in no particular order.
    pub(crate) subscribers: Vec<Subscriber>,
    /// The newest message, unless the bound on all latest messages dropped it.
    pub(crate) latest: Option<Arc<Publication>>,
    /// The newest cursor; 0 before there is one.
    newest: u64,
    /// The stamp with the highest sequence of the present publisher.
    pub(crate) last: Option<Stamp>,
    /// Long polls between two requests that use a cursor and miss nothing.
    pub(crate) in_flight: u64,
    /// Long polls between two requests without a cursor. They miss messages published now.
    pub(crate) deaf: u64,
    everywhere: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
    /// `None` until a client that can request it subscribes.
    history: Option<VecDeque<Arc<Publication>>>,
    /// The newest cursor that the history has dropped.
    forgotten: u64,
}

/// All channels, by their number.
#[derive(Debug)]
pub(crate) struct Channels {
    list: Vec<Option<Channel>>,
    ids: HashMap<Arc<str>, u32>,
    history_max: usize,
    /// The messages added to histories, in order of arrival, as (channel, cursor). Some entries are stale.
    remembered: VecDeque<(u32, u64)>,
    /// The number of messages in histories, and their bytes.
    remembered_live: usize,
    remembered_bytes: usize,
    /// Bytes of all latest messages.
    latest_bytes: usize,
    subscriptions: usize,
}

impl Channels {
    /// Makes an empty table. Each channel keeps up to `history_max` messages.
    pub(crate) fn new(history_max: usize) -> Channels {
        Channels {
            list: Vec::new(),
            ids: HashMap::new(),
            history_max: history_max.max(1),
            remembered: VecDeque::new(),
            remembered_live: 0,
            remembered_bytes: 0,
            latest_bytes: 0,
            subscriptions: 0,
        }
    }

    /// Returns whether this number of further subscriptions is within the bound.
    pub(crate) fn has_room_for(&self, subscriptions: usize) -> bool {
        self.subscriptions + subscriptions <= SUBSCRIPTIONS_MAX
    }

    /// Returns the number of the channel of this name.
    pub(crate) fn id(&mut self, name: &str, hub: &Hub) -> Result<u32, Full> {
        if let Some(&id) = self.ids.get(name) {
            return Ok(id);
        }
        let (id, listing) = hub.channel(name)?;
        if self.list.len() <= id as usize {
            self.list.resize_with(id as usize + 1, || None);
        }
        let channel = &mut self.list[id as usize];
        match channel {
            Some(channel) => channel.name = listing.name.clone(),
            None => *channel = Some(Channel::new(listing.name.clone())),
        }
        let channel = channel.as_mut().expect("just set");
        channel.everywhere = listing.subscribers;
        channel.requests = listing.requests;
        self.ids.insert(listing.name, id);
        Ok(id)
    }

    /// Returns the number of the channel of this name, if this thread has looked it up before.
    pub(crate) fn known(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// Returns a channel that [`Channels::id`] or [`Channels::apply`] has seen.
    pub(crate) fn at(&mut self, id: u32) -> &mut Channel {
        let index = id as usize;
        if self.list.len() <= index {
            self.list.resize_with(index + 1, || None);
        }
        // The channel was published by another thread and not yet looked up here. The message carries the
        // name.
        self.list[index].get_or_insert_with(|| Channel::new(Arc::from("")))
    }

    /// Adds a subscriber. Returns its position.
    pub(crate) fn subscribe(&mut self, id: u32, subscriber: Subscriber) -> u32 {
        let channel = self.at(id);
        channel.everywhere.fetch_add(1, Relaxed);
        channel.subscribers.push(subscriber);
        let position = (channel.subscribers.len() - 1) as u32;
        self.subscriptions += 1;
        position
    }

    /// Counts the start or end of a pattern subscription together with those to channels.
    pub(crate) fn count_pattern(&mut self, joined: bool) {
        if joined { self.subscriptions += 1 } else { self.subscriptions -= 1 }
    }

    /// Removes the subscriber at a position. Returns the subscriber that moved to this position, if any.
    pub(crate) fn unsubscribe(&mut self, id: u32, position: u32) -> Option<Subscriber> {
        self.subscriptions -= 1;
        let channel = self.at(id);
        channel.everywhere.fetch_sub(1, Relaxed);
        channel.subscribers.swap_remove(position as usize);
        if channel.subscribers.is_empty() {
            channel.subscribers = Vec::new(); // frees the memory of a crowd that left
        }
        channel.subscribers.get(position as usize).copied()
    }

    /// Starts a history, because a client that may resume with a cursor subscribed.
    pub(crate) fn remember(&mut self, id: u32) {
        let channel = self.at(id);
        if channel.history.is_none() {
            channel.forgotten = channel.newest;
            channel.history = Some(VecDeque::new());
        }
    }

    /// Records a publication after its delivery to the subscribers. Returns how many latest messages were
    /// dropped for it.
    pub(crate) fn apply(&mut self, publication: &Arc<Publication>) -> u64 {
        let history_max = self.history_max;
        let channel = self.at(publication.channel);
        raise(&mut channel.last, publication.stamp);
        if channel.name.is_empty() {
            channel.name = publication.name.clone();
        }
        channel.newest = publication.cursor;
        let before = channel.latest.replace(publication.clone());
        self.latest_bytes += publication.payload.len();
        self.latest_bytes -= before.map_or(0, |before| before.payload.len());
        self.remember_one(publication, history_max);
        if self.latest_bytes > LATEST_BYTES_MAX { self.forget_states() } else { 0 }
    }

    fn remember_one(&mut self, publication: &Arc<Publication>, history_max: usize) {
        let channel = self.at(publication.channel);
        let Some(history) = &mut channel.history else { return };
        history.push_back(publication.clone());
        let dropped = if history.len() > history_max { history.pop_front() } else { None };
        if let Some(oldest) = &dropped {
            channel.forgotten = oldest.cursor;
        }
        self.remembered.push_back((publication.channel, publication.cursor));
        self.remembered_live += 1 - usize::from(dropped.is_some());
        self.remembered_bytes += publication.payload.len();
        self.remembered_bytes -= dropped.map_or(0, |oldest| oldest.payload.len());
        self.forget_beyond(HISTORY_BYTES_MAX);
    }

    /// Finds the messages of these channels newer than `cursor`, oldest first. Returns whether some were
    /// dropped.
    pub(crate) fn newer(&mut self, ids: &[u32], cursor: u64, found: &mut Vec<Arc<Publication>>) -> bool {
        let mut lost = false;
        for &id in ids {
            let channel = self.at(id);
            lost |= channel.forgotten > cursor;
            let history = channel.history.iter().flatten();
            let newest_first = history.rev().take_while(|message| message.cursor > cursor);
            found.extend(newest_first.cloned());
        }
        found.sort_unstable_by_key(|message| message.cursor);
        lost
    }

    /// Drops the oldest latest messages until half of the bound is left. Returns their number.
    fn forget_states(&mut self) -> u64 {
        let latest = self.list.iter_mut().flatten().filter(|channel| channel.latest.is_some());
        let mut channels: Vec<&mut Channel> = latest.collect();
        channels.sort_unstable_by_key(|channel| channel.newest);
        let mut forgotten = 0;
        for channel in channels {
            if self.latest_bytes <= LATEST_BYTES_MAX / 2 {
                break;
            }
            self.latest_bytes -= channel.latest.take().map_or(0, |latest| latest.payload.len());
            forgotten += 1;
        }
        forgotten
    }

    fn forget_beyond(&mut self, bytes_max: usize) {
        while self.remembered_bytes > bytes_max {
            let Some((id, cursor)) = self.remembered.pop_front() else { return };
            let channel = self.at(id);
            let Some(history) = &mut channel.history else { continue };
            // Channels also drop from their own front. Such an entry is stale and skipped.
            if history.front().is_some_and(|oldest| oldest.cursor == cursor) {
                let oldest = history.pop_front().expect("it has a front");
                channel.forgotten = cursor;
                self.remembered_bytes -= oldest.payload.len();
                self.remembered_live -= 1;
            }
        }
        // Removes stale entries when they are about half, so that the list stays within twice the live
        // entries.
        if self.remembered.len() > 2 * self.remembered_live + 1024 {
            let list = &self.list;
            self.remembered.retain(|&(id, cursor)| {
                list[id as usize].as_ref().is_some_and(|channel| channel.forgotten < cursor)
            });
        }
    }
}

impl Channel {
    /// Returns the present number of subscriptions, over all threads.
    pub(crate) fn subscribers_everywhere(&self) -> u64 {
        self.everywhere.load(Relaxed)
    }

    /// Returns the counter of registered instrumented requests, over all threads.
    pub(crate) fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn new(name: Arc<str>) -> Channel {
        Channel {
            name,
            subscribers: Vec::new(),
            latest: None,
            newest: 0,
            last: None,
            in_flight: 0,
            deaf: 0,
            everywhere: Arc::default(),
            requests: Arc::default(),
            history: None,
            forgotten: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publication::Message;

    fn message(channel: u32, cursor: u64, bytes: usize) -> Arc<Publication> {
        let payload = vec![b'x'; bytes].into_boxed_slice();
        Arc::new(Publication::new(channel, Arc::from("c"), cursor, Message::from(payload)))
    }

    fn newer(channels: &mut Channels, ids: &[u32], cursor: u64) -> (Vec<u64>, bool) {
        let mut found = Vec::new();
        let lost = channels.newer(ids, cursor, &mut found);
        (found.iter().map(|message| message.cursor).collect(), lost)
    }

    #[test]
    fn a_channel_remembers_its_last_messages_and_says_what_it_lost() {
        let mut channels = Channels::new(3);
        channels.apply(&message(0, 1, 8)); // before anyone asked
        channels.remember(0);
        (2..=6).for_each(|cursor| {
            channels.apply(&message(0, cursor, 8));
        });
        assert_eq!(newer(&mut channels, &[0], 3), (vec![4, 5, 6], false));
        assert_eq!(newer(&mut channels, &[0], 2), (vec![4, 5, 6], true));
        assert_eq!(newer(&mut channels, &[0], 6), (vec![], false));
    }

    #[test]
    fn a_quiet_channel_does_not_keep_a_busy_one_in_the_books() {
        let mut channels = Channels::new(4);
        [0, 1].into_iter().for_each(|id| channels.remember(id));
        channels.apply(&message(0, 1, 8));
        (2..=50_000).for_each(|cursor| {
            channels.apply(&message(1, cursor, 8));
        });
        assert_eq!((channels.remembered_live, channels.remembered_bytes), (5, 40));
        assert!(channels.remembered.len() <= 2 * 5 + 1024);
        assert_eq!(newer(&mut channels, &[0], 0), (vec![1], false));
    }

    #[test]
    fn several_channels_come_in_the_order_of_publication() {
        let mut channels = Channels::new(8);
        [0, 1].into_iter().for_each(|id| channels.remember(id));
        (1..=6).for_each(|cursor| {
            channels.apply(&message(cursor as u32 % 2, cursor, 8));
        });
        assert_eq!(newer(&mut channels, &[0, 1], 2), (vec![3, 4, 5, 6], false));
    }

    #[test]
    fn all_histories_together_are_bounded_in_bytes() {
        let mut channels = Channels::new(256);
        [0, 1].into_iter().for_each(|id| channels.remember(id));
        (1..=200).for_each(|cursor| {
            channels.apply(&message(cursor as u32 % 2, cursor, 1 << 20));
        });
        assert!(channels.remembered_bytes <= HISTORY_BYTES_MAX);
        assert_eq!(newer(&mut channels, &[0, 1], 136), ((137..=200).collect(), false));
        assert!(newer(&mut channels, &[0, 1], 100).1);
    }

    #[test]
    fn all_states_together_are_bounded_in_bytes() {
        let mut channels = Channels::new(1);
        let forgotten: u64 =
            (0..200).map(|id| channels.apply(&message(id, 1 + u64::from(id), 1 << 20))).sum();
        let known = |channels: &mut Channels, id| channels.at(id).latest.is_some();
        assert!(channels.latest_bytes <= LATEST_BYTES_MAX);
        assert_eq!(forgotten as usize, 200 - (channels.latest_bytes >> 20));
        assert!(!known(&mut channels, 0) && known(&mut channels, 199), "the oldest gave way");
        // A request for newer messages still learns that something was dropped.
        channels.remember(0);
        assert_eq!(newer(&mut channels, &[0], 0), (vec![], true));
        channels.apply(&message(199, 201, 8));
        assert_eq!(channels.latest_bytes & 0xFFFFF, 8, "a state takes the place of the one before");
    }

    #[test]
    fn leaving_moves_at_most_one_other() {
        let mut channels = Channels::new(1);
        for token in 0..3 {
            assert_eq!(channels.subscribe(0, Subscriber { token, nth: 0 }), token as u32);
        }
        assert_eq!(channels.unsubscribe(0, 0), Some(Subscriber { token: 2, nth: 0 }));
        assert_eq!(channels.unsubscribe(0, 1), None);
        assert_eq!(channels.at(0).subscribers.len(), 1);
    }
}
