//! How a place of a template writes its value: `{json.capture.token}`, `{base64.message}`, `{url.channel}`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// An encoding of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As it stands between the quotes of a JSON string (RFC 8259 7).
    Json,
    /// Base64 with padding (RFC 4648 4).
    Base64,
    /// Percent-encoded but for unreserved characters (RFC 3986 2.3).
    Url,
}

impl Encoding {
    /// Every encoding, by its name.
    pub(crate) const ALL: [(&'static str, Encoding); 3] =
        [("json", Encoding::Json), ("base64", Encoding::Base64), ("url", Encoding::Url)];

    /// Returns the encoding that a name begins with, and the place that it encodes.
    pub(crate) fn split(name: &str) -> (Option<Encoding>, &str) {
        let known = Encoding::ALL
            .iter()
            .find_map(|(own, encoding)| Some((Some(*encoding), name.strip_prefix(own)?.strip_prefix('.')?)));
        known.unwrap_or((None, name))
    }

    /// Encodes what stands behind `from`.
    pub(crate) fn encode(self, out: &mut Vec<u8>, from: usize) {
        let plain = out.split_off(from);
        match self {
            Encoding::Json => {
                let text = serde_json::Value::from(String::from_utf8_lossy(&plain)).to_string();
                out.extend_from_slice(&text.as_bytes()[1..text.len() - 1]);
            }
            Encoding::Base64 => out.extend_from_slice(STANDARD.encode(&plain).as_bytes()),
            Encoding::Url => plain.iter().for_each(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
                other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
            }),
        }
    }

    /// Returns a text encoded.
    pub(crate) fn of(self, text: &str) -> String {
        let mut out = text.as_bytes().to_vec();
        self.encode(&mut out, 0);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Returns how many bytes a byte of the value takes at most.
    pub(crate) fn widest(self) -> u64 {
        match self {
            Encoding::Json => 6,
            Encoding::Base64 => 2,
            Encoding::Url => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(encoding: Encoding, plain: &[u8]) -> String {
        let mut out = b"before ".to_vec();
        let from = out.len();
        out.extend_from_slice(plain);
        encoding.encode(&mut out, from);
        String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned()
    }

    #[test]
    fn values_are_written_as_their_place_needs_them() {
        assert_eq!(encoded(Encoding::Json, b"a\"b\\c\n"), "a\\\"b\\\\c\\n");
        assert_eq!(encoded(Encoding::Base64, b"c0"), "YzA=");
        assert_eq!(encoded(Encoding::Url, "a/b c~ä".as_bytes()), "a%2Fb%20c~%C3%A4");
        assert_eq!(Encoding::split("base64.capture.a.b"), (Some(Encoding::Base64), "capture.a.b"));
        assert_eq!(Encoding::split("jsonx.message"), (None, "jsonx.message"));
        assert_eq!(Encoding::split("json"), (None, "json"));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(text in ".{0,60}") {
            let json: String = serde_json::from_str(&format!("\"{}\"", encoded(Encoding::Json, text.as_bytes()))).unwrap();
            prop_assert_eq!(&json, &text);
            prop_assert_eq!(STANDARD.decode(encoded(Encoding::Base64, text.as_bytes())).unwrap(), text.as_bytes());
            let url = encoded(Encoding::Url, text.as_bytes());
            let (mut bytes, mut rest) = (Vec::new(), url.as_bytes());
            while let [first, after @ ..] = rest {
                if *first == b'%' {
                    bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
                    rest = &after[2..];
                } else {
                    bytes.push(*first);
                    rest = after;
                }
            }
            prop_assert_eq!(bytes, text.as_bytes());
            for (_, encoding) in Encoding::ALL {
                let most = text.len() as u64 * encoding.widest() + 4;
                prop_assert!(encoded(encoding, text.as_bytes()).len() as u64 <= most);
            }
        }
    }
}
