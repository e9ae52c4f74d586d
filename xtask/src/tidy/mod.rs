//! `cargo xtask tidy`: the rules of the tree, each with its reason. A rule looks at the tree and
//! gives its offences; a file of this folder holds one sort of rule, with planted offences as tests.

mod circles;
mod code;
mod imports;
mod linked;
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

const RULES: [Rule; 19] = [
    Rule {
        what: "imports point one way",
        why: "a lower crate can be read, tested and replaced without the crates above (ARCHITECTURE 1, 2)",
        check: imports::direction,
    },
    Rule {
        what: "modules of a crate and files of a folder form no circle",
        why: "each can be read, tested and moved with what lies below it alone (ARCHITECTURE 1)",
        check: circles::none,
    },
    Rule {
        what: "model, proto, chart and report touch no socket, file, clock, environment or terminal",
        why: "protocols run under virtual time, and a report is made again years later (ARCHITECTURE 1, 2)",
        check: purity::no_io,
    },
    Rule {
        what: "only types of model are serialized",
        why: "one crate has the versions of all written and sent formats (ARCHITECTURE 9)",
        check: purity::no_serde,
    },
    Rule {
        what: "no Rust outside tests names a reference server",
        why: "servers are data: a server that pushmark knows by name could be favoured (ARCHITECTURE 3)",
        check: names::no_server,
    },
    Rule {
        what: "each dependency has a line that says what it is for",
        why: "a dependency without a reason is removed",
        check: manifests::reasons,
    },
    Rule {
        what: "versions are in the root manifest and nowhere else",
        why: "two versions of one thing are compiled twice and differ",
        check: manifests::versions,
    },
    Rule {
        what: "one version of each package, and all from the public registry",
        why: "two versions are compiled twice and differ; deny.toml lists the exceptions (SECURITY.md)",
        check: linked::locked,
    },
    Rule {
        what: "every licence is one that deny.toml allows",
        why: "pushmark can be given away as MIT OR Apache-2.0",
        check: linked::licences,
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
        what: "plain words",
        why: "somebody who knows the field reads each sentence once",
        check: prose::plain,
    },
    Rule {
        what: "nothing unfinished",
        why: "unfinished work is finished, or written down with the plans",
        check: prose::unfinished,
    },
    Rule {
        what: "no test is switched off",
        why: "it looks like coverage but checks nothing: assert what happens now, or delete it",
        check: waits::ignored,
    },
    Rule {
        what: "no test sleeps",
        why: "it is slow on a fast machine and wrong on a slow one: wait for the condition, with a deadline",
        check: waits::sleeps,
    },
    Rule {
        what: "the changelog has a section for new changes",
        why: "it is written with the change, not from memory",
        check: readme::changelog,
    },
    Rule {
        what: "README names only commands that exist",
        why: "users type these commands first",
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
