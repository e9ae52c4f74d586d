//! The sum becomes the figures of `run.json`.

use std::time::Duration;

use pushmark_model::histogram::Distribution;
use pushmark_model::plan::Half;
use pushmark_model::plan::{Mode, Over, Phases};
use pushmark_model::record::{Counts, HEAT_ROWS, Last};
use pushmark_model::run::{
    Bayeux, BayeuxAdvice, Connect, Connections, Delivery, Documents, Heat, LastSaid, LongPoll, Observed,
    Phase, Poll, Published, Tls, Window, Wire,
};
use pushmark_model::transport::Transport;

use super::clients::clients;
use super::untaken::NotLost;
use super::{Gathered, Second, age, stability};
use pushmark_store::hlog::Interval;

/// The kind of failure of a publication: the target ended its connection just after the write, and no
/// client received it.
const CUT_OFF: &str = "connection_ended";

impl Gathered {
    /// Connections of the arm.
    pub fn connections(&self) -> Connections {
        let (counts, words) = (&self.total.counts, &self.total.words);
        Connections {
            asked: self.plan.connections,
            opened: counts.opened.max(0) as u64,
            lost: counts.lost,
            reconnected: counts.reconnected.max(0) as u64,
            assumed_silent: counts.assumed_silent,
            held_back: counts.held_back,
            ended: counts.ended,
            failed: self.total.failed.clone(),
            lost_by: self.total.lost_by.clone(),
            failed_with: words.failed.0.clone(),
            lost_with: words.lost.0.clone(),
            last_said: words.last.clone().map(|Last { how, said }| LastSaid { how, said }),
        }
    }

    /// Returns connect times; `None` if no client got an answer.
    pub fn connect(&self) -> Option<Connect> {
        let times = &self.total.times;
        let all = &times.connect;
        let present = |d: &Distribution| (d.count() > 0).then(|| d.summary_of_all());
        Some(Connect {
            count: all.count(),
            p50_us: all.quantile(0.5)?.max(0) as u64,
            p99_us: all.quantile(0.99)?.max(0) as u64,
            max_us: all.extremes()?.1.max(0) as u64,
            tcp: present(&times.connect_tcp),
            tls: present(&times.connect_tls),
            subscribed: present(&times.connect_subscribed),
            first_message: present(&times.connect_first_message),
        })
    }

    /// Returns how TLS was set up; `None` without TLS.
    pub fn tls(&self) -> Option<Tls> {
        let counts = &self.total.counts;
        self.plan.tls.as_ref().map(|_| Tls { full: counts.tls_full, resumed: counts.tls_resumed })
    }

    /// Returns the fates of all intended deliveries. `unpublished` is how many publications of the
    /// measure phase were due and never sent; `None` in an observed run. Fates that do not add up are
    /// pushmark's fault: they are reported as `imbalance`, make the arm invalid, and the run is kept.
    pub fn delivery(&self, unpublished: u64) -> Option<Delivery> {
        self.delivery_of(&self.total.counts, unpublished, (self, None))
    }

