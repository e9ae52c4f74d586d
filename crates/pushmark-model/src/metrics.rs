//! Every metric a threshold can name: its unit, its description and its place in an [`Arm`];
//! and the expressions over metrics (`delivery.p99 < 50ms`).
//!
//! Thresholds, searches and the documentation share one table, so they cannot differ.

mod better;
mod percentile;

use std::fmt;

pub use better::Better;

pub use crate::family;

use crate::run::{Arm, Clients, Delivery, Hybrid, HybridHalf, Latency, Threshold};
use crate::transport::Transport;
use crate::units::{Bytes, Nanos, PerSecond, RATE_ACCEPTED, SHARE_ACCEPTED, SIZE_ACCEPTED, parse_share};

/// The unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds; a bound has a unit of time.
    Micros,
    /// A count.
    Count,
    /// A share of one; a bound may use `%`.
    Ratio,
    /// Bytes; a bound may have a unit of size.
    Bytes,
    /// Per second.
    PerSecond,
}

impl Unit {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Micros => "µs",
            Unit::Count => "count",
            Unit::Ratio => "ratio",
            Unit::Bytes => "bytes",
            Unit::PerSecond => "per_s",
        }
    }

    /// Describes the accepted values.
    pub fn accepted(self) -> &'static str {
        match self {
            Unit::Micros => "a time with its unit, such as \"50ms\" or \"2s\"",
            Unit::Count => "a number, such as 0",
            Unit::Ratio => SHARE_ACCEPTED,
            Unit::Bytes => SIZE_ACCEPTED,
            Unit::PerSecond => RATE_ACCEPTED,
        }
    }

    fn parse(self, text: &str) -> Option<f64> {
        let number = || text.parse::<f64>().ok().filter(|n| n.is_finite());
        match self {
            Unit::Micros => {
                // Latencies may be negative, so their bounds may be too.
                let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
                text.parse::<Nanos>().ok().map(|n| sign * n.0 as f64 / 1_000.0)
            }
            Unit::Count => number(),
            Unit::Ratio => parse_share(text).ok(),
            Unit::Bytes => number().or_else(|| text.parse::<Bytes>().ok().map(|b| b.0 as f64)),
            Unit::PerSecond => number().or_else(|| text.parse::<PerSecond>().ok().map(|r| r.0)),
        }
    }
}

/// A metric of an arm.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The name in thresholds.
    pub name: String,
    /// The unit.
    pub unit: Unit,
    /// The description.
    pub about: String,
    get: Get,
}

#[derive(Clone, Copy, Debug)]
enum Get {
    Scalar(fn(&Arm) -> Option<f64>),
    Latency(fn(&Arm) -> Option<&Latency>, fn(&Latency) -> Option<f64>),
    /// The share of intended deliveries within this many µs.
    Within(u64),
    /// Another percentile of a family, by the family's name and the share of values below it.
    Percentile(&'static str, fn(&Arm) -> Option<&Latency>, f64),
}

/// Prefix of `delivery.within_100ms`: a metric exists for every limit.
pub const WITHIN: &str = "delivery.within_";

const WITHIN_ABOUT: &str = "share of intended deliveries that arrived no later than this time after due";

impl Metric {
    /// Returns the value in the metric's unit; `None` if it was not measured, or if a percentile
    /// falls among the missing.
    pub fn value(&self, arm: &Arm) -> Option<f64> {
        match self.get {
            Get::Scalar(get) => get(arm),
            Get::Latency(family, stat) => family(arm).and_then(stat),
            Get::Within(limit_us) => arm.delivery.as_ref()?.share_within(limit_us),
            Get::Percentile(base, family, quantile) => percentile::value(arm, base, family(arm)?, quantile),
        }
    }

    /// Returns whether lower or higher is better.
    pub fn better(&self) -> Better {
        Better::of(&self.name, self.unit)
    }

    /// Returns whether starts are compared by ratios: times, sizes and rates. Counts and shares
    /// may be 0 and are compared by differences.
    pub fn is_ratio_scaled(&self) -> bool {
        matches!(self.unit, Unit::Micros | Unit::Bytes | Unit::PerSecond)
    }

    /// Returns the metric for the share of intended deliveries that arrived within a limit.
    pub fn within(limit: Nanos) -> Metric {
        Metric {
            name: format!("{WITHIN}{limit}"),
            unit: Unit::Ratio,
            about: WITHIN_ABOUT.to_owned(),
            get: Get::Within(limit.0 / 1_000),
        }
    }

    /// Finds a metric by name. Also accepts any percentile (`delivery.p95`, `delivery.p97.5`), `delivery.p99_us`
    /// and `delivery.latency.p99`.
    pub fn find(name: &str) -> Option<Metric> {
        let mut wanted = family::canonical(name.trim());
        if let Some(rest) = wanted.strip_prefix("delivery.latency.") {
            wanted = format!("delivery.{rest}");
        }
        if let Some(limit) = wanted.strip_prefix(WITHIN) {
            return limit.parse().ok().map(Metric::within);
        }
        let all = all();
        let found = all.iter().find(|m| m.name == wanted).or_else(|| {
            let plain = wanted.strip_suffix("_us")?;
            all.iter().find(|m| m.name == plain && m.unit == Unit::Micros)
        });
        found.cloned().or_else(|| Metric::percentile(&wanted))
    }

