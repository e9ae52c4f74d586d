//! What a client requests before it subscribes: it logs in, or negotiates. The requests have a connection of
//! their own, which is closed before the client connects to subscribe. A new subscription begins with them again.
//!
//! A step of a subscription may make a request as well, beside the connection of the subscription, which stays open.

use pushmark_net::{Connect, Interest, Read, Ready};
use pushmark_proto::client::{ExchangeEvent, Lane};

use crate::before::{BODY_MAX, Errand};
use crate::conn::Phase;
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::{secure, trouble};

/// The largest head or chunk head that may be split over two reads.
const CARRY_MAX: usize = 64 << 10;

/// What a part of an answer leads to.
enum Progress {
    /// The answer is not complete.
    More,
    Answered,
    Failed(String, String),
}

impl Shard {
    /// Whether the client has requests to make before it may connect to subscribe.
    #[inline]
    pub(super) fn is_unprepared(&self, index: u32) -> bool {
        !self.plan.arm.before.is_empty() && !self.crowd[index].prepared
    }

    /// Begins the requests of a client.
    pub(super) fn prepare(&mut self, index: u32) {
        self.crowd[index].errand = Some(Box::default());
        self.errand_connects(index);
    }

    /// Begins a request beside a client's subscription, by its position among all requests of the plan.
    pub(super) fn ask_beside(&mut self, index: u32, at: usize) {
        let conn = &mut self.crowd[index];
        let captures = conn.steps.as_ref().map(|steps| steps.captures.clone()).unwrap_or_default();
        conn.errand = Some(Box::new(Errand { at, captures, ..Errand::default() }));
        self.errand_connects(index);
    }

    /// Whether a client makes a request beside its subscription.
    pub(super) fn asks_beside(&self, index: u32) -> bool {
        self.crowd[index].errand.as_ref().is_some_and(|errand| errand.at >= self.plan.arm.before.len())
    }

    /// Connects for the next request.
    fn errand_connects(&mut self, index: u32) {
        let beside = self.asks_beside(index);
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        let generation = match beside {
            // Of the subscription: with that the request is over too.
            true => conn.first.generation,
            false => {
                let generation = conn.renew();
                conn.first.phase = Phase::Connecting;
                generation
            }
        };
        conn.first.give_up_ns = self.time.now_ns + arm.connect_timeout_ns;
        let Some(errand) = &mut conn.errand else { return };
        let source = match arm.sources.len() {
            0 => None,
            n => Some(arm.sources[conn.number as usize % n]),
        };
        let token = token::pack(Owner::Errand, generation, index);
        self.accounting.record.counts.connects += 1;
        let made = self.asking.before[errand.at]
            .connect(source, conn.ever_subscribed)
            .and_then(|link| self.io.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => errand.link = Some(link),
            Err(error) => self.errand_fails(index, trouble::kind(&error), &error.to_string()),
        }
    }

    /// The poller reports that the connection of a client's requests is ready.
    pub(crate) fn errand_ready(&mut self, index: u32, generation: u32, ready: Ready) {
        let conn = &mut self.crowd[index];
        if conn.first.generation != generation {
            return;
        }
        let Some(errand) = &mut conn.errand else { return };
        let Some(link) = &mut errand.link else { return };
        if !errand.asked {
            let token = token::pack(Owner::Errand, generation, index);
            let stands = link.finish_connect().and_then(|connect| match connect {
                Connect::Handshake(interest) => {
                    self.io.poller.modify(link.fd(), token, interest)?;
                    Ok(false)
                }
                Connect::Done => {
                    self.io.poller.modify(link.fd(), token, Interest::Read)?;
                    Ok(true)
                }
            });
            return match stands {
                Ok(true) => {
                    secure::count(link, &mut self.accounting.record.counts);
                    let early = link.has_early();
                    self.errand_asks(index);
                    if early {
                        self.errand_hears(index);
                    }
                }
                Ok(false) => {}
                Err(error) => self.errand_fails(index, trouble::kind(&error), &error.to_string()),
            };
        }
        if ready.writable {
            self.errand_writes(index);
        }
        if ready.readable {
            self.errand_hears(index);
        }
    }

