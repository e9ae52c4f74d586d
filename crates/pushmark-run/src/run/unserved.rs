//! A target that accepted no client: the requests to it and its answers.

use std::collections::BTreeMap;

use pushmark_model::plan::{ArmPlan, Reconnect};

use crate::gather::Gathered;

/// An arm without a client.
#[derive(Clone, Copy, Debug)]
pub struct Unserved<'a> {
    /// The plan of the arm.
    pub plan: &'a ArmPlan,
    /// Failures by kind.
    pub failed: &'a BTreeMap<String, u64>,
    /// The first of them in words.
    pub troubles: &'a [String],
}

/// The message for some arms. Templates are shown as written: their values may be secret.
pub fn nobody_came(arms: &[Unserved<'_>]) -> String {
    let mut text = String::from("no client could subscribe");
    for Unserved { plan, failed, troubles } in arms {
        let to = &plan.subscribe;
        let host = if to.host.contains(':') { format!("[{}]", to.host) } else { to.host.clone() };
        let port = to.port.map_or(", the port it was given".to_owned(), |port| format!(":{port}"));
        text.push_str(&format!("\n  {}", plan.transport));
        let over = if to.tls { " over TLS" } else { "" };
        let (method, path) = (&to.method, to.path.source());
        text.push_str(&format!("\n    sent    {method} {path} HTTP/1.1 to {host}{port}{over}"));
        for (kind, n) in *failed {
            // Clients that reconnect can fail more than once.
            let of = if *n > plan.connections { "attempts of" } else { "of" };
            text.push_str(&format!("\n    failed  {n} {of} {}: {kind}", plan.connections));
        }
        if failed.is_empty() {
            text.push_str(&format!("\n    failed  {}: not subscribed by the end", plan.connections));
        }
        if let Some(first) = troubles.first() {
            text.push_str(&format!("\n    first   {first}"));
        }
    }
    text
}

/// Whether every client has tried once, none will retry, and none was accepted: there is nothing to wait for.
pub(super) fn nobody_comes(plan: &ArmPlan, gathered: &Gathered) -> bool {
    let total = gathered.total();
    let failed: u64 = total.failed.values().sum();
    // A client that reconnects waits in vain for the same text or message.
    let in_vain = |kind: &str| total.failed.get(kind).is_some_and(|&n| n >= plan.connections);
    let unready = in_vain("timeout_ready") || in_vain("timeout_step");
    total.counts.opened == 0 && failed >= plan.connections && (plan.reconnect == Reconnect::None || unready)
}

/// Whether the target does not answer at all. A target that only refuses this transport may still be
/// measured on its others.
pub(super) fn is_down(gathered: &Gathered) -> bool {
    let down = |kind: &String| {
        matches!(&**kind, "refused" | "unreachable" | "timeout_connect" | "timeout_tls")
            || kind.starts_with("tls_")
    };
    gathered.total().failed.keys().all(down)
}
