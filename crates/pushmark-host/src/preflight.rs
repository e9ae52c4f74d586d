//! Checks before a run that this machine can hold the plan. Each check reports what was found, what is
//! needed, why, and the command that fixes it.
//!
//! Reading ([`Machine`]) and deciding ([`examine`]) are separate, so that tests can examine machines that
//! do not exist.

mod cgroup;
mod checks;
mod load;
mod machine;
mod need;
pub mod precision;
mod sources;

pub use machine::Machine;
pub use need::Need;
pub use sources::sources_for;

/// The outcome of a check, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Enough.
    Fine,
    /// For information; changes no figure.
    Note,
    /// Figures may describe this machine instead of the server.
    Doubt,
    /// The plan cannot be held: exit 4.
    Refused,
}

impl Grade {
    /// Returns the word in files.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Fine => "fine",
            Grade::Note => "note",
            Grade::Doubt => "doubt",
            Grade::Refused => "refused",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name: `open_files`, `ports`, ….
    pub code: &'static str,
    /// Its outcome.
    pub grade: Grade,
    /// The value on this machine.
    pub found: String,
    /// The value that the plan needs.
    pub needed: String,
    /// Why it matters.
    pub why: &'static str,
    /// The fix; absent if none is needed.
    pub fix: Option<String>,
}

/// Checks the needs of a plan against a machine.
pub fn examine(need: &Need, machine: &Machine) -> Vec<Finding> {
    let mut findings = checks::all(need, machine);
    findings.extend(load::all(machine));
    findings
}

/// Returns the largest crowd of this kind that a process on this machine can hold.
pub fn largest_crowd(need: &Need, machine: &Machine) -> u64 {
    checks::largest_crowd(need, machine)
}

/// Returns why a plan is refused and what would fit, or `None` if it is not refused.
pub fn refusal(findings: &[Finding], need: &Need, machine: &Machine) -> Option<String> {
    let refused: Vec<&Finding> = findings.iter().filter(|f| f.grade == Grade::Refused).collect();
    if refused.is_empty() {
        return None;
    }
    let mut text = String::from("this machine cannot hold the plan\n");
    for finding in refused {
        text.push_str(&format!("  {}\n", finding.code));
        for (word, said) in [("found ", &finding.found), ("needed", &finding.needed)] {
            text.push_str(&format!("    {word}  {said}\n"));
        }
        text.push_str(&format!("    why     {}\n", finding.why));
        if let Some(fix) = &finding.fix {
            text.push_str(&format!("    try     {fix}\n"));
        }
    }
    let fits = largest_crowd(need, machine);
    if (1..need.connections).contains(&fits) {
        text.push_str(&format!("this machine holds up to {fits} connections: -c {fits}\n"));
    }
    Some(text)
}

#[cfg(test)]
#[path = "preflight/tests.rs"]
mod tests;
