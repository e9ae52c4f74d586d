//! The id of a run, which is also the name of its folder.

use std::io::Read;

use super::utc::Utc;

/// Longest part taken from a scenario's name.
const NAME_MAX: usize = 60;
/// Letters and digits that are not confused with one another: no 0, o, 1, l, i.
const ALPHABET: &[u8; 31] = b"23456789abcdefghjkmnpqrstuvwxyz";

/// `<UTC time>-<name>-<short id>`: `20261121T200412Z-fan-out-k3f9`.
pub fn run_id(at: Utc, name: &str) -> String {
    format!("{}-{}-{}", at.compact(), slug(name), short_id())
}

/// A name as part of a path: lower-case letters, digits and single hyphens.
pub fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for character in name.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= NAME_MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "run".into() } else { slug.into() }
}

/// Four random characters from the system: 923,521 values, enough to distinguish two runs of one second.
fn short_id() -> String {
    let mut bytes = [0u8; 4];
    let random = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    if random.is_err() {
        // A sandbox without devices: the keys of std's hash maps are random too.
        use std::hash::{BuildHasher, Hasher};
        let hash = std::collections::hash_map::RandomState::new().build_hasher().finish();
        bytes.copy_from_slice(&hash.to_le_bytes()[..4]);
    }
    let mut value = u32::from_le_bytes(bytes);
    (0..4)
        .map(|_| {
            let digit = value % ALPHABET.len() as u32;
            value /= ALPHABET.len() as u32;
            char::from(ALPHABET[digit as usize])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_part_of_a_path() {
        let cases = [
            ("fan-out", "fan-out"),
            ("Fan Out / 1,000", "fan-out-1-000"),
            ("../../etc", "etc"),
            ("--", "run"),
            ("", "run"),
            ("Größe", "gr-e"),
        ];
        for (name, expected) in cases {
            assert_eq!(slug(name), expected);
        }
        assert_eq!(slug(&"x".repeat(200)).len(), NAME_MAX);
    }

    #[test]
    fn ids_of_one_second_differ() {
        let at = Utc::of_unix_s(1_795_291_452);
        let ids: std::collections::HashSet<String> = (0..20).map(|_| run_id(at, "a b")).collect();
        assert!(ids.len() > 15 && ids.iter().all(|id| id.starts_with("20261121T200412Z-a-b-")));
    }
}
