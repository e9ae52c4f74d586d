//! The byte layer on real loopback sockets.

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;

use pushmark_net::{Clock, Interest, Link, Listener, Poller, Read, stamps};

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const DEADLINE_NS: u64 = 5_000_000_000;

fn wait_for(fd: BorrowedFd<'_>, interest: Interest) {
    let mut poller = Poller::new().unwrap();
    poller.add(fd, 0, interest).unwrap();
    assert_eq!(poller.wait(Some(DEADLINE_NS)).unwrap().len(), 1, "nothing within the deadline");
}

fn pair(source: Option<IpAddr>) -> (Link, Link) {
    let listener = Listener::bind(ANY_PORT, 16, false).unwrap();
    let mut client = Link::connect(listener.local_addr().unwrap(), source).unwrap();
    wait_for(client.fd(), Interest::Write);
    client.finish_connect().unwrap();
    wait_for(listener.fd(), Interest::Read);
    let (server, peer) = listener.accept().unwrap().expect("a connection is waiting");
    assert_eq!(peer, client.local_addr().unwrap());
    assert!(listener.accept().unwrap().is_none());
    (client, server)
}

fn read_all(link: &mut Link, wanted: usize) -> Vec<u8> {
    let mut bytes = vec![0; wanted];
    let mut got = 0;
    while got < wanted {
        match link.read(&mut bytes[got..]).unwrap() {
            Read::Bytes(n) => got += n,
            Read::WouldBlock => wait_for(link.fd(), Interest::Read),
            Read::End => panic!("ended after {got} of {wanted}"),
        }
    }
    bytes
}

#[test]
fn bytes_cross_and_the_end_is_seen() {
    let (mut client, mut server) = pair(None);
    assert_eq!(server.read(&mut [0; 8]).unwrap(), Read::WouldBlock);
    assert_eq!(client.write(b"hello ").unwrap(), 6);
    let pieces = [IoSlice::new(b"two "), IoSlice::new(b"pieces")];
    assert_eq!(client.write_vectored(&pieces).unwrap(), 10);
    assert_eq!(read_all(&mut server, 16), b"hello two pieces");
    client.shutdown_write().unwrap();
    wait_for(server.fd(), Interest::Read);
    assert_eq!(server.read(&mut [0; 8]).unwrap(), Read::End);
    assert_eq!(server.write(b"still open").unwrap(), 10);
    assert_eq!(read_all(&mut client, 10), b"still open");
}

#[test]
fn a_connection_leaves_from_the_source_asked_for() {
    let source = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
    let (client, _server) = pair(Some(source));
    assert_eq!(client.local_addr().unwrap().ip(), source);
}

#[test]
fn a_refused_connect_says_so() {
    let listener = Listener::bind(ANY_PORT, 16, false).unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let outcome = Link::connect(nobody, None).and_then(|mut link| {
        wait_for(link.fd(), Interest::Write);
        link.finish_connect()
    });
    assert_eq!(outcome.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_full_socket_takes_nothing() {
    let (mut client, _server) = pair(None);
    let block = vec![0; 1 << 20];
    let mut written = 0;
    loop {
        match client.write(&block).unwrap() {
            0 => break,
            n => written += n,
        }
        assert!(written < 1 << 30, "the kernel's buffers are bounded");
    }
    assert!(written > 0);
}

#[test]
fn a_reset_is_an_error_to_the_peer() {
    let (client, mut server) = pair(None);
    client.reset();
    wait_for(server.fd(), Interest::Read);
    let error = server.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn the_kernel_counts_what_crossed() {
    let (mut client, mut server) = pair(None);
    client.write(&[7; 1000]).unwrap();
    read_all(&mut server, 1000);
    let (there, here) = (client.tcp_info().unwrap(), server.tcp_info().unwrap());
    assert_eq!((there.bytes_out, here.bytes_in), (1000, 1000));
    assert!(there.segments_out >= 2 && here.segments_in >= 2);
    assert_eq!(there.retransmits, 0);
}

#[test]
fn the_kernel_stamps_arrivals_between_write_and_read() {
    let (mut client, mut server) = pair(None);
    stamps::enable_receive_stamps(server.fd()).unwrap();
    // The kernel enables stamping for the whole host shortly after the first socket requests it, so the first
    // segments may have no stamp.
    let deadline_ns = Clock::now() + DEADLINE_NS;
    loop {
        let before_ns = Clock::realtime();
        client.write(b"x").unwrap();
        wait_for(server.fd(), Interest::Read);
        let (read, stamp) = server.read_stamped(&mut [0; 8]).unwrap();
        assert_eq!(read, Read::Bytes(1));
        let after_ns = Clock::realtime();
        if stamp.is_some_and(|stamp_ns| (before_ns..=after_ns).contains(&stamp_ns)) {
            break;
        }
        assert!(Clock::now() < deadline_ns, "no true stamp: {stamp:?} of {before_ns}..{after_ns}");
    }
    let (read, stamp) = server.read_stamped(&mut [0; 8]).unwrap();
    assert_eq!((read, stamp), (Read::WouldBlock, None));
}

#[test]
fn listeners_share_a_port_when_asked() {
    let first = Listener::bind(ANY_PORT, 16, true).unwrap();
    let address = first.local_addr().unwrap();
    assert!(Listener::bind(address, 16, true).is_ok());
    assert!(Listener::bind(address, 16, false).is_err());
}
