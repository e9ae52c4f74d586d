//! A page in a headless Chromium, driven over its debugging protocol: opened, queried, captured.

#![allow(unreachable_pub, reason = "shared by test files")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use conformance::process::Process;
use conformance::session::{Heard, Session};
use pushmark_host::server::http;
use pushmark_host::server::paths::in_path;
use pushmark_proto::client::{Config, Transport};
use serde_json::{Value, json};

use crate::tool::{PATIENCE, have, until};

/// A browser with one page. Dropping it ends it.
#[derive(Debug)]
pub struct Page {
    _browser: Process,
    session: Session,
    number: u64,
    /// The page's error messages.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Starts a browser; `None` if this machine has no browser.
    pub fn open() -> Option<Page> {
        let chromium = in_path("chromium");
        if !have(chromium.is_some(), "chromium") {
            return None;
        }
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(chromium.expect("it is there"));
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
        command.args([
            "--disable-sync",
            "--no-proxy-server",
            "--hide-scrollbars",
            "--remote-debugging-port=0",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.stderr(Stdio::null());
        let browser = Process::start(&mut command).with_children();
        let told: PathBuf = profile.path().join("DevToolsActivePort");
        // Two lines: once the second is there, the first is whole.
        let port = || {
            let text = fs::read_to_string(&told).ok()?;
            let (port, _) = text.split_once('\n')?;
            port.parse::<u16>().ok()
        };
        until("the browser says its port", || port().is_some());
        let list = format!("http://127.0.0.1:{}/json/list", port().expect("a port"));
        let mut target = None;
        until("there is a page", || {
            let answer = http::get(&(&*list).into(), PATIENCE).map(|answer| answer.body).unwrap_or_default();
            let pages: Value = serde_json::from_slice(&answer).unwrap_or_default();
            // A browser has targets other than its page, and they may be listed first.
            let page = pages.as_array().and_then(|all| all.iter().find(|one| one["type"] == "page"));
            target = page.and_then(|page| page["webSocketDebuggerUrl"].as_str()).map(str::to_owned);
            target.is_some()
        });
        let target = target.expect("a page").replacen("ws://", "", 1);
        let (address, path) = target.split_once('/').expect("a path");
        let address = address.parse().expect("an address");
        let mut session = Session::open(address, Config::new(Transport::WebSocket), &format!("/{path}"));
        assert_eq!(session.hear(), Ok(Heard::Opened(101)));
        let mut page =
            Page { _browser: browser, session, number: 0, complaints: Vec::new(), _profile: profile };
        page.call("Runtime.enable", json!({}));
        page.call("Page.enable", json!({}));
        Some(page)
    }

    /// Goes to a URL.
    pub fn go(&mut self, url: &str) {
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
    }

    /// Returns the value of an expression in the page.
    #[track_caller]
    pub fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true; an expression that cannot be evaluated yet is not.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        until(expression, || {
            let asked = json!({ "expression": format!("!!({expression})"), "returnByValue": true });
            self.call("Runtime.evaluate", asked)["result"]["value"] == true
        });
    }

    /// Sets width and height of the window, and the reader's preferences.
    pub fn reader(&mut self, width: u32, height: u32, features: &[(&str, &str)]) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Returns a picture of the page, as PNG in base64.
    pub fn picture(&mut self) -> String {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        answer["data"].as_str().expect("a picture").to_owned()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let call = json!({ "id": self.number, "method": method, "params": parameters });
        assert!(self.session.write_text(call.to_string().as_bytes()));
        loop {
            let said: Value = serde_json::from_str(&self.session.message()).expect("JSON");
            match said["method"].as_str() {
                Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => {
                    self.complaints.push(said["params"].to_string());
                }
                _ if said["id"] == self.number => {
                    assert!(said["error"].is_null(), "{method}: {said}");
                    return said["result"].clone();
                }
                _ => {}
            }
        }
    }
}