    /// Writes the next request.
    fn errand_asks(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        let Some(errand) = &mut conn.errand else { return };
        let of = (conn.number, &channels[..], Some(&errand.captures));
        let (exchange, out) = (&mut errand.exchange, &mut errand.out);
        self.asking.requests.before(arm, errand.at, of, exchange, out);
        errand.asked = true;
        conn.first.give_up_ns = self.time.now_ns + arm.handshake_timeout_ns;
        self.errand_writes(index);
    }

    fn errand_writes(&mut self, index: u32) {
        let conn = &mut self.crowd[index];
        let token = token::pack(Owner::Errand, conn.first.generation, index);
        let Some(errand) = &mut conn.errand else { return };
        let Some(link) = &mut errand.link else { return };
        match link.write(&errand.out) {
            Ok(written) => {
                self.accounting.record.counts.bytes_out += written as u64;
                errand.out.drain(..written);
                let interest = if errand.out.is_empty() { Interest::Read } else { Interest::Both };
                // A failure shows at the next read or write.
                let _ = self.io.poller.modify(link.fd(), token, interest);
            }
            Err(error) => self.errand_fails(index, trouble::kind(&error), &error.to_string()),
        }
    }

    fn errand_hears(&mut self, index: u32) {
        let mut buffer = std::mem::take(&mut self.io.buffer);
        let progress = self.errand_reads(index, &mut buffer);
        self.io.buffer = buffer;
        match progress {
            Progress::More => {}
            Progress::Answered => self.errand_answered(index),
            Progress::Failed(kind, what) => self.errand_fails(index, &kind, &what),
        }
    }

    fn errand_reads(&mut self, index: u32, buffer: &mut [u8]) -> Progress {
        let Some(errand) = &mut self.crowd[index].errand else { return Progress::More };
        let Some(link) = &mut errand.link else { return Progress::More };
        let carried = errand.carry.len();
        buffer[..carried].copy_from_slice(&errand.carry);
        errand.carry.clear();
        let (length, ended) = match link.read(&mut buffer[carried..]) {
            Ok(Read::Bytes(n)) => (carried + n, false),
            Ok(Read::WouldBlock) => (carried, false),
            Ok(Read::End) => (carried, true),
            Err(error) => return Progress::Failed(trouble::kind(&error).to_owned(), error.to_string()),
        };
        self.accounting.record.counts.bytes_in += (length - carried) as u64;
        let mut input = &mut buffer[..length];
        loop {
            let event = match errand.exchange.handle_input(&mut input) {
                Ok(None) if ended => errand.exchange.handle_eof(),
                event => event,
            };
            match event {
                Ok(Some(ExchangeEvent::Head(head))) => {
                    errand.status = head.status;
                    let line = |(name, value): (&str, &[u8])| {
                        (name.to_owned(), String::from_utf8_lossy(value).into_owned())
                    };
                    errand.headers = head.headers.iter().map(line).collect();
                    errand.body.clear();
                }
                Ok(Some(ExchangeEvent::Data(data))) => {
                    let room = BODY_MAX - errand.body.len();
                    errand.body.extend_from_slice(&data[..data.len().min(room)]);
                }
                Ok(Some(ExchangeEvent::End { .. })) => return Progress::Answered,
                Ok(None) if ended => {
                    return Progress::Failed(
                        "closed_early".to_owned(),
                        "the connection was closed".to_owned(),
                    );
                }
                Ok(None) => break,
                Err(failure) => return Progress::Failed(failure.kind().to_owned(), failure.to_string()),
            }
        }
        if input.len() > CARRY_MAX {
            return Progress::Failed(
                "head_too_large".to_owned(),
                "an incomplete unit is too long".to_owned(),
            );
        }
        errand.carry.extend_from_slice(input);
        Progress::More
    }

