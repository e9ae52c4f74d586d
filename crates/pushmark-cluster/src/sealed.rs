//! Orders sealed to the machine that they are for: a plan holds the tokens of clients and the values of secrets, and
//! who runs the bus can read all that passes. Sealed boxes of NaCl (X25519, XSalsa20-Poly1305).

use std::fmt;

use crypto_box::aead::OsRng;
use crypto_box::{PublicKey, SecretKey};

/// What a machine draws for each piece of work, so that the orders of it can be opened by it alone and by nothing that
/// is kept.
pub struct SealKey {
    secret: SecretKey,
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey")
    }
}

impl SealKey {
    /// Draws a key.
    pub fn draw() -> SealKey {
        SealKey { secret: SecretKey::generate(&mut OsRng) }
    }

    /// Returns what orders are sealed to.
    pub fn public(&self) -> [u8; 32] {
        *self.secret.public_key().as_bytes()
    }

    /// Opens what was sealed to it; `None`: it was sealed to another, or changed.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        self.secret.unseal(sealed).ok()
    }
}

/// Seals bytes to a key.
///
/// # Errors
/// Fails if they are too long for a box.
pub(crate) fn seal(to: &[u8; 32], bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let sealed = PublicKey::from(*to).seal(&mut OsRng, bytes);
    sealed.map_err(|_| anyhow::anyhow!("an order cannot be sealed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_it_is_sealed_to_opens_it_and_nothing_in_it_shows() {
        let (ours, other) = (SealKey::draw(), SealKey::draw());
        let secret = b"token of a client: 7f3a-2b19";
        let sealed = seal(&ours.public(), secret).unwrap();
        assert_eq!(ours.open(&sealed).as_deref(), Some(&secret[..]));
        assert_eq!(other.open(&sealed), None);
        assert!(!sealed.windows(8).any(|window| secret.windows(8).any(|part| part == window)));
        assert_ne!(sealed, seal(&ours.public(), secret).unwrap(), "each has a key of its own");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(ours.open(&changed), None, "byte {at}");
        }
    }
}
