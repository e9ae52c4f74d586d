//! The nearest spelling of a word.

/// Returns the accepted word nearest to the written one, if it is near enough.
pub fn nearest<'w>(found: &str, accepted: impl IntoIterator<Item = &'w str>) -> Option<String> {
    let distance = |word: &&str| strsim::damerau_levenshtein(&found.to_lowercase(), &word.to_lowercase());
    let best = accepted.into_iter().min_by_key(distance)?;
    (distance(&best) <= (found.chars().count() / 3).max(1)).then(|| best.to_owned())
}
