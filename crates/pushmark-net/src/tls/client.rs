//! TLS state that the connections of a crowd share: trusted authorities, our certificate, sessions.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::sessions::{Newcomer, Sessions};

/// The only protocol that is offered (RFC 7301), so that a server with HTTP/2 uses HTTP/1.1 here.
const ALPN: &[u8] = b"http/1.1";

/// How servers are verified, and our own identity. Certificates and keys are PEM texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'a> {
    /// Accept any certificate.
    pub insecure: bool,
    /// Use the tickets and sessions that servers send.
    pub resumption: bool,
    /// Trust these authorities. If absent, trust those of this machine.
    pub ca: Option<&'a str>,
    /// Our certificate with its chain, and its key.
    pub identity: Option<(&'a str, &'a str)>,
}

/// The setting that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`Settings::ca`].
    Ca,
    /// The certificate of [`Settings::identity`].
    Cert,
    /// Its key.
    Key,
    /// The root certificates of this machine.
    Roots,
    /// The host to connect to.
    Host,
}

/// Settings that allow no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The wrong setting.
    pub part: Part,
    /// What is wrong, as one sentence without a full stop.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Fault {}

/// The client side of all connections of a thread to one host.
#[derive(Clone, Debug)]
pub struct Client {
    host: ServerName<'static>,
    /// For a new client: no ticket, so a full handshake.
    newcomer: Arc<ClientConfig>,
    /// For a client that returns.
    returning: Arc<ClientConfig>,
}

impl Client {
    /// Makes a client for this host (a name, or an address without brackets). It keeps at most `sessions_max`
    /// sessions for resumption: one for each client.
    ///
    /// # Errors
    /// Invalid PEM texts, a key that does not match its certificate, a machine without root certificates, or
    /// a host that no certificate can name.
    pub fn new(settings: &Settings<'_>, host: &str, sessions_max: usize) -> Result<Client, Fault> {
        let fault = |part| move |what: String| Fault { part, what };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| fault(Part::Host)(format!("{host:?} is not a name that a certificate can have")))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring has suites for both versions");
        let builder = match (settings.insecure, settings.ca) {
            (true, _) => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer(provider))),
            (false, Some(ca)) => builder.with_root_certificates(roots(ca).map_err(fault(Part::Ca))?),
            (false, None) => builder.with_root_certificates(machine_roots().map_err(fault(Part::Roots))?),
        };
        let mut config = match settings.identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let chain = certificates(cert).map_err(fault(Part::Cert))?;
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
                let key = key.map_err(|error| fault(Part::Key)(no_pem(&error, "private key")))?;
                let with_key = builder.with_client_auth_cert(chain, key);
                with_key.map_err(|error| {
                    fault(Part::Key)(format!("the key does not match the certificate: {error}"))
                })?
            }
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        if !settings.resumption {
            config.resumption = Resumption::disabled();
            let config = Arc::new(config);
            return Ok(Client { host: name, newcomer: config.clone(), returning: config });
        }
        let sessions = Arc::new(Sessions::new(sessions_max.max(1)));
        let mut newcomer = config.clone();
        newcomer.resumption = Resumption::store(Arc::new(Newcomer(sessions.clone())));
        config.resumption = Resumption::store(sessions);
        Ok(Client { host: name, newcomer: Arc::new(newcomer), returning: Arc::new(config) })
    }

    pub(crate) fn config(&self, returning: bool) -> Arc<ClientConfig> {
        if returning { self.returning.clone() } else { self.newcomer.clone() }
    }

    pub(crate) fn host(&self) -> &ServerName<'static> {
        &self.host
    }
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match all {
        Ok(all) if all.is_empty() => Err("there is no certificate in it".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(no_pem(&error, "certificate")),
    }
}

fn no_pem(error: &pem::Error, what: &str) -> String {
    match error {
        pem::Error::NoItemsFound => format!("there is no {what} in it"),
        error => format!("it is not PEM: {error}"),
    }
}

fn roots(text: &str) -> Result<Arc<RootCertStore>, String> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(text)? {
        store.add(certificate).map_err(|error| format!("not a certificate authority: {error}"))?;
    }
    Ok(Arc::new(store))
}

/// Reads the roots once for the process, so that every thread trusts the same ones.
fn machine_roots() -> Result<Arc<RootCertStore>, String> {
    static ROOTS: OnceLock<Result<Arc<RootCertStore>, String>> = OnceLock::new();
    let read = || {
        let found = rustls_native_certs::load_native_certs();
        let mut store = RootCertStore::empty();
        // Machines keep some certificates that are too old to be parsed. The others still count.
        let (added, _) = store.add_parsable_certificates(found.certs);
        if added > 0 {
            return Ok(Arc::new(store));
        }
        let why = found.errors.first().map_or(String::new(), |error| format!(": {error}"));
        Err(format!("this machine trusts no certificate authority{why}"))
    };
    ROOTS.get_or_init(read).clone()
}

/// Accepts any certificate, but still verifies that the server has its key.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
