//! Requests that a client makes before it subscribes, to log in or to negotiate, or as a step of its subscription.

use serde::{Deserialize, Serialize};

use super::capture::{Capture, From};
use crate::message::Message;
use crate::template::{Captures, Place, Template};

/// A request before the subscription, or beside it as one of its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// Host as written (name, IPv4, IPv6 without brackets).
    pub host: String,
    /// Port; absent: the port of the started server.
    pub port: Option<u16>,
    /// Whether the URL is https.
    pub tls: bool,
    /// Request method.
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Header lines.
    pub headers: Vec<(String, Template)>,
    /// Body; absent: none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<Message>,
    /// The expected status; absent: any of 200 to 299.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// What is taken from the answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub captures: Vec<Capture>,
}

impl Before {
    /// Returns whether an answer with this status is the expected one.
    pub fn expects(&self, status: u16) -> bool {
        self.status.map_or((200..300).contains(&status), |expected| status == expected)
    }

    /// Returns whether another request may use the same connection.
    pub fn same_place(&self, other: &Before) -> bool {
        (&self.host, self.port, self.tls) == (&other.host, other.port, other.tls)
    }

    /// Returns what is to be taken from an answer with these header lines and this body.
    ///
    /// # Errors
    /// The name of a value that is not in it.
    pub fn captured(&self, headers: &[(String, String)], body: &[u8]) -> Result<Captures, &str> {
        let mut captures = Captures::default();
        for capture in &self.captures {
            let value = value_of(&capture.from, headers, body).ok_or(capture.name.as_str())?;
            captures.set(&capture.name, value);
        }
        Ok(captures)
    }

    /// Returns it in words, without values: `POST /login`.
    pub fn in_words(&self) -> String {
        format!("{} {}", self.method, self.path.source())
    }

    /// Returns the places of its texts, each with its key.
    pub fn places(&self) -> impl Iterator<Item = (String, &Place)> {
        let url = self.path.places().map(|place| ("url".to_owned(), place));
        let headers = self
            .headers
            .iter()
            .flat_map(|(name, value)| value.places().map(move |place| (format!("headers.{name:?}"), place)));
        let body = self.body.iter().flat_map(Message::places).map(|place| ("body".to_owned(), place));
        url.chain(headers).chain(body)
    }
}

fn value_of(from: &From, headers: &[(String, String)], body: &[u8]) -> Option<String> {
    match from {
        From::Header(wanted) => {
            let line = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
            Some(line.1.clone())
        }
        // RFC 6265 5.2: the pair in front of the first semicolon.
        From::Cookie(wanted) => {
            let lines = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
            let pairs = lines.filter_map(|(_, line)| line.split(';').next()?.split_once('='));
            let cookie = pairs.into_iter().find(|(name, _)| name.trim() == wanted);
            cookie.map(|(_, value)| value.trim().to_owned())
        }
        other => other.in_message(body),
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::Pattern;
    use super::*;

    fn before(captures: &[(&str, From)]) -> Before {
        let capture = |(name, from): &(&str, From)| Capture { name: (*name).to_owned(), from: from.clone() };
        Before {
            host: "h".into(),
            port: Some(1),
            tls: false,
            method: "POST".into(),
            path: Template::parse("/login?user={client}").unwrap(),
            headers: Vec::new(),
            body: None,
            status: None,
            captures: captures.iter().map(capture).collect(),
        }
    }

    #[test]
    fn values_come_from_the_body_a_header_or_a_cookie() {
        let before = before(&[
            ("token", From::Json("/token".into())),
            ("n", From::Regex(Pattern::new("\"n\":(\\d+)").unwrap())),
            ("id", From::Header("X-Id".into())),
            ("sid", From::Cookie("sid".into())),
        ]);
        let line = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [
            line("x-id", "7"),
            line("set-cookie", "theme=dark"),
            line("Set-Cookie", "sid=a=b; Path=/; HttpOnly"),
        ];
        let captures = before.captured(&headers, br#"{"token":"t","n":12}"#).unwrap();
        let all: Vec<_> = ["token", "n", "id", "sid"].map(|name| captures.get(name).unwrap_or("-")).into();
        assert_eq!(all, ["t", "12", "7", "a=b"]);
        assert_eq!(before.captured(&headers[..2], br#"{"token":"t","n":12}"#), Err("sid"));
        assert_eq!(before.captured(&headers, b"{}"), Err("token"));
        assert_eq!(before.in_words(), "POST /login?user={client}");
    }

    #[test]
    fn a_status_is_expected_or_any_success() {
        let any = before(&[]);
        assert!(any.expects(200) && any.expects(204) && !any.expects(302) && !any.expects(401));
        let one = Before { status: Some(302), ..any };
        assert!(one.expects(302) && !one.expects(200));
    }
}
