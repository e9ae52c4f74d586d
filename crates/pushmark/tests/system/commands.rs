//! Publications by a command that takes lines: they are sent, heard and accounted for as any others, also when
//! the command ends in the middle.

use conformance::tools;
use serde_json::Value;

use crate::tool::{self, LOAD, POLLERS, Tool, arms, came, number, whole};

/// The built-in server as a foreign target, to which a command publishes.
fn scenario(command: &str) -> String {
    format!(
        "transports = [\"sse\"]\n[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channels}}\"\n\
         [target.publish.command]\n{command}\n\
         [target.process]\nstart = [\"{program}\", \"serve\", \"--port\", \"{{port}}\"]\n\
         ready = \"http://127.0.0.1:{{port}}/health\"\n{LOAD}\
         [subscriptions]\nchannels = 20\nper_connection = 5\n\
         [publisher]\nover = \"command\"\nrate = \"20/s\"\nsize = \"60B\"\n",
        program = tool::program(),
    )
}

/// The command of the tests; `most`: the lines after which it ends.
fn lines(most: &str) -> String {
    let script = tool::root().join("conformance/node/publish-lines.mjs").display().to_string();
    format!(
        "start = [\"node\", {script:?}, \"{{port}}\"{most}]\nline = \"{{channel}} {{message}}\"\n\
         ready = \"ready to publish\""
    )
}

#[test]
fn what_a_command_publishes_is_heard_in_order() {
    if !tools::present(&["node"]) {
        return;
    }
    for poller in POLLERS {
        let tool = Tool::new();
        let run = tool.measure(&(scenario(&lines("")) + "connections = 3\n"), &["--poller", poller]);
        let arm = &arms(&run)[0];
        whole(arm);
        assert_eq!(number(arm, "/published/due"), 400.0);
        assert_eq!(number(arm, "/published/sent"), 400.0);
        assert_eq!(came(arm), 8.0 * 5.0 * 20.0);
        assert_eq!(number(arm, "/delivery/out_of_order"), 0.0);
        assert!(arm["published"].get("accept").is_none(), "a line has no answer: {:#}", arm["published"]);
    }
}

#[test]
fn a_command_that_ends_is_told_with_its_last_words_and_started_again() {
    if !tools::present(&["node"]) {
        return;
    }
    let tool = Tool::new();
    tool.write("scenario.toml", &scenario(&lines(", \"150\"")));
    let ended = tool.run(&["run", "scenario.toml", "-o", "out", "-q"]).never_panicked();
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    let text = format!("{}{run}", ended.out);
    assert!(text.contains("the publisher has had enough") && text.contains("exit status: 7"), "{text}");
    assert!(number(arm, "/published/failed") > 0.0, "{:#}", arm["published"]);
    // What was not sent is nobody's loss: the server lost nothing.
    let delivery = &arm["delivery"];
    assert!(
        came(arm) > 0.0 && number(delivery, "/missing") <= number(arm, "/published/failed") * 2.0,
        "{delivery:#}"
    );
    assert!(number(arm, "/published/reconnected") > 0.0, "{:#}", arm["published"]);
}

#[test]
fn a_command_that_is_no_program_is_told_before_the_run() {
    let tool = Tool::new();
    tool.write("scenario.toml", &scenario("start = [\"no-such-program-here\", \"x\"]"));
    let ended = tool.run(&["run", "scenario.toml", "-o", "out", "-q"]).never_panicked();
    assert_ne!(ended.code, 0);
    assert!(ended.err.contains("no-such-program-here"), "{}", ended.err);
    assert!(!tool.path("out").join("run.json").exists(), "nothing was measured");
}

#[test]
fn a_command_that_cannot_be_is_refused_at_its_key() {
    let tool = Tool::new();
    let refused = |command: &str, words: &[&str]| {
        tool.write("s.toml", &scenario(command));
        tool.run(&["run", "s.toml"]).expect(2).says(words);
    };
    refused("start = []\nline = \"{channel}{message}\"", &["the command is empty", "redis-cli"]);
    refused("start = [\"cat\"]\nline = \"PUBLISH {channel}\"", &["a publication must contain {message}"]);
    refused("start = [\"cat\"]\nline = \"{message}\"", &["which of 20 channels to publish on"]);
    refused("start = [\"cat\"]\nline = \"a\\n{channel}{message}\"", &["a publication is one line of text"]);
    refused("start = [\"cat\", \"{client}\"]\nline = \"{channel}{message}\"", &["{client}"]);
    let none = "transports = [\"sse\"]\ntarget.subscribe.sse = \"http://h:1/\"\n\
                target.publish.url = \"http://h:1/{channel}\"\npublisher.over = \"command\"\n";
    tool.write("s.toml", none);
    tool.run(&["run", "s.toml"]).expect(2).says(&["has no `command` to publish over", "redis-cli"]);
}

#[test]
fn check_publishes_with_the_command_too() {
    if !tools::present(&["node"]) {
        return;
    }
    let tool = Tool::new();
    tool.write("s.toml", &scenario(&lines("")));
    let ended = tool.run(&["check", "s.toml", "--format", "json"]);
    let told: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(ended.code, 0, "{told:#}");
}
