//! TLS settings of a target, with the contents of their files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which certificates clients accept, and which they present. Certificates and keys are PEM texts, because an
/// agent may not see the files. None of them is written to a result.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Any certificate is accepted.
    pub insecure: bool,
    /// TLS sessions are resumed.
    pub resumption: bool,
    /// The trusted authorities; absent: those of the generator's machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ca: Option<String>,
    /// The clients' certificate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cert: Option<String>,
    /// Its key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
}

impl Tls {
    /// Returns a copy without the contents of files, for a result.
    pub fn without_files(&self) -> Tls {
        Tls { ca: None, cert: None, key: None, ..*self }
    }
}

impl Default for Tls {
    fn default() -> Tls {
        Tls { insecure: false, resumption: true, ca: None, cert: None, key: None }
    }
}

impl fmt::Debug for Tls {
    // A key is never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("insecure", &self.insecure)
            .field("resumption", &self.resumption)
            .field("ca", &self.ca.is_some())
            .field("cert", &self.cert.is_some())
            .field("key", &self.key.is_some())
            .finish()
    }
}
