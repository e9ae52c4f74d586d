//! Header fields, read directly from the bytes of a head.
//!
//! A look-up scans the lines: a push head has about ten, and most fields are looked up once.

/// The header lines of a head that `httparse` has validated. Names are case-insensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    lines: &'a [u8],
}

impl<'a> Headers<'a> {
    /// Lines `Name: value`, each with its line end. A blank line ends them.
    pub fn new(lines: &'a [u8]) -> Headers<'a> {
        Headers { lines }
    }

    pub(crate) fn lines_len(&self) -> usize {
        self.lines.len()
    }

    /// Every field in order: name, and value without surrounding white space.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.lines().filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            let name = std::str::from_utf8(&line[..colon]).ok()?;
            Some((name, line[colon + 1..].trim_ascii()))
        })
    }

    /// Every value of a field that may be repeated.
    pub fn all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        // The position of the colon excludes almost every line. A long poll's response is searched nine
        // times.
        self.lines().filter_map(move |line| {
            let is_it = line.get(name.len()) == Some(&b':')
                && line[..name.len()].eq_ignore_ascii_case(name.as_bytes());
            is_it.then(|| line[name.len() + 1..].trim_ascii())
        })
    }

    /// The lines up to the blank one, without their line ends.
    fn lines(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.lines;
        std::iter::from_fn(move || {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            rest = rest.get(end + 1..).unwrap_or_default();
            (!line.is_empty()).then_some(line)
        })
    }

    /// The first value of a field.
    pub fn find(self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The first value of a field, if it is UTF-8.
    pub fn text(self, name: &str) -> Option<&'a str> {
        std::str::from_utf8(self.find(name)?).ok()
    }

    /// The members of a comma-separated field (RFC 9110 5.6.1), without empty ones.
    pub fn list(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.all(name)
            .flat_map(|value| value.split(|&b| b == b','))
            .map(<[u8]>::trim_ascii)
            .filter(|member| !member.is_empty())
    }

    /// Returns whether a comma-separated field has a member, ignoring case.
    pub fn has_token(self, name: &str, token: &str) -> bool {
        self.list(name).any(|member| member.eq_ignore_ascii_case(token.as_bytes()))
    }
}
