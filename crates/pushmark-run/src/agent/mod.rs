//! The drivers of an arm's shards: threads of this process, or of agents.
//!
//! | file | holds |
//! |---|---|
//! | `pool.rs` | the shards of an arm, and the way their records come back |
//! | `hired.rs` | an agent as its run sees it: a child process and a socket |
//! | `message.rs` | what shards and agents send to their run |
//! | `work.rs` | an agent's own life |

mod hired;
mod message;
mod pool;
mod work;

pub(crate) use hired::Agent;
pub(crate) use pool::{PoolEvent, ShardPool};
pub use work::work;
