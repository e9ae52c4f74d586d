//! Runs and checks over TLS, which nginx ends: every transport, verification of the server, client
//! certificates, session resumption, and the probes before a run.

use std::net::TcpListener;

use crate::tool::terminator::{Authority, Terminator, nginx};
use crate::tool::{LOAD, Tool, arms, number, whole};

/// Returns a scenario with a target behind nginx; without `publish` it is only observed.
fn scenario(port: u16, publish: bool, tls: &str) -> String {
    let publish = if publish {
        format!(
            "[target.publish]\nurl = \"https://localhost:{port}/publish?channel={{channel}}\"\n[publisher]\nrate = \"50/s\"\n"
        )
    } else {
        String::new()
    };
    format!(
        "[target.subscribe]\n\
         poll = {{ url = \"https://localhost:{port}/poll?channel={{channel}}&since={{cursor}}\", cursor = \"header:pushmark-cursor\", resumes = true }}\n\
         long-poll = {{ url = \"https://localhost:{port}/long-poll?channel={{channel}}&hold={{hold_ms}}&since={{cursor}}\", cursor = \"header:pushmark-cursor\" }}\n\
         stream = \"https://localhost:{port}/stream?channel={{channel}}\"\n\
         sse = \"https://localhost:{port}/sse?channel={{channel}}\"\n\
         websocket = \"wss://localhost:{port}/ws?channel={{channel}}\"\n\
         bayeux = {{ url = \"https://localhost:{port}/cometd\", channel = \"/{{channel}}\" }}\n\
         bayeux-websocket = {{ url = \"wss://localhost:{port}/cometd\", channel = \"/{{channel}}\" }}\n\
         {tls}{LOAD}poll_interval = \"200ms\"\n{publish}"
    )
}

const ALL: &str =
    "transports=[\"poll\",\"long-poll\",\"stream\",\"sse\",\"websocket\",\"bayeux\",\"bayeux-websocket\"]";

const BELIEVED: &str = "[target.tls]\nca = \"authority.pem\"\n";

/// Returns a target whose certificate is signed by `authority.pem`, and the folder of the files; `None`
/// without nginx.
fn behind_nginx() -> Option<(Tool, Terminator)> {
    nginx().then(|| {
        let tool = Tool::new();
        Authority::new(&tool, "authority").vouch(&tool, "localhost");
        let target = Terminator::start(&tool, &[], "");
        (tool, target)
    })
}

#[test]
fn every_transport_delivers_everything() {
    let Some((tool, target)) = behind_nginx() else { return };
    let run = tool.measure(&scenario(target.port, true, BELIEVED), &["--set", ALL]);
    assert_eq!(arms(&run).len(), 7);
    for arm in arms(&run) {
        whole(arm);
        assert_eq!(number(arm, "/delivery/intended"), 400.0);
        assert_eq!(number(arm, "/connect/tls/count"), 8.0, "{}", arm["connect"]);
        let (tcp, tls) = (number(arm, "/connect/tcp/p50_us"), number(arm, "/connect/tls/p50_us"));
        assert!(tls > tcp, "{} {tcp} {tls}", arm["transport"]);
        // The crowd connects for the first time; the publisher's pool may resume its sessions.
        assert!(number(arm, "/tls/full") >= 8.0, "{}", arm["tls"]);
    }
    assert!(!tool.all_text("out").contains("-----BEGIN"), "no certificate is written into a result");
}

#[test]
fn peers_and_feeds_publish_over_tls_from_agents_too() {
    let Some((tool, target)) = behind_nginx() else { return };
    let text = scenario(target.port, true, BELIEVED).replace(
        "[publisher]\n",
        &format!("websocket = {{ url = \"wss://localhost:{}/ws\", text = \"publish {{channel}}\\n{{message}}\" }}\n[publisher]\nover = \"websocket\"\nconnections = 2\n", target.port),
    );
    // An agent reads no file of the scenario: its plan contains everything.
    let run = tool.measure(&text, &["--agents", "1", "-t", "sse", "--stamp-sample", "1"]);
    let arm = &arms(&run)[0];
    whole(arm);
    assert!(number(arm, "/delivery/read_lag_stamped/count") > 0.0, "the kernel stamps ciphertext as well");

    let Some((tool, target)) = behind_nginx() else { return };
    let text = scenario(target.port, false, BELIEVED) + "[publisher]\nmode = \"peer\"\nrate = \"20/s\"\n";
    let run = tool.measure(&text, &["-t", "bayeux,bayeux-websocket", "--threads", "1"]);
    arms(&run).iter().for_each(whole);
}

