//! nginx with Nchan, as Debian packages it: a push server without any knowledge of pushmark.

use crate::tool;
use std::path::Path;

use crate::tool::{LOAD, POLLERS, Tool, arms, have, number, whole};

fn nchan() -> bool {
    let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].iter().any(|path| Path::new(path).exists());
    let module = Path::new("/usr/lib/nginx/modules/ngx_nchan_module.so").exists();
    have(nginx && module, "nginx with Nchan")
}

#[test]
fn every_message_arrives_over_four_transports() {
    if !nchan() {
        return;
    }
    // Its long poll acknowledges nothing, so the crowd must have settled before the first message.
    let load = LOAD.replace("settle = \"200ms\"", "settle = \"1300ms\"");
    let scenario = format!(
        "[target]\nserver = \"nchan\"\n{load}[publisher]\nrate = \"50/s\"\n[thresholds]\n\"delivery.missing\" = \"== 0\"\n"
    );
    for poller in POLLERS {
        let run = Tool::new().measure(&scenario, &["--poller", poller]);
        let transports: Vec<&str> = arms(&run).iter().filter_map(|arm| arm["transport"].as_str()).collect();
        assert_eq!(transports, ["long-poll", "stream", "sse", "websocket"]);
        for arm in arms(&run) {
            whole(arm);
            assert_eq!(number(arm, "/delivery/intended"), 400.0);
            assert_eq!(arm["outcome"], "held");
            assert!(
                number(arm, "/server/cpu_us") > 0.0,
                "the worker's cost is seen below the shell that started it"
            );
            let by = if arm["transport"] == "long-poll" { "settle" } else { "head" };
            assert_eq!(arm["subscribed_by"], by);
        }
        assert!(run["thresholds"].as_array().unwrap().iter().all(|t| t["ok"] == true));
        assert!(run["plan"]["arms"].as_array().unwrap().iter().all(|arm| arm["poller"] == poller));
    }
}

#[test]
fn clients_of_several_channels_hear_their_own() {
    if !nchan() {
        return;
    }
    let tool = Tool::new();
    let run = tool.measure(
        &format!(
            "transports = [\"websocket\", \"sse\"]\n[target]\nserver = \"nchan\"\n{LOAD}[subscriptions]\nchannels = 4\n\
             [publisher]\nrate = \"20/s\"\nsize = \"2KiB\"\n"
        ),
        &[],
    );
    for arm in arms(&run) {
        whole(arm);
        // 4 channels of 20 publications; 8 clients of one channel each.
        assert_eq!(number(arm, "/published/sent"), 80.0);
        assert_eq!(number(arm, "/delivery/intended"), 160.0);
    }
}

#[test]
fn a_long_poll_without_the_cursor_is_deaf_between_answers() {
    if !nchan() {
        return;
    }
    // The same server without its cursor: a client misses messages that are published between its
    // requests.
    let tool = Tool::new();
    let folder = tool::servers();
    let text = format!(
        "[target.subscribe]\nlong-poll = \"http://127.0.0.1:{{port}}/long-poll?channel={{channel}}\"\n\
         [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
         [target.process]\nstart = [\"sh\", {:?}, \"{{port}}\"]\nready = \"http://127.0.0.1:{{port}}/health\"\n{}\
         [publisher]\nrate = \"500/s\"\narrivals = \"poisson\"\n",
        folder.join("nchan/run"),
        LOAD.replace("settle = \"200ms\"", "settle = \"1300ms\"")
    );
    let run = tool.measure(&text, &[]);
    let arm = &arms(&run)[0];
    let (missing, deaf) = (number(arm, "/delivery/missing"), number(arm, "/long_poll/missed_deaf"));
    assert!(missing > 0.0, "{}", arm["delivery"]);
    // Messages that were missed between two answers, and perhaps after the last.
    assert!(deaf <= missing && deaf >= missing * 0.9, "{deaf} of {missing}");
    assert_eq!(number(arm, "/delivery/duplicate"), 0.0);
}
