//! TLS over real loopback sockets, against rustls's own server.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::tls::testing::Authority;
use crate::tls::{Client, ROOM_MIN, Settings, Trouble};
use crate::{Connect, Interest, Link, Poller, Read};

const PATIENCE_NS: u64 = 5_000_000_000;

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// A server for several connections, one after another. Each is passed to `talk`.
fn serve(
    config: ServerConfig,
    connections: usize,
    talk: impl Fn(Stream) + Send + 'static,
) -> (std::net::SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = Arc::new(config);
    let thread = std::thread::spawn(move || {
        for _ in 0..connections {
            let (socket, _) = listener.accept().unwrap();
            talk(StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket));
        }
    });
    (address, thread)
}

fn wait_for(link: &Link, interest: Interest) {
    let mut poller = Poller::new().unwrap();
    poller.add(link.fd(), 0, interest).unwrap();
    assert_eq!(poller.wait(Some(PATIENCE_NS)).unwrap().len(), 1, "nothing within the deadline");
}

fn connect(address: std::net::SocketAddr, client: &Client, returning: bool) -> std::io::Result<Link> {
    let mut link = Link::connect(address, None)?.over_tls(client, returning)?;
    wait_for(&link, Interest::Write);
    while let Connect::Handshake(interest) = link.finish_connect()? {
        assert!(link.is_handshaking() && link.is_resumed().is_none());
        wait_for(&link, interest);
    }
    Ok(link)
}

/// Reads until the end or an error.
fn read_to_end(link: &mut Link) -> std::io::Result<Vec<u8>> {
    let (mut all, mut room) = (Vec::new(), vec![0; ROOM_MIN]);
    loop {
        match link.read(&mut room)? {
            Read::Bytes(n) => all.extend_from_slice(&room[..n]),
            Read::WouldBlock => wait_for(link, Interest::Read),
            Read::End => return Ok(all),
        }
    }
}

fn write_all(link: &mut Link, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match link.write(bytes).unwrap() {
            0 => wait_for(link, Interest::Write),
            n => bytes = &bytes[n..],
        }
    }
}

/// Echoes its input until the end.
fn echo(mut stream: Stream) {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let _ = stream.write_all(&all);
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

fn trouble(error: &std::io::Error) -> (&'static str, String) {
    let trouble = Trouble::of(error).unwrap_or_else(|| panic!("{error}"));
    (trouble.kind(), trouble.to_string())
}

#[test]
fn bytes_cross_and_the_end_is_seen() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let (address, server) = serve(authority.server(version, false), 1, echo);
        let mut link = connect(address, &authority.client(), true).unwrap();
        assert_eq!(link.is_resumed(), Some(false), "there was no session to resume");
        write_all(&mut link, b"hello ");
        link.write_vectored(&[std::io::IoSlice::new(b"two "), std::io::IoSlice::new(b"pieces")]).unwrap();
        link.shutdown_write().unwrap();
        assert_eq!(read_to_end(&mut link).unwrap(), b"hello two pieces");
        assert!(link.tcp_info().is_some());
        server.join().unwrap();
    }
}

#[test]
fn what_does_not_fit_is_offered_again_and_leaves_once() {
    let authority = Authority::new();
    let (go, wait) = std::sync::mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let (address, server) = serve(authority.server(&TLS13, false), 1, move |mut stream| {
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        // The peer reads only after a write no longer fits.
        wait.lock().unwrap().recv().unwrap();
        echo(stream);
    });
    let mut link = connect(address, &authority.client(), false).unwrap();
    let sent: Vec<u8> = (0..20_000_000u32).map(|n| (n / 3) as u8).collect();
    let (mut at, mut refused) = (0, 0);
    while at < sent.len() {
        match link.write(&sent[at..]).unwrap() {
            0 => {
                if refused == 0 {
                    go.send(()).unwrap();
                }
                refused += 1;
                wait_for(&link, Interest::Write);
            }
            n => at += n,
        }
    }
    assert!(refused > 0, "the socket was never full");
    link.shutdown_write().unwrap();
    assert!(read_to_end(&mut link).unwrap() == sent);
    server.join().unwrap();
}