    /// Returns the fates of a half of the crowd; counts of publications are those of the arm, `all`.
    pub(super) fn delivery_of(
        &self,
        counts: &Counts,
        unpublished: u64,
        (all, half): (&Gathered, Option<Half>),
    ) -> Option<Delivery> {
        let publisher = self.plan.publisher.as_ref()?;
        let times = &self.total.times;
        let publications = counts.publications_due;
        let provisional = [counts.unserved, counts.excused, counts.superseded];
        let [unserved, excused, superseded] = provisional.map(|n| n.max(0) as u64);
        let below_none: u64 = provisional.iter().map(|n| n.min(&0).unsigned_abs()).sum();
        let told = counts.delivered + counts.late + unserved + excused + superseded;
        let imbalance = told.saturating_sub(counts.intended) + below_none;
        let mut missing = counts.intended.saturating_sub(told);
        // A publication that was refused or never sent was not lost on the way.
        let subscribers = self.subscribers();
        let not_lost = match counts.unwatched {
            0 => all.untaken.not_lost(half, unpublished, counts.publish_failed, subscribers),
            // Too many to watch each.
            _ => NotLost::of_all(unpublished, counts.publish_failed, subscribers),
        };
        let unpublished = not_lost.unpublished.min(missing);
        missing -= unpublished;
        let refused = not_lost.refused.min(missing);
        missing -= refused;
        // Clients of a process that ended could not receive their deliveries.
        let absent = self.lost.owed().min(missing);
        missing -= absent;
        let excused = excused + refused + absent;
        let lacking = unserved + unpublished + excused + superseded;
        let expected = counts.intended.saturating_sub(lacking);
        let at_least_us = self.plan.deadline_ns / 1_000;
        let window = self.measured_seconds();
        let judged = match self.plan.transport {
            // A poller skips states by design: the gap is not a backlog.
            Transport::Poll => None,
            _ if self.halves.is_some() => None,
            // A flood's crowd is not complete yet.
            _ if self.plan.flood.is_some() => None,
            _ => stability::judge(&window, subscribers),
        };
        let unstable = judged.is_some_and(|s| s.unstable);
        debug_assert!(publisher.interval_ns > 0.0);
        // Padding is compared as received.
        let decoded = self.total.words.decoded;
        let checked = publisher.check && self.plan.transport != Transport::Stream && decoded.is_none();
        Some(Delivery {
            intended: counts.intended,
            expected,
            delivered: counts.delivered,
            missing,
            late: counts.late,
            superseded,
            excused,
            unserved,
            unpublished,
            duplicate: counts.duplicate,
            out_of_order: counts.out_of_order,
            beyond_window: counts.beyond_window,
            foreign: counts.foreign,
            unstamped: counts.unstamped,
            decoded,
            corrupt: checked.then_some(counts.corrupt),
            latency: times.latency.summary(expected, publications, at_least_us),
            from_sent: times.from_sent.summary(expected, publications, at_least_us),
            trip: self.trip(),
            read_lag: times.read_lag.summary_of_all(),
            read_lag_stamped: (times.read_lag_stamped.count() > 0)
                .then(|| times.read_lag_stamped.summary_of_all()),
            latency_stamped: (times.latency_stamped.count() > 0)
                .then(|| times.latency_stamped.summary_of_all()),
            loopback_share: (times.loopback_share.count() > 0).then(|| times.loopback_share.summary_of_all()),
            stamps_unused: counts.stamps_unused,
            spread: self.spread.summary(),
            age_of_information: age::age_of_information(&times.age_start, &times.age_end, counts),
            clients: clients(&self.total.clients, &self.plan, |channel| all.untaken.of_channel(channel)),
            forgotten: counts.forgotten,
            imbalance,
            unstable,
            backlog_per_s: judged.filter(|s| s.unstable).map(|s| s.backlog_per_s),
            heat: self.heat(),
        })
    }

    /// Mean subscribers of a channel.
    fn subscribers(&self) -> f64 {
        let per_connection = match self.plan.subscriptions.room_size {
            Some(_) => 1,
            None => self.plan.subscriptions.per_connection.min(self.plan.subscriptions.channels),
        };
        self.plan.connections as f64 * f64::from(per_connection)
            / f64::from(self.plan.subscriptions.channels.max(1))
    }

    fn measured_seconds(&self) -> Vec<&Second> {
        // Whole seconds inside the phase only.
        let from = self.plan.phases.measure_start_ns().div_ceil(1_000_000_000) as u32;
        let to = (self.plan.phases.measure_end_ns() / 1_000_000_000) as u32;
        self.seconds().range(from..to.max(from)).map(|(_, second)| second).collect()
    }

    fn heat(&self) -> Heat {
        let cells = &self.total.heat;
        let Some(((first, _), (last, _))) = cells.keys().next().zip(cells.keys().next_back()) else {
            return Heat::default();
        };
        let mut columns = vec![vec![0; HEAT_ROWS]; (last - first + 1) as usize];
        for (&(second, row), &n) in cells {
            columns[(second - first) as usize][usize::from(row)] += n;
        }
        Heat { first_second: *first, columns }
    }

    /// The messages that an observed target sent.
    pub fn observed(&self) -> Option<Observed> {
        let (counts, times) = (&self.total.counts, &self.total.times);
        self.plan.publisher.is_none().then(|| Observed {
            messages: counts.measure_messages,
            payload_bytes: counts.measure_payload_bytes,
            gap: times.gap.summary_of_all(),
            latency: self.plan.target_stamp.as_ref().map(|_| times.target_latency.summary_of_all()),
        })
    }

    /// Returns publications. `emitted` is the number that an emitter reports for measure.
    pub fn published(&self, emitted: Option<u64>) -> Option<Published> {
        let publisher = self.plan.publisher.as_ref()?;
        let (counts, times) = (&self.total.counts, &self.total.times);
        let measure_s = self.plan.phases.measure_ns as f64 / 1e9;
        let (sent, in_measure) = match publisher.mode {
            Mode::Emitter => {
                let emitted = emitted.unwrap_or(counts.publications_due);
                (emitted, emitted)
            }
            _ => (counts.published, counts.sent_in_measure),
        };
        let cut_off = self.untaken.cut_off();
        let mut failed_by = self.total.publish_failed_measure.clone();
        if cut_off > 0 {
            *failed_by.entry(CUT_OFF.to_owned()).or_default() += cut_off;
        }
        // Only a request is answered.
        let answered = self.plan.publish.as_ref().is_some_and(|p| p.over == Over::Post);
        Some(Published {
            emitter: publisher.mode == Mode::Emitter,
            due: counts.publications_due,
            sent,
            failed: counts.publish_failed + cut_off,
            failed_by,
            first_trouble: self.total.words.refusal.clone(),
            lag: times.publish_lag.summary_of_all(),
            own_lag: (times.publish_own_lag.count() > 0).then(|| times.publish_own_lag.summary_of_all()),
            accept: answered.then(|| times.publish_accept.summary_of_all()),
            unreachable: counts.unreachable,
            backpressured: counts.backpressured,
            reconnected: counts.feed_reconnected,
            refusals: counts.feed_refused,
            pool_exhausted: counts.pool_exhausted,
            asked_per_s: counts.publications_due as f64 / measure_s,
            achieved_per_s: in_measure as f64 / measure_s,
        })
    }

