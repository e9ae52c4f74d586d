//! Access control: a web page must not reach this server through its visitor's browser, and requests that
//! change something may need a token.
//!
//! A page of any site can make its browser send requests to this machine. Two checks detect this. `Origin`
//! names the page's site: it must be this server's own, a site on this machine (a program here needs no
//! browser to reach the server), or an allowed one. A site whose name was made to resolve to this machine
//! (DNS rebinding) sends its name as `Host`: it must be an address, `localhost`, or an allowed name.

use std::net::{IpAddr, Ipv6Addr};

use pushmark_proto::http1::RequestHead;

use crate::request::{Intent, Refusal};
use crate::stats::Counter;

/// Access rules. Plain data; the command line fills it.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Sites whose pages may send requests, as in `Origin`: `https://example.org`, or `null` for pages loaded
    /// from files.
    pub origins: Vec<String>,
    /// Names of this server in addition to `localhost` and its addresses, without port.
    pub hosts: Vec<String>,
    /// Required as `Authorization: Bearer TOKEN` for requests that change something: publish, set emitters,
    /// stop the server. `None`: no token is required.
    pub token: Option<Token>,
    /// Every request except `GET /health` requires the token.
    pub token_for_all: bool,
}

/// A shared secret. It is never displayed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Returns a token with this text: 1 to 256 visible ASCII characters. Returns `None` for any other text.
    pub fn new(text: &str) -> Option<Token> {
        let is_one = (1..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_one.then(|| Token(text.to_owned()))
    }

    /// Compares in constant time for a given length, so that the time does not reveal a partial match.
    fn is(&self, shown: &[u8]) -> bool {
        let differ = |(a, b): (&u8, &u8)| a ^ b;
        self.0.len() == shown.len()
            && self.0.as_bytes().iter().zip(shown).map(differ).fold(0, |a, b| a | b) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(...)")
    }
}

impl Access {
    /// Checks that a request is addressed to this server and comes from a page that may send requests: RFC
    /// 9112 3.2 for `Host`, RFC 6454 7 and the Fetch standard for `Origin`.
    pub(crate) fn admit(&self, head: &RequestHead<'_>) -> Result<(), (Refusal, Counter)> {
        let mut hosts = head.headers.all("host");
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host,
            (None, _) if head.minor == 0 => return self.admit_origin(head, b""),
            _ => {
                let refusal = Refusal::new(400, "HTTP/1.1 has exactly one Host (RFC 9112 3.2)");
                return Err((refusal, Counter::BadRequests));
            }
        };
        if !self.is_ours(host) {
            let refusal = Refusal::new(
                421,
                "this Host is not this server: ask by address or as localhost, or start it with --allow-host NAME",
            );
            return Err((refusal, Counter::HostRefused));
        }
        self.admit_origin(head, host)
    }

    fn admit_origin(&self, head: &RequestHead<'_>, host: &[u8]) -> Result<(), (Refusal, Counter)> {
        let Some(origin) = head.headers.find("origin") else { return Ok(()) };
        let allowed = || self.origins.iter().any(|allowed| allowed.as_bytes().eq_ignore_ascii_case(origin));
        // Several origins, or one that is not text, are never allowed.
        let text = std::str::from_utf8(origin).ok().filter(|_| head.headers.all("origin").count() == 1);
        let authority = text.and_then(|text| text.split_once("://")).map(|(_, authority)| authority);
        let known = |authority: &str| {
            authority.as_bytes().eq_ignore_ascii_case(host) || is_loopback(name_of(authority.as_bytes()))
        };
        if authority.is_some_and(known) || text.is_some() && allowed() {
            return Ok(());
        }
        let refusal = Refusal::new(
            403,
            "a page of another origin may not use this server: start it with --allow-origin ORIGIN for one that may",
        );
        Err((refusal, Counter::OriginRefused))
    }

    /// Returns whether the request contains the token that changes require.
    pub(crate) fn is_trusted(&self, head: &RequestHead<'_>) -> bool {
        let Some(token) = &self.token else { return true };
        let Some(shown) = head.headers.find("authorization") else { return false };
        // RFC 9110 11.1: the scheme is case-insensitive.
        let (scheme, shown) = shown.split_at(shown.len().min(7));
        scheme.eq_ignore_ascii_case(b"bearer ") && token.is(shown.trim_ascii())
    }

    /// Grants a request if it contains the token or needs none.
    pub(crate) fn grant(&self, intent: &Intent, trusted: bool) -> Result<(), (Refusal, Counter)> {
        if trusted || !(intent.changes() || self.token_for_all && *intent != Intent::Health) {
            return Ok(());
        }
        let refusal = Refusal::new(401, "this needs the server's token: Authorization: Bearer TOKEN");
        Err((refusal, Counter::TokenRefused))
    }

    /// Returns whether a `Host` names this server.
    fn is_ours(&self, host: &[u8]) -> bool {
        let name = name_of(host);
        let Ok(text) = std::str::from_utf8(name) else { return false };
        is_address(text)
            || is_localhost(text)
            || self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(text))
    }
}

