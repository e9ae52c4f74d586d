//! The content of a Close frame (RFC 6455 5.5.1 and 7.4).

use crate::Failure;

/// Parses the payload: nothing, or a code and a reason in UTF-8.
pub(super) fn parse(payload: &[u8]) -> Result<(Option<u16>, &str), Failure> {
    match payload {
        [] => Ok((None, "")),
        [_] => Err(Failure::Frame("close with half a code")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !may_be_sent(code) {
                return Err(Failure::Frame("close code that may not be sent"));
            }
            let reason = std::str::from_utf8(reason).map_err(|_| Failure::Utf8)?;
            Ok((Some(code), reason))
        }
    }
}

/// Returns whether a frame may contain this code. 1004 is reserved. 1005, 1006 and 1015 only describe closes
/// without a code. 1012 to 1014 were registered with IANA later. 3000 to 4999 are free to use.
pub fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}
