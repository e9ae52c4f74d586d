//! The subject of a check: its address, what it claims to offer, and how to start another one like it.

use std::net::SocketAddr;
use std::time::Duration;

pub use super::endpoint::Endpoint;
pub use super::target::Foreign;

/// The clauses of each transport (CONTRACT 6).
const TRANSPORTS: [(&str, &str); 8] = [
    ("6.1", "poll"),
    ("6.2", "long-poll"),
    ("6.3", "long-poll"),
    ("6.4", "stream"),
    ("6.5", "sse"),
    ("6.6", "websocket"),
    ("6.7", "bayeux"),
    ("6.7", "bayeux-websocket"),
];

/// A server that should keep the contract.
pub struct Subject {
    /// Its name, for people.
    pub name: String,
    /// The address it listens on; without a contract, that of the first of its transports.
    pub endpoint: Endpoint,
    /// Names of the transports it offers.
    pub transports: Vec<String>,
    /// Clauses that its row lists as lacking (CONTRACT 8.2).
    pub lacks: Vec<String>,
    /// The values from its row, if it has one.
    pub row: Option<Row>,
    /// Starts more of its kind; absent: it runs already, and is left running.
    pub launch: Option<Box<dyn Launch>>,
    /// How a target without the contract is reached.
    pub foreign: Option<Foreign>,
}

/// The values of a row of `servers.toml` that `/stats` must agree with (CONTRACT 8.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The clock of its instants.
    pub clock: String,
    /// The grain of that clock, µs.
    pub grain_us: u64,
    /// `absolute` or `self`; absent: it has no emitters.
    pub emitter: Option<String>,
    /// It sets `TCP_NODELAY`.
    pub nodelay: bool,
}

/// Starts servers of one kind.
pub trait Launch: Send + Sync {
    /// Starts a fresh server and waits until it is ready.
    ///
    /// # Errors
    /// Fails if it does not start.
    fn launch(&self) -> anyhow::Result<Box<dyn Instance>>;

    /// Returns the first line that a server writes to stdout when `--port 0` lets the system choose.
    ///
    /// # Errors
    /// Fails if it does not start, or writes nothing in time.
    fn first_line(&self) -> anyhow::Result<FirstLine>;
}

/// A server that reports its address.
pub struct FirstLine {
    /// The line.
    pub line: String,
    /// The server; it ends with this value.
    pub running: Box<dyn Send>,
}

/// A server that was started for one case. It ends with this value.
pub trait Instance: Send {
    /// The address it listens on.
    fn address(&self) -> SocketAddr;
    /// Sends SIGTERM.
    fn terminate(&mut self);
    /// Waits for its end: `exit 0`, `signal 9`; `None` if it still runs after this time.
    fn ended(&mut self, within: Duration) -> Option<String>;
    /// The last lines it wrote.
    fn log(&self) -> String;
}

impl Subject {
    /// Why a clause is not offered; `None` if it is offered.
    pub(super) fn lacks(&self, clause: &str) -> Option<String> {
        let within = |lacking: &&String| {
            clause.strip_prefix(lacking.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some(lacking) = self.lacks.iter().find(within) {
            return Some(format!("it lacks {lacking}"));
        }
        let mut names = TRANSPORTS.iter().filter(|(of, _)| *of == clause).map(|(_, name)| *name).peekable();
        let first = *names.peek()?;
        match names.any(|name| self.speaks(name)) {
            true => None,
            false => Some(format!("it has no {first}")),
        }
    }

    /// Connects to it once, to check that it is reachable.
    ///
    /// # Errors
    /// Fails with the reason if nothing listens or TLS cannot be set up.
    pub fn try_out(&self) -> anyhow::Result<()> {
        match &self.foreign {
            None => self.endpoint.try_out(),
            Some(foreign) => foreign.try_out(),
        }
    }

    /// Whether it offers a transport, by name.
    pub(super) fn speaks(&self, transport: &str) -> bool {
        self.transports.iter().any(|name| name == transport)
            && TRANSPORTS
                .iter()
                .filter(|(_, name)| *name == transport)
                .all(|(clause, _)| !self.lacks.iter().any(|l| l == clause || l == "6"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_row_lacks_is_not_offered() {
        let subject = Subject {
            name: "x".into(),
            endpoint: SocketAddr::from(([127, 0, 0, 1], 1)).into(),
            transports: vec!["sse".into(), "long-poll".into()],
            lacks: vec!["5".into(), "2.4".into()],
            row: None,
            launch: None,
            foreign: None,
        };
        for (clause, lacking) in [
            ("2.1", false),
            ("2.4", true),
            ("5.2", true),
            ("6.2", false),
            ("6.3", false),
            ("6.4", true),
            ("6.5", false),
            ("6.7", true),
        ] {
            assert_eq!(subject.lacks(clause).is_some(), lacking, "{clause}");
        }
        assert!(subject.speaks("sse") && !subject.speaks("stream"));
    }
}
