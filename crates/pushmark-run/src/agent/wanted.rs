//! Which agents, and which monitor, a command wants of those that wait.

use anyhow::bail;
use pushmark_model::cluster::{Card, VERSION};

/// Which agents a command wants, and which monitor.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// This number of agents; absent: all.
    pub count: Option<u32>,
    /// These alone; empty: any.
    pub names: Vec<String>,
    /// Those with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Which monitor.
    pub monitor: WantedMonitor,
}

/// Which monitor a command wants.
#[derive(Clone, Debug, Default)]
pub enum WantedMonitor {
    /// The one that waits.
    #[default]
    Any,
    /// The one with this name.
    Named(String),
    /// None.
    None,
}

/// Returns the agents for a command. `monitored`: a monitor was chosen, so that this machine may make the load.
pub(super) fn chosen(cards: Vec<Card>, wanted: &Wanted, monitored: bool) -> anyhow::Result<Vec<Card>> {
    let cards: Vec<Card> = cards.into_iter().filter(|card| card.beside.is_none()).collect();
    let there = || there(cards.iter());
    if let Some(name) = wanted.names.iter().find(|name| cards.iter().all(|card| card.name != **name)) {
        bail!("no agent is named {name}; {}", there());
    }
    let fits = |card: &&Card| {
        (wanted.names.is_empty() || wanted.names.contains(&card.name)) && card.has(&wanted.labels)
    };
    let mut fitting: Vec<Card> = cards.iter().filter(fits).cloned().collect();
    let asked = wanted.count.is_some() || !wanted.names.is_empty() || !wanted.labels.is_empty();
    if fitting.is_empty() && monitored && !asked {
        return Ok(Vec::new());
    }
    let least = wanted.count.unwrap_or(1).max(1) as usize;
    if fitting.len() < least {
        bail!("{least} agents are wanted, {} fit; {}", fitting.len(), there());
    }
    if wanted.count.is_some() {
        fitting.truncate(least);
    }
    fitting.iter().try_for_each(fits_us)?;
    Ok(fitting)
}

/// Returns the monitor for a command.
pub(super) fn chosen_monitor(cards: &[Card], wanted: &Wanted) -> anyhow::Result<Option<Card>> {
    let monitors: Vec<&Card> = cards.iter().filter(|card| card.beside.is_some()).collect();
    let monitor = match &wanted.monitor {
        WantedMonitor::None => return Ok(None),
        WantedMonitor::Named(name) => match monitors.iter().find(|card| card.name == *name) {
            Some(card) => card,
            None => bail!("no monitor is named {name}; {}", there(monitors.iter().copied())),
        },
        WantedMonitor::Any => match monitors[..] {
            [] => return Ok(None),
            [ref one] => one,
            _ => {
                bail!("several monitors wait; choose one with --monitor: {}", there(monitors.iter().copied()))
            }
        },
    };
    fits_us(monitor)?;
    Ok(Some((*monitor).clone()))
}

fn there<'a>(cards: impl Iterator<Item = &'a Card>) -> String {
    let names: Vec<&str> = cards.map(|card| card.name.as_str()).collect();
    if names.is_empty() { "none is there".to_owned() } else { format!("there are {}", names.join(", ")) }
}

/// Fails if it speaks other messages than we do.
fn fits_us(card: &Card) -> anyhow::Result<()> {
    if card.wire == VERSION {
        return Ok(());
    }
    bail!(
        "{} is pushmark {} and speaks version {} of the messages; this is pushmark {}, which speaks {VERSION}",
        card.name,
        card.version,
        card.wire,
        env!("CARGO_PKG_VERSION")
    )
}
