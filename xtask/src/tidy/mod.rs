//! `cargo xtask tidy`: the rules of the tree, each with its reason. A rule looks at the tree and
//! gives its offences; a file of this folder holds one sort of rule, with planted offences as tests.

mod code;
mod imports;
mod manifests;
mod names;
mod prose;
mod purity;
mod readme;
mod shape;
mod tree;
mod waits;

use anyhow::bail;

use crate::{arguments, shell};
use tree::{Offence, Tree};

/// What must hold, why, and how it is seen.
struct Rule {
    what: &'static str,
    why: &'static str,
    check: fn(&Tree) -> Vec<Offence>,
}

const RULES: [Rule; 16] = [
    Rule {
        what: "imports point one way",
        why: "what is below can be read, tested and replaced without what is above (ARCHITECTURE 1, 2)",
        check: imports::direction,
    },
    Rule {
        what: "model and proto touch no socket, file, clock, environment or terminal",
        why: "bytes and time come in as arguments, so that both run under virtual time (ARCHITECTURE 1)",
        check: purity::no_io,
    },
    Rule {
        what: "only types of model are serialized",
        why: "one crate carries the versions of what is written down and sent (ARCHITECTURE 8)",
        check: purity::no_serde,
    },
    Rule {
        what: "report reads runs and nothing else",
        why: "it can be made a year later on another machine (ARCHITECTURE 2)",
        check: purity::report_alone,
    },
    Rule {
        what: "no Rust outside tests names a reference server",
        why: "servers are data: one that the tool knows by name could be favoured (ARCHITECTURE 3)",
        check: names::no_server,
    },
    Rule {
        what: "each dependency has a line that says what it is for",
        why: "what nobody can give a reason for is taken out",
        check: manifests::reasons,
    },
    Rule {
        what: "versions stand in the root manifest and nowhere else",
        why: "two versions of one thing are compiled twice and differ",
        check: manifests::versions,
    },
    Rule {
        what: "each Rust file opens by saying what it is",
        why: "a reader decides there whether to read on",
        check: shape::openings,
    },
    Rule { what: "no source file is over 500 lines", why: "one idea a file", check: shape::lengths },
    Rule { what: "no file is over 1 MiB", why: "every clone carries it for ever", check: shape::weights },
    Rule {
        what: "no tabs, no spaces at line ends, a line end at the end",
        why: "differences should show changes, not white space",
        check: prose::white_space,
    },
    Rule {
        what: "nothing unfinished",
        why: "what is to be done is done, or written where plans are kept",
        check: prose::unfinished,
    },
    Rule {
        what: "no test is switched off",
        why: "it looks like cover and is none: assert what happens now, or delete it",
        check: waits::ignored,
    },
    Rule {
        what: "no test sleeps",
        why: "it is slow on a fast machine and wrong on a slow one: wait for the condition, with a deadline",
        check: waits::sleeps,
    },
    Rule {
        what: "the changelog has a place for what is new",
        why: "it is written with the change, not from memory",
        check: readme::changelog,
    },
    Rule {
        what: "README names only commands that exist",
        why: "it is what people type first",
        check: readme::commands,
    },
];

/// Checks every rule and lists what offends.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &[])?;
    let tree = Tree::read(&shell::root())?;
    let mut count = 0;
    for rule in &RULES {
        let offences = (rule.check)(&tree);
        if offences.is_empty() {
            continue;
        }
        count += offences.len();
        println!("{}: {}", rule.what, rule.why);
        for offence in offences {
            println!("  {offence}");
        }
    }
    match count {
        0 => Ok(()),
        n => bail!("the tree is not tidy: {n} offences"),
    }
}