    /// A request has its answer: the next one follows, or the client connects to subscribe, or a step goes on.
    fn errand_answered(&mut self, index: u32) {
        let beside = self.asks_beside(index);
        let Shard { crowd, plan, .. } = self;
        let before = &plan.arm.before;
        let conn = &mut crowd[index];
        let Some(errand) = &mut conn.errand else { return };
        let Some(request) = plan.arm.requests().nth(errand.at) else { return };
        let (status, came) = (errand.status, trouble::shown(&errand.body));
        if !request.expects(status) {
            let body = std::mem::take(&mut errand.body);
            let (kind, how) = (status_kind(status), format!("answered {status}"));
            return self.errand_refused(index, kind, &how, &format!("{how}: {came}"), &body);
        }
        match request.captured(&errand.headers, &errand.body) {
            Ok(captures) => errand.captures.extend(captures),
            Err(name) => {
                let how = format!("no `{name}` in its answer");
                let what = format!("{how}: {came}");
                let body = std::mem::take(&mut errand.body);
                return self.errand_refused(index, "no_capture", &how, &what, &body);
            }
        }
        if beside {
            let captures = std::mem::take(&mut errand.captures);
            let of_step = plan.arm.step_of_request(errand.at).is_some();
            self.end_errand(index);
            return if of_step { self.step_answered(index, captures) } else { self.responded(index) };
        }
        errand.at += 1;
        match before.get(errand.at) {
            Some(next) if errand.exchange.reusable() && next.same_place(request) => self.errand_asks(index),
            Some(_) => {
                self.errand_disconnects(index);
                self.errand_connects(index);
            }
            None => {
                let captures = std::mem::take(&mut errand.captures);
                self.end_errand(index);
                let conn = &mut self.crowd[index];
                conn.prepared = true;
                conn.steps.get_or_insert_default().captures = captures;
                conn.renew();
                self.connect(index, Lane::Connect);
            }
        }
    }

    fn errand_fails(&mut self, index: u32, kind: &str, what: &str) {
        self.errand_refused(index, kind, &trouble::how(kind), what, &[]);
    }

    /// A request failed. `how`: in words that are the same for all clients; `came`: the last bytes of its answer.
    fn errand_refused(&mut self, index: u32, kind: &str, how: &str, what: &str, came: &[u8]) {
        let request = self.errand_in_words(index).unwrap_or_default();
        let (how, what) = (format!("{request}: {how}"), format!("{request}: {what}"));
        self.ended(index, Lane::Connect, kind, &how, &what, Some(came));
    }

    /// Returns the request that waits, in words: `request 1 before the subscription (POST /login)`, or `the request of
    /// step 2 (POST /join)`. One that is not sent yet is told with its address.
    pub(super) fn errand_in_words(&self, index: u32) -> Option<String> {
        let errand = self.crowd[index].errand.as_ref()?;
        let (at, arm) = (errand.at, &self.plan.arm);
        let asked = arm.requests().nth(at)?;
        let to = format!(" to {}:{}", asked.host, asked.port.unwrap_or(self.plan.port));
        let request = asked.in_words() + if errand.asked { "" } else { &to };
        Some(match arm.step_of_request(at) {
            Some(step) => format!("the request of step {} ({request})", step + 1),
            None if at >= arm.before.len() => format!("the response to an answer ({request})"),
            None => format!("request {} before the subscription ({request})", at + 1),
        })
    }

    fn errand_disconnects(&mut self, index: u32) {
        let Some(errand) = &mut self.crowd[index].errand else { return };
        let (at, captures) = (errand.at, std::mem::take(&mut errand.captures));
        self.end_errand(index);
        self.crowd[index].errand = Some(Box::new(Errand { at, captures, ..Errand::default() }));
    }

    /// Closes the connection of the requests, if there is one.
    pub(super) fn end_errand(&mut self, index: u32) {
        if let Some(link) = self.crowd[index].errand.take().and_then(|errand| errand.link) {
            self.io.poller.forget(link.fd());
        }
    }
}

fn status_kind(status: u16) -> &'static str {
    match status {
        300..=399 => "redirect",
        401 | 403 | 407 => "auth",
        500.. => "status_5xx",
        _ => "status_4xx",
    }
}
