//! nginx with Nchan, a third-party push server, as a target of our conversations.

use std::net::SocketAddr;

use conformance::process::Process;
use conformance::session::{Heard, Session};
use conformance::wire::POLLERS;
use conformance::{http, messages, own, ports, tools, wait};
use pushmark_proto::client::{Config, CursorSource, Transport};

/// A running nginx with its folder.
struct Nchan {
    address: SocketAddr,
    _nginx: Process,
    _folder: tempfile::TempDir,
}

impl Nchan {
    fn start() -> Nchan {
        let folder = tempfile::tempdir().expect("a folder");
        let address = ports::free();
        let config = std::fs::read_to_string(own("nchan/nginx.conf")).expect("the template is there");
        let config = config
            .replace("{port}", &address.port().to_string())
            .replace("{folder}", &folder.path().display().to_string());
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).expect("a file can be written");
        let mut command = tools::command("nginx");
        command.arg("-p").arg(folder.path()).arg("-e").arg("stderr").arg("-c").arg(&file);
        let mut nginx = Process::start(&mut command).with_children();
        wait::until("nginx to listen", || {
            assert!(!nginx.ended(), "nginx has ended");
            std::net::TcpStream::connect(address).ok()
        });
        Nchan { address, _nginx: nginx, _folder: folder }
    }

    fn publish(&self, channel: &str, message: &str) {
        let answer = http::post(self.address, &format!("/pub?id={channel}"), message.as_bytes());
        assert!(matches!(answer.status, 201 | 202), "{}: {}", answer.status, answer.text());
    }

    /// Nchan reports a channel only after the first request for it.
    fn wait_for_subscriber(&self, channel: &str) {
        wait::until("a subscriber", || {
            let answer = http::get(self.address, &format!("/pub?id={channel}"));
            answer.text().contains("active subscribers: 1").then_some(())
        });
    }
}

fn lasting(transport: Transport, headers: &str, channel: &str, collect: impl Fn(&mut Session, &[String])) {
    if !tools::present(&["nginx", "nchan"]) {
        return;
    }
    for poller in POLLERS {
        let nchan = Nchan::start();
        let mut session = Session::connect(poller, nchan.address, Config::new(transport));
        session.ask(&format!("/sub?id={channel}"), headers);
        nchan.wait_for_subscriber(channel);
        let sent = messages(60);
        sent.iter().for_each(|message| nchan.publish(channel, message));
        collect(&mut session, &sent);
    }
}

#[test]
fn a_websocket_of_nchan_is_heard_whole() {
    lasting(Transport::WebSocket, "", "ws", |session, sent| {
        assert_eq!(session.hear(), Ok(Heard::Opened(101)));
        sent.iter().for_each(|message| assert_eq!(&session.message(), message));
    });
}

#[test]
fn an_event_stream_of_nchan_is_heard_whole() {
    lasting(Transport::Sse, "", "sse", |session, sent| {
        assert_eq!(session.hear(), Ok(Heard::Opened(200)));
        sent.iter().for_each(|message| assert_eq!(&session.message(), message));
    });
}

#[test]
fn a_stream_of_nchan_is_heard_whole() {
    // Nchan streams to clients that accept chunks.
    lasting(Transport::Stream, "TE: chunked\r\n", "stream", |session, sent| {
        let all = sent.concat();
        let mut heard = String::new();
        while heard.len() < all.len() {
            heard += &session.message();
        }
        // Nchan puts no separator between messages.
        assert!(heard == all, "the stream consists of the published messages");
    });
}

#[test]
fn an_event_stream_of_nchan_is_resumed_by_its_last_id() {
    if !tools::present(&["nginx", "nchan"]) {
        return;
    }
    for poller in POLLERS {
        let nchan = Nchan::start();
        let mut session =
            Session::open_by(poller, nchan.address, Config::new(Transport::Sse), "/sub?id=resume");
        nchan.wait_for_subscriber("resume");
        nchan.publish("resume", "before");
        assert_eq!(session.message(), "before");
        assert!(!session.client.last_event_id().is_empty());
        session.reconnect();
        nchan.publish("resume", "meanwhile 1");
        nchan.publish("resume", "meanwhile 2");
        session.ask("/sub?id=resume", "");
        assert_eq!(session.message(), "meanwhile 1");
        assert_eq!(session.message(), "meanwhile 2");
    }
}

/// Nchan's cursor is a pair: Last-Modified is returned as If-Modified-Since, together with the ETag.
fn long_poll_config() -> Config {
    let mut config = Config::new(Transport::LongPoll);
    config.cursor = CursorSource::Header("Last-Modified".into());
    config.conditional = true;
    config
}

fn poll(session: &mut Session, target: &str) {
    let headers = match session.client.cursor() {
        "" => String::new(),
        cursor => format!("If-Modified-Since: {cursor}\r\n"),
    };
    if !session.client.reusable() && !session.client.cursor().is_empty() {
        session.reconnect();
    }
    session.ask(target, &headers);
}

#[test]
fn long_polls_of_nchan_miss_nothing_between_two_answers() {
    if !tools::present(&["nginx", "nchan"]) {
        return;
    }
    for poller in POLLERS {
        let nchan = Nchan::start();
        let mut session = Session::connect(poller, nchan.address, long_poll_config());
        poll(&mut session, "/sub?id=poll");
        nchan.wait_for_subscriber("poll");
        let sent = messages(60);
        // All at once, so that most arrive while the client is away.
        sent.iter().for_each(|message| nchan.publish("poll", message));
        for message in &sent {
            assert_eq!(&session.message(), message);
            assert_eq!(session.hear(), Ok(Heard::Answered(200)));
            poll(&mut session, "/sub?id=poll");
        }
    }
}

#[test]
fn a_long_poll_of_nchan_that_hears_nothing_is_answered_by_a_status() {
    if !tools::present(&["nginx", "nchan"]) {
        return;
    }
    for poller in POLLERS {
        let nchan = Nchan::start();
        let mut session = Session::connect(poller, nchan.address, long_poll_config());
        poll(&mut session, "/old?id=empty");
        let opened = session.hear().expect("an answer that a long poll may have");
        assert!(matches!(opened, Heard::Opened(304 | 408)), "{opened:?}");
        let Heard::Opened(status) = opened else { continue };
        assert_eq!(session.hear(), Ok(Heard::Answered(status)), "and no message");
    }
}
