//! What machines that work together are given: an authority for TLS, a NATS server that lets each of them say only
//! what is its own, and a login for each.

use std::fmt::Write as _;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use crate::signed::{Signer, random_hex, to_hex};

/// A file, and whether only its owner may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
    /// Whether it is a secret.
    pub secret: bool,
}

/// Makes everything for a NATS server that is reached by these names and addresses, and for agents and monitors with
/// these names. Returns the files, and the public key of the coordinator.
///
/// # Errors
/// Fails if the system has no random numbers, or a host's name is not valid in a certificate.
pub fn found(hosts: &[String], agents: &[String]) -> anyhow::Result<(Vec<Given>, String)> {
    let (signer, seed) = Signer::draw()?;
    let public = |name: &str, text: String| Given { name: name.into(), text, secret: false };
    let secret = |name: &str, text: String| Given { name: name.into(), text, secret: true };
    let (authority, own) = authority()?;
    let key = KeyPair::generate()?;
    let certificate = certificate(hosts, &key, &authority)?;
    let mut files = vec![
        secret("team.key", to_hex(&seed) + "\n"),
        public("team.pub", signer.public() + "\n"),
        public("ca.pem", own),
        public("nats.pem", certificate),
        secret("nats.key", key.serialize_pem()),
    ];
    let mut users = vec![("coordinator".to_owned(), random_hex()?)];
    for name in agents {
        users.push((name.clone(), random_hex()?));
    }
    files.extend(
        users.iter().map(|(user, password)| secret(&format!("{user}.login"), format!("{user}:{password}\n"))),
    );
    files.push(secret("nats.conf", configuration(&users)));
    Ok((files, signer.public()))
}

fn authority() -> anyhow::Result<(Issuer<'static, KeyPair>, String)> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, "pushmark machines");
    let key = KeyPair::generate()?;
    let own = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), own))
}

fn certificate(hosts: &[String], key: &KeyPair, by: &Issuer<'static, KeyPair>) -> anyhow::Result<String> {
    let mut params = CertificateParams::new(hosts.to_vec())?;
    params.distinguished_name.push(DnType::CommonName, "nats");
    Ok(params.signed_by(key, by)?.pem())
}

/// The configuration of a NATS server: each user may say and hear only what is its own.
fn configuration(users: &[(String, String)]) -> String {
    let mut text = "# A NATS server for pushmark: nats-server -c nats.conf, in this folder.\n\
                    port: 4222\n\
                    tls {\n  cert_file: \"nats.pem\"\n  key_file: \"nats.key\"\n}\n\
                    authorization {\n  users = [\n"
        .to_owned();
    for (user, password) in users {
        // Answers go to inboxes: those that the asker has drawn.
        let (publish, subscribe) = match user.as_str() {
            "coordinator" => (
                r#"["pushmark.who", "pushmark.agent.*", "pushmark.claim.*"]"#.to_owned(),
                r#"["pushmark.said.>", "pushmark.claim.*", "_INBOX.>"]"#.to_owned(),
            ),
            name => (
                format!(r#"["pushmark.who", "pushmark.said.*.{name}"]"#),
                format!(r#"["pushmark.who", "pushmark.agent.{name}", "_INBOX.>"]"#),
            ),
        };
        let _ = writeln!(
            text,
            "    {{ user: \"{user}\", password: \"{password}\", permissions: {{\n      publish: {publish}, \
             subscribe: {subscribe},\n      allow_responses: {{ max: 1, expires: \"10s\" }} }} }}"
        );
    }
    text + "  ]\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_secret_and_each_has_its_own_login() {
        let agents = ["a".to_owned(), "b".to_owned()];
        let (files, public) = found(&["10.0.0.1".to_owned(), "nats.example".to_owned()], &agents).unwrap();
        let of = |name: &str| files.iter().find(|file| file.name == name).unwrap();
        assert_eq!(of("team.pub").text, format!("{public}\n"));
        for name in ["team.key", "nats.key", "nats.conf", "coordinator.login", "a.login", "b.login"] {
            assert!(of(name).secret, "{name}");
        }
        assert!(["team.pub", "ca.pem", "nats.pem"].iter().all(|name| !of(name).secret));
        let password = |name: &str| of(name).text.trim().split_once(':').unwrap().1.to_owned();
        assert_ne!(password("a.login"), password("b.login"));
        let conf = &of("nats.conf").text;
        assert!(conf.contains(&password("a.login")) && conf.contains("pushmark.said.*.b"), "{conf}");
    }
}
