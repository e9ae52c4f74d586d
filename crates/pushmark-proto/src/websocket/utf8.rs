//! Incremental UTF-8 validation. Pieces may be split anywhere, and it fails at the first invalid byte.
//!
//! The standard library does the work at its ASCII speed. Only a split character is stored.

/// The state between two pieces of a text: at most three bytes of a character.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8 {
    cut: [u8; 4],
    len: u8,
}

/// The text is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl Utf8 {
    /// Checks the next piece.
    pub fn check(&mut self, mut bytes: &[u8]) -> Result<(), Invalid> {
        while self.len > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(()) };
            bytes = rest;
            // An incomplete character has at most three bytes, so a fourth fits.
            self.cut[usize::from(self.len)] = byte;
            self.len += 1;
            match std::str::from_utf8(&self.cut[..usize::from(self.len)]) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(Invalid),
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(error) if error.error_len().is_none() => {
                let tail = &bytes[error.valid_up_to()..];
                self.cut[..tail.len()].copy_from_slice(tail);
                self.len = tail.len() as u8;
                Ok(())
            }
            Err(_) => Err(Invalid),
        }
    }

    /// Ends the text: no character may be incomplete.
    pub fn end(&mut self) -> Result<(), Invalid> {
        if std::mem::take(&mut self.len) == 0 { Ok(()) } else { Err(Invalid) }
    }
}
