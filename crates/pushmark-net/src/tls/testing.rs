//! A certificate authority for tests.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::{Client, Settings};

pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        Authority::named("authority")
    }

    pub(crate) fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Authority { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) }
    }

    /// Issues a certificate for this name. Returns it with its key.
    pub(crate) fn vouch(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// A server named `localhost`. With `asks` it requests a client certificate.
    pub(crate) fn server(&self, version: &'static SupportedProtocolVersion, asks: bool) -> ServerConfig {
        let (cert, key) = self.vouch("localhost");
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(&[version]).unwrap();
        let builder = match asks {
            false => builder.with_no_client_auth(),
            true => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
                let provider = Arc::new(ring::default_provider());
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let chain = vec![CertificateDer::from_pem_slice(cert.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.ticketer = ring::Ticketer::new().unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config
    }

    /// A client of `localhost` that trusts this authority.
    pub(crate) fn client(&self) -> Client {
        let settings = Settings { ca: Some(&self.pem), resumption: true, ..Settings::default() };
        Client::new(&settings, "localhost", 8).unwrap()
    }
}
