//! Tests that do not run, and tests that run by the clock.

use super::code::{code_only, lines_with, tests_of};
use super::tree::{Offence, Tree, is_test};

/// Test code that may sleep, with the reason.
const SLEEPS: [(&str, &str); 7] = [
    ("conformance/src/wait.rs", "asks a foreign process again until it answers, with a deadline"),
    ("crates/pushmark-builtin/tests/common/mod.rs", "asks /stats again until it says so, with a deadline"),
    (
        "crates/pushmark/tests/tool/mod.rs",
        "asks again with a deadline, and lets time pass where time is what is tested",
    ),
    (
        "crates/pushmark/tests/system/foreign_http.rs",
        "a target that publishes by its own clock must have one",
    ),
    ("crates/pushmark/tests/tool/relay.rs", "a way that is held up is what is tested"),
    ("crates/pushmark-cluster/tests/clock_relay.rs", "a way that takes its time is what is tested"),
    ("bench/src/usage.rs", "the processor time of a thread that sleeps is what is tested"),
];

/// Tests that are skipped unless asked for.
pub(super) fn ignored(tree: &Tree) -> Vec<Offence> {
    let mark = concat!("#[ign", "ore");
    let mut offences = Vec::new();
    for (path, text) in tree.rust() {
        let code = code_only(text);
        let lines = code.lines().enumerate().filter(|(_, line)| line.contains(mark));
        offences.extend(lines.map(|(at, _)| Offence::new(path, at + 1, format!("{mark}]"))));
    }
    offences
}

/// Sleeps in test files and in the test modules of other files.
pub(super) fn sleeps(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| !SLEEPS.iter().any(|(allowed, _)| allowed == path)) {
        let (before, tests) = if is_test(path) { (0, text) } else { tests_of(text) };
        let code = code_only(tests);
        for word in ["thread::sleep", "sleep_ms"] {
            let lines = lines_with(&code, word);
            offences.extend(lines.map(|line| Offence::new(path, before + line, word)));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(check: fn(&Tree) -> Vec<Offence>, path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn a_test_that_is_switched_off_offends() {
        let text = format!("//! a\n{}]\nfn a() {{}}\n", concat!("#[ign", "ore"));
        assert_eq!(lines(ignored, "crates/a/tests/b.rs", &text), [2]);
    }

    #[test]
    fn a_test_that_sleeps_offends_and_a_product_that_does_is_its_own_affair() {
        let call = "fn a() { std::thread::sleep(b); }\n";
        assert_eq!(lines(sleeps, "crates/a/tests/b.rs", call), [1]);
        assert!(lines(sleeps, "crates/a/src/b.rs", call).is_empty());
        let module = format!("//! a\n#[cfg(test)]\nmod tests {{\n{call}}}\n");
        assert_eq!(lines(sleeps, "crates/a/src/b.rs", &module), [4]);
        assert!(lines(sleeps, "conformance/src/wait.rs", call).is_empty());
    }
}
