//! Published findings judged by data, by a few rules. A rule needs several starts and a smallest effect;
//! without them nothing is claimed.

pub(crate) mod compare;
mod ending;
mod fates;
mod value;

use pushmark_report::suite::parts::{Cell, Fate, View};

use crate::expect::Judged;
use crate::questions::{AnswerBy, Question};
use crate::study::StudySuite;

/// Fewest starts of a cell for a claim: one start has no spread, two hardly any.
pub(crate) const STARTS_MIN: usize = 3;

/// What data say of a published finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Wherever it was decided, it holds.
    Holds,
    /// It holds in some cells or pairs and not in others.
    InPart,
    /// Wherever it was decided, it does not hold.
    Fails,
    /// Measured and not decided: too few starts, or an interval across the bound.
    Open,
    /// Answered: the question is ours, so there is nothing to hold.
    Seen,
    /// Not run.
    NotRun,
    /// This machine cannot show it.
    CannotBeSaid,
}

impl Verdict {
    /// Every verdict, as the front page counts them.
    pub(crate) const ALL: [Verdict; 7] = [
        Verdict::Holds,
        Verdict::InPart,
        Verdict::Fails,
        Verdict::Open,
        Verdict::Seen,
        Verdict::NotRun,
        Verdict::CannotBeSaid,
    ];

    /// Returns its words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::InPart => "holds in part",
            Verdict::Fails => "does not hold",
            Verdict::Open => "undecided",
            Verdict::Seen => "seen",
            Verdict::NotRun => "not run",
            Verdict::CannotBeSaid => "cannot be said here",
        }
    }

    /// The verdict over several cells or pairs, each judged by itself.
    fn over(all: &[Judged]) -> Verdict {
        let is = |judged| all.contains(&judged);
        match (is(Judged::Inside), is(Judged::Outside)) {
            (true, false) => Verdict::Holds,
            (true, true) => Verdict::InPart,
            (false, true) => Verdict::Fails,
            (false, false) => Verdict::Open,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// What it says of the published finding.
    pub(crate) verdict: Verdict,
    /// What was seen, in a sentence or two.
    pub(crate) words: String,
    /// The intervals that decided it: of a metric, or of a ratio; none for a count of endings.
    pub(crate) decided: Vec<(f64, f64)>,
}

impl Answer {
    fn new(verdict: Verdict, words: impl Into<String>) -> Answer {
        Answer { verdict, words: words.into(), decided: Vec::new() }
    }

    fn by(self, decided: Vec<(f64, f64)>) -> Answer {
        Answer { decided, ..self }
    }

    /// The answer to a question of a suite without kept runs.
    fn not_run() -> Answer {
        Answer::new(Verdict::NotRun, "No run of it is kept yet.")
    }
}

/// Answers a question about a suite, from the runs of the machine that has most of its cells.
pub(crate) fn of(suite: &StudySuite, question: &Question) -> Answer {
    let kept = suite.of(|cell| question.reads(cell)).or(suite.kept.first());
    kept.map_or_else(Answer::not_run, |kept| answer(&View::new(&kept.suite, &kept.runs), question))
}

/// Answers a question from runs of one machine.
pub(crate) fn answer(view: &View<'_>, question: &Question) -> Answer {
    let cells: Vec<&Cell<'_>> = view.cells.iter().filter(|cell| cell.fits(&question.only)).collect();
    let answer = match question.answer_by {
        AnswerBy::Compare => compare::answer(view, question, &cells),
        AnswerBy::Value => value::answer(view, question, &cells),
        AnswerBy::Held => fates::held(view, question, &cells),
        AnswerBy::Crashed => fates::crashed(view, question, &cells),
        AnswerBy::Ended => ending::answer(question, &cells),
    };
    let cpus = view.run().map_or(0, |run| run.environment.cpus);
    match question.needs_cpus {
        Some(needed) if cpus < needed => {
            let words =
                format!("It takes {needed} CPUs or more; this machine has {cpus}. Seen: {}", answer.words);
            Answer::new(Verdict::CannotBeSaid, words)
        }
        _ => answer,
    }
}

/// The answer where nothing was measured: refused by the machine, or not run.
fn nothing(cells: &[&Cell<'_>]) -> Answer {
    let refused = cells.iter().find_map(|cell| cell.case.refused.as_ref().filter(|_| cell.n() == 0));
    match refused {
        Some(why) if cells.iter().all(|cell| cell.fate() == Fate::Refused) => Answer::new(
            Verdict::CannotBeSaid,
            format!("This machine refuses it: {}.", why.trim_end_matches('.')),
        ),
        _ => Answer::new(Verdict::NotRun, "None of its cells was run."),
    }
}

/// The answer where cells were measured and none often enough.
fn too_few(seen: &str) -> Answer {
    Answer::new(Verdict::Open, format!("{seen} Fewer than {STARTS_MIN} starts: nothing is claimed."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_together_hold_fail_or_hold_in_part() {
        use Judged::{Inside, Open, Outside};
        assert_eq!(Verdict::over(&[Inside, Open]), Verdict::Holds);
        assert_eq!(Verdict::over(&[Inside, Outside]), Verdict::InPart);
        assert_eq!(Verdict::over(&[Outside, Open]), Verdict::Fails);
        assert_eq!(Verdict::over(&[Open]), Verdict::Open);
        assert_eq!(Verdict::over(&[]), Verdict::Open);
    }
}
