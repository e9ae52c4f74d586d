//! The placeholders that a scenario fills in, and the secrets that are never written: tokens planted in
//! every text of a scenario, searched for in every file and on both streams.

use crate::tool;
use crate::tool::http::Target;
use crate::tool::{Ended, LOAD, Tool, arms, number, program};

/// Returns a target that pushmark starts, which writes its arguments and its environment to its log.
fn talkative(tool: &Tool, target: &str, websocket: &str) -> String {
    tool.write("start.sh", "echo \"started with $*\"\nenv | grep -i tok\nexec \"$0\" serve --port \"$1\"\n");
    let at = "http://127.0.0.1:{port}";
    format!(
        "name = \"planted\"\ntransports = [\"websocket\", \"sse\"]\n[target]\n{target}\n\
         [target.subscribe]\nsse = {{ url = \"{at}/sse?channel={{channel}}&access_token=lit-query-2\", \
         headers = {{ X-Auth = \"lit-header-3\", cookie = \"sid=lit-cookie-4\" }} }}\n\
         websocket = {{ url = \"ws://127.0.0.1:{{port}}/ws?channel={{channel}}&key=lit-key-5\", {websocket} }}\n\
         [target.publish]\nurl = \"{at}/publish?channel={{channel}}&token=lit-pub-6\"\n\
         body = '{{\"password\":\"lit-body-7\",\"m\":\"{{message}}\"}}'\nheaders = {{ authorization = \"Bearer lit-pub-8\" }}\n\
         [target.process]\nstart = [\"sh\", \"start.sh\", {:?}, \"{{port}}\", \"--token\", \"lit-arg-9\", \"{{secret.in_arg}}\"]\n\
         ready = \"{at}/health?token=lit-ready-10\"\nenv = {{ A_TOKEN = \"lit-env-11\", B_TOK = \"{{secret.in_env}}\" }}\n\
         {LOAD}[publisher]\nrate = \"20/s\"\n",
        program()
    )
    .replace("start = [\"sh\", \"start.sh\",", "start = [\"sh\", \"-c\", \". ./start.sh\",")
}

/// The files that the tests here write themselves.
const OWN: [&str; 6] = ["s.toml", "suite.toml", "args.toml", "users.csv", "start.sh", "hush"];

/// Returns every file under the folder, as text, except the files of this test.
fn kept(tool: &Tool) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![tool.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let name = entry.path().display().to_string();
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if !OWN.iter().any(|own| entry.path() == tool.path(own)) {
                files.push((
                    name,
                    String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned(),
                ));
            }
        }
    }
    files
}

fn holds_none(planted: &[&str], at: &str, text: &str) {
    for token in planted {
        let found = text.find(token).map(|at| {
            let start = (0..=at.saturating_sub(60)).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
            &text[start..at + token.len()]
        });
        assert_eq!(found, None, "{token} in {at}");
    }
}

fn said_none(planted: &[&str], what: &str, ended: &Ended) {
    holds_none(planted, &format!("stdout of {what}"), &ended.out);
    holds_none(planted, &format!("stderr of {what}"), &ended.err);
}

