//! The end of a server that did not hold, in a few words.

use pushmark_model::run::{LastWords, Outcome};

use super::case::ArmView;

/// Number of output lines that are shown.
const LINES: usize = 6;

/// Returns `ended: signal 9, out of memory`; `None` if no server of the arm ended, hung, ran out of memory
/// or published less than planned.
pub(crate) fn of(arm: &ArmView<'_>) -> Option<String> {
    let Some(words) = first(arm) else { return emitted(arm) };
    let mut text = match (words.by_itself, words.hung) {
        (true, _) => format!("ended: {}", words.how),
        (false, true) => format!("hung and was {}", words.how),
        // Its process lives, and it publishes or delivers no more.
        (false, false) if arm.outcome == Outcome::Died => "fell silent".to_owned(),
        (false, false) => "went on".to_owned(),
    };
    if words.out_of_memory {
        text.push_str(", out of memory");
    }
    Some(text)
}

/// Returns `published 13 of 30 itself` if an emitter was late or silent.
fn emitted(arm: &ArmView<'_>) -> Option<String> {
    let own = || arm.starts.iter().filter_map(|start| start.published.as_ref().filter(|p| p.emitter));
    let (due, sent) = own().fold((0, 0), |(due, sent), p| (due + p.due, sent + p.sent));
    (sent < due).then(|| format!("published {sent} of {due} itself"))
}

/// Returns the last lines of its output.
pub(crate) fn lines<'a>(arm: &ArmView<'a>) -> &'a [String] {
    first(arm).map_or(&[], |words| &words.lines[words.lines.len().saturating_sub(LINES)..])
}

fn first<'a>(arm: &ArmView<'a>) -> Option<&'a LastWords> {
    let told = |words: &&LastWords| words.by_itself || words.hung || words.out_of_memory;
    arm.starts.iter().find_map(|start| start.last_words.as_ref().filter(told))
}
