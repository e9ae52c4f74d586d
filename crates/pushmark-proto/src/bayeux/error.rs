//! The `error` field (section "error"): `code:arguments:text`, such as `402:k7:Unknown client`.

use std::fmt;

/// An error in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error<'a> {
    /// Three digits with their meaning in HTTP. Absent if the text has another form.
    pub code: Option<u16>,
    /// Comma-separated; often empty.
    pub arguments: &'a str,
    /// A text for people.
    pub text: &'a str,
}

impl<'a> Error<'a> {
    /// Splits a text. A text of another form becomes `text`.
    pub fn read(text: &'a str) -> Error<'a> {
        let other = Error { code: None, arguments: "", text };
        let Some((code, rest)) = text.split_once(':') else { return other };
        if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
            return other;
        }
        let (arguments, text) = rest.split_once(':').unwrap_or((rest, ""));
        Error { code: code.parse().ok(), arguments, text }
    }
}

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{code:03}:{}:{}", self.arguments, self.text),
            None => f.write_str(self.text),
        }
    }
}
