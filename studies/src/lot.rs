//! Findings drawn by lot, to be measured again in another sitting: `studies/lot.toml`. Of each finding one cell
//! that decides it is drawn too, or one pair of cells, so that ten findings take an hour and not a night.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use pushmark_model::draw::{Draw, Purpose};
use pushmark_report::suite::parts::{Cell, View};
use serde::{Deserialize, Serialize};

use crate::answers::{self, STARTS_MIN, Verdict, compare};
use crate::questions::{AnswerBy, Question};
use crate::study::{self, StudySuite};

/// The file, from the root of the tree.
pub const LOT: &str = "studies/lot.toml";

/// The number of findings of a lot.
const FINDINGS: usize = 10;

/// What was drawn.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lot {
    /// The seed of the draw.
    pub(crate) seed: u64,
    /// The findings, in the order of the front page.
    #[serde(default)]
    pub(crate) drawn: Vec<Finding>,
}

/// A finding of a lot.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    /// Its suite.
    pub(crate) suite: String,
    /// Its question.
    pub(crate) ask: String,
    /// The cases that are measured again.
    pub(crate) cases: Vec<String>,
}

impl Lot {
    /// Reads the lot of the tree; an empty one if none was drawn.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Lot> {
        let path = root.join(LOT);
        if !path.is_file() {
            return Ok(Lot::default());
        }
        toml::from_str(&fs::read_to_string(&path)?).with_context(|| LOT)
    }
}

/// Draws ten findings that hold or do not, and returns the text of `studies/lot.toml`.
///
/// # Errors
/// Fails if the suites, their questions or their kept runs cannot be read.
pub fn draw(root: &Path, seed: u64) -> anyhow::Result<String> {
    let studies = study::read(root)?;
    let mut decided: Vec<Decided<'_>> = studies.values().flatten().flat_map(decided).collect();
    let mut draw = Draw::new(seed, Purpose::CaseOrder, 0);
    let count = u32::try_from(decided.len()).context("more findings than fit")?;
    let chosen = draw.choose(FINDINGS as u32, count);
    let drawn = chosen.into_iter().map(|n| {
        let Decided { suite, question, units } = &mut decided[n as usize];
        let unit = units.swap_remove(draw.below(units.len() as u64) as usize);
        Finding { suite: suite.name.clone(), ask: question.ask.clone(), cases: unit }
    });
    let lot = Lot { seed, drawn: drawn.collect() };
    let head = "# Ten findings drawn by lot, and the cases of each that are measured again in another sitting. Drawn by\n\
                # `cargo xtask record --draw SEED`, measured by `cargo xtask record --again`.\n\n";
    Ok(head.to_owned() + &toml::to_string(&lot)?)
}

/// A finding that holds or does not, and the cells or pairs that decide it.
struct Decided<'s> {
    suite: &'s StudySuite,
    question: &'s Question,
    units: Vec<Vec<String>>,
}

fn decided(suite: &StudySuite) -> Vec<Decided<'_>> {
    let published = suite.questions.questions.iter().filter(|question| question.published.is_some());
    let decided = published.filter_map(|question| {
        let sure = matches!(answers::of(suite, question).verdict, Verdict::Holds | Verdict::Fails);
        let units = if sure { units(suite, question) } else { Vec::new() };
        (!units.is_empty()).then_some(Decided { suite, question, units })
    });
    decided.collect()
}

/// The case ids of each cell or pair that has starts enough to decide the question.
fn units(suite: &StudySuite, question: &Question) -> Vec<Vec<String>> {
    let Some(kept) = suite.of(|cell| question.reads(cell)) else { return Vec::new() };
    let view = View::new(&kept.suite, &kept.runs);
    let cells: Vec<&Cell<'_>> =
        view.cells.iter().filter(|cell| question.reads(cell) && cell.n() >= STARTS_MIN).collect();
    let id = |cell: &Cell<'_>| cell.case.id.clone();
    match question.answer_by {
        AnswerBy::Compare => {
            compare::pairs(&view, question, &cells).into_iter().map(|(a, b)| vec![id(a), id(b)]).collect()
        }
        AnswerBy::Ended if cells.is_empty() => Vec::new(),
        AnswerBy::Ended => vec![cells.into_iter().map(id).collect()],
        AnswerBy::Value | AnswerBy::Held | AnswerBy::Crashed => {
            cells.into_iter().map(|cell| vec![id(cell)]).collect()
        }
    }
}
