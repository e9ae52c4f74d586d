//! The order in which the starts of two sides were made. Sets made one after the other confound drift between
//! them with the difference; no test over starts can separate the two.

use pushmark_model::compare::Design;
use pushmark_model::run::Run;

use super::Set;
use pushmark_store::Utc;

/// `None` if a time cannot be read, or a side has no run.
pub(super) fn of(a: &Set, b: &Set) -> Option<Design> {
    let sitting = |run: &Run| run.sitting.as_ref().map(|place| place.id.clone());
    let first = a.runs.first().and_then(sitting);
    if first.is_some() && a.runs.iter().chain(&b.runs).all(|run| sitting(run) == first) {
        return Some(Design::Interleaved);
    }
    let ((first_a, last_a), (first_b, last_b)) = (ends(a)?, ends(b)?);
    let apart = last_a < first_b || last_b < first_a;
    Some(if apart { Design::Apart } else { Design::Overlapping })
}

/// When the first and the last start of a side began, Unix seconds.
fn ends(set: &Set) -> Option<(u64, u64)> {
    let times: Vec<u64> =
        set.runs.iter().map(|run| Utc::unix_s_of_rfc3339(&run.started_at)).collect::<Option<_>>()?;
    Some((*times.iter().min()?, *times.iter().max()?))
}
