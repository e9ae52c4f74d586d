//! Why connections ended: the target's words, in the text, in the report and in `run.json`.

use std::io;
use std::time::Duration;

use crate::tool::http::{Answer, Request, Target};
use crate::tool::{LOAD, Tool, arms, number, websocket};

/// The number of publications before some clients are closed.
const HEARD: usize = 10;

/// Serves the WebSocket of a client. Some clients are closed with a code and a reason, and client 7 is
/// refused.
fn converse(request: &Request, answer: &mut Answer<'_>) -> io::Result<()> {
    let client = request.argument("n").parse::<usize>().expect("a number");
    if client == 7 {
        let said = format!("no entry with {}", request.header("authorization"));
        return answer.sized("403 Forbidden", "", said.as_bytes());
    }
    websocket::upgrade(request, answer)?;
    websocket::text(
        answer,
        format!("welcome, client {client}: {}", request.header("authorization")).as_bytes(),
    )?;
    let mut next = 0;
    while !answer.hub.over() {
        for message in answer.hub.after(next, Duration::from_millis(500)).unwrap_or_default() {
            websocket::text(answer, &message)?;
            next += 1;
            match client {
                0..3 if next == HEARD => return websocket::close(answer, 4401, "token expired"),
                3 if next == HEARD => return websocket::close(answer, 4409, "said hush-hush-1\u{7}<b>"),
                _ => {}
            }
        }
    }
    Ok(())
}

fn target() -> Target {
    Target::start(|request, answer| match &*request.path {
        "/publish" => answer.publish(request),
        _ => converse(request, answer),
    })
}

#[test]
fn the_words_of_the_target_stand_in_every_result_with_their_counts() {
    let target = target();
    let tool = Tool::new();
    tool.write("hush", "key=hush-hush-1\n");
    let at = target.address;
    tool.write(
        "s.toml",
        &format!(
            "[target]\nsecrets = \"hush\"\n[target.subscribe]\n\
             websocket = {{ url = \"ws://{at}/ws?n={{client}}\", headers = {{ authorization = \"Bearer {{secret.key}}\" }} }}\n\
             [target.publish]\nurl = \"http://{at}/publish\"\n{LOAD}[publisher]\nrate = \"50/s\"\nconnections = 1\n"
        ),
    );
    let ended = tool.run(&["run", "s.toml", "-o", "out", "-q"]).never_panicked();
    let connections = &arms(&tool.run_json("out"))[0]["connections"].clone();
    assert_eq!(number(connections, "/lost_with/4401 token expired"), 3.0, "{connections:#}");
    assert_eq!(number(connections, "/failed_with/HTTP 403"), 1.0, "{connections:#}");
    let sum = |map: &str| -> f64 {
        connections[map].as_object().expect("counts").values().filter_map(serde_json::Value::as_f64).sum()
    };
    assert_eq!((sum("lost_with"), sum("failed_with")), (4.0, 1.0), "{connections:#}");
    assert_eq!((sum("lost_by"), sum("failed")), (4.0, 1.0), "as many as there are by kind");
    assert!(!connections["last_said"]["said"].as_str().expect("what came last").is_empty());
    let text: String = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "4 connections were lost: 4401 token expired (3), 4409 said (not written)\\u{7}<b> (1)",
        "1 connect failed: HTTP 403 (1)",
        "the last text before",
    ] {
        assert!(text.contains(said), "no {said:?} in\n{}", ended.out);
    }
    let page = std::fs::read_to_string(tool.path("out").join("report.html")).expect("a page");
    assert!(page.contains("4401 token expired (3)"), "the page tells it too");
    assert!(!page.contains("<b> (1)"), "and what a target says is no markup");
    for (name, text) in [("out", tool.all_text("out")), ("stdout", ended.out), ("stderr", ended.err)] {
        assert!(!text.contains("hush-hush-1"), "the secret came back, and stands in {name}");
    }
}