    /// Returns the metric for a percentile that the table does not list.
    fn percentile(name: &str) -> Option<Metric> {
        let (base, word) = name.rsplit_once('.')?;
        let quantile = family::quantile(word)?;
        let (base, about, family) = FAMILIES.iter().find(|(prefix, ..)| *prefix == base)?;
        Some(Metric {
            name: name.to_owned(),
            unit: Unit::Micros,
            about: format!("{about}: the value that {} of them do not exceed", quantile),
            get: Get::Percentile(base, *family, quantile),
        })
    }
}

type Family = (&'static str, &'static str, fn(&Arm) -> Option<&Latency>);
type Stat = (&'static str, &'static str, Unit, fn(&Latency) -> Option<f64>);

/// Distributions. Each has every statistic of [`STATS`].
const FAMILIES: &[Family] = &[
    ("delivery", "received − due, over expected deliveries", |a| Some(&a.delivery.as_ref()?.latency)),
    ("delivery.delivered_only", "received − due, over deliveries that arrived", |a| {
        let latency = &a.delivery.as_ref()?.latency;
        Some(latency.delivered_only.as_deref().unwrap_or(latency))
    }),
    ("delivery.from_sent", "received − sent, over expected deliveries", |a| {
        Some(&a.delivery.as_ref()?.from_sent)
    }),
    (
        "delivery.read_lag",
        "how long a delivery waited in the generator's kernel before it was read (upper bound)",
        |a| Some(&a.delivery.as_ref()?.read_lag),
    ),
    (
        "delivery.read_lag_stamped",
        "read − kernel receive instant, by receive stamps on a sample of connections (kernel wait)",
        |a| a.delivery.as_ref()?.read_lag_stamped.as_ref(),
    ),
    (
        "delivery.latency_stamped",
        "kernel receive instant − due, by receive stamps on a sample of connections (latency without the generator's own queueing)",
        |a| a.delivery.as_ref()?.latency_stamped.as_ref(),
    ),
    (
        "delivery.loopback_share",
        "received − due of deliveries that one machine of several published and received (no second clock is in it)",
        |a| a.delivery.as_ref()?.loopback_share.as_ref(),
    ),
    (
        "trip",
        "received − due of all receipts, repeated ones included; for poll the age at every answer",
        |a| a.delivery.as_ref()?.trip.as_ref(),
    ),
    ("hybrid.push.delivery", "received − due of clients with a push connection", |a| {
        Some(&half(a, |h| h.push.as_ref())?.latency)
    }),
    ("hybrid.pull.delivery", "received − due of clients that poll", |a| {
        Some(&half(a, |h| h.pull.as_ref())?.latency)
    }),
    (
        "delivery.spread.first",
        "first subscriber's received − due, for broadcasts that all subscribers received",
        |a| Some(&a.delivery.as_ref()?.spread.as_ref()?.first),
    ),
    (
        "delivery.spread.median",
        "median subscriber's received − due, for broadcasts that all subscribers received",
        |a| Some(&a.delivery.as_ref()?.spread.as_ref()?.median),
    ),
    (
        "delivery.spread.last",
        "last subscriber's received − due, for broadcasts that all subscribers received",
        |a| Some(&a.delivery.as_ref()?.spread.as_ref()?.last),
    ),
    ("connect.tcp", "TCP handshake", |a| a.connect.as_ref()?.tcp.as_ref()),
    ("connect.tls", "connect until the TLS handshake is complete", |a| a.connect.as_ref()?.tls.as_ref()),
    ("connect.subscribed", "connect until subscribed", |a| a.connect.as_ref()?.subscribed.as_ref()),
    ("connect.first_message", "connect until the first message", |a| {
        a.connect.as_ref()?.first_message.as_ref()
    }),
    ("published.lag", "sent − due (publisher lag)", |a| Some(&a.published.as_ref()?.lag)),
    ("published.accept", "publication answered − sent", |a| a.published.as_ref()?.accept.as_ref()),
    ("poll.age_at_receipt", "age of the state at each answer to a poll", |a| {
        Some(&a.poll.as_ref()?.age_at_receipt)
    }),
    ("long_poll.hold_overshoot", "time-out answer − its due instant", |a| {
        Some(&a.long_poll.as_ref()?.hold_overshoot)
    }),
    (
        "long_poll.deaf",
        "request gap (time between an answer and the next request, as known for certain)",
        |a| Some(&a.long_poll.as_ref()?.deaf),
    ),
    ("long_poll.in_flight", "answer or request in flight (upper bound)", |a| {
        Some(&a.long_poll.as_ref()?.in_flight)
    }),
    ("documents.emit", "from the beginning of an emit to each request, by the server's clock", |a| {
        Some(&a.documents.as_ref()?.emit)
    }),
    (
        "documents.emit_duration",
        "from the beginning of an emit to its last request, by the server's clock",
        |a| Some(&a.documents.as_ref()?.emit_duration),
    ),
    ("documents.held", "from the arrival of a request to its answer, by the server's clock", |a| {
        Some(&a.documents.as_ref()?.held)
    }),
    ("observed.gap", "time between messages of one connection (observe)", |a| {
        Some(&a.observed.as_ref()?.gap)
    }),
    ("observed.latency", "received − the target's own timestamp (observe)", |a| {
        a.observed.as_ref()?.latency.as_ref()
    }),
    ("generator.loop_lag", "duration of one iteration of the generator's loop", |a| {
        Some(&a.generator.loop_lag)
    }),
];

/// Statistics of a distribution. Missing deliveries count as infinitely late: the largest value
/// and the mean are then absent, like the percentiles that fall among the missing.
const STATS: &[Stat] = &[
    ("p50", "median", Unit::Micros, |l| micros(l.p50_us)),
    ("p90", "90th percentile", Unit::Micros, |l| micros(l.p90_us)),
    ("p99", "99th percentile", Unit::Micros, |l| micros(l.p99_us)),
    ("p999", "99.9th percentile", Unit::Micros, |l| micros(l.p999_us)),
    ("max", "largest", Unit::Micros, |l| all_arrived(l).and_then(|l| micros(l.max_us))),
    ("mean", "mean", Unit::Micros, |l| all_arrived(l).and_then(|l| l.mean_us)),
];

type Scalar = (&'static str, Unit, &'static str, fn(&Arm) -> Option<f64>);

/// Metrics with a single value.
const SCALARS: &[Scalar] = &[
    ("delivery.intended", Unit::Count, "publications due × planned subscriptions", |a| {
        count(a.delivery.as_ref()?.intended)
    }),
    (
        "delivery.expected",
        Unit::Count,
        "intended − unserved − unpublished − excused − superseded",
        |a| count(a.delivery.as_ref()?.expected),
    ),
    ("delivery.delivered", Unit::Count, "arrived within the deadline", |a| {
        count(a.delivery.as_ref()?.delivered)
    }),
    ("delivery.missing", Unit::Count, "sent while the client was subscribed, and never arrived", |a| {
        count(a.delivery.as_ref()?.missing)
    }),
    ("delivery.late", Unit::Count, "arrived after due + deadline", |a| count(a.delivery.as_ref()?.late)),
    (
        "delivery.superseded",
        Unit::Count,
        "never shown, but a newer publication of the same channel was",
        |a| count(a.delivery.as_ref()?.superseded),
    ),
    ("delivery.excused", Unit::Count, "in an uncertainty window, or of a publication that failed", |a| {
        count(a.delivery.as_ref()?.excused)
    }),
    ("delivery.unserved", Unit::Count, "connection never made, or lost without the client closing it", |a| {
        count(a.delivery.as_ref()?.unserved)
    }),
    ("delivery.unpublished", Unit::Count, "due, never sent", |a| count(a.delivery.as_ref()?.unpublished)),
    ("delivery.duplicate", Unit::Count, "arrived again on the same subscription", |a| {
        count(a.delivery.as_ref()?.duplicate)
    }),
    ("delivery.out_of_order", Unit::Count, "below the highest received on the same subscription", |a| {
        count(a.delivery.as_ref()?.out_of_order)
    }),
    ("delivery.beyond_window", Unit::Count, "older than a subscription remembers", |a| {
        count(a.delivery.as_ref()?.beyond_window)
    }),
    ("delivery.foreign", Unit::Count, "stamped by another run", |a| count(a.delivery.as_ref()?.foreign)),
    ("delivery.unstamped", Unit::Count, "messages without a stamp, long enough for one", |a| {
        count(a.delivery.as_ref()?.unstamped)
    }),
    ("delivery.corrupt", Unit::Count, "messages whose content differs from the published content", |a| {
        count(a.delivery.as_ref()?.corrupt?)
    }),
    ("delivery.forgotten", Unit::Count, "gaps and absences dropped for lack of memory", |a| {
        count(a.delivery.as_ref()?.forgotten)
    }),
    ("delivery.clients.owed", Unit::Count, "clients that were owed a delivery", |a| count(clients(a)?.owed)),
    ("delivery.clients.heard_all", Unit::Count, "clients that received every delivery they were owed", |a| {
        count(clients(a)?.heard_all)
    }),
    (
        "delivery.clients.heard_some",
        Unit::Count,
        "clients that received some of the deliveries they were owed",
        |a| count(clients(a)?.heard_some),
    ),
    (
        "delivery.clients.heard_none",
        Unit::Count,
        "clients that received none of the deliveries they were owed",
        |a| count(clients(a)?.heard_none),
    ),
    ("delivery.clients.missing_max", Unit::Count, "most deliveries that one client lacks", |a| {
        count(clients(a)?.missing_max)
    }),
    ("delivery.clients.p50_max", Unit::Micros, "largest median latency of one client, estimated", |a| {
        micros(clients(a)?.p50_max_us)
    }),
    ("received.per_client", Unit::Count, "receipts of a client, repeated ones included, mean", |a| {
        let d = a.delivery.as_ref()?;
        ratio(d.trip.as_ref()?.count as f64, a.connections.asked as f64)
    }),
    ("received.unique_per_client", Unit::Count, "publications that a client received, mean", |a| {
        let d = a.delivery.as_ref()?;
        ratio((d.delivered + d.late) as f64, a.connections.asked as f64)
    }),
    ("received.redundant_share", Unit::Ratio, "receipts that showed nothing new ÷ receipts", |a| {
        let polled = a.poll.as_ref().filter(|_| a.transport == Transport::Poll);
        let receipts = a.delivery.as_ref()?.trip.as_ref()?.count;
        let (redundant, of) = match polled {
            Some(poll) => (poll.redundant, poll.requests),
            None => (receipts.saturating_sub(a.delivery.as_ref()?.latency.count), receipts),
        };
        ratio(redundant as f64, of as f64)
    }),
    ("delivery.of_intended", Unit::Ratio, "(delivered + superseded) ÷ intended", |a| {
        let d = a.delivery.as_ref()?;
        ratio((d.delivered + d.superseded) as f64, d.intended as f64)
    }),
    ("delivery.of_expected", Unit::Ratio, "delivered ÷ expected", |a| {
        let d = a.delivery.as_ref()?;
        ratio(d.delivered as f64, d.expected as f64)
    }),
    ("delivery.offered_per_s", Unit::PerSecond, "deliveries intended in measure", |a| {
        per_second(a, a.delivery.as_ref()?.intended)
    }),
    ("delivery.delivered_per_s", Unit::PerSecond, "deliveries made in measure, within the deadline", |a| {
        per_second(a, a.delivery.as_ref()?.delivered)
    }),
    ("delivery.backlog_per_s", Unit::PerSecond, "growth of the backlog; absent if it is stable", |a| {
        a.delivery.as_ref()?.backlog_per_s
    }),
    (
        "delivery.age_of_information.mean",
        Unit::Micros,
        "time-weighted mean age of the newest message a client has",
        |a| Some(a.delivery.as_ref()?.age_of_information.as_ref()?.mean_us),
    ),
    (
        "delivery.age_of_information.p50",
        Unit::Micros,
        "time-weighted median age of the newest message a client has",
        |a| Some(a.delivery.as_ref()?.age_of_information.as_ref()?.p50_us as f64),
    ),
    (
        "delivery.age_of_information.p99",
        Unit::Micros,
        "time-weighted 99th percentile of the age of the newest message a client has",
        |a| Some(a.delivery.as_ref()?.age_of_information.as_ref()?.p99_us as f64),
    ),
    ("connect.count", Unit::Count, "connections that got a first response byte", |a| {
        count(a.connect.as_ref()?.count)
    }),
    ("connect.p50", Unit::Micros, "connect until the first response byte, median", |a| {
        connected(a, |c| c.p50_us)
    }),
    ("connect.p99", Unit::Micros, "connect until the first response byte, 99th percentile", |a| {
        connected(a, |c| c.p99_us)
    }),
    ("connect.max", Unit::Micros, "connect until the first response byte, longest", |a| {
        connected(a, |c| c.max_us)
    }),
    (
        "connect.failed",
        Unit::Count,
        "connection attempts that failed before the subscription, of every kind",
        |a| count(a.connections.failed.values().sum()),
    ),
    ("tls.full", Unit::Count, "full TLS handshakes, publishers included", |a| count(a.tls.as_ref()?.full)),
    (
        "tls.resumed",
        Unit::Count,
        "TLS handshakes that resumed an earlier session, publishers included",
        |a| count(a.tls.as_ref()?.resumed),
    ),
    ("connections.asked", Unit::Count, "planned connections", |a| count(a.connections.asked)),
    ("connections.opened", Unit::Count, "connections subscribed at least once", |a| {
        count(a.connections.opened)
    }),
    (
        "connections.assumed_silent",
        Unit::Count,
        "subscriptions that were only assumed, and for which the target never sent a head",
        |a| count(a.connections.assumed_silent),
    ),
    ("connections.lost", Unit::Count, "open connections lost without the client closing them", |a| {
        count(a.connections.lost)
    }),
    (
        "connections.ended",
        Unit::Count,
        "connections whose answer ended in order, where the scenario says that answers do",
        |a| count(a.connections.ended),
    ),
    ("connections.reconnected", Unit::Count, "connections made again after a loss or an end", |a| {
        count(a.connections.reconnected)
    }),
    ("published.due", Unit::Count, "publications due", |a| count(a.published.as_ref()?.due)),
    ("published.sent", Unit::Count, "publications written", |a| count(a.published.as_ref()?.sent)),
    ("published.failed", Unit::Count, "publications the target did not accept", |a| {
        count(a.published.as_ref()?.failed)
    }),
    (
        "published.unreachable",
        Unit::Count,
        "publications not written because the target could not be connected to or had lost the peer",
        |a| count(a.published.as_ref()?.unreachable),
    ),
    (
        "published.backpressured",
        Unit::Count,
        "publications that the target kept from being sent in measure: it had not answered the peer's earlier ones",
        |a| count(a.published.as_ref()?.backpressured),
    ),
    (
        "published.reconnected",
        Unit::Count,
        "publisher WebSockets that the target ended and that were made again",
        |a| count(a.published.as_ref()?.reconnected),
    ),
    (
        "published.refusals",
        Unit::Count,
        "messages by which the target of a publisher WebSocket refused publications (`refused`)",
        |a| count(a.published.as_ref()?.refusals),
    ),
    (
        "published.pool_exhausted",
        Unit::Count,
        "publications that found every publisher connection busy",
        |a| count(a.published.as_ref()?.pool_exhausted),
    ),
    ("published.asked_per_s", Unit::PerSecond, "publications planned, over all channels", |a| {
        Some(a.published.as_ref()?.asked_per_s)
    }),
    ("published.achieved_per_s", Unit::PerSecond, "publications achieved, over all channels", |a| {
        Some(a.published.as_ref()?.achieved_per_s)
    }),
    ("ingest.published_per_s", Unit::PerSecond, "publications of the feed alone, without subscribers", |a| {
        let alone = a.ingest.as_ref()?;
        ratio(alone.published as f64 * 1e6, alone.window_us as f64)
    }),
    (
        "ingest.server_cpu_cores",
        Unit::Ratio,
        "CPU of the server under the feed alone, share of a core",
        |a| {
            let alone = a.ingest.as_ref()?;
            ratio(alone.server_cpu_us as f64, alone.window_us as f64)
        },
    ),
    (
        "ingest.server_cpu_us_per_publication",
        Unit::Micros,
        "CPU of the server under the feed alone ÷ publications",
        |a| {
            let alone = a.ingest.as_ref()?;
            ratio(alone.server_cpu_us as f64, alone.published as f64)
        },
    ),
    ("poll.requests", Unit::Count, "polls sent", |a| count(a.poll.as_ref()?.requests)),
    ("poll.requests_per_s", Unit::PerSecond, "polls sent in measure", |a| {
        per_second(a, a.poll.as_ref()?.requests)
    }),
    ("poll.interval_mean", Unit::Micros, "time between two polls of a client, mean", |a| {
        a.poll.as_ref()?.interval_mean_us
    }),
    ("poll.redundant", Unit::Count, "answers that showed nothing new", |a| count(a.poll.as_ref()?.redundant)),
    ("poll.redundant_share", Unit::Ratio, "redundant ÷ requests", |a| {
        let p = a.poll.as_ref()?;
        ratio(p.redundant as f64, p.requests as f64)
    }),
    ("poll.not_modified", Unit::Count, "redundant answers that were 304", |a| {
        count(a.poll.as_ref()?.not_modified)
    }),
    ("poll.skipped_states", Unit::Count, "states of a channel that were never shown", |a| {
        count(a.poll.as_ref()?.skipped_states)
    }),
    ("poll.overruns", Unit::Count, "polls due while the previous one was unanswered", |a| {
        count(a.poll.as_ref()?.overruns)
    }),
    ("hybrid.push.missing", Unit::Count, "missing deliveries of clients with a push connection", |a| {
        count(half(a, |h| h.push.as_ref())?.missing)
    }),
    ("hybrid.pull.superseded", Unit::Count, "states never shown to clients that poll", |a| {
        count(half(a, |h| h.pull.as_ref())?.superseded)
    }),
    (
        "hybrid.push.age_of_information.mean",
        Unit::Micros,
        "mean age of the newest message a client with a push connection has",
        |a| Some(half(a, |h| h.push.as_ref())?.age_of_information.as_ref()?.mean_us),
    ),
    (
        "hybrid.pull.age_of_information.mean",
        Unit::Micros,
        "mean age of the newest message a polling client has",
        |a| Some(half(a, |h| h.pull.as_ref())?.age_of_information.as_ref()?.mean_us),
    ),
    ("hybrid.safety.requests", Unit::Count, "polls by clients with a push connection", |a| {
        count(a.hybrid.as_ref()?.safety.as_ref()?.requests)
    }),
    ("hybrid.safety.found", Unit::Count, "states that a poll showed before the push did", |a| {
        count(a.hybrid.as_ref()?.safety.as_ref()?.found)
    }),
    (
        "hybrid.safety.overtaken",
        Unit::Count,
        "states that a poll showed first and the push brought later",
        |a| count(a.hybrid.as_ref()?.safety.as_ref()?.overtaken),
    ),
    (
        "hybrid.safety.repaired",
        Unit::Count,
        "states that a poll showed first and the push never brought",
        |a| count(a.hybrid.as_ref()?.safety.as_ref()?.repaired),
    ),
    ("long_poll.answers", Unit::Count, "answers with a message", |a| count(a.long_poll.as_ref()?.answers)),
    ("long_poll.timeouts", Unit::Count, "answers without a message when the hold was over", |a| {
        count(a.long_poll.as_ref()?.timeouts)
    }),
    ("long_poll.early", Unit::Count, "answers without a message before half of the hold", |a| {
        count(a.long_poll.as_ref()?.early)
    }),
    ("long_poll.responses", Unit::Count, "answers, with a message or without", |a| {
        let l = a.long_poll.as_ref()?;
        count(l.answers + l.timeouts + l.early + l.other)
    }),
    ("long_poll.answers_per_s", Unit::PerSecond, "answers, with a message or without", |a| {
        Some(a.long_poll.as_ref()?.answers_per_s)
    }),
    (
        "long_poll.ceiling_per_s",
        Unit::PerSecond,
        "clients ÷ hold (the most requests if nothing is published)",
        |a| Some(a.long_poll.as_ref()?.ceiling_per_s),
    ),
    ("long_poll.of_ceiling", Unit::Ratio, "answers per second ÷ the ceiling", |a| {
        let l = a.long_poll.as_ref()?;
        ratio(l.answers_per_s, l.ceiling_per_s)
    }),
    ("long_poll.missed_deaf", Unit::Count, "missing deliveries between two consecutive answers", |a| {
        count(a.long_poll.as_ref()?.missed_deaf)
    }),
    ("long_poll.messages_per_answer", Unit::Count, "messages per non-empty answer, mean", |a| {
        a.long_poll.as_ref()?.messages_per_answer
    }),
    ("long_poll.receivers_per_publication", Unit::Count, "receivers of a publication, mean", |a| {
        a.long_poll.as_ref()?.receivers_per_publication
    }),
    ("long_poll.new_connections", Unit::Count, "TCP connections after the first of each client", |a| {
        count(a.long_poll.as_ref()?.new_connections)
    }),
    ("bayeux.handshakes", Unit::Count, "handshakes requested, later ones of a client included", |a| {
        count(a.bayeux.as_ref()?.handshakes)
    }),
    ("bayeux.unknown_client", Unit::Count, "messages refused with 402 (unknown client)", |a| {
        count(a.bayeux.as_ref()?.unknown_client)
    }),
    ("bayeux.connects", Unit::Count, "connects requested", |a| count(a.bayeux.as_ref()?.connects)),
    ("bayeux.connects_empty", Unit::Count, "connects over HTTP answered without a message", |a| {
        count(a.bayeux.as_ref()?.connects_empty?)
    }),
    ("bayeux.advice.retry", Unit::Count, "advice to continue with connects", |a| {
        count(a.bayeux.as_ref()?.advice.retry)
    }),
    ("bayeux.advice.handshake", Unit::Count, "advice to make a new handshake", |a| {
        count(a.bayeux.as_ref()?.advice.handshake)
    }),
    ("bayeux.advice.none", Unit::Count, "advice not to come back", |a| count(a.bayeux.as_ref()?.advice.none)),
    ("bayeux.advice.multiple_clients", Unit::Count, "advice that sessions share cookies", |a| {
        count(a.bayeux.as_ref()?.advice.multiple_clients)
    }),
    ("bayeux.advice.interval_obeyed", Unit::Count, "pauses made because an interval was advised", |a| {
        count(a.bayeux.as_ref()?.advice.interval_obeyed)
    }),
    ("bayeux.hold_advised", Unit::Micros, "longest hold of a connect that the server advised", |a| {
        count(a.bayeux.as_ref()?.hold_advised_us?)
    }),
    ("bayeux.commands", Unit::Count, "messages other than handshakes and connects", |a| {
        count(a.bayeux.as_ref()?.commands)
    }),
    ("bayeux.second_connections", Unit::Count, "second connections made", |a| {
        count(a.bayeux.as_ref()?.second_connections)
    }),
    ("bayeux.second_open_max", Unit::Count, "most second connections open at once", |a| {
        count(a.bayeux.as_ref()?.second_open_max)
    }),
    ("bayeux.messages_per_reply", Unit::Count, "messages per non-empty HTTP answer, mean", |a| {
        a.bayeux.as_ref()?.messages_per_reply
    }),
    ("documents.read", Unit::Count, "documents of instrumented requests", |a| {
        count(a.documents.as_ref()?.read)
    }),
    ("documents.timeouts", Unit::Count, "documents of a time-out", |a| count(a.documents.as_ref()?.timeouts)),
    ("documents.unreadable", Unit::Count, "answers that were no such document", |a| {
        count(a.documents.as_ref()?.unreadable)
    }),
    (
        "documents.receivers",
        Unit::Count,
        "requests that an event was emitted to, mean, by the server's count",
        |a| a.documents.as_ref()?.receivers,
    ),
    (
        "documents.registered_max",
        Unit::Count,
        "most requests registered at once, by the server's count",
        |a| count(a.documents.as_ref()?.registered_max),
    ),
    ("observed.messages", Unit::Count, "messages received (observe)", |a| {
        count(a.observed.as_ref()?.messages)
    }),
    ("observed.payload_bytes", Unit::Bytes, "payload of the messages received (observe)", |a| {
        count(a.observed.as_ref()?.payload_bytes)
    }),
    ("server.cpu_us", Unit::Micros, "CPU of the server's process tree during measure", |a| {
        count(a.server.as_ref()?.cpu_us)
    }),
    ("server.cpu_cores", Unit::Ratio, "CPU of the server in cores, its process tree during measure", |a| {
        let s = a.server.as_ref()?;
        ratio(s.cpu_us as f64, s.window_us as f64)
    }),
    ("server.cpu_us_per_delivery", Unit::Micros, "CPU of the server ÷ deliveries", |a| {
        ratio(a.server.as_ref()?.cpu_us as f64, a.delivery.as_ref()?.delivered as f64)
    }),
    ("server.ready_us", Unit::Micros, "from the start of the server to its first successful answer", |a| {
        a.server.as_ref()?.ready_us.map(|n| n as f64)
    }),
    ("server.rss_bytes_peak", Unit::Bytes, "highest resident memory of the server", |a| {
        count(a.server.as_ref()?.rss_bytes_peak)
    }),
    (
        "server.rss_bytes_grown",
        Unit::Bytes,
        "highest resident memory − resident memory before the first client",
        |a| {
            let server = a.server.as_ref()?;
            count(server.rss_bytes_peak.saturating_sub(server.rss_bytes_start?))
        },
    ),
    ("server.rss_bytes_per_connection", Unit::Bytes, "slope of resident memory over connections", |a| {
        a.server.as_ref()?.rss_bytes_per_connection
    }),
    (
        "server.kernel_bytes_per_connection",
        Unit::Bytes,
        "slope of kernel memory over connections, both ends",
        |a| a.server.as_ref()?.kernel_bytes_per_connection,
    ),
    (
        "server.live_heap_bytes",
        Unit::Bytes,
        "heap of a JVM in use after a forced collection with the crowd connected (`target.live_heap`)",
        |a| a.server.as_ref()?.heap?.live_bytes.map(|n| n as f64),
    ),
    ("server.heap_allocated_bytes", Unit::Bytes, "bytes that a JVM allocated in its life", |a| {
        a.server.as_ref()?.heap?.allocated_bytes.map(|n| n as f64)
    }),
    ("server.gc_pause_us", Unit::Micros, "time that a JVM stood still for collections in its life", |a| {
        a.server.as_ref()?.heap?.pause_us.map(|n| n as f64)
    }),
    (
        "server.emit_us_mean",
        Unit::Micros,
        "duration of an emit, first to last write, by the server's own clock (contract 2.3), mean",
        |a| a.server_says.as_ref()?.pointer("/emits/duration_us/mean")?.as_f64(),
    ),
    (
        "server.emit_us_max",
        Unit::Micros,
        "duration of an emit, first to last write, by the server's own clock (contract 2.3), longest",
        |a| a.server_says.as_ref()?.pointer("/emits/duration_us/max")?.as_f64(),
    ),
    ("server.threads_max", Unit::Count, "most threads of the server", |a| {
        count(a.server.as_ref()?.threads_max)
    }),
    ("warmup.length", Unit::Micros, "length of warm-up, if detection is on", |a| {
        count(a.warmup.as_ref()?.length_us)
    }),
    ("flood.offered", Unit::Count, "connections that were due in a flood", |a| {
        count(a.flood.as_ref()?.offered)
    }),
    ("flood.established", Unit::Count, "connections of a flood that got a first byte of response", |a| {
        count(a.flood.as_ref()?.established)
    }),
    ("flood.connected_max", Unit::Count, "most clients of a flood subscribed at once", |a| {
        count(a.flood.as_ref()?.connected_max)
    }),
    ("flood.served_max", Unit::Count, "most clients of a flood that received one publication in time", |a| {
        a.flood.as_ref()?.served_max.map(|n| n as f64)
    }),
    ("flood.counted_max", Unit::Count, "most clients of a flood by the server's own count", |a| {
        a.flood.as_ref()?.counted_max.map(|n| n as f64)
    }),
    (
        "flood.declined_from",
        Unit::Count,
        "connections established when intervals fell below 90 % of those offered for good",
        |a| a.flood.as_ref()?.declined_from.map(|n| n as f64),
    ),
    ("generator.cpu_us", Unit::Micros, "CPU of the generator during measure", |a| count(a.generator.cpu_us)),
    ("generator.busiest_core", Unit::Ratio, "busiest generator thread, share of a core", |a| {
        Some(a.generator.busiest_core)
    }),
    ("generator.rss_bytes_peak", Unit::Bytes, "highest resident memory of the generator", |a| {
        count(a.generator.rss_bytes_peak)
    }),
    ("generator.run_queue_wait_us", Unit::Micros, "wait of generator threads for a CPU", |a| {
        count(a.generator.run_queue_wait_us)
    }),
    ("generator.steal", Unit::Ratio, "CPU stolen by the hypervisor", |a| Some(a.generator.steal)),
    ("foreign.cpu", Unit::Ratio, "CPU of other programs, share of the run's CPUs", |a| {
        Some(a.foreign.as_ref()?.cpu)
    }),
    ("softirq_us", Unit::Micros, "CPU in soft interrupts over all CPUs", |a| count(a.softirq_us?)),
    ("kernel_memory_bytes", Unit::Bytes, "kernel memory added by the crowd, both ends", |a| {
        count(a.kernel_memory_bytes?)
    }),
    ("wire.bytes_in", Unit::Bytes, "bytes read from subscriber connections over the whole arm", |a| {
        count(a.wire.bytes_in)
    }),
    ("wire.bytes_out", Unit::Bytes, "bytes written to subscriber connections over the whole arm", |a| {
        count(a.wire.bytes_out)
    }),
    ("wire.measure_bytes_in", Unit::Bytes, "bytes read during measure", |a| count(a.wire.measure_bytes_in)),
    ("wire.measure_bytes_out", Unit::Bytes, "bytes written during measure", |a| {
        count(a.wire.measure_bytes_out)
    }),
    ("wire.bytes_in_per_s", Unit::PerSecond, "bytes read in measure", |a| {
        per_second(a, a.wire.measure_bytes_in)
    }),
    ("wire.measure_bytes", Unit::Bytes, "bytes read and written during measure", |a| {
        count(a.wire.measure_bytes_in + a.wire.measure_bytes_out)
    }),
    ("wire.inflating", Unit::Count, "WebSockets whose server agreed to compress its messages", |a| {
        count(a.wire.inflating?)
    }),
    (
        "wire.inflated_bytes",
        Unit::Bytes,
        "payload of compressed messages, inflated, over the whole arm",
        |a| count(a.wire.inflated_bytes?),
    ),
    ("wire.inflate_us", Unit::Micros, "CPU time of the generator that inflated compressed messages", |a| {
        count(a.wire.inflate_us?)
    }),
    ("wire.segments", Unit::Count, "segments received and sent", |a| {
        count(a.wire.segments_in? + a.wire.segments_out?)
    }),
    ("wire.bytes_in_per_delivery", Unit::Bytes, "bytes read during measure ÷ deliveries", |a| {
        ratio(a.wire.measure_bytes_in as f64, a.delivery.as_ref()?.delivered as f64)
    }),
    ("wire.segments_in", Unit::Count, "segments received", |a| count(a.wire.segments_in?)),
    ("wire.segments_out", Unit::Count, "segments sent", |a| count(a.wire.segments_out?)),
    ("wire.retransmits", Unit::Count, "segments retransmitted, whole host", |a| count(a.wire.retransmits?)),
    (
        "wire.listener_drops",
        Unit::Count,
        "connections dropped by the target's listener for lack of room",
        |a| count(a.wire.listener_drops?),
    ),
    (
        "wire.listen_overflows",
        Unit::Count,
        "listen-queue overflows while the crowd connected, whole host",
        |a| count(a.wire.listen_overflows?),
    ),
];

/// Returns the deliveries of one half of a push-or-pull crowd.
fn half(arm: &Arm, of: fn(&Hybrid) -> Option<&HybridHalf>) -> Option<&Delivery> {
    of(arm.hybrid.as_ref()?)?.delivery.as_ref()
}

/// Returns all metrics, in the order of the documentation.
pub fn all() -> Vec<Metric> {
    let families = FAMILIES.iter().flat_map(|(prefix, about, family)| {
        STATS.iter().map(move |(suffix, stat_about, unit, stat)| Metric {
            name: format!("{prefix}.{suffix}"),
            unit: *unit,
            about: format!("{about}: {stat_about}"),
            get: Get::Latency(*family, *stat),
        })
    });
    let scalars = SCALARS.iter().map(|(name, unit, about, get)| Metric {
        name: (*name).to_owned(),
        unit: *unit,
        about: (*about).to_owned(),
        get: Get::Scalar(*get),
    });
    families.chain(scalars).collect()
}

/// Returns the table of metrics for the documentation, as Markdown.
pub fn markdown() -> String {
    let mut out = String::from("| metric | unit | better | what it is |\n|---|---|---|---|\n");
    for (prefix, about, _) in FAMILIES {
        let stats: Vec<&str> = STATS.iter().map(|(name, ..)| *name).collect();
        let (name, stats) = (format!("{prefix}.p50"), stats.join(","));
        let better = Better::of(&name, Unit::Micros).name();
        out += &format!("| `{prefix}.{{{stats}}}` | µs | {better} | {about} |\n");
    }
    for (name, unit, about, _) in SCALARS {
        out += &format!("| `{name}` | {} | {} | {about} |\n", unit.name(), Better::of(name, *unit).name());
    }
    let better = Better::Higher.name();
    out + &format!("| `{WITHIN}100ms` (any time) | ratio | {better} | {WITHIN_ABOUT} |\n")
}

fn clients(arm: &Arm) -> Option<&Clients> {
    arm.delivery.as_ref()?.clients.as_ref()
}

fn micros(value: Option<i64>) -> Option<f64> {
    value.map(|v| v as f64)
}

#[expect(clippy::unnecessary_wraps, reason = "one shape for every getter")]
fn count(value: u64) -> Option<f64> {
    Some(value as f64)
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Divides a count by the length of the measure phase.
fn per_second(arm: &Arm, count: u64) -> Option<f64> {
    let measure = arm.phases.iter().find(|phase| phase.name == "measure")?;
    ratio(count as f64 * 1e6, measure.end_us.saturating_sub(measure.start_us) as f64)
}

/// Returns a connect time; `None` if nothing connected.
fn connected(arm: &Arm, value: fn(&crate::run::Connect) -> u64) -> Option<f64> {
    arm.connect.as_ref().filter(|c| c.count > 0).map(|c| value(c) as f64)
}

/// Returns the distribution if all expected deliveries arrived; otherwise `delivered_only` exists.
fn all_arrived(latency: &Latency) -> Option<&Latency> {
    latency.delivered_only.is_none().then_some(latency)
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

/// Longest first, because `<=` begins with `<`.
const OPS: [(&str, Op); 6] = [
    ("<=", Op::AtMost),
    (">=", Op::AtLeast),
    ("==", Op::Equal),
    ("!=", Op::NotEqual),
    ("<", Op::Less),
    (">", Op::Greater),
];

const BOUND_ACCEPTED: &str = "an operator (<, <=, >, >=, ==, !=) and a value, such as \"< 50ms\" or \"== 0\"";

/// A metric and its bound.
#[derive(Clone, Debug)]
pub struct Expression {
    metric: Metric,
    op: Op,
    bound: f64,
    source: String,
}

/// Why a threshold is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionError {
    /// The metric does not exist.
    Metric {
        /// The name.
        found: String,
        /// The nearest existing name.
        nearest: Option<String>,
    },
    /// The operator or the value is not valid.
    Bound {
        /// The text after the metric.
        found: String,
        /// The accepted form.
        accepted: &'static str,
    },
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpressionError::Metric { found, nearest } => {
                write!(f, "unknown metric `{found}`")?;
                match nearest {
                    Some(name) => write!(f, "; did you mean `{name}`?"),
                    None => Ok(()),
                }
            }
            ExpressionError::Bound { found, accepted } => write!(f, "found {found:?}, accepted: {accepted}"),
        }
    }
}

