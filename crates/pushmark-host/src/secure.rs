//! The certificates and keys of a scenario: read, and tried before anything is started.

use std::path::Path;

use pushmark_model::plan::{Plan, Tls};
use pushmark_model::scenario::{ScenarioError, TargetUrl, TlsSpec};
use pushmark_net::tls::{Client, Fault, Part, Settings};

/// Largest certificate or key.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads the files that `[target.tls]` names, relative to `folder`.
///
/// # Errors
/// Fails at the key of a file that cannot be read.
pub fn read(spec: &TlsSpec, folder: &Path) -> Result<Tls, Box<ScenarioError>> {
    let text = |key: &str, path: &Option<String>| {
        path.as_ref().map(|path| read_pem(key, path, &folder.join(path))).transpose()
    };
    Ok(Tls {
        insecure: spec.insecure,
        resumption: spec.resumption,
        ca: text("ca", &spec.ca)?,
        cert: text("cert", &spec.cert)?,
        key: text("key", &spec.key)?,
    })
}

fn read_pem(key: &str, written: &str, path: &Path) -> Result<String, Box<ScenarioError>> {
    let wrong = |what: String| {
        let error = ScenarioError::at(format!("target.tls.{key}"), what).found(format!("{written:?}"));
        Box::new(error.accepted("a PEM file"))
    };
    let size = std::fs::metadata(path).map(|data| data.len());
    match size {
        Ok(FILE_BYTES_MAX..) => {
            return Err(wrong("the file is too long to be one of certificates".to_owned()));
        }
        Ok(_) => {}
        Err(error) => return Err(wrong(format!("the file cannot be read: {error}"))),
    }
    let bytes = std::fs::read(path).map_err(|error| wrong(format!("the file cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| wrong("the file is not PEM: it is no text".to_owned()))
}

/// The TLS client that a few connections to a host share; they do not resume sessions.
///
/// # Errors
/// Fails if a setting cannot be used; [`check`] has already reported a scenario's.
pub fn client(tls: &Tls, host: &str) -> Result<Client, Fault> {
    let settings = Settings {
        insecure: tls.insecure,
        resumption: tls.resumption,
        ca: tls.ca.as_deref(),
        identity: tls.cert.as_deref().zip(tls.key.as_deref()),
    };
    Client::new(&settings, host, 1)
}

/// Returns the TLS errors of a plan's connections, and of those to the `ready` URL of its target.
pub fn check(plan: &Plan, ready: Option<&str>, tls: &Tls) -> Vec<ScenarioError> {
    let mut errors: Vec<ScenarioError> = Vec::new();
    let mut try_out = |tls: &Tls, host: &str, key: &str| {
        let error = client(tls, host).err().map(|fault| error(&fault, key));
        // A shared error is reported once.
        errors.extend(error.filter(|error| !errors.contains(error)));
    };
    for arm in &plan.arms {
        let Some(tls) = &arm.tls else { continue };
        let subscribe = arm.subscribe.tls.then_some(&arm.subscribe.host);
        let publish = arm.publish.as_ref().filter(|publish| publish.tls).map(|publish| &publish.host);
        let subscribe_key = format!("target.subscribe.{}.url", arm.transport);
        let hosts = [(subscribe, &*subscribe_key), (publish, "target.publish.url")];
        for (host, key) in hosts.into_iter().filter_map(|(host, key)| Some((host?, key))) {
            try_out(tls, host, key);
        }
        for (n, request) in arm.before.iter().enumerate().filter(|(_, request)| request.tls) {
            try_out(tls, &request.host, &format!("target.before[{n}].url"));
        }
        for (n, step) in arm.subscribe.steps.iter().enumerate() {
            if let Some(request) = step.request.as_ref().filter(|request| request.tls) {
                let key = format!("target.subscribe.{}.steps[{n}].request.url", arm.transport);
                try_out(tls, &request.host, &key);
            }
        }
    }
    let ready = ready.and_then(|url| TargetUrl::parse(url, false).ok());
    if let Some(url) = ready.filter(|url| url.tls) {
        try_out(tls, &url.host, "target.process.ready");
    }
    errors
}

fn error(fault: &Fault, host_key: &str) -> ScenarioError {
    let (key, accepted) = match fault.part {
        Part::Ca => ("target.tls.ca", "a PEM file with the certificates of authorities"),
        Part::Cert => ("target.tls.cert", "a PEM file with the clients' certificate"),
        Part::Key => ("target.tls.key", "a PEM file with the private key of `cert`"),
        Part::Roots => {
            ("target.tls", "an authority by --ca (target.tls.ca), or --insecure to accept any certificate")
        }
        Part::Host => (host_key, "a DNS name or an IP address"),
    };
    ScenarioError::at(key, fault.what.clone()).accepted(accepted)
}
