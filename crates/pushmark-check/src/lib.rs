//! The conformance suite: checks that a server keeps `servers/CONTRACT.md`, clause by clause.
//!
//! Each section of the contract has a file, each clause one or more cases. A case talks to the server over
//! its own connections, draws its names and messages from the seed, cuts its requests into packets, and
//! limits every wait to a few seconds.

#![forbid(unsafe_code)]

mod bayeux;
mod before;
mod chance;
mod connections;
mod control;
pub mod conversation;
mod emitters;
mod endpoint;
mod foreign;
mod journal;
pub mod launch;
mod listener;
mod outcome;
mod patience;
mod polling;
mod publisher;
mod publishing;
mod requests;
mod run;
mod session;
mod sse;
mod steps;
mod streams;
mod subject;
mod subscriber;
pub mod table;
mod talk;
mod target;
mod terms;
mod trial;
mod websocket;
mod wire;

use outcome::Outcome;
pub use run::{Options, check};
pub use subject::{Endpoint, FirstLine, Foreign, Instance, Launch, Row, Subject};
use trial::Trial;

/// A test of one clause.
#[derive(Debug)]
pub struct Case {
    /// The clause and the case's number within it: `6.2/3`.
    pub id: &'static str,
    /// The requirement of the clause, in one sentence.
    pub wants: &'static str,
    with: With,
    run: fn(&mut Trial<'_>) -> Outcome,
}

/// Which cases may run at the same time as a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    /// At the same time as other cases: it uses only its own channels and connections.
    Others,
    /// Alone: it checks counters of the whole server, or loads the server.
    Nobody,
    /// On a separate server, which the case ends.
    OwnServer,
}

impl Case {
    /// The clause it tests.
    pub fn clause(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    /// Whether a number from the user selects this case: the number of the case, its clause or its section.
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
    /// The clause does not hold.
    Fail {
        /// The last requests, oldest first.
        sent: Vec<String>,
        /// The received and the expected value.
        came: String,
    },
    /// The server does not offer it, with the reason.
    NotOffered(String),
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The case.
    pub case: &'static Case,
    /// How it ended.
    pub verdict: Verdict,
    /// How long it took.
    pub took: std::time::Duration,
}

/// The cases for a target without a contract, transport by transport.
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
        let contract = include_str!("../../../servers/CONTRACT.md");
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
