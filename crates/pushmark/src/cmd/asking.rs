//! The flags that set keys of a scenario.

use std::path::Path;

use clap::Args;
use pushmark_model::scenario::Override;
use pushmark_model::transport::Transport;

use super::mistakes::usage;
use super::one_line::OneLineArgs;
use super::secure::TlsArgs;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::file_errors::FileErrors;
use pushmark_host::server::registry::Registry;
use pushmark_run::scenario_file::{self, Asked, Loaded};

/// Flags that set keys of the scenario.
#[derive(Args, Clone, Debug, Default)]
pub struct AskingArgs {
    /// Transports, separated by commas: poll, long-poll, stream, sse, websocket, bayeux, bayeux-websocket
    #[arg(short, long, value_name = "TRANSPORT", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Number of clients per transport
    #[arg(short, long, value_name = "N")]
    pub connections: Option<String>,
    /// Rate of publications on each channel, such as 10/s
    #[arg(short, long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Length of the measure phase, such as 30s
    #[arg(short, long, value_name = "DURATION")]
    pub duration: Option<String>,
    /// Size of the payload including its stamp, such as 128B
    #[arg(short, long, value_name = "BYTES")]
    pub size: Option<String>,
    /// Set any key of the scenario, such as load.ramp.rate=1000
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Seed of all random choices
    #[arg(long)]
    pub seed: Option<String>,
    /// Number of browser clients in a headless Chromium, in addition to the crowd
    #[arg(long, value_name = "N")]
    pub browser: Option<String>,
    /// Number of generator threads
    #[arg(long)]
    pub threads: Option<String>,
    /// Take kernel receive timestamps on one of every N connections; 0: on none
    #[arg(long, value_name = "N")]
    pub stamp_sample: Option<String>,
    /// Read arrivals in batches at this interval: about half the cost at low rates, but later reads
    #[arg(long, value_name = "TIME")]
    pub batch: Option<String>,
    /// How the threads wait for arrivals: epoll or io_uring
    #[arg(long, value_name = "NAME")]
    pub poller: Option<String>,
    /// Number of generator processes that share the threads
    #[arg(long, value_name = "N")]
    pub agents: Option<String>,
    /// Source addresses used in turn, or ranges such as 127.0.0.2-127.0.0.9
    #[arg(long = "source-ip", value_name = "IP", value_delimiter = ',')]
    pub source_ips: Vec<String>,
    /// TLS flags
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Flags that describe a target by its URL
    #[command(flatten)]
    pub one_line: OneLineArgs,
}

impl AskingArgs {
    /// Loads the scenario with the flags applied, then `more`, the keys a command sets. Later ones win.
    ///
    /// # Errors
    /// Reports all mistakes in the file and the flags; exit 2.
    pub(super) fn load(
        &self,
        scenario: Option<&str>,
        more: &[Override],
        registry: &Registry,
    ) -> anyhow::Result<Loaded> {
        let transports = self.transports()?;
        let mut overrides = Vec::new();
        let mut flag = |flag: &str, key: &str, value: &Option<String>| {
            if let Some(value) = value {
                overrides.push(Override::flag(flag, key, value));
            }
        };
        flag("-c", "load.connections", &self.connections);
        flag("-r", "publisher.rate", &self.rate);
        flag("-d", "load.duration", &self.duration);
        flag("-s", "publisher.size", &self.size);
        flag("--browser", "load.browsers", &self.browser);
        flag("--seed", "seed", &self.seed);
        flag("--threads", "threads", &self.threads);
        flag("--stamp-sample", "stamp_sample", &self.stamp_sample);
        flag("--batch", "batch", &self.batch);
        flag("--poller", "poller", &self.poller);
        flag("--agents", "agents", &self.agents);
        let list = |items: &mut dyn Iterator<Item = String>| {
            let quoted: Vec<String> = items.map(|item| format!("{item:?}")).collect();
            format!("[{}]", quoted.join(", "))
        };
        let is_url = scenario.is_some_and(|s| s.contains("://"));
        if !transports.is_empty() && !is_url {
            let names = list(&mut transports.iter().map(|t| t.name().to_owned()));
            overrides.push(Override::flag("-t", "transports", &names));
        }
        if !self.source_ips.is_empty() {
            let mut addresses = Vec::new();
            for text in &self.source_ips {
                addresses.extend(source_range(text)?);
            }
            let addresses = list(&mut addresses.into_iter());
            overrides.push(Override::flag("--source-ip", "load.source_ips", &addresses));
        }
        overrides.extend(self.tls.overrides("target.tls"));
        overrides.extend(self.one_line.headers()?);
        for text in &self.sets {
            overrides.push(set(text)?);
        }
        overrides.extend_from_slice(more);
        let text = self.one_line.scenario(scenario, &transports)?;
        let asked = match &text {
            Some(text) => Asked::Text { text, file: "the scenario of these flags", folder: Path::new("") },
            None => Asked::argument(scenario, &transports),
        };
        let loaded = scenario_file::load(&asked, &overrides, registry).map_err(usage)?;
        self.one_line.save(&loaded)?;
        Ok(loaded)
    }

    fn transports(&self) -> anyhow::Result<Vec<Transport>> {
        let mut transports = Vec::new();
        for name in &self.transport {
            match Transport::parse(name) {
                Some(transport) => transports.push(transport),
                None => {
                    let nearest =
                        pushmark_model::scenario::nearest(name, Transport::ALL.map(Transport::name));
                    let hint = nearest.map_or(String::new(), |n| format!("; did you mean {n}?"));
                    let text = format!(
                        "-t {name}: unknown transport; known: poll, long-poll, stream, sse, websocket{hint}"
                    );
                    return Err(Ending::error(Exit::Usage, text));
                }
            }
        }
        Ok(transports)
    }
}

/// Parses a `KEY=VALUE` of the command line.
///
/// # Errors
/// Fails if the text is not a valid `KEY=VALUE`; exit 2.
pub(super) fn set(text: &str) -> anyhow::Result<Override> {
    Override::set(text).map_err(|error| usage(FileErrors::new("command line", "", vec![*error])))
}

/// Expands `127.0.0.2` or `127.0.0.2-127.0.0.9`.
fn source_range(text: &str) -> anyhow::Result<Vec<String>> {
    let wrong = || {
        let text = format!("--source-ip {text}: expected an address or a range such as 127.0.0.2-127.0.0.9");
        Ending::error(Exit::Usage, text)
    };
    let Some((low, high)) = text.split_once('-') else { return Ok(vec![text.to_owned()]) };
    let bits = |t: &str| t.trim().parse::<std::net::Ipv4Addr>().map(u32::from).map_err(|_| wrong());
    let (low, high) = (bits(low)?, bits(high)?);
    if low > high || high - low >= 65_536 {
        return Err(wrong());
    }
    Ok((low..=high).map(|n| std::net::Ipv4Addr::from(n).to_string()).collect())
}
