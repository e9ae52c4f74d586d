//! Encodes payloads, as targets do that send them in their own envelope.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::SpecError;

/// How payloads are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encode {
    /// Base64.
    Base64,
    /// Percent-encoding of every byte.
    Percent,
    /// A JSON escape for every byte, in the text of a document.
    Json,
}

const ACCEPTED: &str = "`base64`, `percent` or `json`";

impl Encode {
    /// Returns the payload as it is delivered.
    pub(crate) fn apply(self, payload: &[u8]) -> Vec<u8> {
        let each = |write: fn(&u8) -> String| payload.iter().map(write).collect::<String>();
        match self {
            Encode::Base64 => STANDARD.encode(payload).into_bytes(),
            Encode::Percent => each(|byte| format!("%{byte:02X}")).into_bytes(),
            Encode::Json => {
                format!("{{\"data\":\"{}\"}}", each(|byte| format!("\\u{byte:04x}"))).into_bytes()
            }
        }
    }
}

impl FromStr for Encode {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Encode, SpecError> {
        Ok(match text {
            "base64" => Encode::Base64,
            "percent" => Encode::Percent,
            "json" => Encode::Json,
            _ => return Err(SpecError::new(text, ACCEPTED)),
        })
    }
}

impl fmt::Display for Encode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encode::Base64 => "base64",
            Encode::Percent => "percent",
            Encode::Json => "json",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_has_its_name_and_its_form() {
        for (name, form) in
            [("base64", "YTE="), ("percent", "%61%31"), ("json", r#"{"data":"\u0061\u0031"}"#)]
        {
            let encode: Encode = name.parse().unwrap();
            assert_eq!((encode.to_string().as_str(), encode.apply(b"a1")), (name, form.as_bytes().to_vec()));
        }
        assert!("rot13".parse::<Encode>().is_err());
    }
}
