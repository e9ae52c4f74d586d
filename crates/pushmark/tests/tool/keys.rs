//! The keys that every `run.json` must have (schema `pushmark.run/1`).

use serde_json::Value;

/// A key a line: a dot descends into a key, `[]` into every item, `?` marks a key that may be absent.
const KEYS: &str = "
schema id name started_at seed scenario plan environment phases[].name
verdict.state verdict.reasons[].code verdict.reasons[].seen verdict.reasons[].why verdict.reasons[].try
thresholds[].expression thresholds[].arm thresholds[].ok
arms[].transport arms[].target arms[].outcome arms[].verdict
arms[].connections.asked arms[].connections.opened arms[].connections.failed
arms[].connect.count arms[].connect.p50_us arms[].connect.p99_us arms[].connect.max_us
arms[].delivery.intended arms[].delivery.expected arms[].delivery.delivered arms[].delivery.missing
arms[].delivery.late arms[].delivery.superseded arms[].delivery.excused arms[].delivery.unserved
arms[].delivery.unpublished arms[].delivery.duplicate arms[].delivery.out_of_order
arms[].delivery.beyond_window arms[].delivery.foreign arms[].delivery.unstamped
arms[].delivery.age_of_information.mean_us
arms[].published.due arms[].published.sent arms[].published.failed
arms[].generator.cpu_us arms[].generator.rss_bytes_peak arms[].generator.run_queue_wait_us
arms[].wire.bytes_in arms[].wire.bytes_out
";

/// Distributions: each has the keys of a distribution.
const DISTRIBUTIONS: &str = "
arms[].delivery.latency arms[].delivery.from_sent arms[].delivery.read_lag
arms[].published.lag arms[].generator.loop_lag
";

const OF_A_DISTRIBUTION: &str = "count negative min_us p50_us p90_us max_us mean_us histogram";

/// Returns the keys of this list that a run of complete arms lacks.
pub fn lacking(run: &Value) -> Vec<String> {
    let mut keys: Vec<String> = KEYS.split_whitespace().map(str::to_owned).collect();
    for distribution in DISTRIBUTIONS.split_whitespace() {
        keys.extend(OF_A_DISTRIBUTION.split_whitespace().map(|key| format!("{distribution}.{key}")));
    }
    let mut lacking: Vec<String> = keys.into_iter().filter(|key| !has(run, key)).collect();
    for arm in super::arms(run) {
        let own: &[&str] = match arm["transport"].as_str() {
            Some("poll") => &[
                "poll.requests",
                "poll.redundant",
                "poll.skipped_states",
                "poll.overruns",
                "poll.age_at_receipt.count",
            ],
            Some("long-poll") => &[
                "long_poll.answers",
                "long_poll.timeouts",
                "long_poll.answers_per_s",
                "long_poll.hold_overshoot.count",
                "long_poll.deaf.count",
                "long_poll.missed_deaf",
                "long_poll.new_connections",
            ],
            _ => &["delivery.spread.first", "delivery.spread.median", "delivery.spread.last"],
        };
        lacking.extend(
            own.iter().filter(|key| !has(arm, key)).map(|key| format!("{}: {key}", arm["transport"])),
        );
    }
    lacking
}

fn has(value: &Value, key: &str) -> bool {
    let (step, rest) = key.split_once('.').map_or((key, None), |(step, rest)| (step, Some(rest)));
    let name = step.trim_end_matches("[]");
    let Some(inner) = value.get(name) else { return false };
    match (step.ends_with("[]"), rest) {
        (false, None) => true,
        (false, Some(rest)) => has(inner, rest),
        (true, rest) => {
            let items = inner.as_array().map(Vec::as_slice).unwrap_or_default();
            inner.is_array() && items.iter().all(|item| rest.is_none_or(|rest| has(item, rest)))
        }
    }
}

/// Checks that times are whole µs: no key that ends in `_us` has a fraction, except means.
pub fn fractions(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let path = format!("{at}/{key}");
                let mean = key.ends_with("mean_us");
                if key.ends_with("_us") && !mean && inner.is_f64() {
                    found.push(path);
                } else {
                    fractions(inner, &path, found);
                }
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                fractions(item, &format!("{at}/{n}"), found);
            }
        }
        _ => {}
    }
}
