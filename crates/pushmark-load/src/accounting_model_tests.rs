//! The accounts against a model that remembers everything. Random histories of a few clients are played
//! to both. What METHODOLOGY says of each (subscription, publication) is then looked up in the whole
//! history.
//!
//! The model shares no idea with the accounts: no counts that are taken back, no spans, no window. It
//! keeps each attempt of each subscription, each publication and each receipt, with its number in the
//! history, and applies the definitions to every pair.

use std::collections::{BTreeMap, BTreeSet};

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::Cursor;
use pushmark_model::record::{Counts, Lacking};

use super::*;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const DEADLINE_NS: u64 = 300 * MS;
const HISTORIES: u64 = 100_000;
const HISTORIES_LONG: u64 = 1_000_000;

/// An attempt to subscribe. Each instant is the number of a move.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    asked: Option<usize>,
    stood: Option<usize>,
    /// The first sequence that the target owes by its acknowledgement.
    first: Option<u64>,
    ended: Option<usize>,
}

#[derive(Clone, Debug)]
struct Publication {
    at: usize,
    due_ns: u64,
    /// If no client had received it at its deadline: how many were owed it.
    unheard: Option<u32>,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provisional {
    Owed,
    Unserved,
    Excused,
}

/// Everything that happened.
#[derive(Debug, Default)]
struct Model {
    /// By client and channel.
    attempts: BTreeMap<(u32, u32), Vec<Attempt>>,
    /// By channel.
    published: Vec<Vec<Publication>>,
    /// First receipts, by client, channel and sequence.
    received: BTreeMap<(u32, u32, u64), u64>,
    beside: Counts,
    heard_late: BTreeSet<(u32, u64)>,
}

impl Model {
    /// Returns the provisional fate that METHODOLOGY defines at the publication's due instant, as far as
    /// it is known.
    fn provisional(&self, client: u32, channel: u32, sequence: u64) -> Provisional {
        let due = self.published[channel as usize][sequence as usize].at;
        let attempts = &self.attempts[&(client, channel)];
        // A target's acknowledgement decides from which sequence on it owes.
        let owed_by_word = |a: &&Attempt| {
            a.stood.is_some_and(|stood| stood > due) && a.first.is_some_and(|first| first <= sequence)
        };
        if attempts.iter().any(|a| owed_by_word(&a)) {
            return Provisional::Owed;
        }
        let under_way = |a: &&Attempt| {
            let began = a.asked.or(a.stood).expect("an attempt begins");
            began < due && a.ended.is_none_or(|ended| ended > due)
        };
        match attempts.iter().find(under_way) {
            None => Provisional::Unserved,
            Some(Attempt { stood: Some(stood), .. }) if *stood < due => Provisional::Owed,
            // Asked for, and not yet known to be established.
            Some(Attempt { stood: Some(_), first: None, .. }) => Provisional::Excused,
            Some(Attempt { stood: Some(_), first: Some(_), .. }) => Provisional::Unserved,
            Some(Attempt { stood: None, ended: Some(_), .. }) => Provisional::Unserved,
            Some(Attempt { stood: None, ended: None, .. }) => Provisional::Excused,
        }
    }

    fn newest(&self, client: u32, channel: u32) -> Option<u64> {
        let of = (client, channel, 0)..=(client, channel, u64::MAX);
        self.received.range(of).next_back().map(|((.., sequence), _)| *sequence)
    }