impl std::error::Error for ExpressionError {}

impl Expression {
    /// Parses a threshold: a metric's name and its bound (`"delivery.p99"`, `"< 50ms"`).
    pub fn parse(metric: &str, bound: &str) -> Result<Expression, ExpressionError> {
        let Some(found) = Metric::find(metric) else {
            let nearest = crate::spelling::nearest(metric, all().iter().map(|m| m.name.as_str()));
            return Err(ExpressionError::Metric { found: metric.to_owned(), nearest });
        };
        let text = bound.trim();
        let error = |accepted| ExpressionError::Bound { found: bound.to_owned(), accepted };
        let (op, value) = OPS
            .iter()
            .find_map(|(sign, op)| text.strip_prefix(sign).map(|value| (*op, value.trim())))
            .ok_or_else(|| error(BOUND_ACCEPTED))?;
        let bound = found.unit.parse(value).ok_or_else(|| error(found.unit.accepted()))?;
        let source = format!("{} {text}", metric.trim());
        Ok(Expression { metric: found, op, bound, source })
    }

    /// Parses a threshold from one text: `delivery.p99 < 50ms`.
    pub fn parse_text(text: &str) -> Result<Expression, ExpressionError> {
        match text.find(['<', '>', '=', '!']) {
            Some(at) => Expression::parse(&text[..at], &text[at..]),
            None => Err(ExpressionError::Bound { found: text.to_owned(), accepted: BOUND_ACCEPTED }),
        }
    }

