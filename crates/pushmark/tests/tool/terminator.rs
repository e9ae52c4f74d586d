//! nginx as a front of push servers: it ends TLS and forwards to the built-in server.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::{Tool, have, program, until};

/// Returns whether nginx is installed.
pub fn nginx() -> bool {
    have(path().is_some(), "nginx")
}

fn path() -> Option<&'static Path> {
    ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().map(Path::new).find(|path| path.exists())
}

/// A certificate authority.
pub struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// Writes its certificate as `NAME.pem`.
    pub fn new(tool: &Tool, name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        tool.write(&format!("{name}.pem"), &params.self_signed(&key).expect("a certificate").pem());
        Authority(Issuer::new(params, key))
    }

    /// Signs a certificate for a host or a client: writes `NAME.pem` and `NAME.key`.
    pub fn vouch(&self, tool: &Tool, name: &str) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        tool.write(&format!("{name}.pem"), &params.signed_by(&key, &self.0).expect("a certificate").pem());
        tool.write(&format!("{name}.key"), &key.serialize_pem());
    }
}

/// The built-in server behind nginx. Dropping it ends both.
pub struct Terminator {
    pub port: u16,
    children: Vec<Child>,
    /// Kept open, so that the server can write to it.
    _stdout: BufReader<ChildStdout>,
}

impl Terminator {
    /// Starts on `https://localhost`, with the certificate `localhost.pem` of the folder; `serve` are the
    /// server's arguments, `more` directives of nginx.
    pub fn start(tool: &Tool, serve: &[&str], more: &str) -> Terminator {
        let (mut terminator, command) = Terminator::asleep(tool, serve, more);
        let mut nginx = Command::new(&command[0]);
        nginx.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null());
        terminator.children.insert(0, nginx.spawn().expect("nginx starts"));
        let port = terminator.port;
        until("nginx listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        terminator
    }

    /// Starts the same except nginx, which the command starts.
    pub fn asleep(tool: &Tool, serve: &[&str], more: &str) -> (Terminator, Vec<String>) {
        let mut command = Command::new(program());
        command.args(["serve", "--port", "0"]).args(serve).stdin(Stdio::null()).stderr(Stdio::null());
        let mut server = command.stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(server.stdout.take().expect("piped"));
        stdout.read_line(&mut line).expect("its address");
        let behind = line.trim().rsplit(':').next().expect("a port").to_owned();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let folder = tool.path("nginx");
        fs::create_dir(&folder).expect("a folder");
        tool.write("nginx/nginx.conf", &configuration(tool, port, &behind, more));
        let program = path().expect("looked for before").display().to_string();
        let folder = folder.display().to_string();
        let command = [&program, "-e", "stderr", "-p", &folder, "-c", "nginx.conf"].map(str::to_owned);
        (Terminator { port, children: vec![server], _stdout: stdout }, command.to_vec())
    }
}

impl Drop for Terminator {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn configuration(tool: &Tool, port: u16, behind: &str, more: &str) -> String {
    let own = |name: &str| tool.path(name).display().to_string();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {};\n", own(&format!("nginx/{what}"))))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid {pid};\nevents {{ worker_connections 4096; }}\n\
         http {{\n{temporary}access_log off;\nkeepalive_requests 1000000;\n\
         map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}\n\
         upstream push {{ server 127.0.0.1:{behind}; keepalive 64; }}\n\
         server {{\nlisten 127.0.0.1:{port} ssl;\nssl_certificate {cert};\nssl_certificate_key {key};\n{more}\n\
         location / {{\nproxy_pass http://push;\nproxy_http_version 1.1;\nproxy_buffering off;\n\
         proxy_set_header Host $http_host;\nproxy_set_header Upgrade $http_upgrade;\n\
         proxy_set_header Connection $connection_upgrade;\nproxy_read_timeout 600s;\n}}\n}}\n}}\n",
        pid = own("nginx/pid"),
        cert = own("localhost.pem"),
        key = own("localhost.key"),
    )
}
