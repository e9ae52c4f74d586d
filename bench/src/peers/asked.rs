//! What is asked in which order: two sets of questions, a short one and the whole.

use pushmark_model::transport::Transport;

use super::cell::Cell;
use super::rows::Question;

/// The fan-outs whose ratios are to be reached: clients, and deliveries a second. A client hears ten
/// messages a second in the first and two in the other.
pub(super) const MAIN: [(u64, u64); 2] = [(1_000, 10_000), (5_000, 10_000)];
/// The hard one.
const HIGH: (u64, u64) = (5_000, 50_000);
/// Between two events of a crowd that is held idle.
const IDLE_INTERVAL_US: u64 = 10_000_000;
/// So that one such event is in the window.
const IDLE_SECONDS: u64 = 10;
/// Deliveries a second to a thousand clients, step by step.
pub(super) const LADDER: [u64; 6] = [10_000, 20_000, 30_000, 50_000, 75_000, 100_000];
const LADDER_CLIENTS: u64 = 1_000;
/// Rounds of events, for which no ratio is required: the fewest that give an interval.
const SSE_ROUNDS_MAX: usize = 6;

/// A question, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) question: Question,
    /// One; of a ceiling all, in rising order.
    pub(super) cells: Vec<Cell>,
    pub(super) rounds: usize,
}

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Everything, or what fits a quarter of an hour.
    pub(super) full: bool,
    /// Of the main fan-out.
    pub(super) rounds: usize,
    /// Of a fan-out's window.
    pub(super) seconds: u64,
}

/// Fan-out first, since it is what most ask.
pub(super) fn all(size: Size) -> Vec<Asked> {
    use Transport::{LongPoll, Sse, WebSocket};
    let fan_out = |transport, (clients, rate): (u64, u64), seconds| Cell {
        transport,
        clients,
        interval_us: 1_000_000 * clients / rate,
        seconds,
    };
    let mut asked = Vec::new();
    let main = [
        (WebSocket, MAIN[1], usize::MAX),
        (WebSocket, MAIN[0], usize::MAX),
        (LongPoll, MAIN[0], usize::MAX),
        (Sse, MAIN[1], SSE_ROUNDS_MAX),
        (Sse, MAIN[0], SSE_ROUNDS_MAX),
    ];
    for (transport, size_of, rounds_max) in main {
        let cells = vec![fan_out(transport, size_of, size.seconds)];
        asked.push(Asked { question: Question::FanOut, cells, rounds: size.rounds.min(rounds_max) });
    }
    for transport in if size.full { vec![WebSocket, Sse] } else { vec![WebSocket] } {
        let cells = vec![fan_out(transport, HIGH, size.seconds)];
        asked.push(Asked { question: Question::FanOut, cells, rounds: 1 });
        for clients in if size.full { vec![1_000, 5_000, 10_000] } else { vec![1_000, 5_000] } {
            let cell = Cell { transport, clients, interval_us: IDLE_INTERVAL_US, seconds: IDLE_SECONDS };
            asked.push(Asked { question: Question::Idle, cells: vec![cell], rounds: 1 });
        }
    }
    if size.full {
        for transport in [WebSocket, Sse, LongPoll] {
            let steps = LADDER.map(|rate| fan_out(transport, (LADDER_CLIENTS, rate), size.seconds));
            asked.push(Asked { question: Question::Ceiling, cells: steps.into(), rounds: 1 });
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_questions_are_asked_of_all_three_transports_where_they_mean_something() {
        let asked = all(Size { full: true, rounds: 10, seconds: 5 });
        let count = |question| asked.iter().filter(|a| a.question == question).count();
        assert_eq!((count(Question::FanOut), count(Question::Idle), count(Question::Ceiling)), (7, 6, 3));
        let main = |n: usize| {
            let cell = &asked[n].cells[0];
            (cell.clients, cell.rate(), cell.interval_us, asked[n].rounds)
        };
        assert_eq!(main(0), (5_000, 10_000.0, 500_000, 10));
        assert_eq!(main(1), (1_000, 10_000.0, 100_000, 10));
        assert!(all(Size { full: false, rounds: 2, seconds: 5 }).len() < asked.len());
    }
}
