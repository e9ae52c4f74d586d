//! The machine against rustls's own server, without sockets: any split of the ciphertext produces the same
//! plaintext.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use proptest::prelude::*;
use rustls::ServerConnection;
use rustls::version::{TLS12, TLS13};

use super::*;
use crate::tls::testing::Authority;

/// Both ends, and the bytes on their way to the client.
struct Pair {
    client: Machine,
    server: ServerConnection,
    carry: Vec<u8>,
    heard: Vec<u8>,
    ended: bool,
}

impl Pair {
    /// A pair after its handshake, with the server's output in pieces of this size.
    fn new(version: &'static rustls::SupportedProtocolVersion, piece: usize) -> Pair {
        let authority = Authority::new();
        let client = Machine::new(&authority.client(), false).unwrap();
        let server = ServerConnection::new(Arc::new(authority.server(version, false))).unwrap();
        let mut pair = Pair { client, server, carry: vec![], heard: vec![], ended: false };
        pair.hear(&[]);
        while pair.client.is_handshaking() || pair.server.is_handshaking() {
            let said = pair.server_says();
            assert!(!said.is_empty(), "the handshake continues");
            said.chunks(piece).for_each(|piece| pair.hear(piece));
        }
        assert_eq!(pair.client.is_resumed(), Some(false));
        pair
    }

    fn server_says(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut said).unwrap();
        }
        said
    }

    /// The client takes in a piece. Its answer goes to the server at once.
    fn hear(&mut self, piece: &[u8]) {
        self.carry.extend_from_slice(piece);
        let (mut out, heard) = (Vec::new(), &mut self.heard);
        let taken = self.client.take_in(&mut self.carry, &mut out, |plain| heard.extend_from_slice(plain));
        let taken = taken.unwrap();
        self.carry.drain(..taken.used);
        assert!(self.carry.len() < RECORD_MAX, "only an incomplete record is left");
        self.ended |= taken.ended;
        self.tell(&out);
    }

    fn tell(&mut self, mut sealed: &[u8]) {
        while !sealed.is_empty() {
            self.server.read_tls(&mut sealed).unwrap();
            self.server.process_new_packets().unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_split_gives_the_same_plaintext(
        old in any::<bool>(),
        messages in prop::collection::vec(1usize..40_000, 1..5),
        pieces in prop::collection::vec(1usize..20_000, 1..8),
        handshake_piece in 1usize..3_000,
    ) {
        let mut pair = Pair::new(if old { &TLS12 } else { &TLS13 }, handshake_piece);
        let (mut said, mut sealed) = (Vec::new(), Vec::new());
        for (n, length) in messages.into_iter().enumerate() {
            let message: Vec<u8> = (0..length).map(|i| (i + n) as u8).collect();
            // The server's own queue holds 64 KiB.
            for part in message.chunks(16_000) {
                pair.server.writer().write_all(part).unwrap();
                sealed.extend(pair.server_says());
            }
            said.extend(message);
        }
        pair.server.send_close_notify();
        sealed.extend(pair.server_says());
        let mut rest = &sealed[..];
        for length in pieces.into_iter().cycle() {
            let (piece, after) = rest.split_at(length.min(rest.len()));
            pair.hear(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert!(pair.heard == said, "{} bytes of {}", pair.heard.len(), said.len());
        prop_assert!(pair.ended && pair.carry.is_empty());
    }
}

#[test]
fn a_handshake_and_a_message_byte_by_byte() {
    for version in [&TLS12, &TLS13] {
        let mut pair = Pair::new(version, 1);
        pair.server.writer().write_all(b"hello").unwrap();
        for byte in pair.server_says() {
            pair.hear(&[byte]);
        }
        assert_eq!(pair.heard, b"hello");
    }
}

#[test]
fn what_is_sealed_in_the_middle_of_a_record_is_whole() {
    for version in [&TLS12, &TLS13] {
        let mut pair = Pair::new(version, 500);
        pair.server.writer().write_all(&[7; 100]).unwrap();
        let said = pair.server_says();
        let (begun, rest) = said.split_at(said.len() / 2);
        pair.hear(begun);
        let (mut out, plain) = (Vec::new(), vec![9; 50_000]);
        pair.client.seal(&plain, &mut pair.carry, &mut out).unwrap();
        pair.client.seal_end(&mut pair.carry, &mut out).unwrap();
        let mut got = Vec::new();
        for piece in out.chunks(4_096) {
            pair.tell(piece);
            let mut room = [0; 8_192];
            while let Ok(n @ 1..) = pair.server.reader().read(&mut room) {
                got.extend_from_slice(&room[..n]);
            }
        }
        assert!(got == plain);
        pair.hear(rest);
        assert_eq!(pair.heard, [7; 100]);
    }
}

#[test]
fn a_record_that_was_changed_on_its_way_is_told_and_answered() {
    let mut pair = Pair::new(&TLS13, 5_000);
    pair.server.writer().write_all(b"hello").unwrap();
    let mut said = pair.server_says();
    *said.last_mut().unwrap() ^= 1;
    let mut out = Vec::new();
    let error = pair.client.take_in(&mut said, &mut out, |_| panic!("no plaintext")).unwrap_err();
    assert_eq!(error.kind(), "tls_record");
    let mut sealed = &out[..];
    pair.server.read_tls(&mut sealed).unwrap();
    let told = pair.server.process_new_packets().unwrap_err();
    assert_eq!(told, rustls::Error::AlertReceived(rustls::AlertDescription::BadRecordMac));
}