#[test]
fn who_is_not_believed_is_told_and_insecure_believes_anybody() {
    let Some((tool, target)) = behind_nginx() else { return };
    Authority::new(&tool, "stranger");
    tool.write("plain.toml", &scenario(target.port, true, ""));
    for more in [&[][..], &["--ca", "stranger.pem"]] {
        let arguments = [&["run", "plain.toml", "-t", "sse,websocket", "-q"], more].concat();
        let ended = tool.run(&arguments).expect(3);
        ended.says(&["8 of 8: tls_certificate", "unknown issuer", "--ca", "--insecure"]);
    }
    for (at, more) in [&["--insecure"][..], &["--ca", "authority.pem"]].into_iter().enumerate() {
        let folder = format!("out{at}");
        let arguments = [&["run", "plain.toml", "-t", "sse,websocket", "-q", "-o", &folder], more].concat();
        assert!(matches!(tool.run(&arguments).code, 0 | 6));
        arms(&tool.run_json(&folder)).iter().for_each(whole);
    }
}

/// Starts a target that requires a client certificate of the authority that signed its own.
fn asks_who_comes(tool: &Tool) -> Terminator {
    let authority = Authority::new(tool, "authority");
    authority.vouch(tool, "localhost");
    authority.vouch(tool, "client");
    let asks =
        format!("ssl_client_certificate {};\nssl_verify_client on;", tool.path("authority.pem").display());
    Terminator::start(tool, &[], &asks)
}

#[test]
fn a_target_that_asks_who_comes_gets_the_clients_certificate() {
    if !nginx() {
        return;
    }
    let tool = Tool::new();
    let target = asks_who_comes(&tool);
    let text = scenario(target.port, true, BELIEVED);
    tool.write("nobody.toml", &text);
    // nginx completes the handshake and then refuses the request.
    let ended = tool.run(&["run", "nobody.toml", "-t", "sse", "-q"]).expect(3);
    ended.says(&["status_4xx", "400"]);
    let run = tool.measure(&text, &["-t", "sse,bayeux", "--cert", "client.pem", "--key", "client.key"]);
    arms(&run).iter().for_each(whole);
    let ended = tool.run(&["run", "nobody.toml", "--cert", "client.pem", "--key", "localhost.key"]).expect(2);
    ended.says(&["--key", "the key does not match the"]);
}

#[test]
fn who_comes_back_takes_up_the_session_unless_told_not_to() {
    let Some((tool, target)) = behind_nginx() else { return };
    let text = scenario(target.port, false, BELIEVED);
    // Each poll uses a new connection.
    let more = ["-t", "poll", "-d", "2s", "--threads", "1", "--set", "load.keep_alive=false"];
    let run = tool.measure(&text, &more);
    let tls = &arms(&run)[0]["tls"];
    assert_eq!(number(tls, "/full"), 8.0, "each client once: {tls}");
    assert!(number(tls, "/resumed") >= 8.0, "{tls}");
    std::fs::remove_dir_all(tool.path("out")).expect("it is there");
    let run = tool.measure(&text, &[&more[..], &["--set", "target.tls.resumption=false"]].concat());
    let tls = &arms(&run)[0]["tls"];
    assert_eq!(number(tls, "/resumed"), 0.0, "{tls}");
    assert!(number(tls, "/full") >= 16.0, "{tls}");
}

#[test]
fn a_handshake_without_an_answer_ends_in_time() {
    // The kernel accepts the connection; no process answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("wss://127.0.0.1:{}/ws", silent.local_addr().expect("its address").port());
    let tool = Tool::new();
    let ended = tool.run(&["run", &url, "-q", "--set", "load.connect_timeout=300ms"]).expect(3);
    ended.says(&["10 of 10: timeout_tls"]);
}

