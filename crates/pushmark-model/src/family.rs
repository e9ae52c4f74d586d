//! Families of metrics that one cause makes doubtful together. Read lag affects latencies, never
//! counts; a full listen queue affects only connect times.

/// Received − due, ages derived from it, and gaps between messages.
pub const LATENCY: &str = "latency";
/// Received − sent, which excludes publisher lag.
pub const FROM_SENT: &str = "from_sent";
/// Kernel receive instant − due, which excludes read lag.
pub const LATENCY_STAMPED: &str = "latency_stamped";
/// Received − due where one machine of several published and received: no second clock is in it.
pub const LOOPBACK_SHARE: &str = "loopback_share";
/// Counts of deliveries, publications, connections and requests by fate.
pub const COUNTS: &str = "counts";
/// Deliveries and requests per second.
pub const RATES: &str = "rates";
/// Connect times.
pub const CONNECT: &str = "connect";
/// Times between requests and answers.
pub const REQUESTS: &str = "requests";
/// CPU of the server and of the kernel.
pub const CPU: &str = "cpu";
/// Memory of the server and of the kernel.
pub const MEMORY: &str = "memory";
/// Bytes and segments.
pub const WIRE: &str = "wire";
/// How many clients a flood held.
pub const FLOOD: &str = "flood";
/// Figures of the generator about itself. Doubts are derived from them.
pub const GENERATOR: &str = "generator";

/// Every family.
pub const ALL: [&str; 13] = [
    LATENCY,
    FROM_SENT,
    LATENCY_STAMPED,
    LOOPBACK_SHARE,
    COUNTS,
    RATES,
    CONNECT,
    REQUESTS,
    CPU,
    MEMORY,
    WIRE,
    FLOOD,
    GENERATOR,
];

/// Families by prefix of the name; the first match applies.
const BY_PREFIX: &[(&str, &str)] = &[
    ("delivery.from_sent", FROM_SENT),
    ("delivery.latency_stamped", LATENCY_STAMPED),
    ("delivery.loopback_share", LOOPBACK_SHARE),
    ("delivery.read_lag", GENERATOR),
    ("delivery.delivered_only", LATENCY),
    ("delivery.spread", LATENCY),
    ("delivery.age_of_information", LATENCY),
    ("delivery.within_", LATENCY),
    ("delivery.clients.p50_max", LATENCY),
    ("hybrid.push.delivery", LATENCY),
    ("hybrid.pull.delivery", LATENCY),
    ("hybrid.push.age_of_information", LATENCY),
    ("hybrid.pull.age_of_information", LATENCY),
    ("trip", LATENCY),
    ("poll.age_at_receipt", LATENCY),
    ("observed.gap", LATENCY),
    ("observed.latency", LATENCY),
    ("published.accept", REQUESTS),
    ("long_poll.hold_overshoot", REQUESTS),
    ("long_poll.deaf", REQUESTS),
    ("long_poll.in_flight", REQUESTS),
    ("published.lag", GENERATOR),
    ("published.pool_exhausted", GENERATOR),
    ("published.asked_per_s", GENERATOR),
    ("published.achieved_per_s", GENERATOR),
    ("generator", GENERATOR),
    ("foreign", GENERATOR),
    ("warmup", GENERATOR),
    ("connect.failed", COUNTS),
    ("connect", CONNECT),
    ("server.cpu", CPU),
    ("ingest.server_cpu", CPU),
    ("softirq_us", CPU),
    ("server.rss", MEMORY),
    ("server.live_heap_bytes", MEMORY),
    ("server.heap", MEMORY),
    ("server.gc", CPU),
    ("server.emit_us", FROM_SENT),
    ("documents.emit", FROM_SENT),
    ("documents.held", REQUESTS),
    ("server.kernel", MEMORY),
    ("kernel_memory", MEMORY),
    ("wire.inflate_us", GENERATOR),
    ("wire", WIRE),
    ("flood", FLOOD),
];

/// Returns the family of a metric by its name or a prefix of it. The default is `COUNTS`.
pub fn of(metric: &str) -> &'static str {
    if let Some(family) = ALL.iter().find(|family| **family == metric) {
        return family;
    }
    let last = metric.rsplit('.').next().unwrap_or(metric);
    if last == "count" {
        return COUNTS;
    }
    let starts = |prefix: &str| {
        metric
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || prefix.ends_with('_') || rest.starts_with(['.', '_']))
    };
    if let Some((_, family)) = BY_PREFIX.iter().find(|(prefix, _)| starts(prefix)) {
        return family;
    }
    match metric.strip_prefix("delivery.") {
        Some(stat) if is_percentile(stat) || ["max", "mean"].contains(&stat) => LATENCY,
        _ if last.ends_with("_per_s") => RATES,
        _ => COUNTS,
    }
}

