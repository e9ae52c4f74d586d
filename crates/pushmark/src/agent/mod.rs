//! Who drives the shards of an arm: threads of this process, or of agents beside it.
//!
//! | file | holds |
//! |---|---|
//! | `crew.rs` | the shards of an arm, and the way their records come back |
//! | `hired.rs` | an agent as its run sees it: a child process and a socket |
//! | `work.rs` | an agent's own life |

mod crew;
mod hired;
mod work;

pub(crate) use crew::{Came, Crew};
pub(crate) use hired::Agent;
pub(crate) use work::work;
