//! An agent's own life: plans come, shards run, records go.

use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::Context as _;
use pushmark_model::agent::{Order, Said};
use pushmark_model::frame;
use pushmark_model::steer::Steer;
use pushmark_net::limits;

use super::crew::{Came, Crew};
use crate::server::cpus;

/// Serves the run at the other end of standard input, which is a socket, until its arm ends.
///
/// # Errors
/// Orders that are none, and a run that goes in the middle.
pub(crate) fn work() -> anyhow::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut orders = BufReader::new(socket.try_clone()?);
    let begin = frame::read(&mut orders).context("an agent is started by a run, which talks to it")?;
    // A run that ended before it began has said why.
    let Some(Order::Begin(begin)) = begin else { return Ok(()) };
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = limits::raise_open_files();
    if !begin.cpus.is_empty() {
        cpus::pin_current_thread(&begin.cpus)?;
    }
    let crew = Crew::start(begin.plans()?, &begin.cpus, Vec::new())?;
    let voice = crew.voice();
    std::thread::spawn(move || {
        while let Ok(Some(Order::Steer(order))) = frame::read(&mut orders) {
            voice.tell(order);
        }
        // A run that is gone wants nothing more.
        voice.tell(Steer::Stop);
    });
    let mut said = BufWriter::new(&socket);
    loop {
        match crew.next(Duration::MAX) {
            Came::Record(record) => {
                let told = Said::Record(record);
                frame::write(&mut said, &told)?;
                said.flush()?;
                if let Said::Record(record) = told {
                    crew.take_back(record);
                }
            }
            Came::Nothing => {}
            Came::End => break,
        }
    }
    frame::write(&mut said, &Said::Ended(crew.join()))?;
    Ok(said.flush()?)
}
