//! `pushmark cluster init`: keys, logins and a NATS configuration for machines that work together.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use pushmark_cluster::{found, is_name};
use pushmark_console::exit::Exit;
use pushmark_console::output::print;

use super::bus::wrong;

/// Flags of `cluster`.
#[derive(Args, Clone, Debug)]
pub struct ClusterArgs {
    /// What to do
    #[command(subcommand)]
    pub what: ClusterWhat,
}

/// What `cluster` does.
#[derive(Clone, Debug, Subcommand)]
pub enum ClusterWhat {
    /// Write keys, logins and a NATS configuration into a new folder, and print the commands for each machine
    Init(InitArgs),
}

/// Flags of `cluster init`.
#[derive(Args, Clone, Debug)]
pub struct InitArgs {
    /// The new folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// A name or address by which the machines reach the NATS server (may be given again)
    #[arg(long, value_name = "HOST", required = true)]
    pub host: Vec<String>,
    /// An agent or a monitor that gets a login, by its name (may be given again)
    #[arg(long, value_name = "NAME", required = true)]
    pub agent: Vec<String>,
}

/// Does what is asked.
///
/// # Errors
/// Fails if the folder is there, or cannot be written.
pub fn run(args: &ClusterArgs) -> anyhow::Result<Exit> {
    let ClusterWhat::Init(args) = &args.what;
    if let Some(name) = args.agent.iter().find(|name| !is_name(name) || *name == "coordinator") {
        return Err(wrong(&format!(
            "--agent {name}: letters, digits, - and _, at most 64, and not coordinator"
        )));
    }
    let (files, public) =
        found(&args.host, &args.agent).map_err(|error| wrong(&format!("--host: {error}")))?;
    let folder = &args.folder;
    fs::create_dir(folder).map_err(|error| wrong(&format!("{}: {error}", folder.display())))?;
    for file in files {
        let mode = if file.secret { 0o600 } else { 0o644 };
        write(&folder.join(&file.name), mode, &file.text)?;
    }
    print(&told(args, &public))?;
    Ok(Exit::Pass)
}

fn write(path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| path.display().to_string())
}

fn told(args: &InitArgs, public: &str) -> String {
    let folder = args.folder.display();
    let url = format!("tls://{}:4222", args.host[0]);
    let mut text = format!("# where NATS runs\ncd {folder} && nats-server -c nats.conf\n");
    for name in &args.agent {
        let _ = write!(
            text,
            "\n# machine {name}: give it ca.pem and {name}.login; --allow says where it may aim. Beside a server: \
             monitor, without --allow\npushmark agent --nats {url} --nats-ca ca.pem --nats-login {name}.login \
             --name {name} --trust {public} --allow TARGET\n"
        );
    }
    let _ = write!(
        text,
        "\n# here\npushmark run SCENARIO.toml --nats {url} --nats-ca {folder}/ca.pem --nats-login \
         {folder}/coordinator.login --sign-key {folder}/team.key\n"
    );
    text
}
