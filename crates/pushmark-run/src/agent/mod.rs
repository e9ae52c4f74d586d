//! The drivers of an arm's shards: threads of this process, of agents on this machine, or of agents on others; and the
//! monitor beside a server on another machine.
//!
//! | file | holds |
//! |---|---|
//! | `pool.rs` | the shards of an arm, and the way their records come back |
//! | `driver.rs` | an agent as the pool sees it |
//! | `crew.rs` | who drives an arm's shards, and who gets which |
//! | `hired.rs` | an agent as its run sees it: a child process and a socket |
//! | `machines.rs`, `wanted.rs` | the agents and the monitor that a command has claimed on the bus |
//! | `line.rs` | orders to one of them, and what it says, in order |
//! | `remote.rs` | an agent on the bus, as the pool sees it |
//! | `beside.rs` | the monitor of an arm, as its run sees it |
//! | `message.rs` | what shards and agents send to their run |
//! | `work.rs` | the life of an agent that a run has started |
//! | `served.rs` | the life of an agent or a monitor that waits on the bus |
//! | `load.rs`, `watcher.rs` | their work on one arm |
//! | `offers.rs` | the servers that a monitor starts |
//! | `voice.rs` | what they say: into a spool, then on the bus |
//! | `kept.rs` | spools of lost runs, listed by agents and collected from them |
//! | `gone.rs` | agents set free of a coordinator that is gone |

mod beside;
mod crew;
mod driver;
mod gone;
mod hired;
mod kept;
mod line;
mod load;
mod machines;
mod message;
mod offers;
mod pool;
mod remote;
mod served;
mod voice;
mod wanted;
mod watcher;
mod work;

pub(crate) use beside::{ServerWatch, WatchDone};
pub use crew::Crew;
pub use kept::collect;
pub use machines::{Machines, who};
pub(crate) use message::Spent;
pub use offers::Offers;
pub(crate) use pool::{PoolEvent, ShardPool};
pub use served::{Offer, serve};
pub use wanted::{Wanted, WantedMonitor};
pub use work::work;
