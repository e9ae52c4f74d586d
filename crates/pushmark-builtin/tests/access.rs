//! Access control: pages of other origins, foreign Hosts, and a token.

mod common;

use common::{Answer, Client, Server};
use pushmark_builtin::{Access, Options, Token};
use pushmark_proto::websocket::Opcode;

const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

fn ask(server: &Server, method: &str, target: &str, headers: &[&str], body: &str) -> Answer {
    let mut client = server.client();
    client.request(method, target, headers, body.as_bytes());
    client.answer()
}

fn guarded(for_all: bool) -> Server {
    let access = Access { token: Token::new("s3cret"), token_for_all: for_all, ..Access::default() };
    Server::start(Options { access, ..Options::default() })
}

#[test]
fn a_page_of_another_site_changes_nothing() {
    let server = Server::plain();
    let requests = [
        ("POST", "/publish?channel=a", "x"),
        ("PUT", "/emitters/x", r#"{"interval_us":1000,"size":48,"channels":["a"],"nonce":1}"#),
        ("DELETE", "/emitters", ""),
        ("POST", "/log", r#"{"on":true}"#),
        ("POST", "/request", r#"{"type":"long-poll","events":["a"],"duration_ms":0}"#),
        ("POST", "/cometd", r#"{"channel":"/a","data":"x"}"#),
        ("GET", "/sse?channel=a", ""),
        ("POST", "/shutdown", ""),
    ];
    for (method, target, body) in requests {
        for origin in ["http://evil.example", "null", "http://127.0.0.1.evil.example:80"] {
            let answer = ask(&server, method, target, &[&format!("Origin: {origin}")], body);
            assert_eq!(answer.status, 403, "{method} {target} from {origin}: {}", answer.text());
        }
    }
    let mut client = server.client();
    client.request("GET", "/ws?channel=a", &[&UPGRADE[..], &["Origin: http://evil.example"]].concat(), b"");
    assert_eq!(client.answer().status, 403);
    let stats = server.stats();
    assert_eq!((&stats["publications"], &stats["channels_total"]), (&0.into(), &0.into()), "{stats:#}");
    assert_eq!(stats["bounds"]["origin_refused"], 3 * requests.len() + 1);
}

#[test]
fn a_name_that_was_made_to_resolve_to_us_is_not_ours() {
    let server = Server::plain();
    let answer = |host: &str| {
        let mut client = server.client();
        let request = format!("POST /shutdown HTTP/1.1\r\n{host}Content-Length: 0\r\n\r\n");
        std::io::Write::write_all(&mut client.socket, request.as_bytes()).unwrap();
        client.answer().status
    };
    assert_eq!(answer("Host: evil.example\r\n"), 421);
    assert_eq!(answer(""), 400, "RFC 9112 3.2");
    assert_eq!(answer("Host: localhost\r\nHost: localhost\r\n"), 400);
    assert_eq!(server.stats()["bounds"]["host_refused"], 1);
    assert_eq!(answer("Host: localhost:1\r\n"), 200);
}

#[test]
fn the_pages_of_this_machine_and_those_allowed_are_obeyed() {
    let access = Access {
        origins: vec!["https://ok.example".into()],
        hosts: vec!["push.example".into()],
        ..Access::default()
    };
    let server = Server::start(Options { access, ..Options::default() });
    for origin in ["http://127.0.0.7:81", "http://localhost:3000", "https://ok.example"] {
        let mut client = server.client();
        client.request(
            "GET",
            "/ws?channel=a",
            &[&UPGRADE[..], &[&format!("Origin: {origin}")]].concat(),
            b"",
        );
        assert_eq!(client.head().status, 101, "{origin}");
    }
    let mut client = server.client();
    let request = b"GET /health HTTP/1.1\r\nHost: push.example\r\nOrigin: http://push.example\r\n\r\n";
    std::io::Write::write_all(&mut client.socket, request).unwrap();
    assert_eq!(client.answer().status, 200);
}

#[test]
fn what_changes_something_needs_the_token() {
    let server = guarded(false);
    for (headers, status) in [
        (&[][..], 401),
        (&["Authorization: Bearer wrong"][..], 401),
        (&["Authorization: Bearer s3cret"][..], 200),
    ] {
        let answer = ask(&server, "POST", "/publish?channel=a", headers, "x");
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(answer.header("www-authenticate"), if status == 401 { "Bearer" } else { "" });
    }
    assert_eq!(ask(&server, "POST", "/shutdown", &[], "").status, 401);
    assert_eq!(ask(&server, "GET", "/poll?channel=a", &[], "").text(), "x", "reading needs none");
    assert_eq!(server.stats()["publications"], 1);
}

#[test]
fn messages_of_peers_and_bayeux_clients_need_it_too() {
    let server = guarded(false);
    let publish = |headers: &[&str]| {
        let mut client = server.client();
        client.request("GET", "/ws", &[&UPGRADE[..], headers].concat(), b"");
        assert_eq!(client.head().status, 101);
        client.send_frame(Opcode::Text, b"publish a\nx");
        client.send_frame(Opcode::Ping, b"?");
        assert_eq!(client.messages(1)[0].as_deref(), Some(&b"?"[..]), "the earlier message was handled");
    };
    publish(&[]);
    assert_eq!(server.stats()["publications"], 0);
    publish(&["Authorization: Bearer s3cret"]);
    assert_eq!(server.stats()["publications"], 1);
    let message = r#"{"channel":"/a","data":"x"}"#;
    let answer = ask(&server, "POST", "/cometd", &[], message);
    assert!(answer.text().contains("401"), "{}", answer.text());
    let answer = ask(&server, "POST", "/cometd", &["Authorization: Bearer s3cret"], message);
    assert!(answer.text().contains("\"successful\":true"), "{}", answer.text());
    let stats = server.stats();
    assert_eq!((&stats["publications"], &stats["bounds"]["token_refused"]), (&2.into(), &2.into()));
}

#[test]
fn all_may_be_closed_to_those_without_it() {
    let server = guarded(true);
    assert_eq!(ask(&server, "GET", "/health", &[], "").status, 200);
    for target in ["/stats", "/poll?channel=a", "/sse?channel=a", "/ws?channel=a"] {
        assert_eq!(ask(&server, "GET", target, &[], "").status, 401, "{target}");
    }
    assert_eq!(ask(&server, "GET", "/stats", &["Authorization: Bearer s3cret"], "").status, 200);
}

#[test]
fn lines_of_a_head_may_end_in_lf_alone_and_those_of_chunks_may_not() {
    // RFC 9112 2.2 lets a server accept the first. The second enables request smuggling.
    let server = Server::plain();
    let send = |bytes: &[u8]| {
        let mut client: Client = server.client();
        std::io::Write::write_all(&mut client.socket, bytes).unwrap();
        client.answer().status
    };
    assert_eq!(send(b"GET /health HTTP/1.1\nHost: localhost\n\n"), 200);
    let chunked =
        b"POST /publish?channel=a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(send(&[&chunked[..], b"1\nx\n0\n\n"].concat()), 400);
}
