//! The command line. Each command has its own file in `cmd`.

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::cmd;
use pushmark_console::exit::{Ending, Exit};

/// Measure push servers over every server-push transport: connect a crowd of clients, publish known
/// messages, time every delivery, and report whether the figures can be trusted.
#[derive(Parser, Debug)]
#[command(name = "pushmark", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run a scenario, observe a URL, or compare every transport on this machine
    Run(Box<cmd::run::RunArgs>),
    /// Run a matrix of scenarios; without a file, a five-minute tour
    Suite(Box<cmd::suite::SuiteArgs>),
    /// Open connections at a fixed rate until the server refuses, stalls, dies or delivers too late
    Flood(Box<cmd::flood::FloodArgs>),
    /// Find the heap and stack sizes with which a thread-per-request server holds the most requests
    ProbeThreads(cmd::probe_threads::ProbeThreadsArgs),
    /// Check that a server keeps the contract, one clause after the other
    Check(cmd::check::CheckArgs),
    /// Let one client subscribe to a target, and print the conversation as it happens
    Try(Box<cmd::try_out::TryArgs>),
    /// Render the report of one or more runs again
    Report(cmd::report::ReportArgs),
    /// Find the largest crowd or the highest rate that keeps the given conditions
    FindMax(Box<cmd::find_max::FindMaxArgs>),
    /// Compare two results, or two sets of starts
    Compare(cmd::compare::CompareArgs),
    /// Measure two scenarios in turn (A B B A …) and compare them
    Ab(Box<cmd::ab::AbArgs>),
    /// Start the built-in push server
    Serve(Box<cmd::serve::ServeArgs>),
    /// Show a stock ticker by push and by pull, side by side in a browser
    Demo(cmd::demo::DemoArgs),
    /// Check what load this machine can hold, and what would disturb a measurement
    Doctor(cmd::doctor::DoctorArgs),
    /// Find the highest load this generator can make on this machine, and its noise floor
    Calibrate(cmd::calibrate::CalibrateArgs),
    /// Check pushmark itself on this machine, against known answers
    Selftest(cmd::selftest::SelftestArgs),
    /// List, show, export or remove kept runs
    Runs(cmd::runs::RunsArgs),
    /// List, build and start the reference servers
    Servers(cmd::servers::ServersArgs),
    /// Make load for runs that are started on other machines (`--nats`)
    Agent(Box<cmd::agent::AgentArgs>),
    /// Watch the server beside it, and start it, for runs that are started on other machines
    Monitor(Box<cmd::monitor::MonitorArgs>),
    /// List the agents and monitors that wait on a bus
    Agents(cmd::agents::AgentsArgs),
    /// Write keys, logins and a NATS configuration for machines that work together
    Cluster(cmd::cluster::ClusterArgs),
    /// List scenarios for known protocols, or print one
    Presets(cmd::presets::PresetsArgs),
    /// Print the JSON Schema of scenario files
    Schema,
    /// Print shell completions
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page
    Man,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// The error is an [`Ending`] unless the exit code is [`Exit::Internal`].
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Run(args) => cmd::run::run(&args),
            Command::Suite(args) => cmd::suite::run(&args),
            Command::Flood(args) => cmd::flood::run(&args),
            Command::ProbeThreads(args) => cmd::probe_threads::run(&args),
            Command::Check(args) => cmd::check::run(&args),
            Command::Try(args) => cmd::try_out::run(&args),
            Command::Report(args) => cmd::report::run(&args),
            Command::FindMax(args) => cmd::find_max::run(&args),
            Command::Compare(args) => cmd::compare::run(&args),
            Command::Ab(args) => cmd::ab::run(&args),
            Command::Serve(args) => cmd::serve::run(&args),
            Command::Demo(args) => cmd::demo::run(&args),
            Command::Doctor(args) => cmd::doctor::run(&args),
            Command::Calibrate(args) => cmd::calibrate::run(&args),
            Command::Selftest(args) => cmd::selftest::run(&args),
            Command::Runs(args) => cmd::runs::run(&args),
            Command::Servers(args) => cmd::servers::run(&args),
            Command::Agent(args) => cmd::agent::run(&args),
            Command::Monitor(args) => cmd::monitor::run(&args),
            Command::Agents(args) => cmd::agents::run(&args),
            Command::Cluster(args) => cmd::cluster::run(&args),
            Command::Presets(args) => cmd::presets::run(&args),
            Command::Schema => cmd::schema::run(),
            Command::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "pushmark", &mut text);
                pushmark_console::output::print(&String::from_utf8_lossy(&text))?;
                Ok(Exit::Pass)
            }
            Command::Man => {
                let mut text = Vec::new();
                clap_mangen::Man::new(Cli::command()).render(&mut text)?;
                pushmark_console::output::print(&String::from_utf8_lossy(&text))?;
                Ok(Exit::Pass)
            }
        }
    }
}

/// Parses the command line, runs the command and prints its error. Returns the exit code.
pub fn main() -> Exit {
    // On a wrong flag clap exits with 2, which is also `Exit::Usage`.
    match Cli::parse().run() {
        Ok(exit) => exit,
        Err(error) => {
            let exit = Ending::exit_of(&error);
            pushmark_console::output::complain(&format!("{error:#}"));
            exit
        }
    }
}
