//! A distribution of latencies as results show it.

use serde::{Deserialize, Serialize};

/// A latency distribution. Percentiles are over `expected` if deliveries can be missing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Values recorded.
    pub count: u64,
    /// Of them, values below 0 (reported, never clamped).
    pub negative: u64,
    /// Of them, values above one hour (recorded as one hour).
    pub over_1h: u64,
    /// Smallest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_us: Option<i64>,
    /// Median.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_us: Option<i64>,
    /// 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p90_us: Option<i64>,
    /// 99th percentile; needs ≥ 100 publications.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us: Option<i64>,
    /// 99.9th percentile; needs ≥ 1,000 publications.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p999_us: Option<i64>,
    /// Lower bound of the median, which falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_at_least_us: Option<i64>,
    /// Lower bound of the 90th percentile, which falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p90_at_least_us: Option<i64>,
    /// Lower bound of the 99th percentile, which falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_at_least_us: Option<i64>,
    /// Lower bound of the 99.9th percentile, which falls among the missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p999_at_least_us: Option<i64>,
    /// Largest recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_us: Option<i64>,
    /// Mean of the recorded values, from the buckets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_us: Option<f64>,
    /// The same percentiles over received deliveries only; present if some are missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivered_only: Option<Box<Latency>>,
    /// Values ≥ 0: base64 of a compressed HdrHistogram V2, µs. Empty if there are no such values.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub histogram: String,
    /// Magnitudes of values < 0, in the same format.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub histogram_negative: String,
}
