//! Secrets: the values of `{secret.NAME}`, and texts without any secret.
//!
//! Values are only here, never in a plan: a plan has the template, which names the secret.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::encoding::Encoding;

/// The replacement for a secret.
pub const REDACTED: &str = "(not written)";

/// Fewest bytes of a secret: shorter ones cannot be distinguished from other text.
pub const LEN_MIN: usize = 4;

/// Fewest bytes by which the beginning of a longer secret is recognised before a space or a quote.
const CUT_OFF_MIN: usize = 12;

/// The same at the end of a text, which is where most texts are cut.
const CUT_OFF_MIN_AT_END: usize = 8;

/// The values of `{secret.NAME}`, by name. Not serialisable, so that they cannot be written by accident.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues(BTreeMap<String, String>);

impl SecretValues {
    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns all names and values, for an agent and for [`Redactor::add`].
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for SecretValues {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(values: I) -> SecretValues {
        SecretValues(values.into_iter().collect())
    }
}

impl std::fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Returns the environment variable for a secret's name: `PUSHMARK_SECRET_API_KEY` for `api_key`.
pub fn variable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("PUSHMARK_SECRET_{}", name.chars().map(plain).collect::<String>())
}

/// Removes secrets from texts, in their spellings in JSON, HTML and URLs.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Secrets by their first bytes, longest first: a text is scanned once, however many secrets there are.
    by_start: HashMap<[u8; LEN_MIN], Vec<String>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({})", self.by_start.values().map(Vec::len).sum::<usize>())
    }
}

impl Redactor {
    /// Adds a secret. Ignores one shorter than [`LEN_MIN`] bytes.
    pub fn add(&mut self, secret: &str) {
        for spelling in spellings(secret) {
            let Some(start) = spelling.as_bytes().first_chunk::<LEN_MIN>() else { continue };
            let known = self.by_start.entry(*start).or_default();
            if !known.contains(&spelling) {
                known.push(spelling);
                known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
            }
        }
    }