    fn look_at_deadlines(&mut self, now_ns: u64) {
        for channel in 0..self.published.len() {
            for sequence in 0..self.published[channel].len() {
                let publication = &self.published[channel][sequence];
                if publication.closed || publication.due_ns + DEADLINE_NS >= now_ns {
                    continue;
                }
                let key = (channel as u32, sequence as u64);
                let subscribers = self.attempts.keys().filter(|(_, c)| *c == key.0);
                let heard = |client: &u32| self.received.contains_key(&(*client, key.0, key.1));
                let clients: Vec<u32> = subscribers.map(|(client, _)| *client).collect();
                let owed = |client: &&u32| self.provisional(**client, key.0, key.1) == Provisional::Owed;
                let unheard = !clients.is_empty() && !clients.iter().any(heard);
                let owed = unheard.then(|| clients.iter().filter(owed).count() as u32);
                let publication = &mut self.published[channel][sequence];
                (publication.closed, publication.unheard) = (true, owed);
            }
        }
    }
}

/// A history that is played to both.
struct Play {
    accounting: Accounting,
    model: Model,
    draw: Draw,
    now_ns: u64,
    moves: usize,
    clients: u32,
    nonce: u32,
    measure_ns: (u64, u64),
    superseding: bool,
    deaf: bool,
}

impl Play {
    fn new(seed: u64, record: Box<Record>) -> Play {
        let mut draw = Draw::new(seed, Purpose::Jitter, 14);
        let transport = [Transport::Sse, Transport::WebSocket, Transport::Poll, Transport::LongPoll]
            [draw.below(4) as usize];
        let clients = 1 + draw.below(4) as u32;
        let mut arm = crate::testing::arm(transport, clients.into());
        arm.seed = seed;
        arm.deadline_ns = DEADLINE_NS;
        arm.subscriptions.channels = 1 + draw.below(3) as u32;
        arm.subscriptions.per_connection = 1 + draw.below(arm.subscriptions.channels.into()) as u32;
        if draw.below(2) == 0 {
            arm.subscribe.cursor = Cursor::Header("cursor".into());
        }
        // The measure phase is somewhere in the history.
        arm.phases.ramp_ns = 0;
        arm.phases.warmup_ns = draw.below(600) * MS;
        arm.phases.measure_ns = 200 * MS + draw.below(2_000) * MS;
        let numbers: Vec<u64> = (0..clients.into()).collect();
        let mut accounting = Accounting::new(&arm, SECOND, &numbers);
        accounting.record = record;
        let mut model =
            Model { published: vec![Vec::new(); arm.subscriptions.channels as usize], ..Model::default() };
        for client in 0..clients {
            for channel in arm.channels_of(client.into()) {
                model.attempts.insert((client, channel), Vec::new());
            }
        }
        let measure_start_ns = SECOND + arm.phases.measure_start_ns();
        Play {
            superseding: transport == Transport::Poll && !arm.subscribe.resumes,
            deaf: transport == Transport::LongPoll && arm.subscribe.cursor == Cursor::None,
            measure_ns: (measure_start_ns, measure_start_ns + arm.phases.measure_ns),
            nonce: arm.nonce,
            accounting,
            model,
            draw,
            now_ns: SECOND,
            moves: 0,
            clients,
        }
    }

    fn measured(&self, at_ns: u64) -> bool {
        (self.measure_ns.0..self.measure_ns.1).contains(&at_ns)
    }

    fn turn(&mut self) {
        self.moves += 1;
        self.now_ns += self.draw.below(30) * MS;
        let client = self.draw.below(self.clients.into()) as u32;
        match self.draw.below(20) {
            0 => self.asks(client),
            1 | 2 => self.stands(client),
            3 => self.is_lost(client),
            4..=8 => self.publishes(),
            9..=14 => self.hears_the_next(client),
            15 | 16 => self.hears_any(client),
            17 => self.is_replayed_to(client),
            18 => self.hears_of_others(client),
            _ => {
                self.accounting.close_due(self.now_ns);
                self.model.look_at_deadlines(self.now_ns);
            }
        }
    }

    fn channels(&self, client: u32) -> Vec<u32> {
        let of = self.model.attempts.range((client, 0)..=(client, u32::MAX));
        of.map(|((_, channel), _)| *channel).collect()
    }

    fn asks(&mut self, client: u32) {
        self.accounting.subscription_asked(client);
        for channel in self.channels(client) {
            let attempts = self.model.attempts.get_mut(&(client, channel)).expect("listed");
            if attempts.last().is_none_or(|a| a.ended.is_some()) {
                attempts.push(Attempt { asked: Some(self.moves), stood: None, first: None, ended: None });
            }
        }
    }

    fn stands(&mut self, client: u32) {
        // Acknowledged as the contract says, from some sequence on, perhaps an old one; or not
        // acknowledged.
        let word: Vec<(u32, Option<Option<u64>>)> = self
            .channels(client)
            .into_iter()
            .map(|channel| {
                let published = self.model.published[channel as usize].len() as u64;
                let last = match self.draw.below(4) {
                    0 => Some(None),
                    1 => Some(Some(self.draw.below(published + 2))),
                    _ => None,
                };
                (channel, last)
            })
            .collect();
        let last_of = |channel: u32| word.iter().find(|(c, _)| *c == channel).and_then(|(_, last)| *last);
        self.accounting.subscription_stands(client, last_of);
        for (channel, last) in word {
            let attempts = self.model.attempts.get_mut(&(client, channel)).expect("listed");
            let (stood, first) = (Some(self.moves), last.map(|last| last.map_or(0, |last| last + 1)));
            match attempts.last_mut() {
                Some(a) if a.ended.is_none() && a.stood.is_some() => {}
                Some(a) if a.ended.is_none() => (a.stood, a.first) = (stood, first),
                _ => attempts.push(Attempt { asked: None, stood, first, ended: None }),
            }
        }
    }