/// Returns the host of an authority without its port; IPv6 keeps its brackets.
fn name_of(authority: &[u8]) -> &[u8] {
    match authority.iter().rposition(|&byte| byte == b':') {
        Some(colon) if authority[colon + 1..].iter().all(u8::is_ascii_digit) => &authority[..colon],
        _ => authority,
    }
}

fn address_of(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().ok().map(IpAddr::from),
        None => name.parse().ok().filter(IpAddr::is_ipv4),
    }
}

fn is_address(name: &str) -> bool {
    address_of(name).is_some()
}

/// RFC 6761 6.3: `localhost` and all its subdomains resolve to this machine, also in browsers.
fn is_localhost(name: &str) -> bool {
    let last = name.rsplit('.').next();
    last.is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
}

fn is_loopback(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    is_localhost(name) || address_of(name).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(access: &Access, lines: &str) -> u16 {
        let bytes = format!("POST /publish?channel=a {lines}\r\n\r\n");
        let (head, _) = RequestHead::parse(bytes.as_bytes()).unwrap().unwrap();
        let intent = Intent::of(&head).unwrap();
        let granted = access.admit(&head).and_then(|()| access.grant(&intent, access.is_trusted(&head)));
        granted.map_or_else(|(refusal, _)| refusal.status, |()| 200)
    }

    #[test]
    fn only_our_own_names_and_pages_are_obeyed() {
        let access = Access {
            origins: vec!["https://ok.example".into()],
            hosts: vec!["push.example".into()],
            ..Access::default()
        };
        let table = [
            ("HTTP/1.0", 200),
            ("HTTP/1.1", 400),
            ("HTTP/1.1\r\nHost: localhost\r\nHost: localhost", 400),
            ("HTTP/1.0\r\nHost: localhost\r\nHost: localhost", 400),
            ("HTTP/1.1\r\nHost: localhost", 200),
            ("HTTP/1.1\r\nHost: LocalHost:80", 200),
            ("HTTP/1.1\r\nHost: a.localhost:80", 200),
            ("HTTP/1.1\r\nHost: 10.1.2.3:80", 200),
            ("HTTP/1.1\r\nHost: [::1]:80", 200),
            ("HTTP/1.1\r\nHost: [fe80::1]", 200),
            ("HTTP/1.1\r\nHost: push.example:80", 200),
            ("HTTP/1.1\r\nHost: evil.example", 421),
            ("HTTP/1.1\r\nHost: localhost.evil.example", 421),
            ("HTTP/1.1\r\nHost: 127.0.0.1.evil.example", 421),
            ("HTTP/1.1\r\nHost: 127.0.0.1@evil.example", 421),
            ("HTTP/1.1\r\nHost: ", 421),
            ("HTTP/1.1\r\nHost: ::1", 421),
            ("HTTP/1.0\r\nOrigin: http://evil.example", 403),
            ("HTTP/1.1\r\nHost: 10.1.2.3:80\r\nOrigin: http://10.1.2.3:80", 200),
            ("HTTP/1.1\r\nHost: 10.1.2.3:80\r\nOrigin: http://10.1.2.3:81", 403),
            ("HTTP/1.1\r\nHost: 10.1.2.3:80\r\nOrigin: http://127.0.0.9:81", 200),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example", 403),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: http://127.0.0.1.evil.example", 403),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: https://ok.example", 200),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: https://ok.example:1", 403),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: null", 403),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example", 403),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: \u{e9}", 403),
            ("HTTP/1.1\r\nHost: localhost\r\nOrigin: http://[::1]:8", 200),
        ];
        for (lines, expected) in table {
            assert_eq!(status(&access, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_token_is_shown_whole_or_not_at_all() {
        let access = Access { token: Token::new("s3cret"), ..Access::default() };
        let table = [
            ("Bearer s3cret", 200),
            ("bearer  s3cret", 200),
            ("Bearer s3cre", 401),
            ("Bearer s3crett", 401),
            ("Bearer S3cret", 401),
            ("Basic s3cret", 401),
            ("Bearer", 401),
            ("s3cret", 401),
            ("", 401),
        ];
        for (shown, expected) in table {
            let lines = format!("HTTP/1.1\r\nHost: localhost\r\nAuthorization: {shown}");
            assert_eq!(status(&access, &lines), expected, "{shown:?}");
        }
        assert_eq!(status(&access, "HTTP/1.1\r\nHost: localhost"), 401);
        assert!(Token::new("").is_none() && Token::new("a b").is_none());
        assert_eq!(format!("{:?}", access.token), "Some(Token(...))");
    }
}