#[test]
fn no_planted_token_reaches_a_file_or_a_stream() {
    let tool = Tool::new();
    let rows: String = (0..8).map(|n| format!("u{n},csv-tok-{n}\n")).collect();
    tool.write("users.csv", &format!("name,token\n{rows}"));
    tool.write(
        "hush",
        "# secrets of the test\nin_open = open-hush-1\nin_env=env-hush-2\nin_arg=arg-hush-3\n",
    );
    let websocket = r#"after_open = ['{"connection_init":{"authToken":"lit-open-1"}}', 'x {client.token}', '40{"a":"{secret.in_open}"}'],
        every = [{ after = "300ms", send = '{"session":"lit-every-12"}' }],
        answer = [{ on = "challenge", send = '{"secret":"lit-answer-13"}' }]"#
        .replace('\n', " ");
    let target = "clients = \"users.csv\"\nsecrets = \"hush\"";
    tool.write("s.toml", &talkative(&tool, target, &websocket));
    let planted = [
        "lit-query-2",
        "lit-header-3",
        "lit-cookie-4",
        "lit-key-5",
        "lit-pub-6",
        "lit-body-7",
        "lit-pub-8",
        "lit-arg-9",
        "lit-ready-10",
        "lit-env-11",
        "lit-open-1",
        "lit-every-12",
        "lit-answer-13",
        "open-hush-1",
        "env-hush-2",
        "arg-hush-3",
        "csv-tok-",
    ];
    let ran = tool.run(&["run", "s.toml", "-o", "out", "--set", "name=planted"]).never_panicked();
    assert!(matches!(ran.code, 0 | 6 | 99), "{ran:#?}");
    assert!(ran.err.contains("chmod 600"), "others can read the file: {}", ran.err);
    let log =
        tool.names("out").into_iter().find(|name| name.ends_with("server.log")).expect("a log was kept");
    let log = std::fs::read_to_string(tool.path("out").join(log)).unwrap();
    assert!(log.contains("started with") && log.contains("(not written)"), "{log}");
    said_none(&planted, "run", &ran);
    for command in [
        &["run", "s.toml", "-o", "agents", "-q", "--agents", "1"][..],
        &["check", "s.toml"],
        &["check", "s.toml", "--format", "json"],
        &["report", "out", "-o", "page.html"],
        &["compare", "out", "agents"],
        &["doctor", "s.toml"],
        &["run", "s.toml", "--set", "target.subscribe.sse.headers.authorization=Bearer {secret.gone}"],
    ] {
        let ended = tool.run(command).never_panicked();
        assert!(!ended.out.is_empty() || !ended.err.is_empty(), "{command:?} said nothing");
        said_none(&planted, &format!("{command:?}"), &ended);
    }
    let files = kept(&tool);
    for wanted in ["out/run.json", "out/report.html", "out/scenario.toml", "agents/run.json"] {
        assert!(files.iter().any(|(name, _)| name.ends_with(wanted)), "{wanted} was kept");
    }
    for (name, text) in &files {
        holds_none(&planted, name, text);
    }
}

#[test]
fn no_planted_token_reaches_what_other_commands_keep() {
    let tool = Tool::new();
    let at = "http://127.0.0.1:{port}";
    let target = format!(
        "[target]\nheaders = {{ x-api-key = \"lit-target-20\" }}\n\
         [target.subscribe]\nbayeux = {{ url = \"{at}/cometd?token=lit-bayeux-21\", channel = \"/{{channel}}\", \
         headers = {{ authorization = \"Bearer lit-bayeux-22\" }} }}\n\
         [target.publish]\nwebsocket = {{ url = \"ws://127.0.0.1:{{port}}/ws?token=lit-feed-23\", \
         after_open = ['{{\"token\":\"lit-feed-24\"}}'], text = \"publish {{channel}}\\n{{message}}\" }}\n\
         [target.process]\nstart = [{:?}, \"serve\", \"--port\", \"{{port}}\"]\nready = \"{at}/health\"\n",
        program()
    );
    let load = LOAD.replace("\"1s\"", "\"500ms\"");
    let rest = format!("{load}[publisher]\nover = \"websocket\"\nrate = \"20/s\"\n");
    tool.write("s.toml", &format!("name = \"planted\"\ntransports = [\"bayeux\"]\n{target}{rest}"));
    let of_suite: String = format!("{target}{rest}")
        .lines()
        .map(|line| line.replacen('[', "[scenario.", usize::from(line.starts_with('['))) + "\n")
        .collect();
    tool.write(
        "suite.toml",
        &format!(
            "name = \"planted\"\nanalysis = \"none\"\n[scenario]\ntransports = [\"bayeux\"]\n{of_suite}\
             [axes.clients]\nkey = \"load.connections\"\nvalues = [4]\n[[matrix]]\n"
        ),
    );
    tool.write("args.toml", &format!("transports = [\"sse\"]\n[target]\nserver = \"builtin\"\nargs = [\"--token\", \"lit-args-25\"]\n{load}"));
    let planted = [
        "lit-target-20",
        "lit-bayeux-21",
        "lit-bayeux-22",
        "lit-feed-23",
        "lit-feed-24",
        "lit-args-25",
        "lit-set-26",
    ];
    let set = "target.subscribe.bayeux.headers.x-auth-token=lit-set-26";
    for (command, codes) in [
        (&["run", "s.toml", "--set", set][..], &[0, 6, 99][..]),
        (&["run", "args.toml", "-o", "args"], &[0, 3, 6, 99]),
        (&["suite", "suite.toml", "--dry-run"], &[0]),
        (&["suite", "suite.toml", "-o", "suite"], &[0, 6, 99]),
        (&["find-max", "s.toml", "--from", "8", "--to", "8", "-o", "found", "--within", "1s"], &[0, 6, 99]),
        (&["runs", "list"], &[0]),
        (&["runs", "show", "planted"], &[0]),
        (&["runs", "show", "planted", "--format", "json"], &[0]),
        (&["runs", "export", "results", "--format", "csv"], &[0]),
        (&["ab", "s.toml", "--set-b", set, "--starts", "1", "-o", "both"], &[0, 6, 99]),
    ] {
        let ended = tool.run(command).never_panicked();
        assert!(codes.contains(&ended.code), "{command:?}: {ended:#?}");
        said_none(&planted, &format!("{command:?}"), &ended);
    }
    let files = kept(&tool);
    for wanted in ["suite/suite.json", "suite/suite.toml", "found/search.json"] {
        assert!(files.iter().any(|(name, _)| name.ends_with(wanted)), "{wanted} was kept");
    }
    assert!(files.iter().any(|(name, _)| name.contains("/both/")), "the runs of both sides were kept");
    for (name, text) in &files {
        holds_none(&planted, name, text);
    }
}

