//! Who is measured: our floor and our driver, then the tools.

use pushmark_model::poller::Poller;
use pushmark_model::transport::Transport;

use super::cell::{Cell, OURS_PER_S, Seen};
use super::rows::Question;
use super::tool::{TOOLS, Tool};
use crate::receive::Receiver;
use crate::run::Common;

/// Whose cost all others are divided by.
pub(super) const PUSHMARK: &str = "pushmark";
/// The same with `--batch`.
pub(super) const BATCHED: &str = "pushmark --batch 1ms";

/// One that does the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Contestant {
    Ours(Ours),
    Tool(&'static Tool),
}

/// A receiver of our own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ours {
    name: &'static str,
    pub(super) receiver: Receiver,
    /// How long arrivals gather.
    pub(super) batch_ns: u64,
    pub(super) poller: Poller,
}

impl Ours {
    /// As `pushmark run` has it.
    const PLAIN: Ours =
        Ours { name: PUSHMARK, receiver: Receiver::Driver, batch_ns: 0, poller: Poller::Epoll };
}

/// In the order of the tables.
pub(super) fn all() -> Vec<Contestant> {
    let ours = [
        Ours { name: "floor", receiver: Receiver::Floor, ..Ours::PLAIN },
        Ours::PLAIN,
        Ours { name: BATCHED, batch_ns: 1_000_000, ..Ours::PLAIN },
        Ours { name: "pushmark --poller io_uring", poller: Poller::IoUring, ..Ours::PLAIN },
    ];
    ours.into_iter().map(Contestant::Ours).chain(TOOLS.iter().map(Contestant::Tool)).collect()
}

impl Contestant {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Contestant::Ours(ours) => ours.name,
            Contestant::Tool(tool) => tool.name,
        }
    }

    /// As tables name it.
    pub(super) fn title(&self) -> String {
        match self {
            Contestant::Ours(ours) => ours.name.to_owned(),
            Contestant::Tool(tool) => format!("{} {}", tool.name, tool.version),
        }
    }

    /// Clients that it is asked to connect in a second.
    pub(super) fn asks(&self) -> String {
        match self {
            Contestant::Ours(..) => format!("{OURS_PER_S}"),
            Contestant::Tool(tool) if tool.asks_per_s == u64::MAX => "all at once".to_owned(),
            Contestant::Tool(tool) => tool.asks_per_s.to_string(),
        }
    }

    /// Why it cannot be asked that.
    pub(super) fn lacks(&self, question: Question, transport: Transport) -> Option<&'static str> {
        match self {
            Contestant::Ours(ours) if ours.name == PUSHMARK => None,
            Contestant::Ours(_) if question != Question::FanOut => {
                Some("it is there for the cost of a delivery")
            }
            Contestant::Ours(Ours { receiver: Receiver::Floor, .. }) if !transport.is_push() => {
                Some("it keeps no conversation, so it cannot ask again")
            }
            Contestant::Ours(_) => None,
            Contestant::Tool(tool) => tool.lacks(transport),
        }
    }

    /// `patience` multiplies a tool's time to connect.
    pub(super) fn measure(&self, cell: Cell, common: &Common, patience: u64) -> anyhow::Result<Seen> {
        match self {
            Contestant::Ours(ours) => cell.of_ours(ours, common),
            Contestant::Tool(tool) => cell.of_tool(tool, common, patience),
        }
    }
}
