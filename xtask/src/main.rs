//! The project's chores: `cargo xtask help`. One file a chore; the same command at the desk and in CI.

mod aa;
mod arguments;
mod bench;
mod ci;
mod instructions;
mod presets;
mod record;
mod servers;
mod shell;
mod studies;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::bail;

/// A chore: its command, what it does.
struct Chore {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const CHORES: [Chore; 11] = [
    Chore {
        name: "test",
        arguments: "[--install] [--all]",
        about: "run every test; --install, or CI=true, first gets what they borrow; --all adds what takes hours",
        run: test::run,
    },
    Chore { name: "tidy", arguments: "", about: "check the rules of the tree", run: tidy::run },
    Chore {
        name: "ci",
        arguments: "",
        about: "format, lints, tidy, test, instructions, docs: what a commit must pass",
        run: ci::run,
    },
    Chore {
        name: "bench",
        arguments: "[engine] [...]",
        about: "measure the engine against the floor, or other tools and servers; arguments go to the bench crate",
        run: bench::run,
    },
    Chore {
        name: "instructions",
        arguments: "[--bless]",
        about: "count instructions per message; --bless writes down what was counted",
        run: instructions::run,
    },
    Chore {
        name: "servers",
        arguments: "[--table] [NAME ...]",
        about: "measure the reference servers and write the table of servers/README.md",
        run: servers::run,
    },
    Chore {
        name: "presets",
        arguments: "[NAME ...]",
        about: "run presets against their real servers, beside their own clients, and write docs/servers",
        run: presets::run,
    },
    Chore {
        name: "record",
        arguments: "--for TIME | SUITE_DIR DIR",
        about: "measure what is missing of studies/record.toml and keep it; or keep the runs of one suite in record/<date>-<machine>/<suite>",
        run: record::run,
    },
    Chore {
        name: "studies",
        arguments: "",
        about: "write studies/pages from studies/ and record/",
        run: studies::run,
    },
    Chore {
        name: "aa",
        arguments: "DIR [PAIRS] [--dev]",
        about: "the built-in server against itself on a host made to drift: how many pairs differ",
        run: aa::run,
    },
    Chore { name: "help", arguments: "", about: "say this", run: help },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let Some((name, rest)) = arguments.split_first() else { return help(&[]) };
    let name = name.trim_start_matches("--");
    match CHORES.iter().find(|chore| chore.name == name) {
        Some(chore) => (chore.run)(rest),
        None => {
            let nearest = arguments::nearest(name, CHORES.iter().map(|chore| chore.name));
            bail!("no chore is called {name}{nearest}; cargo xtask help lists them")
        }
    }
}

fn help(arguments: &[String]) -> anyhow::Result<()> {
    arguments::only(arguments, &[])?;
    for chore in &CHORES {
        let typed = format!("{} {}", chore.name, chore.arguments);
        println!("cargo xtask {typed:<24} {}", chore.about);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_chore_suggests_the_nearest() {
        let error = run(&["tidi".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "no chore is called tidi: is it tidy?; cargo xtask help lists them");
        let error = run(&["quite-another-thing".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "no chore is called quite-another-thing; cargo xtask help lists them");
    }
}