#[test]
fn a_target_that_says_a_token_back_does_not_reach_stderr_or_check() {
    let target = Target::start(|request, answer| {
        let said = format!("{:?} {:?}", request.headers, request.query);
        answer.sized(
            "401 Unauthorized",
            &format!("X-Said: {}\r\n", request.header("authorization")),
            said.as_bytes(),
        )
    });
    let tool = Tool::new();
    tool.write("users.csv", "t\nfrom-the-table-1\n");
    tool.write(
        "s.toml",
        &format!(
            "[target]\nclients = \"users.csv\"\n[target.subscribe]\nsse = {{ url = \"{at}/s?token=a%2Fb-query-2\", \
             headers = {{ authorization = \"Bearer {{client.t}}\", x-api-key = \"{{secret.from_env}}\" }} }}\n\
             [target.publish]\nurl = \"{at}/p\"\nheaders = {{ authorization = \"Basic bGl0OnB1Yg==\" }}\n{LOAD}",
            at = target.url("")
        ),
    );
    let planted = ["from-the-table-1", "a%2Fb-query-2", "a/b-query-2", "env-3-\"x\"", "bGl0OnB1Yg=="];
    for (arguments, code) in [(&["run", "s.toml"][..], 3), (&["check", "s.toml"], 99)] {
        let mut command = tool.command(arguments);
        command.env("PUSHMARK_SECRET_FROM_ENV", "env-3-\"x\"");
        let ended = tool::end(command).expect(code).never_panicked();
        assert!(format!("{}{}", ended.out, ended.err).contains("401"), "{ended:#?}");
        said_none(&planted, &format!("{arguments:?}"), &ended);
    }
    // Without a value nothing is sent, and the message names the sources of a value.
    tool.run(&["run", "s.toml"])
        .expect(2)
        .says(&["{secret.from_env} has no value", "PUSHMARK_SECRET_FROM_ENV"]);
}

#[test]
fn periodic_messages_and_answers_are_filled_in() {
    // The built-in server publishes a client's texts; the returned messages are unstamped. With the
    // placeholder left in place, no client would receive the channel's messages.
    let tool = Tool::new();
    // As long as a pushmark message: shorter ones are greetings.
    let pong = "pong ".repeat(40);
    let scenario = format!(
        "[target.subscribe]\nwebsocket = {{ url = \"ws://127.0.0.1:{{port}}/ws?channel={{channel}}\", \
         every = [{{ after = \"100ms\", send = \"publish {{channel}}\\nping\" }}], \
         answer = [{{ on = \"ping\", send = \"publish {{channel}}\\n{pong} {{client}}\" }}] }}\n\
         [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
         [target.process]\nstart = [{:?}, \"serve\", \"--port\", \"{{port}}\"]\n\
         ready = \"http://127.0.0.1:{{port}}/health\"\n{LOAD}[publisher]\nrate = \"10/s\"\n",
        program()
    );
    let run = tool.measure(&scenario, &["-c", "1"]);
    let unstamped = number(&arms(&run)[0], "/delivery/unstamped");
    assert!(unstamped >= 3.0, "answers to pings came back: {unstamped}");
}

#[test]
fn variables_of_a_process_are_filled_in() {
    let tool = Tool::new();
    let scenario = format!(
        "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
         [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
         [target.process]\nstart = [\"sh\", \"-c\", \"exec \\\"$0\\\" serve --port $PORT\", {:?}]\n\
         env = {{ PORT = \"{{port}}\" }}\nready = \"http://127.0.0.1:{{port}}/health\"\n{LOAD}",
        program()
    );
    let run = tool.measure(&scenario, &[]);
    tool::whole(&arms(&run)[0]);
}