    fn is_lost(&mut self, client: u32) {
        self.accounting.subscription_lost(client);
        for channel in self.channels(client) {
            let attempts = self.model.attempts.get_mut(&(client, channel)).expect("listed");
            if let Some(attempt) = attempts.last_mut().filter(|a| a.ended.is_none()) {
                attempt.ended = Some(self.moves);
            }
        }
    }

    fn publishes(&mut self) {
        let channel = self.draw.below(self.model.published.len() as u64) as usize;
        let sequence = self.model.published[channel].len() as u64;
        self.accounting.publication_due(channel as u32, sequence, self.now_ns);
        // Outside measure nothing is watched.
        let closed = !self.measured(self.now_ns);
        let at = self.moves;
        self.model.published[channel].push(Publication { at, due_ns: self.now_ns, unheard: None, closed });
    }

    fn hears_the_next(&mut self, client: u32) {
        for channel in self.channels(client) {
            let next = self.model.newest(client, channel).map_or(0, |newest| newest + 1);
            self.hears(client, channel, next);
        }
    }

    fn hears_any(&mut self, client: u32) {
        let channels = self.channels(client);
        let channel = channels[self.draw.below(channels.len() as u64) as usize];
        let published = self.model.published[channel as usize].len() as u64;
        let sequence = self.draw.below(published.max(1));
        self.hears(client, channel, sequence);
    }

    /// Replays the publications from some sequence on, in order: all of them, or a part.
    fn is_replayed_to(&mut self, client: u32) {
        for channel in self.channels(client) {
            let published = self.model.published[channel as usize].len() as u64;
            let from = self.draw.below(published + 1);
            let holes = self.draw.below(3) == 0;
            for sequence in from..published {
                if !(holes && self.draw.below(3) == 0) {
                    self.hears(client, channel, sequence);
                }
            }
        }
    }

    fn hears(&mut self, client: u32, channel: u32, sequence: u64) {
        let Some(publication) = self.model.published[channel as usize].get(sequence as usize) else { return };
        let (due_ns, closed_unheard) = (publication.due_ns, publication.unheard.is_some());
        let measured = self.measured(due_ns);
        let newest = self.model.newest(client, channel);
        let expected = match self.model.received.contains_key(&(client, channel, sequence)) {
            true => Receipt::Again,
            false => Receipt::New,
        };
        let got = self.accounting.received(client, &self.stamp(channel, sequence, due_ns), self.now_ns, 0);
        assert_eq!(got, expected, "client {client} channel {channel} sequence {sequence}");
        if expected == Receipt::New {
            self.model.received.insert((client, channel, sequence), self.now_ns);
            let out_of_order = newest.is_some_and(|newest| newest > sequence);
            self.model.beside.out_of_order += u64::from(out_of_order && measured);
            if closed_unheard && self.now_ns > due_ns + DEADLINE_NS {
                self.model.heard_late.insert((channel, sequence));
            }
        }
    }

    fn stamp(&self, channel: u32, sequence: u64, due_ns: u64) -> Stamp {
        let due_us = due_ns / 1_000;
        Stamp { nonce: self.nonce, publisher: 0, channel, sequence, due_us, sent_us: due_us }
    }

    fn hears_of_others(&mut self, client: u32) {
        let mut stamp = self.stamp(self.model.published.len() as u32, 0, self.now_ns);
        if self.draw.below(2) == 0 {
            (stamp.channel, stamp.nonce) = (0, self.nonce + 1);
        }
        let got = self.accounting.received(client, &stamp, self.now_ns, 0);
        assert_eq!(got, Receipt::Foreign);
        self.model.beside.foreign += u64::from(self.measured(self.now_ns));
    }

