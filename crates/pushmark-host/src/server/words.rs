//! Variables in the commands of `servers.toml`: `{port}` within an argument, `{jvm}` as a whole argument.

/// Variables that every command has.
pub(super) const COMMON: [&str; 3] = ["pushmark", "port", "log"];

/// The argument that the `[jvm]` arguments replace.
pub(super) const JVM: &str = "{jvm}";

/// The names between braces in an argument. A brace that does not open a name is literal.
pub(super) fn names(word: &str) -> Vec<&str> {
    pieces(word).filter_map(Result::err).collect()
}

/// An argument with its variables filled in; a name that `value` does not know stays unchanged.
pub(super) fn fill(word: &str, value: impl Fn(&str) -> Option<String>) -> String {
    pieces(word)
        .map(|piece| match piece {
            Ok(text) => text.to_owned(),
            Err(name) => value(name).unwrap_or_else(|| format!("{{{name}}}")),
        })
        .collect()
}

/// The `[jvm]` arguments in their place.
pub(super) fn splice(command: &[String], jvm: &[String]) -> Vec<String> {
    let mut words = Vec::with_capacity(command.len() + jvm.len());
    for word in command {
        if word == JVM {
            words.extend_from_slice(jvm);
        } else {
            words.push(word.clone());
        }
    }
    words
}

/// Literal text and names between braces, in order.
fn pieces(word: &str) -> impl Iterator<Item = Result<&str, &str>> {
    let mut rest = word;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(name) = name_at(rest) {
            rest = &rest[name.len() + 2..];
            return Some(Err(name));
        }
        let next = rest.char_indices().skip(1).map(|(at, _)| at).find(|&at| name_at(&rest[at..]).is_some());
        let (text, after) = rest.split_at(next.unwrap_or(rest.len()));
        rest = after;
        Some(Ok(text))
    })
}

/// The name in a text that begins with `{name}`.
fn name_at(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.split_once('}')?.0;
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    (!name.is_empty() && name.chars().all(of_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_other_braces_stay() {
        let value = |name: &str| (name == "port" || name == "jdk-17").then(|| format!("<{name}>"));
        for (word, filled) in [
            ("--port={port}", "--port=<port>"),
            ("{jdk-17}/bin/java", "<jdk-17>/bin/java"),
            ("{port}{port}", "<port><port>"),
            ("{other} é {", "{other} é {"),
            ("{\"a\":{port}}", "{\"a\":<port>}"),
            ("", ""),
        ] {
            assert_eq!(fill(word, value), filled);
        }
        assert_eq!(names("{a}-{b-1}{C}{}"), ["a", "b-1"]);
    }

    #[test]
    fn the_jvm_arguments_stand_where_the_row_says() {
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let spliced = splice(&words(&["java", "{jvm}", "Main"]), &words(&["-Xmx{heap}", "-Xss1m"]));
        assert_eq!(spliced, ["java", "-Xmx{heap}", "-Xss1m", "Main"]);
    }
}
