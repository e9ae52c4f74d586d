//! A flood's curve from its seconds: connections in each interval, and from when fewer connected.

use pushmark_model::run::{FloodInterval, Window};

/// An interval is short below this share of the offered connections.
const SHORT: f64 = 0.90;
/// Fewest offered connections of an interval for which a share is computed.
const OFFERED_MIN: u64 = 20;

/// The intervals up to the flood's end. `counted`: when the server counted how many, µs.
pub(crate) fn intervals(
    windows: &[Window],
    interval_us: u64,
    ended_us: u64,
    counted: &[(u64, u64)],
) -> Vec<FloodInterval> {
    let seconds = (interval_us / 1_000_000).max(1) as usize;
    let last = ended_us.div_ceil(1_000_000).max(1) as usize;
    let within = &windows[..windows.len().min(last)];
    let mut before = (0, 0);
    within
        .chunks(seconds)
        .map(|part| {
            let (first, end) = (&part[0], &part[part.len() - 1]);
            let start_us = u64::from(first.second) * 1_000_000;
            let end_us = (u64::from(end.second) + 1) * 1_000_000;
            let cpu_us: Option<u64> = part.iter().map(|w| w.server_cpu_us).sum();
            let interval = FloodInterval {
                start_us,
                length_us: end_us - start_us,
                offered: end.asked.saturating_sub(before.0),
                established: end.established.saturating_sub(before.1),
                failed: part.iter().map(|w| w.failed).sum(),
                lost: part.iter().map(|w| w.lost).sum(),
                connected: end.connected,
                served: end.served,
                counted: counted.iter().rfind(|(at, _)| (start_us..=end_us).contains(at)).map(|(_, n)| *n),
                server_cores: cpu_us.map(|us| us as f64 / (end_us - start_us) as f64),
                server_rss_bytes: part.iter().rev().find_map(|w| w.server_rss_bytes),
                server_threads: part.iter().rev().find_map(|w| w.server_threads),
            };
            before = (end.asked, end.established);
            interval
        })
        .collect()
}

/// The number of established connections when new ones began to fail permanently; `None` if they succeeded to
/// the end. Only whole intervals count.
pub(crate) fn declined_from(intervals: &[FloodInterval]) -> Option<u64> {
    let whole = intervals.first()?.length_us;
    let mut established = 0;
    let mut from = None;
    for interval in intervals.iter().filter(|i| i.length_us == whole && i.offered >= OFFERED_MIN) {
        let short = (interval.established as f64) < SHORT * interval.offered as f64;
        from = if short { from.or(Some(established)) } else { None };
        established += interval.established;
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten a second are offered; this number connects.
    fn windows(seconds: u32, comes: impl Fn(u32) -> u64) -> Vec<Window> {
        let mut established = 0;
        let of = |second| {
            established += comes(second);
            Window {
                second,
                asked: 10 * (u64::from(second) + 1),
                established,
                connected: established,
                server_cpu_us: Some(250_000),
                served: (second > 10).then_some(established - 5),
                ..Window::default()
            }
        };
        (0..seconds).map(of).collect()
    }

    #[test]
    fn connections_are_counted_by_intervals() {
        let windows = windows(35, |second| if second < 20 { 10 } else { 6 });
        let curve = intervals(&windows, 10_000_000, 33_000_000, &[(12_000_000, 118), (19_000_000, 190)]);
        let came: Vec<_> = curve.iter().map(|i| (i.offered, i.established)).collect();
        assert_eq!(came, [(100, 100), (100, 100), (100, 60), (30, 18)]);
        assert_eq!((curve[1].counted, curve[2].counted), (Some(190), None));
        assert_eq!((curve[0].served, curve[1].served), (None, Some(195)));
        assert_eq!((curve[3].length_us, curve[3].server_cores), (3_000_000, Some(0.25)));
        assert_eq!(declined_from(&curve), Some(200));
    }

    #[test]
    fn a_dent_is_no_decline() {
        let curve = intervals(
            &windows(60, |s| if (20..30).contains(&s) { 4 } else { 10 }),
            10_000_000,
            60_000_000,
            &[],
        );
        assert_eq!(declined_from(&curve), None);
        assert_eq!(declined_from(&[]), None);
    }
}
