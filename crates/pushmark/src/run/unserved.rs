//! A target that let nobody in: what was sent to it, and what came back.

use std::collections::BTreeMap;

use pushmark_model::plan::ArmPlan;

/// An arm without a client.
#[derive(Clone, Copy, Debug)]
pub struct Unserved<'a> {
    /// What was asked.
    pub plan: &'a ArmPlan,
    /// Failures by kind.
    pub failed: &'a BTreeMap<String, u64>,
    /// The first of them in words.
    pub troubles: &'a [String],
}

/// Says it of some arms. Templates are shown as written: what fills them may be secret.
pub fn nobody_came(arms: &[Unserved<'_>]) -> String {
    let mut text = String::from("no client could subscribe");
    for Unserved { plan, failed, troubles } in arms {
        let to = &plan.subscribe;
        let host = if to.host.contains(':') { format!("[{}]", to.host) } else { to.host.clone() };
        let port = to.port.map_or("{port}".to_owned(), |port| port.to_string());
        text.push_str(&format!("\n  {}", plan.transport));
        let over = if to.tls { " over TLS" } else { "" };
        text.push_str(&format!("\n    sent    GET {} HTTP/1.1 to {host}:{port}{over}", to.path.source()));
        for (kind, n) in *failed {
            text.push_str(&format!("\n    failed  {n} of {}: {kind}", plan.connections));
        }
        if failed.is_empty() {
            text.push_str(&format!("\n    failed  {}: no answer", plan.connections));
        }
        if let Some(first) = troubles.first() {
            text.push_str(&format!("\n    first   {first}"));
        }
    }
    text
}
