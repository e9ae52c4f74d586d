//! The conformance suite: whether a server keeps `servers/CONTRACT.md`, clause by clause.
//!
//! A section of the contract is a file, a clause one or more cases. A case talks to the server
//! over connections of its own, draws its names and messages from the seed, cuts its requests
//! into packets, and waits for nothing longer than a few seconds.

mod bayeux;
mod chance;
mod connections;
mod control;
mod ear;
mod emitters;
mod foreign;
pub mod launch;
mod outcome;
mod polling;
mod publishing;
mod requests;
mod run;
mod session;
mod sse;
mod streams;
mod subject;
pub mod table;
mod terms;
mod trial;
mod way;
mod websocket;
mod wire;

use outcome::Outcome;
pub use run::{Options, check};
pub use subject::{FirstLine, Foreign, Instance, Launch, Row, Subject, Way};
use trial::Trial;

/// A test of one clause.
#[derive(Debug)]
pub struct Case {
    /// The clause and the case's number within it: `6.2/3`.
    pub id: &'static str,
    /// What the clause wants, in a sentence.
    pub wants: &'static str,
    with: With,
    run: fn(&mut Trial<'_>) -> Outcome,
}

/// Beside what a case may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    /// Beside others: it looks at its own channels and connections only.
    Others,
    /// By itself: it counts what the whole server does, or loads it.
    Nobody,
    /// On a server of its own, which it ends.
    OwnServer,
}

impl Case {
    /// The clause it tests.
    pub fn clause(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    /// Whether a number that a user gave means it: its own, its clause's, or its section's.
    pub fn is_meant_by(&self, number: &str) -> bool {
        let rest = self.id.strip_prefix(number);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
    }
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The clause holds.
    Pass,
    /// It does not.
    Fail {
        /// The last things that were sent, oldest first.
        sent: Vec<String>,
        /// What came, and what was wanted in its place.
        came: String,
    },
    /// The server does not offer it: why.
    NotOffered(String),
}

/// What a case found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The case.
    pub case: &'static Case,
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took.
    pub took: std::time::Duration,
}

/// What a target without a contract is asked, transport by transport.
pub fn foreign_cases() -> impl Iterator<Item = &'static Case> {
    foreign::CASES.iter()
}

/// Every case of the contract, in its order.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    [
        terms::CASES,
        control::CASES,
        connections::CASES,
        publishing::CASES,
        emitters::CASES,
        polling::CASES,
        streams::CASES,
        websocket::CASES,
        bayeux::CASES,
        requests::CASES,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_clauses_of_the_contract_and_each_stands_once() {
        let contract = include_str!("../../../../servers/CONTRACT.md");
        let mut ids: Vec<&str> = Vec::new();
        for case in cases() {
            let clause = case.clause();
            assert!(contract.contains(&format!("\n{clause} ")), "{} is no clause", case.id);
            assert!(!ids.contains(&case.id), "{} twice", case.id);
            ids.push(case.id);
        }
        assert!(ids.len() > 20);
    }

    #[test]
    fn a_number_means_a_case_a_clause_or_a_section() {
        let case = cases().find(|case| case.id == "2.1/1").unwrap();
        for (number, meant) in
            [("2", true), ("2.1", true), ("2.1/1", true), ("2.1/2", false), ("2.10", false), ("", false)]
        {
            assert_eq!(case.is_meant_by(number), meant, "{number:?}");
        }
    }
}
