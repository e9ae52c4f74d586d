//! What the readings of an arm tell of its server and of the machine under it.

use pushmark_host::monitor::figures::{self, CrowdPoint};
use pushmark_model::monitor::ServerSeen;
use pushmark_model::run::Arm;

use crate::marks::Marks;

/// Makes figures of the readings of one machine.
pub(crate) fn seen(marks: &Marks) -> ServerSeen {
    let window = marks.measure.as_ref().zip(marks.measured.as_ref());
    let mut seen = ServerSeen::default();
    if let Some((start, end)) = marks.start.as_ref().zip(marks.end.as_ref()) {
        seen.retransmits = Some(figures::tcp_trouble(start, end).0);
        seen.listen_overflows = marks.ramped.as_ref().map(|ramped| figures::tcp_trouble(start, ramped).1);
        seen.time_wait_per_s = Some(figures::time_wait_per_s(start, end));
    }
    seen.listener_drops =
        marks.dropped.0.as_ref().zip(marks.dropped.1.as_ref()).map(|(from, to)| to.since(from));
    let mut crowd = marks.crowd.clone();
    if let Some(start) = &marks.start
        && let Some(server) = start.sample.server
    {
        let empty = CrowdPoint {
            connections: 0,
            server_rss_bytes: server.rss_bytes,
            kernel_memory_bytes: start.sample.kernel_memory_bytes,
        };
        crowd.insert(0, empty);
    }
    seen.server = window.and_then(|(from, to)| figures::server(from, to, &crowd));
    if let Some(server) = &mut seen.server {
        let full = marks.end.as_ref().and_then(|end| end.server_pss_bytes);
        server.pss_bytes_full = full.or(server.pss_bytes_full);
    }
    seen.softirq_us = window.map(|(from, to)| figures::softirq_us(from, to));
    let kernel = marks.start.as_ref().zip(marks.measure.as_ref());
    seen.kernel_memory_bytes =
        kernel.map(|(a, b)| b.sample.kernel_memory_bytes.saturating_sub(a.sample.kernel_memory_bytes));
    seen
}

/// Puts what was seen of the server into the figures of its arm.
pub(crate) fn put(arm: &mut Arm, seen: ServerSeen) {
    arm.server = seen.server;
    arm.softirq_us = seen.softirq_us;
    arm.kernel_memory_bytes = seen.kernel_memory_bytes;
    arm.wire.retransmits = seen.retransmits;
    arm.wire.listen_overflows = seen.listen_overflows;
    arm.wire.listener_drops = seen.listener_drops;
    arm.wire.time_wait_per_s = seen.time_wait_per_s;
}
