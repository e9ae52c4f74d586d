//! Error messages for TLS failures, with advice.

use std::{fmt, io};

use rustls::{AlertDescription, CertificateError, Error};

/// A TLS failure of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    kind: &'static str,
    what: String,
}

impl Trouble {
    /// The kind it is counted under: `tls_certificate` (the target's certificate is not trusted), `tls_alert`
    /// (the server sent an alert), `tls_handshake` (the handshake ended without an alert, or the peer does
    /// not speak TLS) or `tls_record` (later input cannot be read).
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns whether the target's certificate is not trusted. A retry cannot help.
    pub fn is_of_certificate(&self) -> bool {
        self.kind == "tls_certificate"
    }

    /// Returns the TLS failure in an I/O error, if there is one.
    pub fn of(error: &io::Error) -> Option<&Trouble> {
        error.get_ref()?.downcast_ref()
    }

    /// The connection ended during the handshake.
    pub(crate) fn cut_off() -> Trouble {
        let what = "the target closed the connection during the TLS handshake: does this port speak TLS, \
                    and to clients without a certificate (--cert, --key)?";
        Trouble { kind: "tls_handshake", what: what.to_owned() }
    }

    /// The keys of the connection are used up, or our side closed it.
    pub(super) fn exhausted() -> Trouble {
        Trouble { kind: "tls_record", what: "TLS accepts no more data on this connection".to_owned() }
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
                format!("the target's answer is not TLS: does this port speak http or ws? ({error})"),
            ),
            Error::PeerIncompatible(_) => (
                "tls_handshake",
                format!("no TLS parameters in common with the target (we speak 1.2 and 1.3): {error}"),
            ),
            error if handshaking => ("tls_handshake", error.to_string()),
            error => ("tls_record", error.to_string()),
        };
        Trouble { kind, what }
    }
}

/// Explains why a certificate is not trusted.
fn certificate(error: &CertificateError) -> String {
    const ANY: &str = "--insecure to accept any certificate";
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
            "the target's certificate comes from another authority with the name of a trusted one: \
             give the right one with --ca (target.tls.ca), or {ANY}"
        ),
        error => format!("the target's certificate is not trusted: {error}; {ANY}"),
    }
}

/// Explains an alert of the server (RFC 8446 6.2).
fn told(alert: AlertDescription) -> String {
    let advice = match alert {
        AlertDescription::CertificateRequired => "it requires a client certificate: --cert and --key",
        AlertDescription::BadCertificate
        | AlertDescription::UnknownCA
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => "it rejects the client certificate: --cert and --key",
        AlertDescription::HandshakeFailure => {
            "no common parameters, or it requires a client certificate (--cert and --key)"
        }
        AlertDescription::NoApplicationProtocol => "it does not speak HTTP/1.1, perhaps HTTP/2 only",
        AlertDescription::UnrecognisedName => "it does not know the requested host",
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
