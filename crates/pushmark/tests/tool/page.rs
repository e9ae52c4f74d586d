//! A page in a headless Chromium, driven over its debugging protocol: opened, asked, looked at.

#![allow(unreachable_pub, reason = "shared by test files")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use conformance::process::Process;
use conformance::session::{Heard, Session};
use pushmark::server::http;
use pushmark::server::needs::in_path;
use pushmark_proto::client::{Config, Transport};
use serde_json::{Value, json};

use crate::tool::{PATIENCE, have, until};

/// A browser with one page. Dropping it ends it.
#[derive(Debug)]
pub struct Page {
    _browser: Process,
    session: Session,
    number: u64,
    /// What the page complained of.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Starts a browser; none where there is none on this machine.
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
        let port = || fs::read_to_string(&told).ok()?.lines().next()?.parse::<u16>().ok();
        until("the browser says its port", || port().is_some());
        let list = format!("http://127.0.0.1:{}/json/list", port().expect("a port"));
        let mut target = None;
        until("there is a page", || {
            let answer = http::get(&(&*list).into(), PATIENCE).map(|answer| answer.body).unwrap_or_default();
            let pages: Value = serde_json::from_slice(&answer).unwrap_or_default();
            target = pages[0]["webSocketDebuggerUrl"].as_str().map(str::to_owned);
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

    /// The value of an expression in the page.
    #[track_caller]
    pub fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true; one that cannot be evaluated yet is not.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        until(expression, || {
            let asked = json!({ "expression": format!("!!({expression})"), "returnByValue": true });
            self.call("Runtime.evaluate", asked)["result"]["value"] == true
        });
    }

    /// What its reader has: width and height of the window, and what they prefer.
    pub fn reader(&mut self, width: u32, height: u32, features: &[(&str, &str)]) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features: Vec<Value> =
            features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// A picture of it, as PNG in base64.
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
