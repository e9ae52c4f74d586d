//! `[target.tls]`: the TLS settings of a target, and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;

/// TLS settings for `https` and `wss` targets. Default: trust the authorities of this machine, and send no client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSpec {
    /// Accept any certificate. Default: false.
    pub insecure: bool,
    /// Whether a client that reconnects resumes its TLS session, if the target allows it. Default: true.
    pub resumption: bool,
    /// A PEM file of the certificate authorities to trust, its path relative to the scenario. Default: those of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// A PEM file of the client certificate and its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<String>,
    /// A PEM file of the certificate's private key. It is not written to results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Default for TlsSpec {
    fn default() -> TlsSpec {
        TlsSpec { insecure: false, resumption: true, ca: None, cert: None, key: None }
    }
}

/// Reports mistakes in the keys, without reading the files.
pub(super) fn check(tls: &TlsSpec, is_used: bool, errors: &mut Vec<ScenarioError>) {
    if !is_used {
        errors.push(
            ScenarioError::at("target.tls", "this target does not use TLS")
                .found("no https or wss in its URLs")
                .accepted("https://… or wss://… under [target.subscribe] and [target.publish]"),
        );
    }
    for (given, missing) in [("cert", "key"), ("key", "cert")] {
        let is_there = |key| if key == "cert" { tls.cert.is_some() } else { tls.key.is_some() };
        if is_there(given) && !is_there(missing) {
            errors.push(
                ScenarioError::at(format!("target.tls.{given}"), format!("`{given}` needs its `{missing}`"))
                    .found(format!("`{given}` alone"))
                    .accepted("both cert and key (--cert and --key), or none"),
            );
        }
    }
    if let (true, Some(ca)) = (tls.insecure, &tls.ca) {
        errors.push(
            ScenarioError::at("target.tls.ca", "`ca` has no effect with `insecure`")
                .found(format!("{ca:?}, and insecure = true"))
                .accepted("either ca (--ca), or insecure (--insecure)"),
        );
    }
}
