//! Who is measured: our floor and our driver, then the tools.

use pushmark_model::transport::Transport;

use super::cell::{Cell, OURS_PER_S, Seen};
use super::rows::Question;
use super::tool::{TOOLS, Tool};
use crate::receive::Receiver;
use crate::run::Common;

/// Whose cost all others are divided by.
pub(super) const PUSHMARK: &str = "pushmark";

/// One that does the work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Contestant {
    /// Name, who it is, how long arrivals gather.
    Ours(&'static str, Receiver, u64),
    Tool(&'static Tool),
}

/// In the order of the tables.
pub(super) fn all() -> Vec<Contestant> {
    let ours = [
        Contestant::Ours("floor", Receiver::Floor, 0),
        Contestant::Ours(PUSHMARK, Receiver::Driver, 0),
        Contestant::Ours("pushmark --batch 1ms", Receiver::Driver, 1_000_000),
    ];
    ours.into_iter().chain(TOOLS.iter().map(Contestant::Tool)).collect()
}

impl Contestant {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Contestant::Ours(name, ..) => name,
            Contestant::Tool(tool) => tool.name,
        }
    }

    /// As tables name it.
    pub(super) fn title(&self) -> String {
        match self {
            Contestant::Ours(name, ..) => (*name).to_owned(),
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
            Contestant::Ours(PUSHMARK, ..) => None,
            Contestant::Ours(..) if question != Question::FanOut => {
                Some("it is there for the cost of a delivery")
            }
            Contestant::Ours(_, Receiver::Floor, _) if !transport.is_push() => {
                Some("it keeps no conversation, so it cannot ask again")
            }
            Contestant::Ours(..) => None,
            Contestant::Tool(tool) => tool.lacks(transport),
        }
    }

    /// With `patience` a tool has so many times as long to connect.
    pub(super) fn measure(&self, cell: Cell, common: &Common, patience: u64) -> anyhow::Result<Seen> {
        match self {
            Contestant::Ours(_, receiver, batch_ns) => cell.of_ours(*receiver, *batch_ns, common),
            Contestant::Tool(tool) => cell.of_tool(tool, common, patience),
        }
    }
}
