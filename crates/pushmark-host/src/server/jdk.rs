//! The JDKs of this machine, each identified by the `release` file in its home.
//!
//! Searches, in this order, the variables that name a Java, `PATH`, and the folders of packages and version
//! managers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders whose subfolders may be JDKs; `~/` is the user's home.
const FOLDERS: [&str; 5] = ["/usr/lib/jvm", "/usr/java", "/opt", "~/.sdkman/candidates/java", "~/.jdks"];

/// The home of a JDK of this feature release (8, 17, 25), the newest build if there are several. A JDK that
/// the user's variables name has priority.
pub fn find(feature: u32) -> Option<PathBuf> {
    let named = named(
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, PathBuf::from(value)))),
    );
    let in_path = super::paths::in_path("java")
        .and_then(|java| java.canonicalize().ok())
        .and_then(|java| java.parent()?.parent().map(Path::to_owned));
    choose(named.chain(in_path), feature).or_else(|| choose(installed(), feature))
}

/// Homes that variables name: `JAVA_HOME`, `JAVA_17_HOME`, `JDK17`, `JAVA_HOME_17_X64`.
fn named(variables: impl Iterator<Item = (String, PathBuf)>) -> impl Iterator<Item = PathBuf> {
    // In the order of their names, so that the choice is always the same.
    let sorted: BTreeSet<(String, PathBuf)> =
        variables.filter(|(name, _)| name.contains("JAVA") || name.contains("JDK")).collect();
    sorted.into_iter().map(|(_, home)| home)
}

fn installed() -> impl Iterator<Item = PathBuf> {
    FOLDERS.into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(super::paths::at_home(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    })
}

/// The newest of these homes that is a JDK of this feature release; of equal ones the first.
fn choose(homes: impl Iterator<Item = PathBuf>, feature: u32) -> Option<PathBuf> {
    let mut best: Option<(Vec<u32>, PathBuf)> = None;
    for home in homes {
        let Some(version) = version(&home).filter(|version| feature_of(version) == Some(feature)) else {
            continue;
        };
        // A runtime has no compiler.
        if !home.join("bin/javac").is_file() {
            continue;
        }
        let home = home.canonicalize().unwrap_or(home);
        if best.as_ref().is_none_or(|(newest, at)| (&version, at) > (newest, &home)) {
            best = Some((version, home));
        }
    }
    best.map(|(_, home)| home)
}

/// The numbers of `JAVA_VERSION` in a home's `release`: 17.0.15 → [17, 0, 15], 1.8.0_392.
fn version(home: &Path) -> Option<Vec<u32>> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let numbers = line.trim().trim_matches('"').split(['.', '_', '-', '+']);
    Some(numbers.map_while(|number| number.parse().ok()).collect())
}

/// Up to 8 the first number was always 1.
fn feature_of(version: &[u32]) -> Option<u32> {
    match version {
        [1, feature, ..] => Some(*feature),
        [feature, ..] => Some(*feature),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jdk(root: &Path, name: &str, version: &str, compiler: bool) -> PathBuf {
        let home = root.join(name);
        std::fs::create_dir_all(home.join("bin")).unwrap();
        std::fs::write(home.join("release"), format!("A=\"b\"\nJAVA_VERSION=\"{version}\"\n")).unwrap();
        if compiler {
            std::fs::write(home.join("bin/javac"), "").unwrap();
        }
        home.canonicalize().unwrap()
    }

    #[test]
    fn a_jdk_is_what_its_release_file_says() {
        let root = tempfile::tempdir().unwrap();
        let at = |name, version, compiler| jdk(root.path(), name, version, compiler);
        let homes = [
            at("seventeen", "17.0.9", true),
            at("newer", "17.0.15", true),
            at("runtime", "17.0.20", false),
            at("old", "1.8.0_392", true),
            at("early", "25-ea", true),
            root.path().join("nothing"),
        ];
        let chosen = |feature| choose(homes.iter().cloned(), feature);
        assert_eq!(chosen(17), Some(homes[1].clone()));
        assert_eq!(chosen(8), Some(homes[3].clone()));
        assert_eq!(chosen(25), Some(homes[4].clone()));
        assert_eq!(chosen(11), None);
    }

    #[test]
    fn variables_that_name_a_java_are_looked_at() {
        let variables = ["HOME", "JAVA_HOME", "JAVA_17_HOME", "JDK_25"].map(|n| (n.to_owned(), n.into()));
        let homes: Vec<PathBuf> = named(variables.into_iter()).collect();
        assert_eq!(homes, ["JAVA_17_HOME", "JAVA_HOME", "JDK_25"].map(PathBuf::from));
    }
}
