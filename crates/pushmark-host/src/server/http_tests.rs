//! Answers of every framing, and servers that answer wrong or not at all.

use std::net::TcpListener;

use super::*;

/// A server that sends one answer in these pieces and returns the request that it received.
fn serve(pieces: &'static [&'static str]) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/stats?x=1", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        let mut piece = [0u8; 4096];
        while !heard.windows(4).any(|w| w == b"\r\n\r\n") {
            let read = stream.read(&mut piece).unwrap();
            heard.extend_from_slice(&piece[..read]);
        }
        for piece in pieces {
            stream.write_all(piece.as_bytes()).unwrap();
        }
        String::from_utf8(heard).unwrap()
    });
    (url, thread)
}

const SOON: Duration = Duration::from_secs(20);

#[test]
fn answers_of_every_framing_are_read_whole() {
    let cases: [&'static [&'static str]; 4] = [
        &["HTTP/1.1 200 OK\r\nContent-Le", "ngth: 5\r\n\r\nhel", "lo"],
        &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", "2\r\nlo\r\n0\r\n\r\n"],
        &["HTTP/1.0 200 OK\r\n\r\nhe", "llo"],
        &["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
    ];
    for pieces in cases {
        let (url, thread) = serve(pieces);
        let answer = get(&(&*url).into(), SOON).unwrap();
        assert_eq!((answer.status, answer.text().as_str(), answer.is_success()), (200, "hello", true));
        assert!(thread.join().unwrap().starts_with("GET /stats?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
    }
}

#[test]
fn a_long_answer_in_small_pieces_is_read_once() {
    // 4 MiB in pieces of 1 KiB: read again from the start after each of them, this would be 8 GiB of copies.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        for _ in 0..4096 {
            stream.write_all(b"400\r\n").unwrap();
            stream.write_all(&[b'x'; 1024]).unwrap();
            stream.write_all(b"\r\n").unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    assert_eq!(get(&(&*url).into(), SOON).unwrap().body, vec![b'x'; 4 << 20]);
    thread.join().unwrap();
}

#[test]
fn a_body_and_headers_are_sent() {
    let (url, thread) = serve(&["HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n"]);
    let request = Request {
        method: "POST",
        to: &(&*url).into(),
        headers: &[("Content-Type", "application/json")],
        body: b"{}",
        timeout: SOON,
    };
    let answer = send(&request).unwrap();
    assert_eq!((answer.status, answer.headers), (204, vec![("x-a".to_string(), "b".to_string())]));
    let heard = thread.join().unwrap();
    assert!(heard.contains("Content-Type: application/json\r\n") && heard.contains("Content-Length: 2\r\n"));
}

#[test]
fn wrong_answers_say_what_is_wrong() {
    let error = |pieces| {
        let (url, thread) = serve(pieces);
        let error = get(&(&*url).into(), SOON).unwrap_err().to_string();
        thread.join().unwrap();
        error
    };
    assert!(error(&["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"]).contains("cut off"));
    assert!(error(&["SSH-2.0-OpenSSH_9.9\r\n"]).contains("sent an invalid answer: head"));
    assert!(error(&["HTTP/1.1 200"]).contains("cut off"));
}

#[test]
fn nobody_there_and_nothing_said() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = get(&format!("http://{closed}/").into(), SOON).unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    // Bound and listening, but never accepted: the kernel connects, and no answer arrives.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let error = get(&(&*url).into(), Duration::from_millis(30)).unwrap_err();
    assert!(error.to_string().contains("did not answer in time"), "{error}");
}

#[test]
fn a_url_that_could_forge_a_request_is_refused() {
    for url in ["ftp://a/", "a:80/", "http:///x", "http://a/ b", "http://a/\r\nX: y", "http://u:p@a/"] {
        assert!(matches!(get(&url.into(), SOON), Err(HttpError::Url(_))), "{url}");
    }
    let place = Place::of("http://[::1]:80?x#y").unwrap();
    assert_eq!(place, Place { tls: false, authority: "[::1]:80", target: "?x" });
}

#[test]
fn a_url_names_its_host_its_port_and_whether_it_goes_over_tls() {
    for (url, tls, host, port) in [
        ("http://a/", false, "a", 80),
        ("https://a", true, "a", 443),
        ("HTTPS://a:8443/x", true, "a", 8443),
        ("https://[::1]/", true, "::1", 443),
        ("http://[::1]:81/", false, "::1", 81),
    ] {
        let place = Place::of(url).unwrap();
        assert_eq!((place.tls, place.host().unwrap()), (tls, (host, port)), "{url}");
    }
    assert!(Place::of("http://a:65536/").unwrap().host().is_err());
}

#[test]
fn one_that_speaks_no_tls_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let tls = Tls { insecure: true, ..Tls::default() };
    let error = get(&Control { url, tls, token: None }, SOON).unwrap_err();
    assert!(error.to_string().contains("is not TLS") && !error.is_of_certificate(), "{error}");
    thread.join().unwrap();
}