#[test]
fn who_comes_back_takes_a_session_up_and_a_newcomer_does_not() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let (address, server) = serve(authority.server(version, false), 4, echo);
        let client = authority.client();
        let mut resumed = Vec::new();
        for returning in [false, false, true, true] {
            let mut link = connect(address, &client, returning).unwrap();
            resumed.push(link.is_resumed().unwrap());
            // Tickets arrive after the handshake.
            link.shutdown_write().unwrap();
            read_to_end(&mut link).unwrap();
        }
        assert_eq!(resumed, [false, false, true, true]);
        server.join().unwrap();
    }
}

#[test]
fn without_resumption_every_handshake_is_full() {
    let authority = Authority::new();
    let (address, server) = serve(authority.server(&TLS13, false), 2, echo);
    let settings = Settings { ca: Some(&authority.pem), ..Settings::default() };
    let client = Client::new(&settings, "localhost", 8).unwrap();
    for _ in 0..2 {
        let mut link = connect(address, &client, true).unwrap();
        assert_eq!(link.is_resumed(), Some(false));
        link.shutdown_write().unwrap();
        read_to_end(&mut link).unwrap();
    }
    server.join().unwrap();
}

#[test]
fn a_certificate_that_is_not_believed_says_what_to_do() {
    let authority = Authority::new();
    let (address, server) = serve(authority.server(&TLS13, false), 4, echo);
    for (other, why) in [("stranger", "unknown issuer"), ("authority", "another authority")] {
        let other = Authority::named(other).client();
        let (kind, what) = trouble(&connect(address, &other, false).unwrap_err());
        assert_eq!(kind, "tls_certificate");
        assert!([why, "--ca", "--insecure"].iter().all(|part| what.contains(part)), "{what}");
    }

    let settings = Settings { ca: Some(&authority.pem), ..Settings::default() };
    let elsewhere = Client::new(&settings, "example.org", 8).unwrap();
    let (kind, what) = trouble(&connect(address, &elsewhere, false).unwrap_err());
    assert_eq!(kind, "tls_certificate");
    assert!(what.contains("localhost") && what.contains("example.org"), "{what}");

    let any = Client::new(&Settings { insecure: true, ..Settings::default() }, "example.org", 8).unwrap();
    let mut link = connect(address, &any, false).unwrap();
    link.shutdown_write().unwrap();
    assert_eq!(read_to_end(&mut link).unwrap(), b"");
    server.join().unwrap();
}

#[test]
fn a_server_that_asks_who_we_are_is_told_or_says_so() {
    let authority = Authority::new();
    let (cert, key) = authority.vouch("client");
    let own = Settings { ca: Some(&authority.pem), identity: Some((&cert, &key)), ..Settings::default() };
    let own = Client::new(&own, "localhost", 8).unwrap();
    for version in [&TLS12, &TLS13] {
        let (address, server) = serve(authority.server(version, true), 2, echo);
        let mut link = connect(address, &own, false).unwrap();
        link.shutdown_write().unwrap();
        read_to_end(&mut link).unwrap();
        // In TLS 1.3 the client finishes before the server has verified it.
        let refused =
            connect(address, &authority.client(), false).and_then(|mut link| read_to_end(&mut link));
        let (kind, what) = trouble(&refused.unwrap_err());
        assert_eq!(kind, "tls_alert");
        assert!(what.contains("--cert and --key"), "{what}");
        server.join().unwrap();
    }
}

#[test]
fn who_does_not_speak_tls_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers: [&[u8]; 2] = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""];
    let server = std::thread::spawn(move || {
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 4_096]);
            let _ = socket.write_all(answer);
        }
    });
    let client = Authority::new().client();
    let (kind, what) = trouble(&connect(address, &client, false).unwrap_err());
    assert!(kind == "tls_handshake" && what.contains("is not TLS"), "{kind}: {what}");
    let (kind, what) = trouble(&connect(address, &client, false).unwrap_err());
    assert!(kind == "tls_handshake" && what.contains("closed the connection"), "{kind}: {what}");
    server.join().unwrap();
}

