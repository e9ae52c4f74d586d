//! What one thread knows of each channel: its own subscribers, the latest message, and the
//! recent ones for those who ask with a cursor.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pushmark_model::stamp::Stamp;

use crate::hub::{Full, Hub, raise};
use crate::publication::Publication;

/// Payload bytes that all histories of one thread may hold; the oldest of any channel give way.
const HISTORY_BYTES_MAX: usize = 64 << 20;

/// A connection's place in a channel's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscriber {
    /// The connection.
    pub(crate) token: u64,
    /// Which of the connection's subscriptions this is.
    pub(crate) nth: u32,
}

/// One channel.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Who hears the next publication, in no particular order.
    pub(crate) subscribers: Vec<Subscriber>,
    /// The newest message.
    pub(crate) latest: Option<Arc<Publication>>,
    /// The stamp of the highest sequence its present publisher has sent.
    pub(crate) last: Option<Stamp>,
    /// Long polls between two requests: with a cursor, they miss nothing.
    pub(crate) in_flight: u64,
    /// Long polls between two requests without a cursor: they miss what is published now.
    pub(crate) deaf: u64,
    everywhere: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
    /// `None` until somebody comes who could ask for it.
    history: Option<VecDeque<Arc<Publication>>>,
    /// The newest cursor the history has lost.
    forgotten: u64,
}

/// All channels, by their number.
#[derive(Debug)]
pub(crate) struct Channels {
    list: Vec<Option<Channel>>,
    ids: HashMap<Arc<str>, u32>,
    history_max: usize,
    /// Every remembered message in the order of its coming, as (channel, cursor).
    remembered: VecDeque<(u32, u64)>,
    /// Messages that histories hold now, and their bytes.
    remembered_live: usize,
    remembered_bytes: usize,
}

impl Channels {
    /// No channels; each will remember up to `history_max` messages.
    pub(crate) fn new(history_max: usize) -> Channels {
        Channels {
            list: Vec::new(),
            ids: HashMap::new(),
            history_max: history_max.max(1),
            remembered: VecDeque::new(),
            remembered_live: 0,
            remembered_bytes: 0,
        }
    }

    /// The number of the channel of that name.
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

    /// The number of the channel of that name, where this thread was asked for it before.
    pub(crate) fn known(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// A channel that [`Channels::id`] or [`Channels::apply`] has seen.
    pub(crate) fn at(&mut self, id: u32) -> &mut Channel {
        let index = id as usize;
        if self.list.len() <= index {
            self.list.resize_with(index + 1, || None);
        }
        // Published by another thread and not yet asked for here: the name comes with a message.
        self.list[index].get_or_insert_with(|| Channel::new(Arc::from("")))
    }

    /// Adds a subscriber; gives its position.
    pub(crate) fn subscribe(&mut self, id: u32, subscriber: Subscriber) -> u32 {
        let channel = self.at(id);
        channel.everywhere.fetch_add(1, Relaxed);
        channel.subscribers.push(subscriber);
        (channel.subscribers.len() - 1) as u32
    }

    /// Removes the subscriber at a position. Gives the one who stands there now, if another does.
    pub(crate) fn unsubscribe(&mut self, id: u32, position: u32) -> Option<Subscriber> {
        let channel = self.at(id);
        channel.everywhere.fetch_sub(1, Relaxed);
        channel.subscribers.swap_remove(position as usize);
        if channel.subscribers.is_empty() {
            channel.subscribers = Vec::new(); // a crowd that left takes its memory along
        }
        channel.subscribers.get(position as usize).copied()
    }

    /// Begins to remember messages: someone subscribed who may resume with a cursor.
    pub(crate) fn remember(&mut self, id: u32) {
        let channel = self.at(id);
        if channel.history.is_none() {
            channel.forgotten = channel.latest.as_ref().map_or(0, |latest| latest.cursor);
            channel.history = Some(VecDeque::new());
        }
    }

    /// Takes note of a publication, after it went to those who were subscribed.
    pub(crate) fn apply(&mut self, publication: &Arc<Publication>) {
        let history_max = self.history_max;
        let channel = self.at(publication.channel);
        raise(&mut channel.last, publication.stamp);
        if channel.name.is_empty() {
            channel.name = publication.name.clone();
        }
        channel.latest = Some(publication.clone());
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

    /// Messages of these channels newer than `cursor`, oldest first; whether some are lost.
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

    fn forget_beyond(&mut self, bytes_max: usize) {
        while self.remembered_bytes > bytes_max {
            let Some((id, cursor)) = self.remembered.pop_front() else { return };
            let channel = self.at(id);
            let Some(history) = &mut channel.history else { continue };
            // Channels drop from their own front too; such an entry is stale and passed over.
            if history.front().is_some_and(|oldest| oldest.cursor == cursor) {
                let oldest = history.pop_front().expect("it has a front");
                channel.forgotten = cursor;
                self.remembered_bytes -= oldest.payload.len();
                self.remembered_live -= 1;
            }
        }
        // Half of the entries stale: sweep, so that the list stays within twice what lives.
        if self.remembered.len() > 2 * self.remembered_live + 1024 {
            let list = &self.list;
            self.remembered.retain(|&(id, cursor)| {
                list[id as usize].as_ref().is_some_and(|channel| channel.forgotten < cursor)
            });
        }
    }
}

impl Channel {
    /// Subscriptions now, over all threads.
    pub(crate) fn subscribers_everywhere(&self) -> u64 {
        self.everywhere.load(Relaxed)
    }

    /// Instrumented requests registered now, over all threads.
    pub(crate) fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn new(name: Arc<str>) -> Channel {
        Channel {
            name,
            subscribers: Vec::new(),
            latest: None,
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
        (2..=6).for_each(|cursor| channels.apply(&message(0, cursor, 8)));
        assert_eq!(newer(&mut channels, &[0], 3), (vec![4, 5, 6], false));
        assert_eq!(newer(&mut channels, &[0], 2), (vec![4, 5, 6], true));
        assert_eq!(newer(&mut channels, &[0], 6), (vec![], false));
    }

    #[test]
    fn a_quiet_channel_does_not_keep_a_busy_one_in_the_books() {
        let mut channels = Channels::new(4);
        [0, 1].into_iter().for_each(|id| channels.remember(id));
        channels.apply(&message(0, 1, 8));
        (2..=50_000).for_each(|cursor| channels.apply(&message(1, cursor, 8)));
        assert_eq!((channels.remembered_live, channels.remembered_bytes), (5, 40));
        assert!(channels.remembered.len() <= 2 * 5 + 1024);
        assert_eq!(newer(&mut channels, &[0], 0), (vec![1], false));
    }

    #[test]
    fn several_channels_come_in_the_order_of_publication() {
        let mut channels = Channels::new(8);
        [0, 1].into_iter().for_each(|id| channels.remember(id));
        (1..=6).for_each(|cursor| channels.apply(&message(cursor as u32 % 2, cursor, 8)));
        assert_eq!(newer(&mut channels, &[0, 1], 2), (vec![3, 4, 5, 6], false));
    }

    #[test]
    fn all_histories_together_are_bounded_in_bytes() {
        let mut channels = Channels::new(256);
        [0, 1].into_iter().for_each(|id| channels.remember(id));
        (1..=200).for_each(|cursor| channels.apply(&message(cursor as u32 % 2, cursor, 1 << 20)));
        assert!(channels.remembered_bytes <= HISTORY_BYTES_MAX);
        assert_eq!(newer(&mut channels, &[0, 1], 136), ((137..=200).collect(), false));
        assert!(newer(&mut channels, &[0, 1], 100).1);
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
