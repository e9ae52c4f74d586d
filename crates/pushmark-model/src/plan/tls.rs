//! How a target is met over TLS, everything read from files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whom clients believe, and who they are. Certificates and keys are PEM texts: an agent may not
/// see the files they come from. None is written into a result.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Any certificate is believed.
    pub insecure: bool,
    /// Sessions are taken up again.
    pub resumption: bool,
    /// The authorities that are believed; absent: those of the generator's machine.
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
    /// The same without what comes from files, for a result.
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
    // A key is shown nowhere.
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
