//! URL templates of targets: `http://HOST:PORT/PATH`, `wss://…`. The path may contain places.

use crate::template::{Template, TemplateError};

/// The parts of a URL template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetUrl {
    /// `https` or `wss`.
    pub tls: bool,
    /// Host, IPv6 without brackets.
    pub host: String,
    /// Port; absent if the URL has `{port}`: the port of a server that pushmark starts.
    pub port: Option<u16>,
    /// Path and query.
    pub path: Template,
}

/// Why a URL template is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlError {
    /// The sentence.
    pub message: String,
    /// The invalid part.
    pub found: String,
    /// The accepted form.
    pub accepted: String,
    /// Advice.
    pub help: Option<String>,
}

impl TargetUrl {
    /// Splits a URL template into its parts; `websocket` decides which schemes are accepted.
    ///
    /// # Errors
    /// Reports which part is wrong and what is accepted.
    pub fn parse(text: &str, websocket: bool) -> Result<TargetUrl, UrlError> {
        let scheme_wanted = if websocket { "ws" } else { "http" };
        let form = format!("{scheme_wanted}://HOST:PORT/PATH, or {scheme_wanted}s://");
        let error = |message: &str, found: &str, accepted: &str| UrlError {
            message: message.to_owned(),
            found: format!("{found:?}"),
            accepted: accepted.to_owned(),
            help: None,
        };
        if let Some(bad) = text.chars().find(|c| c.is_whitespace() || c.is_control()) {
            return Err(error(
                "a URL has no blanks or control characters",
                &bad.to_string(),
                "%20 for a blank",
            ));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(error("this is not a URL", text, &form));
        };
        let (plain, tls) = match scheme.to_ascii_lowercase().as_str() {
            "http" => ("http", false),
            "https" => ("http", true),
            "ws" => ("ws", false),
            "wss" => ("ws", true),
            _ => return Err(error("unsupported URL scheme", scheme, &form)),
        };
        if plain != scheme_wanted {
            return Err(error("this URL scheme does not match the transport", scheme, &form));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if let Some((_, fragment)) = path.split_once('#') {
            return Err(error("a fragment is never sent to a server", &format!("#{fragment}"), &form));
        }
        if authority.contains('@') {
            return Err(UrlError {
                help: Some("give credentials as a header: headers = { authorization = \"…\" }".to_owned()),
                ..error("user and password in a URL are not sent", authority, &form)
            });
        }
        let (host, port) =
            split_authority(authority).map_err(|(message, accepted)| error(message, authority, accepted))?;
        if host.is_empty() {
            return Err(error("the URL names no host", text, &form));
        }
        if host.contains(['{', '}']) {
            return Err(error("the host cannot be a template", host, "a name or address"));
        }
        let port = match port {
            None => Some(if tls { 443 } else { 80 }),
            Some("{port}") => None,
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 => Some(port),
                _ => return Err(error("this is not a port", digits, "1 to 65535, or {port}")),
            },
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let path = Template::parse(&path).map_err(|e| UrlError::from_template(&e))?;
        Ok(TargetUrl { tls, host: host.to_owned(), port, path })
    }
}

impl UrlError {
    fn from_template(error: &TemplateError) -> UrlError {
        UrlError {
            message: format!("a template has no place `{{{}}}`", error.found),
            found: format!("{{{}}}", error.found),
            accepted: "{channel}, {port} and other places of a template".to_owned(),
            help: None,
        }
    }
}

/// Returns host and port of `host`, `host:port`, `[::1]`, `[::1]:port`.
fn split_authority(authority: &str) -> Result<(&str, Option<&str>), (&'static str, &'static str)> {
    const IPV6: (&str, &str) = ("this is not an IPv6 address", "an address in brackets, such as [::1]:8080");
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, rest) = inner.split_once(']').ok_or(IPV6)?;
        host.parse::<std::net::Ipv6Addr>().map_err(|_| IPV6)?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(IPV6),
        };
    }
    match authority.split_once(':') {
        Some((_, port)) if port.contains(':') => Err(IPV6),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((authority, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, host: &str, port: Option<u16>, path: &str) {
        let url = TargetUrl::parse(text, text.to_ascii_lowercase().starts_with("ws")).unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.source()), (host, port, path), "{text}");
    }

    #[test]
    fn urls_are_taken_apart() {
        check(
            "http://127.0.0.1:9001/sse?channel={channel}",
            "127.0.0.1",
            Some(9001),
            "/sse?channel={channel}",
        );
        check("http://127.0.0.1:{port}/x", "127.0.0.1", None, "/x");
        check("http://example.org", "example.org", Some(80), "/");
        check("http://example.org?x=1", "example.org", Some(80), "/?x=1");
        check("ws://[::1]:81/ws", "::1", Some(81), "/ws");
        check("http://[fe80::1]/", "fe80::1", Some(80), "/");
        check("https://example.org/x", "example.org", Some(443), "/x");
        check("WSS://example.org:8443", "example.org", Some(8443), "/");
    }

    #[test]
    fn the_scheme_says_whether_it_goes_over_tls() {
        let tls = |text, websocket| TargetUrl::parse(text, websocket).unwrap().tls;
        assert!(tls("https://h/", false) && tls("wss://h/", true));
        assert!(!tls("http://h/", false) && !tls("ws://h/", true));
    }

    #[test]
    fn what_is_not_one_is_refused() {
        for text in [
            "localhost:80/x",
            "http://",
            "http:///x",
            "ftp://h/",
            "http://[::1/x",
            "http://[::g]/x",
            "http://::1:80/x",
            "http://[::1]80/",
            "http://h:0/",
            "http://h:65536/",
            "http://h:x/",
            "http://h:/",
            "http://u:p@h/",
            "http://h/#a",
            "http://h/a b",
            "http://h/\r\nx: y",
            "http://{client}/",
            "ws://h/",
            "wss://h/",
            "http://h/{chanel}",
        ] {
            assert!(TargetUrl::parse(text, false).is_err(), "{text}");
        }
    }
}
