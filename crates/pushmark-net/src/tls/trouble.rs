//! What goes wrong in TLS, in words that say what to do.

use std::{fmt, io};

use rustls::{AlertDescription, CertificateError, Error};

/// A connection that failed over its TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    kind: &'static str,
    what: String,
}

impl Trouble {
    /// What it is counted under: `tls_certificate` (theirs is not believed), `tls_alert` (the
    /// server said why), `tls_handshake` (it ended without a word, or in another language) or
    /// `tls_record` (what came later cannot be read).
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Whether the target's certificate is not believed, which time does not heal.
    pub fn is_of_certificate(&self) -> bool {
        self.kind == "tls_certificate"
    }

    /// The trouble of an I/O error, if it is one of TLS.
    pub fn of(error: &io::Error) -> Option<&Trouble> {
        error.get_ref()?.downcast_ref()
    }

    /// The connection ended while hands were shaken.
    pub(crate) fn cut_off() -> Trouble {
        let what = "the target closed the connection during the TLS handshake: does this port speak TLS, \
                    and to clients without a certificate (--cert, --key)?";
        Trouble { kind: "tls_handshake", what: what.to_owned() }
    }

    /// The keys of a connection are used up, or it was closed on our side.
    pub(super) fn exhausted() -> Trouble {
        Trouble { kind: "tls_record", what: "TLS takes nothing more on this connection".to_owned() }
    }

    pub(crate) fn from_rustls(error: &Error, handshaking: bool) -> Trouble {
        let (kind, what) = match error {
            Error::InvalidCertificate(error) => ("tls_certificate", certificate(error)),
            Error::NoCertificatesPresented => {
                ("tls_certificate", "the target showed no certificate".to_owned())
            }
            Error::AlertReceived(alert) => ("tls_alert", told(*alert)),
            Error::InvalidMessage(_) if handshaking => (
                "tls_handshake",
                format!("what the target answers is not TLS: does this port speak http or ws? ({error})"),
            ),
            Error::PeerIncompatible(_) => (
                "tls_handshake",
                format!("the target has no TLS in common with us, which is 1.2 and 1.3: {error}"),
            ),
            error if handshaking => ("tls_handshake", error.to_string()),
            error => ("tls_record", error.to_string()),
        };
        Trouble { kind, what }
    }
}

/// Why a certificate is not believed.
fn certificate(error: &CertificateError) -> String {
    const ANY: &str = "--insecure to believe any";
    match error {
        CertificateError::UnknownIssuer => format!(
            "the target's certificate has an unknown issuer: give its authority with --ca (target.tls.ca), or {ANY}"
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(
                "the target's certificate is for another host: {error}; ask for the host it names, or {ANY}"
            )
        }
        CertificateError::BadSignature => format!(
            "the target's certificate is of another authority, which has the name of one that is believed: \
             give its own with --ca (target.tls.ca), or {ANY}"
        ),
        error => format!("the target's certificate is not to be believed: {error}; {ANY}"),
    }
}

/// What a server says with an alert (RFC 8446 6.2).
fn told(alert: AlertDescription) -> String {
    let advice = match alert {
        AlertDescription::CertificateRequired => "it wants a certificate of ours: --cert and --key",
        AlertDescription::BadCertificate
        | AlertDescription::UnknownCA
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => "it does not take our certificate: --cert and --key",
        AlertDescription::HandshakeFailure => {
            "it and we agree on nothing, or it wants a certificate of ours (--cert and --key)"
        }
        AlertDescription::NoApplicationProtocol => "it does not speak HTTP/1.1",
        AlertDescription::UnrecognisedName => "it does not know the host that was asked for",
        AlertDescription::ProtocolVersion => "it speaks neither TLS 1.2 nor 1.3",
        _ => return format!("the target ended TLS with the alert {alert:?}"),
    };
    format!("the target ended TLS with the alert {alert:?}: {advice}")
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Trouble {}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, trouble)
    }
}
