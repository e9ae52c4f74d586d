//! What all threads share of publishing: names of channels, the one order of publications,
//! and an inbox for each thread.
//!
//! A publication gets its cursor and enters every inbox under one lock, so that every thread
//! sees the same order and a cursor means the same to all of them. The lock is never held
//! while anything is written to a subscriber.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use pushmark_model::stamp::Stamp;
use pushmark_net::{Nanos, Waker};

use crate::publication::{Message, Publication};

/// Most channels of one server. Beyond it subscriptions and publications are answered with 503.
pub(crate) const CHANNELS_MAX: usize = 1 << 18;

/// Most publications that wait for one thread. Beyond it publishing is refused and counted.
pub(crate) const INBOX_MAX: usize = 1 << 16;

/// Longest name of a channel, bytes.
const NAME_MAX: usize = 128;

/// The meeting place of all threads.
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

/// What the server as a whole knows of one channel.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Publications so far.
    pub(crate) published: u64,
    /// The stamp of the highest sequence its present publisher has sent.
    pub(crate) last: Option<Stamp>,
    /// Subscriptions now, over all threads.
    pub(crate) subscribers: Arc<AtomicU64>,
    /// Instrumented requests among them.
    pub(crate) requests: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Inbox {
    queue: Mutex<VecDeque<Arc<Publication>>>,
    bell: Waker,
}

/// What a publisher is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    /// Subscriptions of the channel at that instant.
    pub(crate) subscribers: u64,
    /// Publications accepted and not yet written, this one among them.
    pub(crate) queued: usize,
}

/// A bound was hit: nothing was published, nothing was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Hub {
    /// A hub for threads that listen to these bells.
    pub(crate) fn new(bells: impl IntoIterator<Item = Waker>) -> Hub {
        let inbox = |bell| Inbox { queue: Mutex::default(), bell };
        Hub {
            directory: Mutex::default(),
            inboxes: bells.into_iter().map(inbox).collect(),
            first_publication_ns: AtomicU64::new(0),
        }
    }

    /// The channel of that name, made where there is none yet.
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

    /// Hands a message to every thread, or to none. `thread` is the caller, which looks into
    /// its own inbox itself; the others are woken.
    pub(crate) fn publish(
        &self,
        thread: usize,
        channel: u32,
        message: Message,
        now_ns: Nanos,
    ) -> Result<Accepted, Full> {
        let mut directory = self.directory();
        // Only publishers fill inboxes, and they hold the directory: what has room keeps it.
        if self.inboxes.iter().any(|inbox| inbox.lock().len() >= INBOX_MAX) {
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
            queue.push_back(publication.clone());
            queued = queued.max(queue.len());
            if index != thread && queue.len() == 1 {
                inbox.bell.ring();
            }
        }
        Ok(Accepted { subscribers, queued })
    }

    /// Moves up to `max` waiting publications into `batch`; whether more wait.
    pub(crate) fn take(&self, thread: usize, max: usize, batch: &mut Vec<Arc<Publication>>) -> bool {
        let mut queue = self.inboxes[thread].lock();
        let taken = queue.len().min(max);
        batch.extend(queue.drain(..taken));
        if queue.is_empty() && queue.capacity() > 1024 {
            *queue = VecDeque::new(); // a burst's memory is given back
        }
        !queue.is_empty()
    }

    /// When the first publication was made; `None` before it.
    pub(crate) fn first_publication_ns(&self) -> Option<Nanos> {
        Some(self.first_publication_ns.load(Relaxed)).filter(|&ns| ns != 0)
    }

    /// Publications so far; the youngest `max` channels, which are those somebody asks about on a
    /// server that has been up for long; the number of all channels.
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
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Publication>>> {
        self.queue.lock().expect("no thread panics with an inbox")
    }
}

/// Notes the highest sequence seen. A publisher that starts anew (another nonce or another
/// incarnation) begins a new count.
pub(crate) fn raise(last: &mut Option<Stamp>, seen: Option<Stamp>) {
    let Some(seen) = seen else { return };
    match last {
        Some(highest)
            if (highest.nonce, highest.publisher) == (seen.nonce, seen.publisher)
                && highest.sequence >= seen.sequence => {}
        _ => *last = Some(seen),
    }
}

/// Whether a text can name a channel: visible ASCII without what lists and headers need.
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
