//! Computes from runs over a growing crowd which crowds were served within which latency.

use std::collections::BTreeMap;

use pushmark_chart::numbers::PAGE;
use pushmark_chart::tokens::Mark;
use pushmark_model::metrics::Metric;
use pushmark_model::run::VerdictState;
use pushmark_model::units::Nanos;

use super::super::super::case::ArmView;
use super::super::cells::{Cell, Fate, fate_of};
use super::{ATTAINMENT, LIMITS_US};

/// One transport.
pub(super) struct Curve {
    pub(super) mark: Mark,
    /// One for each of [`LIMITS_US`].
    pub(super) at: Vec<Served>,
}

/// What a transport served within a limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Served {
    /// The largest crowd with every tried crowd up to it served; `None` if even the smallest was not
    /// served.
    pub(super) kept: Option<u64>,
    /// The smallest crowd that was not served.
    pub(super) broke: Option<u64>,
    /// The way of the transport that served the crowd: `poll-5s`.
    pub(super) with: String,
    /// Why no larger crowd is known to be served.
    pub(super) end: End,
    /// The worst verdict of the largest crowd.
    pub(super) state: VerdictState,
}

/// The reason why no larger crowd is known to be served.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// A larger crowd was not served.
    Broke,
    /// All tried crowds were served.
    Tried,
    /// A larger crowd has no usable result: it was refused, or its run is invalid.
    Unknown(Fate),
}

impl End {
    pub(super) fn words(&self) -> String {
        match self {
            End::Broke => "not served in time".into(),
            End::Tried => "no larger crowd was tried".into(),
            End::Unknown(fate) => format!("the next crowd: {}", fate.name()),
        }
    }
}

/// Where one transport begins to serve more than another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Crossing {
    pub(super) who: &'static str,
    pub(super) whom: &'static str,
    /// Limits that enclose it, µs.
    pub(super) between_us: (u64, u64),
    /// The approximate crowd that both serve there.
    pub(super) crowd: u64,
}

impl Crossing {
    pub(super) fn words(&self) -> String {
        let (from, to) = self.between_us;
        let times = format!("{} and {}", PAGE.time(from as f64), PAGE.time(to as f64));
        format!("{} overtakes {} between {times}", self.who, self.whom)
    }
}

/// Results of one way of a transport: crowd → the answer for each limit, or the reason for its absence.
type Crowds = BTreeMap<u64, Result<(Vec<bool>, VerdictState), Fate>>;

/// Returns a curve for each transport among these cells, the best of its ways.
pub(super) fn curves(cells: &[&Cell<'_>], crowd: &str, line: Option<&str>) -> Vec<Curve> {
    let mut marks: BTreeMap<_, Mark> = BTreeMap::new();
    let mut ways: BTreeMap<_, BTreeMap<String, Crowds>> = BTreeMap::new();
    let way_of = |cell: &Cell<'_>| line.and_then(|axis| cell.axis(axis)).unwrap_or_default().to_owned();
    for cell in cells {
        let Some(clients) = crowd_of(cell, crowd) else { continue };
        for arm in cell.arms() {
            marks.insert(arm.transport, arm.mark);
            let crowds = ways.entry(arm.transport).or_default().entry(way_of(cell)).or_default();
            crowds.insert(clients, answers(arm));
        }
    }
    // A refused cell has no arm that names its transport, but its way does. A cell that was not run yet
    // was not tried.
    for cell in cells.iter().filter(|cell| cell.fate() == Fate::Refused) {
        let Some(clients) = crowd_of(cell, crowd) else { continue };
        for crowds in ways.values_mut().filter_map(|ways| ways.get_mut(&way_of(cell))) {
            crowds.insert(clients, Err(cell.fate()));
        }
    }
    let curve = |(transport, ways): (_, BTreeMap<String, Crowds>)| {
        let best = |limit: usize| {
            let all = ways.iter().map(|(way, crowds)| served(way, crowds, limit));
            // Of equal ways the first is used.
            all.reduce(|best, other| if other.kept > best.kept { other } else { best }).expect("a way")
        };
        Curve { mark: marks[&transport], at: (0..LIMITS_US.len()).map(best).collect() }
    };
    ways.into_iter().map(curve).collect()
}

/// Returns the clients of a cell: in a scaled suite, the clients that were run.
fn crowd_of(cell: &Cell<'_>, crowd: &str) -> Option<u64> {
    cell.axis(crowd)?;
    Some(cell.case.clients)
}

/// Whether each limit was kept by the median of the starts.
fn answers(arm: &ArmView<'_>) -> Result<(Vec<bool>, VerdictState), Fate> {
    let fate = fate_of(arm);
    match fate {
        Fate::Valid | Fate::Suspect => {}
        // A server that crashed served no client: this is a known result.
        Fate::Died => return Ok((vec![false; LIMITS_US.len()], arm.state)),
        _ => return Err(fate),
    }
    let kept = |limit_us: u64| {
        let metric = Metric::within(Nanos(limit_us * 1_000));
        let share = arm.estimate(|a| metric.value(a), false);
        share.map(|share| share.value >= ATTAINMENT)
    };
    let all: Option<Vec<bool>> = LIMITS_US.into_iter().map(kept).collect();
    all.map(|all| (all, arm.state)).ok_or(Fate::Failed)
}

/// Goes up from the smallest crowd until a crowd was not served or has no result.
fn served(way: &str, crowds: &Crowds, limit: usize) -> Served {
    let mut served =
        Served { kept: None, broke: None, with: way.to_owned(), end: End::Tried, state: VerdictState::Valid };
    for (&clients, answer) in crowds {
        match answer {
            Ok((kept, state)) if kept[limit] => {
                (served.kept, served.state) = (Some(clients), *state);
            }
            Ok(_) => {
                (served.broke, served.end) = (Some(clients), End::Broke);
                break;
            }
            Err(fate) => {
                served.end = End::Unknown(*fate);
                break;
            }
        }
    }
    served
}

/// Returns every place where one transport overtakes another.
pub(super) fn crossings(curves: &[Curve]) -> Vec<Crossing> {
    let mut found = Vec::new();
    for (i, a) in curves.iter().enumerate() {
        for b in &curves[i + 1..] {
            // The last limit at which they differed, and the transport ahead.
            let mut before: Option<(usize, bool)> = None;
            for (at, (of_a, of_b)) in a.at.iter().zip(&b.at).map(|(a, b)| (a.kept, b.kept)).enumerate() {
                if of_a == of_b {
                    continue;
                }
                let a_leads = of_a > of_b;
                if let Some((last, led)) = before
                    && led != a_leads
                {
                    let (who, whom) = if a_leads { (a, b) } else { (b, a) };
                    found.push(Crossing {
                        who: who.mark.name,
                        whom: whom.mark.name,
                        between_us: (LIMITS_US[last], LIMITS_US[at]),
                        crowd: whom.at[at].kept.or(who.at[at].kept).unwrap_or(1),
                    });
                }
                before = Some((at, a_leads));
            }
        }
    }
    found.sort_by_key(|crossing| crossing.between_us);
    found
}
