//! Blocking TLS over real loopback sockets, against rustls's own server.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::tls::testing::Authority;

const PATIENCE: Duration = Duration::from_secs(20);

type Served = StreamOwned<ServerConnection, TcpStream>;

/// A server for one connection, which it passes to `talk`.
fn serve(config: ServerConfig, talk: impl Fn(Served) + Send + 'static) -> (TcpStream, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let thread = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        talk(StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), socket));
    });
    (stream, thread)
}

fn trouble(error: &io::Error) -> (&'static str, String) {
    let trouble = Trouble::of(error).unwrap_or_else(|| panic!("{error}"));
    (trouble.kind(), trouble.to_string())
}

#[test]
fn bytes_cross_and_an_end_without_a_farewell_is_one() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let (stream, server) = serve(authority.server(version, false), |mut stream| {
            let mut hello = [0; 5];
            stream.read_exact(&mut hello).unwrap();
            // More than a record, so that several records are read.
            stream.write_all(&hello.repeat(10_000)).unwrap();
            stream.flush().unwrap();
            // Only TCP reports the end.
            stream.sock.shutdown(std::net::Shutdown::Write).unwrap();
            let rest = stream.read(&mut hello);
            assert_eq!(rest.unwrap(), 0, "the client ends in order");
        });
        let mut stream = Blocking::over_tls(stream, &authority.client(), PATIENCE).unwrap();
        stream.set_read_timeout(PATIENCE).unwrap();
        stream.write_all(b"hello").unwrap();
        stream.flush().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"hello".repeat(10_000));
        drop(stream);
        server.join().unwrap();
    }
}

#[test]
fn who_is_not_believed_is_told_with_the_words_of_a_link() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let (stream, server) = serve(authority.server(version, false), |mut stream| {
            let heard = stream.read(&mut [0; 1]).unwrap_err();
            assert!(heard.to_string().contains("alert"), "{heard}");
        });
        let client = Authority::named("another").client();
        let error = Blocking::over_tls(stream, &client, PATIENCE).unwrap_err();
        let (kind, what) = trouble(&error);
        assert_eq!(kind, "tls_certificate");
        assert!(what.contains("unknown issuer") && what.contains("--ca"), "{what}");
        server.join().unwrap();
    }
}

#[test]
fn a_refusal_after_the_handshake_is_told_at_the_first_read() {
    let authority = Authority::new();
    let (stream, server) = serve(authority.server(&TLS13, true), |mut stream| {
        stream.read(&mut [0; 1]).unwrap_err();
    });
    let mut stream = Blocking::over_tls(stream, &authority.client(), PATIENCE).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
    let (kind, what) = trouble(&stream.read(&mut [0; 1]).unwrap_err());
    assert_eq!(kind, "tls_alert");
    assert!(what.contains("--cert and --key"), "{what}");
    server.join().unwrap();
}

#[test]
fn a_handshake_without_an_answer_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    // The server never answers.
    let (_silent, _) = listener.accept().unwrap();
    let client = Authority::new().client();
    let error = Blocking::over_tls(stream, &client, Duration::from_millis(30)).unwrap_err();
    assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
}

#[test]
fn one_that_speaks_no_tls_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut plain, _) = listener.accept().unwrap();
    plain.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    let error = Blocking::over_tls(stream, &Authority::new().client(), PATIENCE).unwrap_err();
    let (kind, what) = trouble(&error);
    assert_eq!(kind, "tls_handshake");
    assert!(what.contains("is not TLS"), "{what}");
}