    /// Returns the metric.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Returns the operator.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Returns the bound, in the metric's unit.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns whether a value satisfies the bound.
    pub fn holds(&self, value: f64) -> bool {
        match self.op {
            Op::Less => value < self.bound,
            Op::AtMost => value <= self.bound,
            Op::Greater => value > self.bound,
            Op::AtLeast => value >= self.bound,
            Op::Equal => value == self.bound,
            Op::NotEqual => value != self.bound,
        }
    }

    /// Evaluates the expression on an arm. An absent metric fails, whatever the operator.
    pub fn evaluate(&self, arm: &Arm) -> Threshold {
        let value = self.metric.value(arm);
        let ok = value.is_some_and(|v| self.holds(v));
        Threshold { expression: self.source.clone(), arm: arm.transport, value, ok }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Connections, Delivery, Generator, Outcome, Server, VerdictState, Wire};

    pub(super) fn arm() -> Arm {
        let latency = Latency {
            count: 1_000,
            p50_us: Some(900),
            p99_us: Some(40_000),
            max_us: Some(70_000),
            ..Latency::default()
        };
        Arm {
            transport: Transport::Sse,
            target: "t".into(),
            nonce: "1".into(),
            outcome: Outcome::Held,
            verdict: VerdictState::Valid,
            error: None,
            observe: false,
            subscribed_by: "head".into(),
            connections: Connections {
                failed: [("refused".to_owned(), 2), ("timeout".to_owned(), 1)].into(),
                ..Connections::default()
            },
            tls: None,
            connect: None,
            delivery: Some(Delivery { intended: 2_000, delivered: 1_999, latency, ..Delivery::default() }),
            observed: None,
            poll: None,
            hybrid: None,
            long_poll: None,
            documents: None,
            agents: Vec::new(),
            monitor: None,
            bayeux: None,
            published: None,
            server: Some(Server { rss_bytes_peak: 65_536, ..Server::default() }),
            generator: Generator::default(),
            foreign: None,
            softirq_us: None,
            kernel_memory_bytes: None,
            wire: Wire::default(),
            phases: vec![],
            server_says: None,
            ingest: None,
            last_words: None,
            browser: None,
            warmup: None,
            flood: None,
        }
    }

