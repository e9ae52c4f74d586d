//! Undoes escapes over any split: only an incomplete escape is held.

use memchr::memchr;

/// State after a backslash. Runs of backslashes count as one, so that JSON in JSON in JSON is undone in one
/// pass.
#[derive(Debug, Default)]
pub(super) struct Backslashes(At);

#[derive(Clone, Copy, Debug, Default)]
enum At {
    #[default]
    Text,
    Backslash,
    /// In `\uXXXX`: digits so far, and their value.
    Hex(u8, u16),
}

impl Backslashes {
    /// Appends `bytes` with their escapes undone.
    pub(super) fn undo(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if let At::Text = self.0 {
                let text = memchr(b'\\', bytes).unwrap_or(bytes.len());
                plain.extend_from_slice(&bytes[..text]);
                let Some(rest) = bytes.get(text + 1..) else { return };
                (self.0, bytes) = (At::Backslash, rest);
                continue;
            }
            self.0 = match (self.0, bytes[0]) {
                (At::Backslash, b'\\') => At::Backslash,
                (At::Backslash, b'u') => At::Hex(0, 0),
                (At::Hex(digits, value), byte) => match (byte as char).to_digit(16) {
                    Some(digit) if digits < 3 => At::Hex(digits + 1, value << 4 | digit as u16),
                    Some(digit) => {
                        // A stamp is ASCII: any other character only has to be replaced by one that is not
                        // part of a stamp.
                        plain.push(u8::try_from(value << 4 | digit as u16).unwrap_or(b'?'));
                        At::Text
                    }
                    None => {
                        self.0 = At::Text;
                        continue;
                    }
                },
                (_, byte) => {
                    plain.push(match byte {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' | b'f' => b' ',
                        other => other,
                    });
                    At::Text
                }
            };
            bytes = &bytes[1..];
        }
    }
}

/// State after a `%`: digits so far, and their value.
#[derive(Debug, Default)]
pub(super) struct Percents(Option<(u8, u8)>);

impl Percents {
    /// Appends `bytes` with their escapes undone.
    pub(super) fn undo(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let Some((digits, value)) = self.0 else {
                let text = memchr(b'%', bytes).unwrap_or(bytes.len());
                plain.extend_from_slice(&bytes[..text]);
                let Some(rest) = bytes.get(text + 1..) else { return };
                (self.0, bytes) = (Some((0, 0)), rest);
                continue;
            };
            let Some(digit) = (bytes[0] as char).to_digit(16) else {
                // Not an escape.
                plain.push(b'%');
                self.0 = None;
                continue;
            };
            let value = value << 4 | digit as u8;
            self.0 = match (digits, value) {
                (0, value) => Some((1, value)),
                // Encoded twice: `%2570` is `%70`, which is `p`.
                (_, b'%') => Some((0, 0)),
                (_, value) => {
                    plain.push(value);
                    None
                }
            };
            bytes = &bytes[1..];
        }
    }
}
