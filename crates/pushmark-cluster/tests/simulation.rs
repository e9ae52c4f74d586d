//! Agents, a bus and a coordinator in virtual time. The bus loses, doubles, delays and forgets; agents freeze and are
//! killed. Whatever a coordinator takes for complete is what the agent measured.

use pushmark_cluster::{Due, Listening, Spool};
use pushmark_model::cluster::{Piece, SpoolHead};
use pushmark_model::draw::{Draw, Purpose};

const STEP_NS: u64 = 50_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Seeds of a plain test; `PUSHMARK_TEST_LONG=1` takes a hundred times as many.
const SEEDS: u64 = 1_000;

/// What may go wrong in one history.
struct Faults {
    /// Of a hundred messages on the bus.
    lost: u64,
    doubled: u64,
    /// Longest way of a message.
    slow_ns: u64,
    /// When the bus is down.
    down: Vec<(u64, u64)>,
    /// When the agent stands still.
    frozen: Vec<(u64, u64)>,
    killed_ns: Option<u64>,
    ends_ns: u64,
}

impl Faults {
    fn draw(draw: &mut Draw, ends_ns: u64) -> Faults {
        let mut spans = |most: u64| -> Vec<(u64, u64)> {
            let span = |draw: &mut Draw| {
                let from = draw.below(ends_ns);
                (from, from + draw.below(6 * SECOND_NS))
            };
            (0..draw.below(most)).map(|_| span(draw)).collect()
        };
        let (down, frozen) = (spans(4), spans(3));
        Faults {
            lost: draw.below(40),
            doubled: draw.below(40),
            slow_ns: 1 + draw.below(2 * SECOND_NS),
            down,
            frozen,
            killed_ns: (draw.below(4) == 0).then(|| draw.below(ends_ns)),
            ends_ns,
        }
    }

    /// Whether an agent that lives must be heard in time: the bus is there once the arm is over, and answers most
    /// questions.
    fn let_through(&self) -> bool {
        let over = |spans: &[(u64, u64)]| spans.iter().all(|(_, to)| *to <= self.ends_ns + SECOND_NS);
        self.killed_ns.is_none() && self.lost < 15 && over(&self.down) && over(&self.frozen)
    }

    fn is_in(spans: &[(u64, u64)], now_ns: u64) -> bool {
        spans.iter().any(|(from, to)| (*from..*to).contains(&now_ns))
    }
}

/// How a history ended for the coordinator.
#[derive(Debug, PartialEq)]
enum Outcome {
    Complete(Vec<Vec<u8>>),
    Lost(Vec<Vec<u8>>),
}

/// Plays a history. Returns its outcome, all messages of the agent, and the faults.
fn play(seed: u64) -> (Outcome, Vec<Vec<u8>>, Faults) {
    let mut draw = Draw::new(seed, Purpose::Nonce, 17);
    let seconds = 3 + draw.below(25);
    let ends_ns = seconds * SECOND_NS;
    let faults = Faults::draw(&mut draw, ends_ns);
    let folder = tempfile::tempdir().expect("a folder");
    let head = SpoolHead { claim: "w".into(), arm: 0, agent: "a".into(), plan: None };
    let mut spool = Spool::create(folder.path(), &head).expect("a spool");
    let mut said: Vec<Vec<u8>> = Vec::new();
    let mut heard: Vec<Vec<u8>> = Vec::new();
    let mut listening = Listening::new(0, ends_ns);
    // Messages to the coordinator under way, and questions to the agent.
    let mut pieces: Vec<(u64, Piece)> = Vec::new();
    let mut asks: Vec<(u64, u64, u64)> = Vec::new();
    let mut now_ns = 0;
    loop {
        now_ns += STEP_NS;
        let is_up = !Faults::is_in(&faults.down, now_ns);
        let lives = faults.killed_ns.is_none_or(|at| now_ns < at);
        let runs = lives && !Faults::is_in(&faults.frozen, now_ns);
        let send = |draw: &mut Draw, piece: Piece, pieces: &mut Vec<(u64, Piece)>| {
            for _ in 0..1 + u64::from(draw.below(100) < faults.doubled) {
                let way_ns = draw.below(faults.slow_ns);
                if is_up && draw.below(100) >= faults.lost {
                    pieces.push((now_ns + way_ns, piece.clone()));
                }
            }
        };
        // The agent: a message a second, an empty one at the end, and what it is asked for.
        while runs && (said.len() as u64) <= seconds && now_ns >= said.len() as u64 * SECOND_NS {
            let n = said.len() as u64;
            let length = if n == seconds { 0 } else { 1 + draw.below(900) };
            let message = vec![n as u8; length as usize];
            for piece in spool.append(&message).expect("room") {
                send(&mut draw, piece, &mut pieces);
            }
            said.push(message);
        }
        let due = asks.iter().position(|(at, ..)| *at <= now_ns).filter(|_| runs);
        if let Some((_, from, to)) = due.map(|at| asks.remove(at)) {
            for number in from..to.min(spool.len()) {
                let piece = spool.piece(number).expect("readable").expect("of this number");
                send(&mut draw, piece, &mut pieces);
            }
            if is_up {
                listening.answered(now_ns, spool.len());
            }
        }
        // The coordinator.
        while let Some(at) = pieces.iter().position(|(at, _)| *at <= now_ns) {
            let (_, piece) = pieces.remove(at);
            for message in listening.take(now_ns, piece) {
                let ended = message.is_empty();
                heard.push(message);
                if ended {
                    return (Outcome::Complete(heard), said, faults);
                }
            }
        }
        while let Some(due) = listening.due(now_ns) {
            match due {
                Due::Ask { from, to } if is_up && draw.below(100) >= faults.lost => {
                    asks.push((now_ns + draw.below(faults.slow_ns), from, to));
                }
                Due::Lost(_) => return (Outcome::Lost(heard), said, faults),
                Due::Ask { .. } | Due::Silent | Due::Back => {}
            }
        }
        assert!(now_ns < 10 * ends_ns + 600 * SECOND_NS, "seed {seed}: neither complete nor lost");
    }
}

#[test]
fn what_is_complete_is_what_was_measured() {
    let many = std::env::var_os("PUSHMARK_TEST_LONG").is_some_and(|value| value == "1");
    let (mut complete, mut lost) = (0, 0);
    for seed in 0..if many { 100 * SEEDS } else { SEEDS } {
        let (outcome, said, faults) = play(seed);
        match outcome {
            Outcome::Complete(heard) => {
                assert_eq!(heard, said, "seed {seed}");
                complete += 1;
            }
            Outcome::Lost(heard) => {
                assert_eq!(heard, said[..heard.len()], "seed {seed}: what came is a beginning");
                assert!(!faults.let_through(), "seed {seed}: it lives, and its pieces get through");
                lost += 1;
            }
        }
    }
    // Both ways out were taken often.
    assert!(complete > 500 && lost > 50, "{complete} complete, {lost} lost");
}