#[test]
fn an_announced_end_is_told_by_the_poller_though_tcp_goes_on() {
    let authority = Authority::new();
    let (over, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (address, server) = serve(authority.server(&TLS13, false), 1, move |mut stream| {
        stream.write_all(b"last").unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        // The socket stays open until the client has seen the end.
        let _ = wait.lock().unwrap().recv();
    });
    let mut link = connect(address, &authority.client(), false).unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(link.fd(), 0, Interest::Arrivals).unwrap();
    let (mut heard, mut room) = (Vec::new(), vec![0; ROOM_MIN]);
    loop {
        match link.read(&mut room).unwrap() {
            Read::Bytes(n) => heard.extend_from_slice(&room[..n]),
            Read::End => break,
            Read::WouldBlock => {}
        }
        assert_eq!(poller.wait(Some(PATIENCE_NS)).unwrap().len(), 1, "it is reported");
    }
    assert_eq!(heard, b"last");
    over.send(()).unwrap();
    server.join().unwrap();
}

#[test]
fn an_end_without_a_farewell_is_that_of_tcp() {
    let authority = Authority::new();
    let (address, server) = serve(authority.server(&TLS13, false), 1, |mut stream| {
        stream.write_all(b"cut").unwrap();
        stream.flush().unwrap();
        stream.sock.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut link = connect(address, &authority.client(), false).unwrap();
    assert_eq!(read_to_end(&mut link).unwrap(), b"cut");
    server.join().unwrap();
}

#[test]
fn what_comes_with_the_handshake_is_read_first() {
    let authority = Authority::new();
    let mut config = authority.server(&TLS13, false);
    config.send_half_rtt_data = true;
    let (address, server) = serve(config, 1, |mut stream| {
        stream.conn.read_tls(&mut stream.sock).unwrap();
        stream.conn.process_new_packets().unwrap();
        // Sent before the client's last handshake message, in one write with the server's.
        stream.conn.writer().write_all(b"early").unwrap();
        let mut flight = Vec::new();
        while stream.conn.wants_write() {
            stream.conn.write_tls(&mut flight).unwrap();
        }
        stream.sock.write_all(&flight).unwrap();
        echo(stream);
    });
    let mut link = connect(address, &authority.client(), false).unwrap();
    let early = link.has_early();
    link.shutdown_write().unwrap();
    assert_eq!(read_to_end(&mut link).unwrap(), b"early");
    assert!(early, "no poller would have reported it");
    server.join().unwrap();
}

#[test]
fn between_messages_no_buffer_is_owned() {
    let authority = Authority::new();
    let (address, server) = serve(authority.server(&TLS13, false), 1, |mut stream| {
        let mut room = [0; 5];
        stream.read_exact(&mut room).unwrap();
        stream.write_all(&[7; 60_000]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut link = connect(address, &authority.client(), false).unwrap();
    write_all(&mut link, b"hello");
    let (mut heard, mut room) = (0, vec![0; 2 * ROOM_MIN]);
    while heard < 60_000 {
        match link.read(&mut room).unwrap() {
            Read::Bytes(n) => heard += n,
            Read::WouldBlock => wait_for(&link, Interest::Read),
            Read::End => panic!("unexpected end"),
        }
    }
    let Link::Tls(tls) = &link else { panic!("over TLS") };
    assert_eq!(tls.buffered(), 0);
    assert!(link.read(&mut [0; 100]).is_err(), "a record would not fit");
    drop(link);
    server.join().unwrap();
}

#[test]
fn settings_that_cannot_be_are_told_by_their_part() {
    use crate::tls::Part;
    let (authority, host) = (Authority::new(), "localhost");
    let (cert, key) = authority.vouch("client");
    let (_, other) = authority.vouch("other");
    let fault = |settings: Settings<'_>| Client::new(&settings, host, 1).unwrap_err();
    let none = Settings::default();
    assert_eq!(fault(Settings { ca: Some("nothing"), ..none }).part, Part::Ca);
    assert_eq!(fault(Settings { ca: Some(&key), ..none }).what, "there is no certificate in it");
    let with = |cert, key| Settings { insecure: true, identity: Some((cert, key)), ..none };
    assert_eq!(fault(with("nothing", &key)).part, Part::Cert);
    assert_eq!(fault(with(&cert, &cert)).what, "there is no private key in it");
    let wrong = fault(with(&cert, &other));
    assert_eq!(wrong.part, Part::Key);
    assert!(wrong.what.contains("does not match the certificate"), "{wrong}");
    let nowhere = Client::new(&Settings { insecure: true, ..none }, "no host", 1).unwrap_err();
    assert_eq!(nowhere.part, Part::Host);
}
