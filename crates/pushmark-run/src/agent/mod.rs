//! The drivers of an arm's shards: threads of this process, of agents on this machine, or of agents on others.
//!
//! | file | holds |
//! |---|---|
//! | `pool.rs` | the shards of an arm, and the way their records come back |
//! | `driver.rs` | an agent as the pool sees it |
//! | `crew.rs` | who drives an arm's shards, and who gets which |
//! | `hired.rs` | an agent as its run sees it: a child process and a socket |
//! | `remote.rs` | an agent as its run sees it: a name on the bus |
//! | `machines.rs` | the agents that a command has claimed on the bus |
//! | `message.rs` | what shards and agents send to their run |
//! | `work.rs` | the life of an agent that a run has started |
//! | `served.rs` | the life of an agent that waits on the bus |

mod crew;
mod driver;
mod hired;
mod machines;
mod message;
mod pool;
mod remote;
mod served;
mod work;

pub use crew::Crew;
pub use machines::{Machines, Wanted, who};
pub(crate) use message::Spent;
pub(crate) use pool::{PoolEvent, ShardPool};
pub use served::{Offer, serve};
pub use work::work;
