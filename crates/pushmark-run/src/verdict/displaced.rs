//! Percentiles that the generator's delays moved along the ranks. Pure.
//!
//! Lag is compared with latency at the same percentile, and that is not enough. If one delivery in eleven is
//! read late, another one in eleven was sent late, and the server itself delays one in eleven, no lag reaches
//! its p90, and yet more than one delivery in ten is late. So the percentile is compared with the one that is
//! left if the server alone had been late.

use pushmark_model::histogram::Distribution;
use pushmark_model::record::Times;
use pushmark_model::run::Delivery;

use super::facts::Displaced;
use super::lag::by_stamps;
use super::percentile::{P, SHOWN, own_allowed_us};

/// Returns the percentiles that differ by more than is allowed. `ours`: pushmark publishes. `apart`:
/// connections with stamps are read in another way than the others.
pub fn displaced(delivery: &Delivery, times: &Times, ours: bool, apart: bool) -> Vec<Displaced> {
    let arrived = delivery.latency.delivered_only.as_deref().unwrap_or(&delivery.latency);
    // What the target itself delayed is its answer to the load.
    let own = if times.publish_own_lag.count() > 0 { &times.publish_own_lag } else { &times.publish_lag };
    let one = |(p, _): (P, i64)| {
        let shown_us = p.of(arrived)?;
        let allowed_us = own_allowed_us(p.metric(), shown_us as f64) as i64;
        let stamped = by_stamps(delivery, p).is_some() && !apart;
        let read = if stamped { &times.read_lag_stamped } else { &times.read_lag };
        let sent = if ours { above(own, allowed_us) } else { 0.0 };
        let late = (above(read, allowed_us) + sent).min(1.0) - rank_slack(p.share());
        let at_worst_us = times.latency.quantile((p.share() - late).max(0.0))?;
        // Where stamps speak for all deliveries, the target's part is known better: what reached the kernel in time,
        // but for what was sent late.
        let sent_late = (sent - rank_slack(p.share())).max(0.0);
        let arrived_us = times.latency_stamped.quantile((p.share() - sent_late).max(0.0)).filter(|_| stamped);
        let without_us = arrived_us.map_or(at_worst_us, |us| us.max(at_worst_us).min(shown_us));
        let moved = late > 0.0 && shown_us - without_us > allowed_us;
        moved.then_some(Displaced { p, shown_us, without_us, late })
    };
    SHOWN.into_iter().filter_map(one).collect()
}

/// How far the rank of a valid percentile may be off, as a share of the deliveries. A single delivery that is
/// read late moves percentiles by one rank.
pub fn rank_slack(share: f64) -> f64 {
    ((1.0 - share) * 0.1).min(0.01)
}

fn above(lags: &Distribution, limit_us: i64) -> f64 {
    let count = lags.count();
    if count == 0 { 0.0 } else { 1.0 - lags.count_at_most(limit_us as u64) as f64 / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a hundred deliveries: `server` answers after 60 ms instead of 5 ms, `read` are read and `sent` are
    /// sent 50 ms late; none of them at once. Returns the p90 as shown and without them, ms, if it is told.
    fn p90_ms(server: u64, read: u64, sent: u64) -> Option<(i64, i64)> {
        let mut times = Times::default();
        times.latency.record_many_us(5_000, 100 - server - read - sent);
        times.latency.record_many_us(60_000, server + read + sent);
        times.read_lag.record_many_us(50, 100 - read);
        times.read_lag.record_many_us(50_000, read);
        times.publish_lag.record_many_us(50, 100 - sent);
        times.publish_lag.record_many_us(50_000, sent);
        let latency = times.latency.summary_of_all();
        let delivery = Delivery { latency, ..Delivery::default() };
        let round = |us: i64| (us + 500) / 1_000;
        let all = displaced(&delivery, &times, true, false);
        let p90 = all.iter().find(|d| d.p == P::P90)?;
        Some((round(p90.shown_us), round(p90.without_us)))
    }

    #[test]
    fn delays_that_are_each_too_rare_move_a_percentile_together() {
        assert_eq!(p90_ms(0, 6, 6), Some((60, 5)));
        assert_eq!(p90_ms(9, 0, 3), Some((60, 5)));
        assert_eq!(p90_ms(0, 8, 0), None, "one in twelve does not reach it");
        assert_eq!(p90_ms(15, 0, 3), None, "the server alone is late at this percentile");
        assert_eq!(p90_ms(10, 1, 0), None, "one in a hundred is a rank");
    }

    /// A broadcast that is read one by one: most deliveries are read late, and the target itself took its time.
    #[test]
    fn stamps_tell_what_the_target_took_of_a_fan_out() {
        let mut times = Times::default();
        times.latency.record_many_us(2_000, 1_000);
        times.read_lag.record_many_us(600, 1_000);
        let of = |times: &Times| {
            let latency = times.latency.summary_of_all();
            let read_lag_stamped =
                (times.read_lag_stamped.count() > 0).then(|| times.read_lag_stamped.summary_of_all());
            let delivery = Delivery { latency, delivered: 1_000, read_lag_stamped, ..Delivery::default() };
            let all = displaced(&delivery, times, true, false);
            all.iter().find(|d| d.p == P::P50).map(|d| d.without_us)
        };
        times.latency.record_many_us(300, 20);
        assert!(of(&times).is_some_and(|us| us < 310), "at worst it is the least of all");
        times.read_lag_stamped.record_many_us(600, 1_000);
        times.latency_stamped.record_many_us(1_400, 1_000);
        assert!(of(&times).is_some_and(|us| (1_390..1_410).contains(&us)), "{:?}", of(&times));
        times.publish_lag.record_many_us(900, 1_000);
        assert!(of(&times).is_some_and(|us| us < 1_410), "what was sent late is not the target's");
    }

    #[test]
    fn what_the_target_delayed_is_the_targets() {
        let mut times = Times::default();
        times.latency.record_many_us(200, 10);
        times.latency.record_many_us(1_400, 90);
        times.publish_lag.record_many_us(1_000, 90);
        let told = |times: &Times| {
            let delivery = Delivery { latency: times.latency.summary_of_all(), ..Delivery::default() };
            displaced(&delivery, times, true, false).iter().any(|d| d.p == P::P50)
        };
        assert!(told(&times), "nothing says that it was the target's");
        times.publish_own_lag.record_many_us(6, 90);
        assert!(!told(&times));
    }

    #[test]
    fn lags_of_an_emitter_are_the_servers() {
        let mut times = Times::default();
        times.latency.record_many_us(5_000, 88);
        times.latency.record_many_us(60_000, 12);
        times.publish_lag.record_many_us(50_000, 12);
        let delivery = Delivery { latency: times.latency.summary_of_all(), ..Delivery::default() };
        assert!(displaced(&delivery, &times, false, false).is_empty());
        assert!(!displaced(&delivery, &times, true, false).is_empty());
    }
}