    /// Figures special to polling.
    pub fn poll(&self) -> Option<Poll> {
        let pollers = self.pollers()?;
        let (counts, times) = (&pollers.total.counts, &pollers.total.times);
        let spent_us = self.plan.phases.measure_ns as f64 / 1e3 * counts.opened as f64;
        Some(Poll {
            requests: counts.measure_requests,
            interval_mean_us: (counts.measure_requests > 0)
                .then(|| spent_us / counts.measure_requests as f64),
            redundant: counts.redundant,
            not_modified: counts.not_modified,
            skipped_states: counts.superseded.max(0) as u64,
            overruns: counts.overruns,
            age_at_receipt: times.age_at_receipt.summary_of_all(),
        })
    }

    /// Figures of requests that are held.
    pub fn long_poll(&self) -> Option<LongPoll> {
        let pushed = self.pushed()?;
        let (counts, times) = (&pushed.total.counts, &pushed.total.times);
        let publications = self.total.counts.publications_due;
        let measure_s = self.plan.phases.measure_ns as f64 / 1e9;
        let answered = counts.answers + counts.timeouts + counts.answers_early + counts.answers_other;
        // A Bayeux server advises its hold.
        let hold_s = match (self.plan.transport, self.total.hold_advised_ms) {
            (Transport::Bayeux, advised_ms @ 1..) => advised_ms as f64 / 1e3,
            _ => self.plan.hold_ns as f64 / 1e9,
        };
        self.plan.transport.is_held().then(|| LongPoll {
            answers: counts.answers,
            timeouts: counts.timeouts,
            early: counts.answers_early,
            other: counts.answers_other,
            answers_per_s: answered as f64 / measure_s,
            ceiling_per_s: pushed.plan.connections as f64 / hold_s,
            hold_overshoot: times.hold_overshoot.summary_of_all(),
            deaf: times.deaf.summary_of_all(),
            in_flight: times.in_flight.summary_of_all(),
            missed_deaf: counts.missed_deaf.max(0) as u64,
            messages_per_answer: (counts.answers > 0)
                .then(|| counts.answered_messages as f64 / counts.answers as f64),
            receivers_per_publication: (publications > 0)
                .then(|| (counts.delivered + counts.late) as f64 / publications as f64),
            new_connections: counts.new_connections,
        })
    }

    /// Figures special to Bayeux.
    pub fn bayeux(&self) -> Option<Bayeux> {
        let (all, counts) = (&self.total.counts, &self.total.counts.bayeux);
        let stood = (all.opened + all.reconnected).max(0) as u64;
        let over_http = self.plan.transport == Transport::Bayeux;
        self.plan.transport.is_bayeux().then(|| Bayeux {
            order_promised: stood > 0 && counts.acknowledged >= stood,
            handshakes: counts.handshakes,
            unknown_client: counts.unknown_client,
            connects: counts.connects,
            connects_empty: over_http.then_some(counts.connects_empty),
            advice: BayeuxAdvice {
                retry: counts.advised_retry,
                handshake: counts.advised_handshake,
                none: counts.advised_none,
                multiple_clients: counts.multiple_clients,
                interval_obeyed: counts.intervals_obeyed,
            },
            hold_advised_us: (self.total.hold_advised_ms > 0).then_some(self.total.hold_advised_ms * 1_000),
            commands: counts.commands,
            second_connections: counts.second_connections,
            second_open_max: self.seconds().values().map(|s| s.second_open_max).max().unwrap_or(0),
            messages_per_reply: (counts.replies > 0)
                .then(|| counts.replied_messages as f64 / counts.replies as f64),
        })
    }

    /// What the server says of its answers.
    pub fn documents(&self) -> Option<Documents> {
        let (counts, times) = (&self.total.counts, &self.total.times);
        let emits = times.document_emit_duration.summary_of_all();
        self.plan.instrumented.then(|| Documents {
            read: counts.documents,
            timeouts: counts.documents_timed_out,
            unreadable: counts.documents_unreadable,
            emit: times.document_emit.summary_of_all(),
            receivers: (emits.count > 0).then(|| counts.document_receivers as f64 / emits.count as f64),
            emit_duration: emits,
            held: times.document_held.summary_of_all(),
            registered_max: self.total.registered_max,
        })
    }

