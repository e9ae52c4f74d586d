//! nginx in front of the server, on its core: it ends TLS and hands on.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use pushmark_net::limits;
use tempfile::TempDir;

use crate::server::spawn_on;

const STARTS_WITHIN: Duration = Duration::from_secs(5);

/// A running nginx; ended when dropped.
pub(crate) struct Terminator {
    nginx: Child,
    pub(crate) address: SocketAddr,
    _folder: TempDir,
}

impl Terminator {
    pub(crate) fn start(behind: SocketAddr, cpu: usize) -> anyhow::Result<Terminator> {
        // It inherits our limit, and has two connections for each of ours.
        limits::raise_open_files()?;
        let folder = tempfile::tempdir()?;
        certify(folder.path())?;
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = free.local_addr()?;
        drop(free);
        fs::write(folder.path().join("nginx.conf"), configuration(folder.path(), address, behind))?;
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
        let mut command = Command::new(nginx.context("nginx is not here: apt-get install nginx-light")?);
        command.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let nginx = spawn_on(command, cpu)?;
        let terminator = Terminator { nginx, address, _folder: folder };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            ensure!(began.elapsed() < STARTS_WITHIN, "nginx does not listen on {address}");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(terminator)
    }
}

impl Drop for Terminator {
    fn drop(&mut self) {
        let _ = self.nginx.kill();
        let _ = self.nginx.wait();
    }
}

/// A chain of two, as most servers show: an authority's and the host's.
fn certify(folder: &Path) -> anyhow::Result<()> {
    let mut params = rcgen::CertificateParams::new(Vec::new())?;
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let issuer = rcgen::Issuer::new(params, key);
    let key = rcgen::KeyPair::generate()?;
    let host = rcgen::CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &issuer)?;
    fs::write(folder.join("chain.pem"), host.pem() + &authority)?;
    fs::write(folder.join("host.key"), key.serialize_pem())?;
    Ok(())
}

fn configuration(folder: &Path, address: SocketAddr, behind: SocketAddr) -> String {
    let own = |name: &str| folder.join(name).display().to_string();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {};\n", own(what)))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid {pid};\nevents {{ worker_connections 20000; }}\n\
         http {{\n{temporary}access_log off;\nkeepalive_requests 1000000000;\n\
         map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}\n\
         server {{\nlisten {address} ssl backlog=4096;\nssl_certificate {chain};\nssl_certificate_key {key};\n\
         ssl_protocols TLSv1.3;\nlocation / {{\nproxy_pass http://{behind};\nproxy_http_version 1.1;\n\
         proxy_buffering off;\nproxy_set_header Host $http_host;\nproxy_set_header Upgrade $http_upgrade;\n\
         proxy_set_header Connection $connection_upgrade;\nproxy_read_timeout 600s;\n}}\n}}\n}}\n",
        pid = own("pid"),
        chain = own("chain.pem"),
        key = own("host.key"),
    )
}
