//! A receiver's process: it reads its order from stdin and writes its measurements to stdout, as JSON.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use pushmark_model::plan::ShardPlan;
use pushmark_net::{Nanos, limits};
use serde::{Deserialize, Serialize};

use crate::driver::{self, Accounts};
use crate::floor;
use crate::watch::{self, Look};

/// Who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Receiver {
    /// Reads and counts.
    Floor,
    /// Pushmark's.
    Driver,
}

/// What to receive, and when to look at what it costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) receiver: Receiver,
    pub(crate) plan: ShardPlan,
    /// Of one connection, for the floor.
    pub(crate) path: String,
    pub(crate) looks: Vec<Nanos>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) looks: Vec<Look>,
    /// Of the driver; absent for the floor.
    pub(crate) accounts: Option<Accounts>,
}

/// The child's whole life.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let order: Order = serde_json::from_str(&text)?;
    limits::raise_open_files()?;
    let messages = Arc::new(AtomicU64::new(0));
    let watch = watch::watch(order.looks.clone(), Arc::clone(&messages));
    let accounts = match order.receiver {
        Receiver::Floor => {
            let end_ns = order.plan.start_ns + order.plan.arm.phases.end_ns();
            floor::receive(&order.plan, &order.path, end_ns, &messages)?;
            None
        }
        Receiver::Driver => Some(driver::receive(order.plan)?),
    };
    let looks = watch.join().map_err(|_| anyhow::anyhow!("the watching thread failed"))?;
    println!("{}", serde_json::to_string(&Outcome { looks, accounts })?);
    Ok(())
}
