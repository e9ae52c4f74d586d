//! The browser: its path, and how to start it with little disturbance and without stored state.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use pushmark_console::exit::{Ending, Exit};
use pushmark_host::server::logs::Logs;
use pushmark_host::server::paths::in_path;
use pushmark_host::server::process::{Process, Start};

/// Names a browser that is not in PATH, or that is preferred.
pub const VARIABLE: &str = "PUSHMARK_CHROMIUM";

/// The names under which distributions ship it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Headless, a single instance, without background work for a user, and without throttling of hidden pages.
///
/// Only HTTP/1.1, like the crowd.
const FLAGS: [&str; 18] = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-http2",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--no-proxy-server",
    "--mute-audio",
    "--disable-popup-blocking",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
];

/// Finds the browser.
///
/// # Errors
/// Fails with exit 2 if the variable does not name a file, and with exit 4 if this machine has no browser.
pub fn find() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(named);
        let found = if path.components().count() > 1 {
            path.is_file().then(|| path.clone())
        } else {
            path.to_str().and_then(in_path)
        };
        let text = format!("{VARIABLE}={}: no such program", path.display());
        return found.ok_or_else(|| Ending::error(Exit::Usage, text));
    }
    NAMES.into_iter().find_map(in_path).ok_or_else(|| {
        let text = format!(
            "no browser for load.browsers: looked for {} in PATH; install chromium, or name one in {VARIABLE}",
            NAMES.join(", ")
        );
        Ending::error(Exit::Refused, text)
    })
}

/// Permissions of pages that a user's pages do not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Permissions {
    /// Read from any server, whatever the server allows.
    pub(super) reads_any: bool,
    /// Accept any certificate.
    pub(super) believes_any: bool,
}

/// Starts the browser on a page. Its profile, with the permissions of its pages, is removed with it.
pub(super) fn start(url: &str, leave: Permissions, cpus: &[u32]) -> anyhow::Result<Process> {
    let logs = Logs::new("browser").context("cannot write to the temporary folder")?;
    let home = logs.folder().join("profile");
    let mut command = vec![find()?.display().to_string()];
    command.extend(FLAGS.map(str::to_owned));
    if rustix::process::geteuid().is_root() {
        // It refuses to start as root with its sandbox.
        command.push("--no-sandbox".to_owned());
    }
    for (may, flag) in
        [(leave.reads_any, "--disable-web-security"), (leave.believes_any, "--ignore-certificate-errors")]
    {
        command.extend(may.then(|| flag.to_owned()));
    }
    command.push(format!("--user-data-dir={}", home.display()));
    command.push(url.to_owned());
    let home_at = |name: &str| (name.into(), home.clone().into_os_string());
    let start = Start {
        name: "the browser".to_owned(),
        command,
        variables: ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"].map(home_at).to_vec(),
        cpus: cpus.to_vec(),
        ..Start::default()
    };
    Process::start(&start, logs)
}

/// Longest wait until every page has started: a busy machine is slow.
pub(super) const UP_WITHIN: Duration = Duration::from_secs(60);