#[test]
fn a_process_that_is_ready_over_tls_is_measured() {
    if !nginx() {
        return;
    }
    let tool = Tool::new();
    Authority::new(&tool, "authority").vouch(&tool, "localhost");
    let (target, command) = Terminator::asleep(&tool, &[], "");
    let process = format!(
        "[target.process]\nstart = {command:?}\nready = \"https://localhost:{}/health\"\n",
        target.port
    );
    let run = tool.measure(&scenario(target.port, true, &format!("{BELIEVED}{process}")), &["-t", "sse"]);
    let arm = &arms(&run)[0];
    whole(arm);
    assert!(number(arm, "/server/cpu_us") > 0.0, "nginx is what was started: {}", arm["server"]);
    // An untrusted certificate will not become trusted, so pushmark does not wait for it.
    tool.write("plain.toml", &scenario(target.port, true, &process));
    for command in
        [&["run", "plain.toml", "-t", "sse", "-q"][..], &["check", "plain.toml", "--only", "sse/delivers"]]
    {
        tool.run(command).expect(3).says(&[
            "cannot become ready",
            "/health",
            "unknown issuer",
            "--ca",
            "--insecure",
        ]);
        let command = [command, &["--insecure"]].concat();
        assert!(matches!(tool.run(&command).code, 0 | 6), "{command:?}");
    }
}

#[test]
fn check_asks_a_target_over_tls_what_its_transports_promise() {
    let Some((tool, target)) = behind_nginx() else { return };
    tool.write("target.toml", &scenario(target.port, true, BELIEVED));
    let ended = tool.run(&["check", "target.toml"]).expect(0);
    for case in ["poll/delivers", "long-poll/resumes", "stream/orders", "sse/frames", "websocket/pings"] {
        assert!(ended.out.contains(&format!("✓ {case}")), "no {case} in\n{}", ended.out);
    }
    Authority::new(&tool, "stranger");
    tool.write("plain.toml", &scenario(target.port, true, ""));
    for more in [&[][..], &["--ca", "stranger.pem"]] {
        let ended = tool.run(&[&["check", "plain.toml"], more].concat()).expect(3);
        ended.says(&["cannot be reached at 127.0.0.1:", "over TLS", "unknown issuer", "--ca", "--insecure"]);
    }
    for more in [&["--insecure"][..], &["--ca", "authority.pem"]] {
        tool.run(&[&["check", "plain.toml", "--only", "sse/delivers"], more].concat()).expect(0);
    }
}

#[test]
fn check_asks_a_server_that_keeps_the_contract_over_tls() {
    let Some((tool, target)) = behind_nginx() else { return };
    let url = format!("https://localhost:{}", target.port);
    // Cases that a proxy in between does not change.
    let only = ["2.1", "4.1", "6.2/3", "6.4/1", "6.6/1"].map(|number| ["--only", number]).concat();
    let asked = [&["check", "--contract", &url][..], &only].concat();
    let ended = tool.run(&[&asked[..], &["--ca", "authority.pem"]].concat()).expect(0);
    assert!(ended.out.contains("✓ 6.6/1") && ended.out.contains(&format!("\n{url}: ")), "{}", ended.out);
    tool.run(&asked).expect(3).says(&["over TLS", "unknown issuer", "--ca"]);
    tool.run(&[&asked[..], &["--ca", "none.pem"]].concat()).expect(2).says(&["--ca", "cannot be read"]);
}

#[test]
fn check_shows_the_clients_certificate() {
    if !nginx() {
        return;
    }
    let tool = Tool::new();
    let target = asks_who_comes(&tool);
    tool.write("target.toml", &scenario(target.port, true, BELIEVED));
    let asked = ["check", "target.toml", "--only", "sse/delivers"];
    // nginx completes the handshake and then refuses the request.
    let ended = tool.run(&asked).expect(99);
    assert!(ended.out.contains("400"), "{}", ended.out);
    tool.run(&[&asked[..], &["--cert", "client.pem", "--key", "client.key"]].concat()).expect(0);
}

#[test]
fn flags_of_tls_without_tls_are_refused() {
    let tool = Tool::new();
    for command in [
        &["run", "-q"][..],
        &["check", "builtin"],
        &["check", "builtin", "--contract", "http://127.0.0.1:1"],
        &["check", "--contract", "http://127.0.0.1:1"],
    ] {
        tool.run(&[command, &["--insecure"]].concat())
            .expect(2)
            .says(&["--insecure", "this target does not use TLS"]);
    }
}
