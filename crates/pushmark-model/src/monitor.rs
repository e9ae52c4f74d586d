//! What a run tells the monitor beside its server, and what the monitor tells the run.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::plan::Phases;
use crate::run::{Foreign, LastWords, Server, Window};
use crate::steer::Steer;

/// What a monitor adds to its card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// Addresses of its machine, loopback left out. The first is the one that the servers it starts are reached at.
    pub addresses: Vec<IpAddr>,
    /// Servers that it starts for runs.
    pub offers: Vec<Offered>,
}

/// A server that a monitor starts, by its own commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// It is a row of `servers.toml`; else a command of the monitor's own file.
    pub row: bool,
    /// Its version there; absent if it does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// It keeps the contract there, in its current state.
    #[serde(default)]
    pub checked: bool,
}

/// An order to a monitor, for one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WatchOrder {
    /// Start a server. Answered by [`Watched::Up`].
    Serve(Serve),
    /// Watch, from now on.
    Watch(Watch),
    /// The phases move.
    Steer(Steer),
    /// The arm is over: stop the server, and tell what was seen. Answered by [`Watched::Seen`].
    Finish,
}

/// A server to start. Its commands are the monitor's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Serve {
    /// Its name among the offers.
    pub name: String,
    /// Flags of its row.
    pub flags: BTreeMap<String, String>,
    /// Whether it writes its request log; absent: its default.
    pub log: Option<bool>,
    /// Its port; absent: a free one.
    pub port: Option<u16>,
    /// Its heap is collected in drain.
    pub live_heap: bool,
    /// The address that clients connect to has this port, if it is not the server's.
    pub serves: Option<u16>,
}

/// An arm to watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// When it starts, ns of the monitor's clock.
    pub start_ns: u64,
    /// Its phases.
    pub phases: Phases,
    /// The crowd connects until the end of measure.
    pub floods: bool,
    /// Where clients connect.
    pub at: SocketAddr,
}

/// What a monitor says of an arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Watched {
    /// The server is up.
    Up {
        /// Its port.
        port: u16,
        /// Time from the start of its process to its first successful answer, µs.
        ready_us: u64,
    },
    /// It is at work: said each second.
    Going,
    /// The server has ended by itself: how, and when, µs from the arm's start.
    Ended {
        /// `signal 9`, `exit 1`.
        how: String,
        /// When that was noticed; absent: before the arm began.
        at_us: Option<u64>,
    },
    /// A file that the server wrote.
    File {
        /// Its name.
        name: String,
        /// Its last bytes.
        bytes: Vec<u8>,
    },
    /// What was seen: a [`ServerSeen`] as JSON, which leaves out absent fields.
    Seen(String),
    /// It could not do as it was told, and why. Nothing follows.
    Failed(String),
}

/// The server and its machine during an arm.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerSeen {
    /// The server; absent: no process of this machine listens there.
    pub server: Option<Server>,
    /// CPU in soft interrupts during measure, all CPUs, µs.
    pub softirq_us: Option<u64>,
    /// Growth of slab and TCP buffers from the start to measure.
    pub kernel_memory_bytes: Option<u64>,
    /// Segments sent again by the machine.
    pub retransmits: Option<u64>,
    /// Full listen queues while the crowd connected, of the whole machine.
    pub listen_overflows: Option<u64>,
    /// Connections for which the queue of the target's listener had no room.
    pub listener_drops: Option<u64>,
    /// Sockets that entered TIME_WAIT a second.
    pub time_wait_per_s: Option<f64>,
    /// Other programs on the machine's CPUs.
    pub foreign: Option<Foreign>,
    /// Share of the time in which the server wanted to run and others kept it waiting.
    pub server_wait: Option<f64>,
    /// How the server ended, if it was started by the monitor.
    pub last_words: Option<LastWords>,
    /// The columns of cost, second by second.
    pub seconds: Vec<Window>,
    /// Slab and TCP buffers at the end of each second of the ramp, and the server's memory then, bytes.
    pub growth: Vec<(u32, u64, u64)>,
}
