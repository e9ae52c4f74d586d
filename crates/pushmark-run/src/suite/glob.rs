//! Names with wildcards: `*` matches any text, `?` one character.

/// A pattern.
#[derive(Clone, Copy, Debug)]
pub struct Glob<'g>(&'g str);

impl<'g> Glob<'g> {
    /// Any text is a pattern.
    pub fn new(text: &'g str) -> Glob<'g> {
        Glob(text)
    }

    /// As written.
    pub fn text(&self) -> &'g str {
        self.0
    }

    /// Whether a whole name matches.
    pub fn matches(&self, name: &str) -> bool {
        matches(self.0.as_bytes(), name.as_bytes())
    }
}

/// Backtracks only to the last `*`: the match of an earlier one never needs to change.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut last_star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                last_star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match last_star {
                Some((star, took)) => {
                    last_star = Some((star, took + 1));
                    (p, n) = (star + 1, took + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let cases = [
            ("*", "", true),
            ("node-*", "node-comet-1s", true),
            ("*-1000", "node-comet-1000", true),
            ("*-1000", "node-comet-10000", false),
            ("*-1?000", "a-15000", true),
            ("*a*b*c", "xaxbxbc", true),
            ("*a*b*c", "xaxcxb", false),
            ("a", "ab", false),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }
}