    /// Returns the fates by the definitions, and the clients that lost deliveries.
    fn truth(&self, stopped: bool) -> (Counts, Vec<Lacking>) {
        let mut truth = self.model.beside.clone();
        let mut clients: BTreeMap<u32, Lacking> = BTreeMap::new();
        for &(client, channel) in self.model.attempts.keys() {
            let of = clients.entry(client).or_insert(Lacking { connection: client, ..Lacking::default() });
            let newest = self.model.newest(client, channel);
            for (sequence, publication) in (0..).zip(&self.model.published[channel as usize]) {
                if !self.measured(publication.due_ns) {
                    continue;
                }
                truth.intended += 1;
                let deadline_ns = publication.due_ns + DEADLINE_NS;
                let overtaken = newest.is_some_and(|newest| newest > sequence);
                let provisional = self.model.provisional(client, channel, sequence);
                let received = self.model.received.get(&(client, channel, sequence));
                if received.is_none() && provisional == Provisional::Owed {
                    truth.missed_deaf += i64::from(self.deaf && overtaken);
                }
                match (received, provisional) {
                    (Some(at_ns), _) => {
                        (of.owed, of.heard) = (of.owed + 1, of.heard + 1);
                        truth.late += u64::from(*at_ns > deadline_ns);
                        truth.delivered += u64::from(*at_ns <= deadline_ns);
                    }
                    (None, Provisional::Unserved) => truth.unserved += 1,
                    (None, Provisional::Excused) => truth.excused += 1,
                    (None, Provisional::Owed) if overtaken && self.superseding => truth.superseded += 1,
                    (None, Provisional::Owed) if stopped && deadline_ns >= self.now_ns => truth.excused += 1,
                    (None, Provisional::Owed) => (of.owed, of.missing) = (of.owed + 1, of.missing + 1),
                }
            }
        }
        (truth, clients.into_values().filter(|client| client.missing > 0).collect())
    }

    /// Ends the history. Returns the record, for the next history.
    fn ends(mut self, stopped: bool) -> Box<Record> {
        if stopped {
            self.accounting.excuse_in_flight(self.now_ns);
            self.model.look_at_deadlines(self.now_ns);
        }
        self.accounting.finish(0..self.clients);
        if !stopped {
            self.model.look_at_deadlines(u64::MAX);
        }
        let (truth, lacking) = self.truth(stopped);
        let record = self.accounting.take_record(Box::default());
        let told = &record.counts;
        let of = |c: &Counts| {
            let fates = [c.intended, c.delivered, c.late].map(|n| n as i64);
            let taken_back = [c.unserved, c.excused, c.superseded, c.missed_deaf];
            let beside = [c.out_of_order, c.foreign, c.beyond_window, c.forgotten].map(|n| n as i64);
            [&fates[..], &taken_back, &beside].concat()
        };
        assert_eq!(
            of(told),
            of(&truth),
            "told and true: intended delivered late | unserved excused superseded missed_deaf | \
             out_of_order foreign beyond_window forgotten"
        );
        assert_eq!(record.clients.lacking, lacking, "who lost");
        let missing: u64 = lacking.iter().map(|client| u64::from(client.missing)).sum();
        let rest = told.intended as i64 - of(told)[1..6].iter().sum::<i64>();
        assert_eq!(rest, missing as i64, "what is left is what the clients lack");

        let told: BTreeSet<_> = record.unheard.iter().map(|u| (u.channel, u.sequence, u.owed)).collect();
        let mut unheard = BTreeSet::new();
        for (channel, publications) in (0..).zip(&self.model.published) {
            for (sequence, publication) in (0..).zip(publications) {
                unheard.extend(publication.unheard.map(|owed| (channel, sequence, owed)));
            }
        }
        assert_eq!(
            told, unheard,
            "publications that no client received, and the clients that were owed them"
        );
        let heard_late: BTreeSet<_> = record.heard_late.iter().copied().collect();
        assert_eq!(heard_late, self.model.heard_late, "and those that somebody heard after all");
        record
    }
}

/// Plays one history.
fn play(seed: u64, mut record: Box<Record>) -> Box<Record> {
    record.clear();
    let mut play = Play::new(seed, record);
    for _ in 0..20 + play.draw.below(100) {
        play.turn();
    }
    let stopped = play.draw.below(4) == 0;
    play.ends(stopped)
}

#[test]
fn the_accounts_are_those_of_a_model_that_forgets_nothing() {
    let long = std::env::var("PUSHMARK_TEST_LONG").is_ok_and(|long| long == "1");
    let histories = if long { HISTORIES_LONG } else { HISTORIES };
    let one = std::env::var("PUSHMARK_TEST_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let (from, to) = one.map_or((0, histories), |seed| (seed, seed + 1));
    let mut record = Box::<Record>::default();
    for seed in from..to {
        let before = std::mem::take(&mut record);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(seed, before)));
        record = played.unwrap_or_else(|_| panic!("PUSHMARK_TEST_SEED={seed} repeats it"));
    }
}
