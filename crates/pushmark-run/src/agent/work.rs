//! The work of an agent: it receives plans, runs shards and sends records.

use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::Context as _;
use pushmark_model::agent::{Order, Said};
use pushmark_model::frame;
use pushmark_model::steer::Steer;
use pushmark_net::limits;

use super::pool::{PoolEvent, ShardPool};
use pushmark_host::server::cpus;

/// Serves the run at the other end of standard input, which is a socket, until its arm ends.
///
/// # Errors
/// Fails if an order is not valid, or if the run ends before its arm.
pub fn work() -> anyhow::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut orders = BufReader::new(socket.try_clone()?);
    let begin = frame::read(&mut orders).context("an agent is started by a run, which talks to it")?;
    // A run that ended before it began has reported the reason.
    let Some(Order::Begin(begin)) = begin else { return Ok(()) };
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = limits::raise_open_files();
    if !begin.cpus.is_empty() {
        cpus::pin_current_thread(&begin.cpus)?;
    }
    let pool = ShardPool::start(begin.plans()?, &begin.cpus, Vec::new(), |_| 0)?;
    let sender = pool.orders();
    std::thread::spawn(move || {
        while let Ok(Some(Order::Steer(order))) = frame::read(&mut orders) {
            sender.tell(order);
        }
        // A run that has ended needs no more records.
        sender.tell(Steer::Stop);
    });
    let mut said = BufWriter::new(&socket);
    loop {
        match pool.next(Duration::MAX) {
            PoolEvent::Record(record) => {
                let told = Said::Record(record);
                frame::write(&mut said, &told)?;
                said.flush()?;
                if let Said::Record(record) = told {
                    pool.take_back(record);
                }
            }
            // An agent has no agents.
            PoolEvent::Nothing | PoolEvent::Spent(_) | PoolEvent::Silent(_) | PoolEvent::Lost(_) => {}
            PoolEvent::End => break,
        }
    }
    frame::write(&mut said, &Said::Ended(pool.join()))?;
    Ok(said.flush()?)
}
