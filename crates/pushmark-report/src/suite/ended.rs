//! The sentence about servers that ended in the middle of a case: their number and last output.

use super::cells::{Cell, Fate, View, fate_of, reason_of};
use super::panels::alike;

/// Returns `2 of 15 cases died; its server · 10000: out of memory`; nothing if no server died.
pub(crate) fn says(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    let measured = cells.iter().filter(|c| c.n() > 0).count();
    let dead = |cell: &&&Cell<'_>| cell.arms().iter().any(|a| fate_of(a) == Fate::Died);
    let died: Vec<&&Cell<'_>> = cells.iter().filter(dead).collect();
    let first = died.first()?;
    let arm = first.arms().iter().find(|a| fate_of(a) == Fate::Died)?;
    let who = first.words(view.suite, &alike(view, cells));
    let reason = reason_of(arm);
    let reason =
        if reason.is_empty() { String::new() } else { format!(": {}", reason.trim_end_matches('.')) };
    let first = if died.len() > 1 { "first " } else { "" };
    Some(format!("The server died in {} of {measured} cases, {first}{who}{reason}.", died.len()))
}
