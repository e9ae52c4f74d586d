//! Files of a server that are kept with its run.

/// A file that is kept after its server ends: an output or a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Its name in the folder.
    pub name: String,
    /// Its last bytes.
    pub bytes: Vec<u8>,
}