    /// Adds all secrets of another redactor.
    pub fn add_all(&mut self, other: &Redactor) {
        for (start, secrets) in &other.by_start {
            let known = self.by_start.entry(*start).or_default();
            known
                .extend(secrets.iter().filter(|secret| !known.contains(secret)).cloned().collect::<Vec<_>>());
            known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    /// Returns bytes without secrets. Shown texts are often cut off, so a long enough beginning of a secret
    /// is removed too.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        if self.by_start.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out: Option<Vec<u8>> = None;
        let (mut at, mut taken) = (0, 0);
        while let Some(start) = bytes[at..].first_chunk::<LEN_MIN>() {
            let known = self.by_start.get(start);
            let rest = &bytes[at..];
            let held =
                known.and_then(|known| known.iter().map(|secret| held(rest, secret)).max()).unwrap_or(0);
            match held {
                1.. => {
                    let out = out.get_or_insert_default();
                    out.extend_from_slice(&bytes[taken..at]);
                    out.extend_from_slice(REDACTED.as_bytes());
                    at += held;
                    taken = at;
                }
                0 => at += 1,
            }
        }
        match out {
            None => Cow::Borrowed(bytes),
            Some(mut out) => {
                out.extend_from_slice(&bytes[taken..]);
                Cow::Owned(out)
            }
        }
    }

    /// Returns a text without secrets.
    pub fn redact(&self, text: &str) -> String {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => text.to_owned(),
            // Secrets are whole characters, so the rest of the text stays valid UTF-8.
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Removes secrets from a value and all values inside it, keys of tables included.
    pub fn redact_value(&self, value: &mut Value) {
        if self.by_start.is_empty() {
            return;
        }
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => {
                let known = std::mem::take(fields);
                for (name, mut field) in known {
                    self.redact_value(&mut field);
                    fields.insert(self.redact(&name), field);
                }
            }
            _ => {}
        }
    }
}

/// Returns how many bytes of a secret a text begins with: all of them, or those before the text was cut.
fn held(text: &[u8], secret: &str) -> usize {
    let same = text.iter().zip(secret.as_bytes()).take_while(|(a, b)| a == b).count();
    let after = &text[same..];
    // What was cut inside a character ends in the character that replaces it.
    let is_cut = after.is_empty() || ["…", "\u{fffd}"].iter().any(|end| after.starts_with(end.as_bytes()));
    let enough = match after {
        [b'"'] => CUT_OFF_MIN_AT_END,
        _ if is_cut => CUT_OFF_MIN_AT_END,
        [next, ..] if next.is_ascii_whitespace() || *next == b'"' => CUT_OFF_MIN,
        _ => usize::MAX,
    };
    if same == secret.len() || same >= enough { same } else { 0 }
}

/// Returns a secret as it is, and as JSON, Rust, HTML, URLs and base64 write it.
fn spellings(secret: &str) -> BTreeSet<String> {
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let debug = secret.escape_debug().to_string();
    let encoded = Encoding::ALL.into_iter().map(|(_, encoding)| encoding.of(secret));
    [secret.to_owned(), html, debug].into_iter().chain(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let mut redactor = Redactor::default();
        secrets.iter().for_each(|secret| redactor.add(secret));
        redactor
    }

    #[test]
    fn every_spelling_goes() {
        let redactor = redactor(&["a\"b<c d"]);
        for text in ["a\"b<c d", "a\\\"b<c d", "a&quot;b&lt;c d", "a%22b%3Cc%20d"] {
            assert_eq!(redactor.redact(&format!("x {text} y")), "x (not written) y", "{text}");
        }
    }

    #[test]
    fn the_longest_goes_first_and_short_ones_stay() {
        let redactor = redactor(&["token", "token-and-more", "abc"]);
        assert_eq!(redactor.redact("token-and-more token abc"), "(not written) (not written) abc");
    }

    #[test]
    fn a_secret_that_was_cut_off_goes_too() {
        let redactor = redactor(&["0123456789abcdef-and-more"]);
        assert_eq!(redactor.redact("came 0123456789abcd"), "came (not written)");
        assert_eq!(redactor.redact("came 0123456789abcd… (300 bytes)"), "came (not written)… (300 bytes)");
        assert_eq!(redactor.redact("came \"01234567\""), "came \"(not written)\"");
        assert_eq!(redactor.redact("came 01234567\u{fffd}"), "came (not written)\u{fffd}");
        for other in ["came 0123456", "came 0123456789abcx", "came 01234567 and more"] {
            assert_eq!(redactor.redact(other), other);
        }
    }

    #[test]
    fn values_are_not_shown_by_debug() {
        let values: SecretValues = [("a".to_owned(), "hush-hush".to_owned())].into_iter().collect();
        assert_eq!(format!("{values:?}"), "{\"a\"}");
        assert_eq!(variable("api-key.v2"), "PUSHMARK_SECRET_API_KEY_V2");
    }

    proptest! {
        /// Compares with the naive way: replace each secret, longest first. Secrets consist of letters that
        /// the replacement does not contain, so that text around a replacement never forms a secret.
        #[test]
        fn as_replacing_one_by_one(
            secrets in proptest::collection::vec("[A-C]{4,6}", 1..6),
            text in "[A-D ]{0,60}",
        ) {
            let known: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let ours = redactor(&known).redact(&text);
            prop_assert!(known.iter().all(|secret| !ours.contains(secret)), "{ours}");
            // The texts between the replacements occur in the original, in this order.
            let mut rest = text.as_str();
            for kept in ours.split(REDACTED) {
                let at = rest.find(kept);
                prop_assert!(at.is_some());
                rest = &rest[at.unwrap() + kept.len()..];
            }
            if known.iter().all(|secret| !text.contains(secret)) {
                prop_assert_eq!(ours, text);
            }
        }
    }
}
