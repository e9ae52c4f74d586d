//! Arguments of chores: a few known words, and the nearest of them for one that is not.

use anyhow::bail;

/// Checks that nothing but known arguments was given.
pub(crate) fn only(given: &[String], known: &[&str]) -> anyhow::Result<()> {
    let Some(unknown) = given.iter().find(|given| !known.contains(&&given[..])) else { return Ok(()) };
    bail!("unknown argument {unknown}{}", nearest(unknown, known.iter().copied()))
}

/// Whether an argument was given.
pub(crate) fn has(given: &[String], argument: &str) -> bool {
    given.iter().any(|given| given == argument)
}

/// `: is it NAME?` if a name is near enough to be meant.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    let near = |known: &'k str| (strsim::damerau_levenshtein(word, known), known);
    match known.map(near).min() {
        Some((distance, known)) if distance <= 3 && distance < known.len() => format!(": is it {known}?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_argument_suggests_the_nearest() {
        let error = only(&["--instal".to_owned()], &["--install"]).unwrap_err().to_string();
        assert_eq!(error, "unknown argument --instal: is it --install?");
        assert!(only(&["--install".to_owned()], &["--install"]).is_ok());
    }
}
