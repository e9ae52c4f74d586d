//! Orders, signed by their coordinator (Ed25519, RFC 8032). The owner of the bus can delay or drop an
//! order, and cannot give one, change one, or give one again.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use pushmark_model::cluster::{Challenge, Letter, Signed, Terms};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sealed::{SealKey, seal};
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

/// The work that a machine is claimed for, as it drew it.
#[derive(Clone, Copy, Debug)]
pub struct Claimed<'w> {
    /// Its name.
    pub claim: &'w str,
    /// Its challenge.
    pub challenge: &'w Challenge,
    /// The key that its orders are sealed to.
    pub seal: &'w SealKey,
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

    /// Seals an order to one agent, for one piece of work, and signs it.
    ///
    /// # Errors
    /// Fails if it is too long to be sealed.
    pub fn sign<T: Serialize>(
        &self,
        agent: &str,
        claim: &str,
        Terms { challenge, seal_to }: Terms,
        number: u64,
        order: &T,
    ) -> anyhow::Result<Signed> {
        let order = seal(&seal_to, &encode(order))?;
        let letter = encode(&Letter { agent: agent.into(), claim: claim.into(), challenge, number, order });
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        let signature = self.pair.sign(&letter).as_ref().to_vec();
        Ok(Signed { letter, key, signature })
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
        work: Claimed<'_>,
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
        if letter.claim != work.claim || letter.challenge != *work.challenge {
            bail!("it belongs to other work");
        }
        if letter.number <= after {
            bail!("it was given before");
        }
        let Some(order) = work.seal.open(&letter.order) else { bail!("it is sealed to another") };
        let Some(order) = decode(&order) else { bail!("it is no order") };
        Ok(Checked { claim: letter.claim, number: letter.number, order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(keys: &TrustedKeys, signed: &Signed, agent: &str, work: Claimed<'_>, after: u64) -> String {
        keys.check::<String>(signed, agent, work, after).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn an_order_is_taken_from_its_coordinator_once_and_unchanged() {
        let (ours, _) = Signer::draw().unwrap();
        let (other, _) = Signer::draw().unwrap();
        let (seal, another) = (SealKey::draw(), SealKey::draw());
        let keys = TrustedKeys::new(&[ours.public()]).unwrap();
        let order = "begin".to_owned();
        let terms = Terms { challenge: [7; 16], seal_to: seal.public() };
        let work = Claimed { claim: "w1", challenge: &[7; 16], seal: &seal };
        let sign = |signer: &Signer, terms: Terms| signer.sign("a", "w1", terms, 3, &order).unwrap();
        let signed = sign(&ours, terms);
        let checked = keys.check::<String>(&signed, "a", work, 2).unwrap();
        assert_eq!(checked, Checked { claim: "w1".into(), number: 3, order: order.clone() });

        assert_eq!(refused(&keys, &signed, "a", work, 3), "it was given before");
        assert_eq!(refused(&keys, &signed, "b", work, 2), "it is to a");
        assert_eq!(
            refused(&keys, &signed, "a", Claimed { claim: "w2", ..work }, 2),
            "it belongs to other work"
        );
        let earlier = sign(&ours, Terms { challenge: [8; 16], ..terms });
        assert_eq!(refused(&keys, &earlier, "a", work, 2), "it belongs to other work");
        assert_eq!(
            refused(&keys, &signed, "a", Claimed { seal: &another, ..work }, 2),
            "it is sealed to another"
        );
        let foreign = sign(&other, terms);
        assert!(refused(&keys, &foreign, "a", work, 2).ends_with("is not trusted here (--trust)"));
        let forged = Signed { key: signed.key, ..foreign.clone() };
        assert_eq!(refused(&keys, &forged, "a", work, 2), "its signature is wrong");
        for at in 0..signed.letter.len() {
            let mut changed = signed.clone();
            changed.letter[at] ^= 1;
            assert_eq!(refused(&keys, &changed, "a", work, 2), "its signature is wrong", "byte {at}");
        }
        // Without named keys anybody may give orders; they are still whole and new.
        let anybody = TrustedKeys::default();
        assert!(anybody.check::<String>(&foreign, "a", work, 2).is_ok());
        assert_eq!(refused(&anybody, &forged, "a", work, 2), "its signature is wrong");
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
