//! Who drives an arm's shards, and who gets which.

use std::io;
use std::path::Path;

use super::driver::Agent;
use super::hired::Hired;
use super::machines::Machines;

/// Who drives the shards.
#[derive(Clone, Copy, Debug)]
pub enum Crew<'a> {
    /// Threads of this process.
    Here,
    /// This number of processes on this machine, which run this program.
    Processes(u32, &'a Path),
    /// Agents on the bus.
    Machines(&'a Machines),
}

impl<'a> Crew<'a> {
    /// Returns this number of processes on this machine, which run `program`; 0: threads of this process.
    pub fn of(processes: u32, program: &'a Path) -> Crew<'a> {
        if processes > 0 { Crew::Processes(processes, program) } else { Crew::Here }
    }

    /// Returns an agent for each part of the shards; none if they are threads of this process.
    pub(crate) fn hire(&self) -> io::Result<Vec<Box<dyn Agent>>> {
        match self {
            Crew::Here => Ok(Vec::new()),
            Crew::Processes(count, program) => Hired::start(*count, program),
            Crew::Machines(machines) => machines.hire(),
        }
    }

    /// Returns the agent that drives a shard of an arm with `shards` shards a half.
    pub(crate) fn agent_of(&self, shard: u32, shards: u32) -> usize {
        match self {
            Crew::Here => 0,
            Crew::Processes(count, _) => shard as usize % *count as usize,
            Crew::Machines(machines) => machines.agent_of(shard % shards),
        }
    }

    /// Returns the agents on other machines.
    pub(crate) fn machines(&self) -> Option<&Machines> {
        match self {
            Crew::Machines(machines) => Some(machines),
            _ => None,
        }
    }
}
