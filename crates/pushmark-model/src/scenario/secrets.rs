//! Finds the literal credentials of a scenario, which must not appear in a result.
//!
//! A value that names `{client.NAME}` or `{secret.NAME}` contains no secret itself. The clients' table and
//! the values of secrets are never written. This module covers credentials that a user writes directly into
//! the file.

use serde_json::Value;

use super::Scenario;
use super::places::{self, Use};
use crate::secret::{LEN_MIN, Redactor};

/// Schemes of HTTP authentication. The text after a scheme is a credential.
const SCHEMES: [&str; 4] = ["bearer ", "basic ", "digest ", "token "];

/// The credentials found in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found(Vec<String>);

impl Found {
    fn add(&mut self, value: &str) {
        let value = value.trim().trim_matches(['"', '\'']);
        let is_template = crate::template::Template::parse(value).is_ok_and(|t| t.places().next().is_some());
        if value.len() < LEN_MIN || is_template {
            return;
        }
        let lower = value.to_ascii_lowercase();
        if let Some(scheme) = SCHEMES.iter().find(|scheme| lower.starts_with(**scheme)) {
            self.add(&value[scheme.len()..]);
        }
        self.0.push(value.to_owned());
        if let Some(decoded) = decoded(value) {
            self.0.push(decoded);
        }
    }

    /// Adds the value of a header line, a variable or a flag.
    fn add_named(&mut self, name: &str, value: &str) {
        if is_secret_name(name) {
            self.add(value);
        }
    }

    /// Adds credentials inside a text: a URL, a JSON message, a form, words of a command.
    fn add_inside(&mut self, text: &str) {
        self.add_json_members(text);
        for pair in text.split(|c: char| c.is_whitespace() || "?&;,#\"'".contains(c)) {
            if let Some((name, value)) = pair.split_once('=') {
                self.add_named(name, value);
            }
        }
        let lower = text.to_ascii_lowercase();
        for scheme in SCHEMES {
            for (at, _) in lower.match_indices(scheme) {
                let begins = lower[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
                let value = text[at + scheme.len()..].split(|c: char| c.is_whitespace() || "\"'".contains(c));
                if begins && scheme != "token " {
                    self.add(value.into_iter().next().unwrap_or_default());
                }
            }
        }
        for (at, _) in text.match_indices("://") {
            let authority = text[at + 3..].split(['/', '?', '#', ' ', '"']).next().unwrap_or_default();
            if let Some((user, _)) = authority.rsplit_once('@') {
                self.add(user.split_once(':').map_or(user, |(_, password)| password));
            }
        }
    }

    /// Finds `"token": "…"` anywhere in a text.
    fn add_json_members(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find('"') {
            let Some((name, after)) = json_text(&rest[at..]) else { return };
            rest = after;
            let Some(value) = after.trim_start().strip_prefix(':').map(str::trim_start) else { continue };
            let Some((value, after)) = value.starts_with('"').then(|| json_text(value)).flatten() else {
                continue;
            };
            self.add_named(name, value);
            rest = after;
        }
    }

    /// Adds credentials in words of a command: `--token=X` is one word, `--token X` two words.
    fn add_words<'w>(&mut self, words: impl Iterator<Item = &'w str>) {
        let mut before = "";
        for word in words {
            if before.starts_with('-') && !before.contains('=') && !word.starts_with('-') {
                self.add_named(before, word);
            }
            before = word;
        }
    }
}

/// Returns the inside of a JSON text as written, and the text after it.
fn json_text(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((&inside[..at], &inside[at + 1..])),
            _ => {}
        }
    }
    None
}

/// Returns a URL text as a server decodes it, if that differs.
fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = more.first_chunk::<2>().and_then(|two| std::str::from_utf8(two).ok());
        match (first, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &more[2..];
            }
            _ => {
                out.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(out).ok().filter(|decoded| decoded != text)
}

/// Whether values of headers, parameters, variables, flags, members and columns with this name are
/// credentials.
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("sec-websocket") {
        return false;
    }
    let parts = ["cookie", "token", "secret", "passw", "credential", "signature", "authoriz", "authent"];
    if parts.iter().any(|part| lower.contains(part)) {
        return true;
    }
    // Shorter names are parts of other words, such as author and monkey, so they must be whole words.
    let mut words = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() || !c.is_alphanumeric() {
            words.push(' ');
        }
        words.extend(c.is_alphanumeric().then(|| c.to_ascii_lowercase()));
        before = c;
    }
    let is_one = |word: &str| {
        ["auth", "key", "apikey", "pass", "pwd", "session", "jwt", "sig", "hmac"].contains(&word)
    };
    words.split_whitespace().any(is_one)
}

impl Scenario {
    /// Returns the credentials written in it: values of headers, parameters, variables and members of JSON
    /// messages with a name of a credential, and the text before the `@` of a URL.
    pub fn secrets(&self) -> Redactor {
        self.credentials(|_| true)
    }

