//! Whether this machine can hold what is asked, before anything is connected: each check says
//! what was found, what is needed, why, and the command that mends it.
//!
//! Reading ([`Machine`]) and deciding ([`examine`]) are apart, so that every decision is
//! tested on machines that are not at hand.

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

/// How a check ended, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Enough.
    Fine,
    /// Worth knowing; changes no figure.
    Note,
    /// Figures may be this machine's, not the server's.
    Doubt,
    /// The plan cannot be held: exit 4.
    Refused,
}

impl Grade {
    /// The word in files.
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
    /// How it ended.
    pub grade: Grade,
    /// What this machine has.
    pub found: String,
    /// What the plan needs.
    pub needed: String,
    /// Why it matters.
    pub why: &'static str,
    /// What mends it; absent where nothing has to be mended.
    pub fix: Option<String>,
}

/// Checks a need against a machine.
pub fn examine(need: &Need, machine: &Machine) -> Vec<Finding> {
    let mut findings = checks::all(need, machine);
    findings.extend(load::all(machine));
    findings
}

/// The largest crowd of this kind that a process on this machine can hold.
pub fn largest_crowd(need: &Need, machine: &Machine) -> u64 {
    checks::largest_crowd(need, machine)
}

/// Why a plan is refused, and what would fit; `None` if it is not.
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
