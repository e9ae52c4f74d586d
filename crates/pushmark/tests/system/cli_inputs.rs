//! Unusable inputs of pushmark: they are reported before anything is measured, and quickly.

use std::process::{Command, Stdio};

use crate::tool::{LOAD, Tool, end};

fn builtin() -> String {
    format!("transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n{LOAD}")
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_is_measured() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    tool.write("file", "");
    let ended = tool.run(&["run", "s.toml", "-o", "file/out"]).expect(2).never_panicked();
    let ended = ended.says(&["-o file/out", "cannot create file"]);
    assert!(!ended.err.contains("measure"), "nothing was started: {}", ended.err);
    assert_eq!(tool.names(""), ["file", "s.toml"]);
}

#[test]
fn what_is_no_file_is_not_read_for_ever() {
    let tool = Tool::new();
    tool.run(&["run", "/dev/zero"]).expect(2).says(&["it is a device or a socket"]);
    // An endless pipe is read up to the limit.
    let mut command = tool.command(&["run", "/dev/stdin"]);
    let mut endless = Command::new("cat").arg("/dev/zero").stdout(Stdio::piped()).spawn().unwrap();
    command.stdin(endless.stdout.take().unwrap());
    end(command).expect(2).says(&["larger than 64 MiB"]);
    let _ = endless.wait();
}

#[test]
fn an_address_without_its_scheme_is_told() {
    let tool = Tool::new();
    for address in ["127.0.0.1:9101/ws", "localhost:80"] {
        tool.run(&["run", address]).expect(2).says(&["there is no such file", &format!("ws://{address}")]);
    }
}