    fn credentials(&self, is_wanted: impl Fn(&str) -> bool) -> Redactor {
        let mut found = Found::default();
        let value = serde_json::to_value(self).expect("a scenario is plain data");
        walk(&value, &mut Vec::new(), &mut found);
        let mut redactor = Redactor::default();
        found.0.iter().filter(|secret| is_wanted(secret)).for_each(|secret| redactor.add(secret));
        redactor
    }

    /// Returns those of [`Scenario::secrets`] that are distinct from ordinary words: a password that is a
    /// common word is removed from the scenario, but not from every sentence.
    pub fn distinct_secrets(&self) -> Redactor {
        let is_word = |text: &str| text.len() < 12 && text.bytes().all(|b| b.is_ascii_alphabetic());
        self.credentials(|secret| secret.len() >= 6 && !is_word(secret))
    }

    /// Returns the columns of the clients' table that are used as credentials: `Bearer {client.t}`,
    /// `?token={client.t}`.
    pub fn credential_columns(&self) -> Vec<String> {
        let value = serde_json::to_value(self).expect("a scenario is plain data");
        let mut columns = Vec::new();
        places::texts(&value, &mut Vec::new(), &mut |path, text| {
            let named = |name: &str| is_secret_name(name);
            let in_header = path.last().is_some_and(|name| named(name));
            for (at, _) in text.match_indices("{client.") {
                let rest = &text[at + "{client.".len()..];
                let Some((column, _)) = rest.split_once('}') else { continue };
                let before = text[..at].trim_end_matches(|c: char| !c.is_alphanumeric());
                let begins = before.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
                let word = &before[begins.map_or(0, |at| at + 1)..];
                if in_header || named(word) || word.eq_ignore_ascii_case("bearer") {
                    columns.push(column.to_owned());
                }
            }
        });
        columns
    }

    /// Returns the resolved scenario for `run.json`, without secrets.
    pub fn redacted_value(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("a scenario is plain data");
        self.secrets().redact_value(&mut value);
        value
    }

    /// Returns a plan of this scenario for `run.json`, without secrets, the clients' table, certificates and keys.
    pub fn redacted_plan(&self, plan: &crate::plan::Plan) -> Value {
        let mut plan = plan.clone();
        for arm in &mut plan.arms {
            arm.clients = None;
            arm.tls = arm.tls.as_ref().map(crate::plan::Tls::without_files);
        }
        let mut value = serde_json::to_value(plan).expect("a plan is plain data");
        self.secrets().redact_value(&mut value);
        value
    }
}

fn walk(value: &Value, path: &mut Vec<String>, found: &mut Found) {
    match value {
        Value::String(text) => {
            let use_ = places::use_of(path);
            if !matches!(use_, Use::NotSent | Use::Awaited) {
                found.add_inside(text);
            }
            // `headers`, `env` and `flags` are tables whose names are the user's.
            if let [.., table, name] = path.as_slice()
                && ["headers", "env", "flags"].contains(&table.as_str())
            {
                found.add_named(name, text);
            }
        }
        Value::Array(items) => {
            found.add_words(items.iter().filter_map(Value::as_str));
            for (i, item) in items.iter().enumerate() {
                path.push(i.to_string());
                walk(item, path, found);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                path.push(name.clone());
                walk(field, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> Vec<String> {
        let mut found = Found::default();
        found.add_inside(text);
        found.0
    }

    #[test]
    fn credentials_are_found_where_they_are_written() {
        for (text, secret) in [
            (r#"40{"token":"tok-anna"}"#, "tok-anna"),
            (r#"{"type":"connection_init","payload":{"authToken": "tok-anna"}}"#, "tok-anna"),
            ("ws://h/ws?v=1&api_key=tok-anna&x={channel}", "tok-anna"),
            ("http://anna:tok-anna@h/", "tok-anna"),
            ("user=a&password=tok-anna", "tok-anna"),
            ("curl -H 'authorization: Bearer tok-anna' http://h", "tok-anna"),
            ("./server --token=tok-anna", "tok-anna"),
        ] {
            assert_eq!(inside(text), [secret], "{text}");
        }
        assert_eq!(inside("?token=a%2Fbcd"), ["a%2Fbcd", "a/bcd"]);
        for text in [
            r#"{"author":"Charles","monkey":"business"}"#,
            "ws://h/ws?token={client.token}",
            r#"{"token":"{secret.t}"}"#,
            "a keynote=address",
            "https://h:80/a@b?x=1",
        ] {
            assert_eq!(inside(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn names_of_credentials_are_told_from_other_names() {
        for name in
            ["Authorization", "x-api-key", "apiKey", "access_token", "--password", "Set-Cookie", "JWT", "sig"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["author", "keyboard", "channel", "Sec-WebSocket-Key", "passenger"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