    fn check(expression: &str, value: Option<f64>, ok: bool) {
        let threshold = Expression::parse_text(expression).unwrap().evaluate(&arm());
        assert_eq!((threshold.value, threshold.ok), (value, ok), "{expression}");
        assert_eq!(threshold.expression, expression);
    }

    #[test]
    fn a_bound_is_read_in_the_unit_of_its_metric() {
        check("delivery.p99 < 50ms", Some(40_000.0), true);
        check("delivery.p99 < 0.04s", Some(40_000.0), false);
        check("delivery.p99 <= 40ms", Some(40_000.0), true);
        check("delivery.p50 > 1ms", Some(900.0), false);
        check("server.rss_bytes_peak <= 64KiB", Some(65_536.0), true);
        check("connect.failed == 0", Some(3.0), false);
        check("connect.failed != 0", Some(3.0), true);
        check("delivery.of_intended >= 99.9%", Some(0.9995), true);
    }

    #[test]
    fn a_metric_that_is_absent_fails() {
        check("delivery.p99.9 < 1h", None, false);
        check("connect.p99 < 1h", None, false);
        check("connect.p99 != 1h", None, false);
        check("poll.requests >= 0", None, false);
    }

    #[test]
    fn a_percentile_among_the_missing_fails() {
        let mut arm = arm();
        let latency = &mut arm.delivery.as_mut().unwrap().latency;
        latency.p99_at_least_us = latency.p99_us.take();
        latency.delivered_only = Some(Box::new(Latency { p99_us: Some(10), ..Latency::default() }));
        let evaluate = |text: &str| Expression::parse_text(text).unwrap().evaluate(&arm).ok;
        assert!(!evaluate("delivery.p99 < 1h"));
        assert!(!evaluate("delivery.max < 1h"));
        assert!(evaluate("delivery.delivered_only.p99 < 1h"));
    }