/// Returns whether the name is that of a family, not of a metric.
pub fn is_family(name: &str) -> bool {
    ALL.contains(&name)
}

/// Returns the percentile of a metric, or the one it depends on. The mean age of information depends on
/// ordinary latencies (p50), so a doubt about tail latency does not affect it.
pub fn percentile(metric: &str) -> Option<&str> {
    if metric.ends_with("age_of_information.mean") {
        return Some("p50");
    }
    metric.rsplit('.').next().filter(|last| is_percentile(last))
}

/// Returns whether the word is the name of a percentile.
pub fn is_percentile(word: &str) -> bool {
    quantile(word).is_some()
}

/// Returns the share of values that a percentile is not exceeded by: 0.95 for `p95`, 0.999 for `p999`.
pub fn quantile(word: &str) -> Option<f64> {
    let digits = word.strip_prefix('p').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let number: f64 = match digits.len() {
        1 | 2 => digits.parse::<f64>().ok()? / 100.0,
        3..=6 => format!("0.{digits}").parse().ok()?,
        _ => return None,
    };
    (number > 0.0 && !digits.starts_with("100")).then_some(number)
}

/// Returns a metric's name with its percentile as one word: `delivery.p999` for `delivery.p99.9`.
pub fn canonical(metric: &str) -> String {
    let Some((front, fraction)) = metric.rsplit_once('.') else { return metric.to_owned() };
    let (fraction, unit) = fraction.strip_suffix("_us").map_or((fraction, ""), |digits| (digits, "_us"));
    let whole = front.rsplit('.').next().unwrap_or_default();
    let is_number = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    match is_number && whole.len() == 3 && is_percentile(whole) {
        true => format!("{front}{fraction}{unit}"),
        false => metric.to_owned(),
    }
}

/// The percentiles that a verdict judges, in order.
const JUDGED: [&str; 4] = ["p50", "p90", "p99", "p999"];

/// Returns the judged percentiles around one: a doubt of either is a doubt of it.
pub(crate) fn judged_around(word: &str) -> impl Iterator<Item = &'static str> {
    let share = quantile(word).unwrap_or_default();
    let of = |judged: &&'static str| quantile(judged).unwrap_or_default();
    let below = JUDGED.into_iter().rev().find(|judged| of(judged) <= share);
    let above = JUDGED.into_iter().find(|judged| of(judged) >= share);
    below.into_iter().chain(above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Unit, all};

    #[test]
    fn every_metric_has_the_family_of_its_kind() {
        for metric in all() {
            let family = of(&metric.name);
            assert!(is_family(family), "{}", metric.name);
            let time = metric.unit == Unit::Micros;
            if family == COUNTS {
                // Times are never exact, so a time must not be in the family of counts.
                let told = ["server.ready_us", "bayeux.hold_advised", "poll.interval_mean"];
                assert!(!time || told.contains(&metric.name.as_str()), "{}", metric.name);
            }
        }
    }

    #[test]
    fn families_by_example() {
        for (metric, family) in [
            ("delivery.p99", LATENCY),
            ("delivery.within_100ms", LATENCY),
            ("delivery.missing", COUNTS),
            ("delivery.from_sent.p50", FROM_SENT),
            ("delivery.from_sent", FROM_SENT),
            ("delivery.read_lag_stamped.p99", GENERATOR),
            ("delivery.delivered_per_s", RATES),
            ("connect.p99", CONNECT),
            ("connect.tcp.p50", CONNECT),
            ("connect.failed", COUNTS),
            ("connections.lost", COUNTS),
            ("server.rss_bytes_per_connection", MEMORY),
            ("server.cpu_us_per_delivery", CPU),
            ("published.failed", COUNTS),
        ] {
            assert_eq!(of(metric), family, "{metric}");
        }
    }

    #[test]
    fn every_prefix_is_of_a_metric() {
        let names: Vec<String> = all().into_iter().map(|metric| metric.name).collect();
        for (prefix, _) in BY_PREFIX.iter().filter(|(prefix, _)| !prefix.contains("within")) {
            assert!(names.iter().any(|name| name.starts_with(prefix)), "{prefix}");
        }
    }
}
