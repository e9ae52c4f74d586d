//! Names of agents and of machines.

/// Returns whether a text can name an agent: it is part of a subject and of a file's name.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(plain)
}

/// Returns the name of this machine.
pub fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Returns what tells this machine and its network from every other: two programs of which it is the same reach
/// each other through loopback addresses. Containers of one machine with networks of their own differ in it.
pub fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot.trim(), network.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_subjects_and_files() {
        for name in ["a", "load-1", "Zone_b-7"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a.b", "a b", "*", ">", "a/b", "ä", &"x".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn this_machine_is_itself() {
        assert_eq!(machine(), machine());
        assert!(machine().len() > 36);
    }
}
