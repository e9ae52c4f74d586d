//! The results of calls on connections, the same for every way to carry bytes: what a read came to, how far
//! a connect is.

use std::io;

use crate::ready::Interest;

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The number of bytes, at least one.
    Bytes(usize),
    /// No bytes now: wait until the descriptor is readable.
    WouldBlock,
    /// The peer has ended its direction. Nothing more will arrive.
    End,
}

/// The state of a connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connect {
    /// The connection is established.
    Done,
    /// TCP is established and the TLS handshake is under way. It continues when this interest is ready.
    Handshake(Interest),
}

pub(crate) fn read_result(result: io::Result<usize>) -> io::Result<Read> {
    match result {
        Ok(0) => Ok(Read::End),
        Ok(n) => Ok(Read::Bytes(n)),
        Err(error) if would_block(&error) => Ok(Read::WouldBlock),
        Err(error) => Err(error),
    }
}

pub(crate) fn write_result(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if would_block(&error) => Ok(0),
        other => other,
    }
}

/// An interrupted call counts as one that would block. Calls that never sleep are not interrupted.
pub(crate) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