    /// The traffic as the generator measured it; the caller adds host-wide counters.
    pub fn wire(&self) -> Wire {
        let counts = &self.total.counts;
        let counted = counts.segments_of > 0;
        let inflates = self.plan.subscribe.deflate.is_some();
        Wire {
            inflating: inflates.then_some(counts.inflating),
            inflated_bytes: inflates.then_some(counts.inflated_bytes),
            inflate_us: inflates.then_some(counts.inflate_ns / 1_000),
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            measure_bytes_in: counts.measure_bytes_in,
            measure_bytes_out: counts.measure_bytes_out,
            segments_in: counted.then_some(counts.segments_in),
            segments_out: counted.then_some(counts.segments_out),
            ..Wire::default()
        }
    }

    /// How long a turn of the loop took.
    pub fn loop_lag(&self) -> pushmark_model::run::Latency {
        self.total.times.turn.summary_of_all()
    }

    /// Returns the latencies of each second, for the interval log; `began` is the arm's start in the run.
    pub fn intervals(&self, began: Duration) -> Vec<Interval> {
        let seconds = self.seconds().iter().filter(|(_, s)| !s.histogram.is_empty());
        seconds
            .map(|(&second, s)| Interval {
                tag: format!("{}.received_latency", self.plan.transport),
                start: began + Duration::from_secs(second.into()),
                length: Duration::from_secs(1),
                histogram: s.histogram.clone(),
            })
            .collect()
    }

    /// Returns the seconds as lines of `windows.csv`, without the monitor's figures.
    pub fn windows(&self) -> Vec<Window> {
        let phases = &self.plan.phases;
        // Each client receives `per_connection` of the channels.
        let share = f64::from(self.plan.subscriptions.channels.max(1))
            / f64::from(if self.plan.subscriptions.room_size.is_some() {
                1
            } else {
                self.plan.subscriptions.per_connection.max(1)
            });
        let (mut established, mut served) = (0, None);
        self.seconds()
            .iter()
            .map(|(&second, s)| {
                let at_ns = u64::from(second) * 1_000_000_000;
                let emits = self.emits(second);
                established += s.established;
                served = emits.receivers().map(|n| (n * share).round() as u64).or(served);
                let held = self.plan.transport.is_held();
                Window {
                    arm: self.plan.transport.name().to_owned(),
                    second,
                    phase: phase_at(phases, at_ns).to_owned(),
                    asked: self.plan.ramp.due_by(at_ns + 1_000_000_000, self.plan.connections),
                    connected: s.connected,
                    established,
                    lost: s.lost,
                    failed: s.failed,
                    due: s.due,
                    sent: s.sent,
                    delivered: s.received,
                    requests: s.requests,
                    answers: held.then_some(s.answered.0),
                    timeouts: held.then_some(s.answered.1),
                    emit_duration_max_us: emits.max_us,
                    emit_duration_mean_us: emits.mean_us(),
                    receivers_per_publication: emits.receivers(),
                    served,
                    bytes_in: s.bytes_in,
                    bytes_out: s.bytes_out,
                    p50_us: s.latency_us.map(|l| l.0),
                    p99_us: s.latency_us.map(|l| l.1),
                    max_us: s.latency_us.map(|l| l.2),
                    read_lag_p99_us: s.read_lag_p99_us,
                    ..Window::default()
                }
            })
            .collect()
    }
}

/// The phase an instant falls into.
fn phase_at(phases: &Phases, at_ns: u64) -> &'static str {
    let spans = phases.spans();
    spans.iter().find(|(_, from, to)| (*from..*to).contains(&at_ns)).map_or("drain", |(name, ..)| name)
}

/// The phases of a plan as `run.json` lists them.
pub fn phases(phases: &Phases) -> Vec<Phase> {
    let of = |(name, from, to): (&str, u64, u64)| Phase {
        name: name.to_owned(),
        start_us: from / 1_000,
        end_us: to / 1_000,
    };
    phases.spans().into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::record::Record;

    #[test]
    fn fates_that_exceed_what_was_intended_are_told_and_nothing_panics() {
        let plan = super::super::testing::arm();
        let mut gathered = Gathered::new(&plan, 1);
        let counts = Counts { intended: 10, delivered: 9, unserved: 3, superseded: -1, ..Counts::default() };
        gathered.add(&Record { counts, last: true, ..Record::default() });
        let delivery = gathered.delivery(0).unwrap();
        assert_eq!((delivery.imbalance, delivery.missing), (3, 0));
    }
}