    #[test]
    fn aliases_find_the_same_metric() {
        for name in ["delivery.p999", "delivery.p99.9", "delivery.latency.p999", "delivery.latency.p999_us"] {
            assert_eq!(Metric::find(name).unwrap().name, "delivery.p999");
        }
    }

    #[test]
    fn what_arrived_within_a_limit_is_a_share_of_what_was_intended() {
        let mut arm = arm();
        let mut latencies = crate::histogram::Distribution::default();
        latencies.record_many_us(900, 1_000);
        latencies.record_many_us(40_000, 990);
        latencies.record_negative_us(5);
        latencies.record_many_us(150_000, 8);
        let delivery = arm.delivery.as_mut().unwrap();
        delivery.latency = latencies.summary(2_000, 1_000, 1);
        let value = |arm: &Arm, text: &str| Metric::find(text).unwrap().value(arm);
        assert_eq!(value(&arm, "delivery.within_100ms"), Some(1_991.0 / 2_000.0));
        assert_eq!(value(&arm, "delivery.within_1ms"), Some(1_001.0 / 2_000.0));
        assert!(Metric::find("delivery.within_100").is_none(), "a time has a unit");
        // No delivery arrived: the share is 0. No histogram was kept: the share is unknown.
        arm.delivery.as_mut().unwrap().latency = Latency::default();
        assert_eq!(value(&arm, "delivery.within_1s"), Some(0.0));
        arm.delivery.as_mut().unwrap().latency.count = 5;
        assert_eq!(value(&arm, "delivery.within_1s"), None);
    }

    #[test]
    fn names_are_unique_and_documented() {
        let mut names: Vec<String> = all().into_iter().map(|m| m.name).collect();
        let documented = markdown();
        for (name, ..) in SCALARS {
            assert!(documented.contains(&format!("| `{name}` |")));
        }
        let total = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), total);
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        let error = |metric, bound| Expression::parse(metric, bound).unwrap_err().to_string();
        assert_eq!(
            error("delivery.p9o", "< 1ms"),
            "unknown metric `delivery.p9o`; did you mean `delivery.p90`?"
        );
        assert_eq!(
            error("delivery.p99", "< 50"),
            "found \"< 50\", accepted: a time with its unit, such as \"50ms\" or \"2s\""
        );
        assert_eq!(
            error("delivery.p99", "50ms"),
            "found \"50ms\", accepted: an operator (<, <=, >, >=, ==, !=) and a value, such as \"< 50ms\" or \"== 0\""
        );
    }
}
