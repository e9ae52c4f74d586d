//! The end of a server that did not hold, in a few words.

use pushmark_model::run::LastWords;

use super::case::ArmView;

/// Lines of its output that are shown.
const LINES: usize = 6;

/// `ended: signal 9, out of memory`; `None` where no server of the arm ended, hung or wanted for
/// memory.
pub(crate) fn of(arm: &ArmView<'_>) -> Option<String> {
    let words = first(arm)?;
    let mut text = match (words.by_itself, words.hung) {
        (true, _) => format!("ended: {}", words.how),
        (false, true) => format!("hung, and was {}", words.how),
        (false, false) => "went on".to_owned(),
    };
    if words.out_of_memory {
        text.push_str(", out of memory");
    }
    Some(text)
}

/// The last it wrote.
pub(crate) fn lines<'a>(arm: &ArmView<'a>) -> &'a [String] {
    first(arm).map_or(&[], |words| &words.lines[words.lines.len().saturating_sub(LINES)..])
}

fn first<'a>(arm: &ArmView<'a>) -> Option<&'a LastWords> {
    let told = |words: &&LastWords| words.by_itself || words.hung || words.out_of_memory;
    arm.starts.iter().find_map(|start| start.last_words.as_ref().filter(told))
}
