//! Orders, signed by their coordinator (Ed25519, RFC 8032). The owner of the bus can delay or drop an
//! order, and cannot give one, change one, or give one again.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use pushmark_model::cluster::{Challenge, Letter, Signed};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{decode, encode};

/// Draws a challenge.
///
/// # Errors
/// Fails if the system has no random numbers.
pub fn challenge() -> anyhow::Result<Challenge> {
    let mut drawn = Challenge::default();
    fill(&mut drawn)?;
    Ok(drawn)
}

/// Draws a password.
///
/// # Errors
/// Fails if the system has no random numbers.
pub(crate) fn random_hex() -> anyhow::Result<String> {
    Ok(to_hex(&challenge()?))
}

fn fill(bytes: &mut [u8]) -> anyhow::Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| anyhow::anyhow!("no random numbers from the system"))
}

/// An order whose signature is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<T> {
    /// The name of the work.
    pub claim: String,
    /// Its number among the orders of this work, from 1.
    pub number: u64,
    /// The order.
    pub order: T,
}

/// A coordinator's key.
pub struct Signer {
    pair: Ed25519KeyPair,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer").field(&self.public()).finish()
    }
}

impl Signer {
    /// Draws a key.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn draw() -> anyhow::Result<(Signer, [u8; 32])> {
        let mut seed = [0; 32];
        fill(&mut seed)?;
        Ok((Signer::of(&seed)?, seed))
    }

    /// Reads a key: 64 hexadecimal digits.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or holds anything else.
    pub fn read(path: &Path) -> anyhow::Result<Signer> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let seed = from_hex(text.trim());
        let seed = seed.with_context(|| format!("{}: no key of 64 hexadecimal digits", path.display()))?;
        Signer::of(&seed)
    }

    fn of(seed: &[u8; 32]) -> anyhow::Result<Signer> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        Ok(Signer { pair: pair.map_err(|why| anyhow::anyhow!("not a key: {why}"))? })
    }

    /// Returns the public key, which agents are told to trust: 64 hexadecimal digits.
    pub fn public(&self) -> String {
        to_hex(self.pair.public_key().as_ref())
    }

    /// Signs an order to one agent, for one piece of work.
    pub fn sign<T: Serialize>(
        &self,
        agent: &str,
        claim: &str,
        challenge: Challenge,
        number: u64,
        order: &T,
    ) -> Signed {
        let order = encode(order);
        let letter = encode(&Letter { agent: agent.into(), claim: claim.into(), challenge, number, order });
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        let signature = self.pair.sign(&letter).as_ref().to_vec();
        Signed { letter, key, signature }
    }
}

/// Writes bytes as hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// The keys whose orders an agent takes.
#[derive(Clone, Debug, Default)]
pub struct TrustedKeys {
    keys: Vec<[u8; 32]>,
}

impl TrustedKeys {
    /// Reads keys, each of 64 hexadecimal digits. With none, anybody's orders are taken.
    ///
    /// # Errors
    /// Fails if one is anything else.
    pub fn new(keys: &[String]) -> anyhow::Result<TrustedKeys> {
        let read = |text: &String| {
            from_hex(text).with_context(|| format!("--trust {text}: no key of 64 hexadecimal digits"))
        };
        Ok(TrustedKeys { keys: keys.iter().map(read).collect::<anyhow::Result<_>>()? })
    }

    /// Returns whether no key is named.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys as text.
    pub fn names(&self) -> Vec<String> {
        self.keys.iter().map(|key| to_hex(key)).collect()
    }

    /// Reads an order to `agent` for the work that it is claimed for. `after`: the number of the last order.
    ///
    /// # Errors
    /// Fails if the order is from somebody else, was changed, or was given before or for other work.
    pub fn check<T: DeserializeOwned>(
        &self,
        signed: &Signed,
        agent: &str,
        (claim, challenge): (&str, &Challenge),
        after: u64,
    ) -> anyhow::Result<Checked<T>> {
        if !self.is_empty() && !self.keys.contains(&signed.key) {
            bail!("its key {} is not trusted here (--trust)", to_hex(&signed.key));
        }
        let key = UnparsedPublicKey::new(&ED25519, &signed.key);
        if key.verify(&signed.letter, &signed.signature).is_err() {
            bail!("its signature is wrong");
        }
        let Some(letter) = decode::<Letter>(&signed.letter) else { bail!("it is no letter") };
        if letter.agent != agent {
            bail!("it is to {}", letter.agent);
        }
        if letter.claim != claim || letter.challenge != *challenge {
            bail!("it belongs to other work");
        }
        if letter.number <= after {
            bail!("it was given before");
        }
        let Some(order) = decode(&letter.order) else { bail!("it is no order") };
        Ok(Checked { claim: letter.claim, number: letter.number, order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(keys: &TrustedKeys, signed: &Signed, agent: &str, claim: &str, after: u64) -> String {
        let work = (claim, &[7; 16]);
        keys.check::<String>(signed, agent, work, after).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn an_order_is_taken_from_its_coordinator_once_and_unchanged() {
        let (ours, _) = Signer::draw().unwrap();
        let (other, _) = Signer::draw().unwrap();
        let keys = TrustedKeys::new(&[ours.public()]).unwrap();
        let order = "begin".to_owned();
        let signed = ours.sign("a", "w1", [7; 16], 3, &order);
        let checked = keys.check::<String>(&signed, "a", ("w1", &[7; 16]), 2).unwrap();
        assert_eq!(checked, Checked { claim: "w1".into(), number: 3, order: order.clone() });

        assert_eq!(refused(&keys, &signed, "a", "w1", 3), "it was given before");
        assert_eq!(refused(&keys, &signed, "b", "w1", 2), "it is to a");
        assert_eq!(refused(&keys, &signed, "a", "w2", 2), "it belongs to other work");
        let earlier = ours.sign("a", "w1", [8; 16], 3, &order);
        assert_eq!(refused(&keys, &earlier, "a", "w1", 2), "it belongs to other work");
        let foreign = other.sign("a", "w1", [7; 16], 3, &order);
        assert!(refused(&keys, &foreign, "a", "w1", 2).ends_with("is not trusted here (--trust)"));
        let forged = Signed { key: signed.key, ..foreign.clone() };
        assert_eq!(refused(&keys, &forged, "a", "w1", 2), "its signature is wrong");
        for at in 0..signed.letter.len() {
            let mut changed = signed.clone();
            changed.letter[at] ^= 1;
            assert_eq!(refused(&keys, &changed, "a", "w1", 2), "its signature is wrong", "byte {at}");
        }
        // Without named keys anybody may give orders; they are still whole and new.
        let anybody = TrustedKeys::default();
        assert!(anybody.check::<String>(&foreign, "a", ("w1", &[7; 16]), 2).is_ok());
        assert_eq!(refused(&anybody, &forged, "a", "w1", 2), "its signature is wrong");
    }

    #[test]
    fn keys_are_sixty_four_digits() {
        let (signer, seed) = Signer::draw().unwrap();
        let file = std::env::temp_dir().join(format!("pushmark-key-{}", std::process::id()));
        std::fs::write(&file, to_hex(&seed) + "\n").unwrap();
        assert_eq!(Signer::read(&file).unwrap().public(), signer.public());
        std::fs::write(&file, "key").unwrap();
        assert!(Signer::read(&file).unwrap_err().to_string().contains("64 hexadecimal digits"));
        std::fs::remove_file(&file).unwrap();
        for text in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert!(TrustedKeys::new(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
