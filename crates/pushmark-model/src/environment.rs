//! The machine and the software of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine and software of the run. All fields as the system names them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// Logical CPUs online.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// CPUs that the generator's threads were pinned to; absent if not pinned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator_cpus: Option<Vec<u32>>,
    /// CPUs that the server was pinned to; absent if pushmark did not start it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_cpus: Option<Vec<u32>>,
    /// Source of CPU figures: `schedstat` or `cgroup`.
    pub cpu_accounting: String,
    /// Whether target and generator share this host.
    pub same_host: bool,
    /// Open files allowed to this process.
    pub open_files: u64,
    /// Ephemeral port range, inclusive.
    pub ephemeral_ports: (u16, u16),
    /// The measured reference server; absent for a target of the user's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// Other facts (kernel settings, versions), name to value.
    pub settings: BTreeMap<String, String>,
}

/// The reference server of a run, from its registry row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerRef {
    /// Its name.
    pub name: String,
    /// The output of its version command; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The product and version it represents, for people.
    pub stands_for: String,
    /// `original` or `present`.
    pub generation: String,
    /// How it serves many clients; absent if its row does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub architecture: Option<String>,
    /// Name shared by servers with a common origin.
    pub family: String,
    /// Its flags: the defaults of the row, and those set by the case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub flags: BTreeMap<String, String>,
    /// Whether it had passed `pushmark check` in the state in which it was measured.
    pub checked: bool,
}
