//! The command line: names and what they do. One command, one file of `cmd`.

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::cmd;
use crate::exit::{Ending, Exit};

/// One instrument for every server-push transport: holds a crowd of clients, publishes known
/// messages, times every delivery, and says whether its own figures can be believed.
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
    /// Run a matrix of scenarios, unattended; without a file, a tour of five minutes
    Suite(Box<cmd::suite::SuiteArgs>),
    /// Open connections at a fixed rate until the server refuses, stalls, dies or is too late
    Flood(Box<cmd::flood::FloodArgs>),
    /// Find the heap and the stack with which a server of threads holds most requests
    ProbeThreads(cmd::probe_threads::ProbeThreadsArgs),
    /// Check that a server keeps the contract, clause by clause
    Check(cmd::check::CheckArgs),
    /// Render the report again, of one run or several
    Report(cmd::report::ReportArgs),
    /// Find the highest crowd or rate that keeps what is asked
    FindMax(Box<cmd::find_max::FindMaxArgs>),
    /// Compare two results, or two sets of starts
    Compare(cmd::compare::CompareArgs),
    /// Start the built-in push server
    Serve(Box<cmd::serve::ServeArgs>),
    /// A stock ticker by push and by pull, side by side in a browser
    Demo(cmd::demo::DemoArgs),
    /// Look at this machine: what it can hold, and what would disturb a measurement
    Doctor(cmd::doctor::DoctorArgs),
    /// Find what this generator can do on this machine: its ceiling, and the least it can see
    Calibrate(cmd::calibrate::CalibrateArgs),
    /// Check the ruler itself against known answers, on this machine
    Selftest(cmd::selftest::SelftestArgs),
    /// List, show, query or remove kept runs
    Runs(cmd::runs::RunsArgs),
    /// List, build and start the reference servers
    Servers(cmd::servers::ServersArgs),
    /// A process of the generator: started by a run that has `agents`
    #[command(hide = true)]
    Agent,
    /// Print the JSON Schema of scenario files
    Schema,
    /// Print shell completions
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

impl Cli {
    /// Does what the command line says.
    ///
    /// # Errors
    /// With an [`Ending`] where the exit code is not our own fault's.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Run(args) => cmd::run::run(&args),
            Command::Suite(args) => cmd::suite::run(&args),
            Command::Flood(args) => cmd::flood::run(&args),
            Command::ProbeThreads(args) => cmd::probe_threads::run(&args),
            Command::Check(args) => cmd::check::run(&args),
            Command::Report(args) => cmd::report::run(&args),
            Command::FindMax(args) => cmd::find_max::run(&args),
            Command::Compare(args) => cmd::compare::run(&args),
            Command::Serve(args) => cmd::serve::run(&args),
            Command::Demo(args) => cmd::demo::run(&args),
            Command::Doctor(args) => cmd::doctor::run(&args),
            Command::Calibrate(args) => cmd::calibrate::run(&args),
            Command::Selftest(args) => cmd::selftest::run(&args),
            Command::Runs(args) => cmd::runs::run(&args),
            Command::Servers(args) => cmd::servers::run(&args),
            Command::Agent => cmd::agent::run(),
            Command::Schema => cmd::schema::run(),
            Command::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "pushmark", &mut text);
                cmd::output::print(&String::from_utf8_lossy(&text))?;
                Ok(Exit::Pass)
            }
            Command::Man => {
                let mut text = Vec::new();
                clap_mangen::Man::new(Cli::command()).render(&mut text)?;
                cmd::output::print(&String::from_utf8_lossy(&text))?;
                Ok(Exit::Pass)
            }
        }
    }
}

/// Parses, runs, prints what went wrong; the process ends with the returned code.
pub fn main() -> Exit {
    // clap itself ends with 2 on a wrong flag, as the exit codes say.
    match Cli::parse().run() {
        Ok(exit) => exit,
        Err(error) => {
            let exit = Ending::exit_of(&error);
            cmd::output::complain(&format!("{error:#}"));
            exit
        }
    }
}
