//! Rust as text: which parts are code, and where its tests begin. Not a parser, but enough for the rules.

/// The text with comments and the insides of strings blanked; line numbers do not change.
pub(super) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = skipped_len(rest);
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[skipped..];
        }
    }
    code
}

/// The opposite: comments and strings alone.
pub(super) fn words_only(text: &str) -> String {
    let code = code_only(text);
    let mut kept = code.chars();
    let word = |c: char| match kept.next() {
        Some(' ') => c,
        _ if c == '\n' => c,
        _ => ' ',
    };
    text.chars().map(word).collect()
}

/// Length of the comment, string or character at the front; 0 if it is code.
fn skipped_len(rest: &str) -> usize {
    let until =
        |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return until("*/", 2);
    }
    if rest.starts_with('"') {
        return quoted_len(rest);
    }
    if rest.starts_with("r\"") || rest.starts_with("r#") {
        let hashes = rest[1..].bytes().take_while(|&b| b == b'#').count();
        if rest[1 + hashes..].starts_with('"') {
            return until(&format!("\"{}", "#".repeat(hashes)), 2 + hashes);
        }
    }
    if let Some(character) = rest.strip_prefix('\'') {
        // A character, not a lifetime: it ends in a quote right after itself or its escape.
        if let Some(escaped) = character.strip_prefix('\\') {
            return escaped.chars().next().map_or(2, |c| until("'", 2 + c.len_utf8()));
        }
        let mut characters = character.char_indices().skip(1);
        if let Some((at, '\'')) = characters.next() {
            return at + 2;
        }
    }
    0
}

fn quoted_len(rest: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The text up to its module of tests, which is last in a file.
pub(super) fn without_tests(text: &str) -> &str {
    &text[..tests_at(text)]
}

/// The module of tests at the end; empty if the file has no tests.
pub(super) fn tests_of(text: &str) -> (usize, &str) {
    let at = tests_at(text);
    (text[..at].lines().count(), &text[at..])
}

fn tests_at(text: &str) -> usize {
    let mark = "#[cfg(test)]\n";
    let marked = text.match_indices(mark).map(|(at, _)| at);
    let mut marked = marked.filter(|&at| at == 0 || text[..at].ends_with('\n'));
    let with_body = marked.find(|at| {
        let line = text[at + mark.len()..].lines().next().unwrap_or_default();
        let module = line.strip_prefix("pub(crate) ").unwrap_or(line);
        // `mod tests;` is another file.
        module.starts_with("mod ") && module.trim_end().ends_with('{')
    });
    with_body.unwrap_or(text.len())
}

/// Lines, counted from 1, that contain the word as a whole.
pub(super) fn lines_with<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let lines = text.lines().enumerate();
    lines.filter(move |(_, line)| has_word(line, word)).map(|(at, _)| at + 1)
}

/// Whether a line contains a word with no letter, digit, `_` or `-` at either side.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(joins) && !line[at + word.len()..].starts_with(joins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_no_code() {
        for (text, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b\n */ c", "a     \n    c"),
            (r#"a("b \" c") d"#, "a(        ) d"),
            ("r#\"a \" b\"# c", "           c"),
            ("'a' 'b '\\'' x", "    'b      x"),
            ("'\"' a", "    a"),
            ("\"a\n//b\" c", "  \n     c"),
        ] {
            assert_eq!(code_only(text), code, "{text}");
        }
    }

    #[test]
    fn what_is_no_code_is_kept_by_itself() {
        assert_eq!(words_only("a \"é b\" c // d\ne"), "  \"é b\"   // d\n ");
    }

    #[test]
    fn a_module_of_tests_is_the_end_of_the_product() {
        let text = "a\n#[cfg(test)]\nmod testing;\nb\n#[cfg(test)]\nmod tests {\nc\n}\n";
        assert_eq!(without_tests(text), "a\n#[cfg(test)]\nmod testing;\nb\n");
        assert_eq!(tests_of(text).0, 4);
        assert_eq!(without_tests("a\n"), "a\n");
        assert_eq!(without_tests("a\n#[cfg(test)]\npub(crate) mod tests {\nc\n}\n"), "a\n");
    }

    #[test]
    fn words_stand_by_themselves() {
        assert!(has_word("use the builtin.", "builtin"));
        assert!(!has_word("use the builtins", "builtin"));
        assert!(!has_word("a node-ws server", "node"));
        assert_eq!(lines_with("a\nb a\nab", "a").collect::<Vec<_>>(), [1, 2]);
    }
}
