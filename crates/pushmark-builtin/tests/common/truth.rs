//! A server with faults, and its truth log.

use std::collections::HashMap;
use std::path::PathBuf;

use pushmark_builtin::{Faults, Options};
use tempfile::TempDir;

use super::Server;

/// A server with faults that keeps a truth log.
pub struct Faulty {
    pub server: Server,
    truth: PathBuf,
    _folder: TempDir,
}

pub fn faulty(faults: Faults) -> Faulty {
    let folder = TempDir::new().unwrap();
    let truth = folder.path().join("truth.csv");
    let options = Options { faults, truth: Some(truth.clone()), ..Options::default() };
    Faulty { server: Server::start(options), truth, _folder: folder }
}

impl Faulty {
    /// Stops the server and reads its truth log.
    pub fn truth(self) -> Truth {
        self.server.stop();
        let text = std::fs::read_to_string(&self.truth).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Truth { lines: lines.map(|line| line.split(',').map(str::to_owned).collect()).collect() }
    }
}

/// The truth log, line by line.
pub struct Truth {
    lines: Vec<Vec<String>>,
}

impl Truth {
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &[String]> {
        self.lines.iter().filter(move |line| line[0] == kind).map(|line| &line[1..])
    }

    pub fn total(&self, name: &str) -> u64 {
        self.of("total").find(|line| line[0] == name).unwrap()[1].parse().unwrap()
    }

    /// Returns the instants of the writes of each sequence, µs.
    pub fn writes(&self) -> HashMap<u64, Vec<u64>> {
        let mut writes: HashMap<u64, Vec<u64>> = HashMap::new();
        for line in self.of("delivery") {
            writes.entry(line[1].parse().unwrap()).or_default().push(line[3].parse().unwrap());
        }
        writes
    }
}
