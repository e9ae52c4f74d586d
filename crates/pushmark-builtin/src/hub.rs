//! The shared state of publishing: channel names, the order of publications, and an inbox for each thread.
//!
//! A publication gets its cursor and enters every inbox under one lock, so that all threads see the same
//! order and a cursor has the same meaning for all of them. The lock is never held while anything is written
//! to a subscriber.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use pushmark_model::stamp::Stamp;
use pushmark_net::{Nanos, Waker};

use crate::publication::{Message, Publication};

/// The most channels of one server. Beyond it subscriptions and publications are answered with 503.
pub(crate) const CHANNELS_MAX: usize = 1 << 18;

/// The most publications that wait for one thread. Beyond it publishing is refused and counted.
pub(crate) const INBOX_MAX: usize = 1 << 16;

/// The most bytes of publications that wait for one thread. The publication that exceeds the bound is
/// accepted; further ones are refused and counted. At a load that the server can handle, none wait.
const INBOX_BYTES_MAX: usize = 64 << 20;

/// The longest channel name, bytes.
const NAME_MAX: usize = 128;

/// The publishing state shared by all threads.
#[derive(Debug)]
pub(crate) struct Hub {
    directory: Mutex<Directory>,
    inboxes: Vec<Inbox>,
    first_publication_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct Directory {
    ids: HashMap<Arc<str>, u32>,
    channels: Vec<Listing>,
    cursor: u64,
}

/// The server-wide state of one channel.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Publications so far.
    pub(crate) published: u64,
    /// The stamp with the highest sequence of its present publisher.
    pub(crate) last: Option<Stamp>,
    /// Present subscriptions, over all threads.
    pub(crate) subscribers: Arc<AtomicU64>,
    /// The instrumented requests among them.
    pub(crate) requests: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Inbox {
    queue: Mutex<Queue>,
    bell: Waker,
}

#[derive(Debug, Default)]
struct Queue {
    list: VecDeque<Arc<Publication>>,
    /// The total bytes of their payloads.
    bytes: usize,
}

impl Queue {
    fn is_full(&self) -> bool {
        self.list.len() >= INBOX_MAX || self.bytes >= INBOX_BYTES_MAX
    }
}

/// The result for a publisher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    /// Subscriptions of the channel at that instant.
    pub(crate) subscribers: u64,
    /// Publications accepted and not yet written, including this one.
    pub(crate) queued: usize,
}

/// A bound was reached: nothing was published or added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Hub {
    /// Makes a hub for the threads that these wakers wake.
    pub(crate) fn new(bells: impl IntoIterator<Item = Waker>) -> Hub {
        let inbox = |bell| Inbox { queue: Mutex::default(), bell };
        Hub {
            directory: Mutex::default(),
            inboxes: bells.into_iter().map(inbox).collect(),
            first_publication_ns: AtomicU64::new(0),
        }
    }

    /// Returns the channel of this name. Creates it if needed.
    pub(crate) fn channel(&self, name: &str) -> Result<(u32, Listing), Full> {
        let mut directory = self.directory();
        if let Some(&id) = directory.ids.get(name) {
            return Ok((id, directory.channels[id as usize].clone()));
        }
        if directory.channels.len() >= CHANNELS_MAX {
            return Err(Full);
        }
        let id = directory.channels.len() as u32;
        let (subscribers, requests) = Default::default();
        let listing = Listing { name: Arc::from(name), published: 0, last: None, subscribers, requests };
        directory.ids.insert(listing.name.clone(), id);
        directory.channels.push(listing.clone());
        Ok((id, listing))
    }

    /// Hands a message to every thread, or to none. `thread` is the caller, which polls its own inbox. The
    /// others are woken.
    pub(crate) fn publish(
        &self,
        thread: usize,
        channel: u32,
        message: Message,
        now_ns: Nanos,
    ) -> Result<Accepted, Full> {
        let mut directory = self.directory();
        // Only publishers fill inboxes, and they hold the directory, so an inbox with room keeps it.
        if self.inboxes.iter().any(|inbox| inbox.lock().is_full()) {
            return Err(Full);
        }
        directory.cursor += 1;
        let cursor = directory.cursor;
        let listing = &mut directory.channels[channel as usize];
        let publication = Arc::new(Publication::new(channel, listing.name.clone(), cursor, message));
        listing.published += 1;
        raise(&mut listing.last, publication.stamp);
        let subscribers = listing.subscribers.load(Relaxed);
        let _ = self.first_publication_ns.compare_exchange(0, now_ns, Relaxed, Relaxed);
        let mut queued = 0;
        for (index, inbox) in self.inboxes.iter().enumerate() {
            let mut queue = inbox.lock();
            queue.bytes += publication.payload.len();
            queue.list.push_back(publication.clone());
            queued = queued.max(queue.list.len());
            if index != thread && queue.list.len() == 1 {
                inbox.bell.ring();
            }
        }
        Ok(Accepted { subscribers, queued })
    }

    /// Moves up to `max` waiting publications into `batch`, and stops once they reach `bytes_max`. Returns
    /// whether more wait.
    pub(crate) fn take(
        &self,
        thread: usize,
        max: usize,
        bytes_max: usize,
        batch: &mut Vec<Arc<Publication>>,
    ) -> bool {
        let mut queue = self.inboxes[thread].lock();
        let mut bytes = 0;
        while batch.len() < max && bytes < bytes_max {
            let Some(publication) = queue.list.pop_front() else { break };
            bytes += publication.payload.len();
            batch.push(publication);
        }
        queue.bytes -= bytes;
        if queue.list.is_empty() && queue.list.capacity() > 1024 {
            queue.list = VecDeque::new(); // frees the memory of a burst
        }
        !queue.list.is_empty()
    }

    /// Returns the instant of the first publication, or `None` before it.
    pub(crate) fn first_publication_ns(&self) -> Option<Nanos> {
        Some(self.first_publication_ns.load(Relaxed)).filter(|&ns| ns != 0)
    }

    /// Returns the number of publications, the newest `max` channels, and the number of all channels. On a
    /// server with a long uptime, the newest channels are the ones asked about.
    pub(crate) fn listings(&self, max: usize) -> (u64, Vec<Listing>, usize) {
        let directory = self.directory();
        let all = directory.channels.len();
        let listings = directory.channels[all.saturating_sub(max)..].to_vec();
        (directory.cursor, listings, all)
    }

    fn directory(&self) -> MutexGuard<'_, Directory> {
        self.directory.lock().expect("no thread panics with the directory")
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no thread panics with an inbox")
    }
}

/// Records the highest sequence. A restarted publisher (another nonce or incarnation) begins a new count.
pub(crate) fn raise(last: &mut Option<Stamp>, seen: Option<Stamp>) {
    let Some(seen) = seen else { return };
    match last {
        Some(highest)
            if (highest.nonce, highest.publisher) == (seen.nonce, seen.publisher)
                && highest.sequence >= seen.sequence => {}
        _ => *last = Some(seen),
    }
}

/// Returns whether a text is a valid channel name: visible ASCII without the characters that lists and
/// headers need.
pub(crate) fn is_channel_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b',' | b'=' | b'"' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_youngest_channels_are_listed() {
        let hub = Hub::new([]);
        for name in ["a", "b", "c", "b"] {
            hub.channel(name).unwrap();
        }
        let names = |max| {
            let (publications, listings, all) = hub.listings(max);
            assert_eq!((publications, all), (0, 3));
            listings.iter().map(|listing| listing.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(2), ["b", "c"]);
        assert_eq!(names(usize::MAX), ["a", "b", "c"]);
    }
}
