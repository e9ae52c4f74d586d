//! A second chance for a test that failed: alone, with nothing beside it.
//!
//! Tests drive real sockets, servers and browsers in real time, and a host that others use can take
//! the machine away for seconds. A test that fails beside the others and passes alone is reported
//! and does not fail the run; a test that fails twice does, and so do many failures at once.

use anyhow::bail;

use super::programs::Ended;

/// How many tests may fail beside the others: more is not chance.
const MOST: usize = 4;

/// Runs the tests that fell again.
///
/// # Errors
/// Fails if one falls again, if too many fell, or if something fell that has no name.
pub(super) fn judge(ended: &[Ended], environment: &[(&str, &str)]) -> anyhow::Result<()> {
    let fallen: Vec<&Ended> = ended.iter().filter(|one| !one.passed).collect();
    if fallen.is_empty() {
        return Ok(());
    }
    let names = names(&fallen);
    if !may_stand(&fallen) {
        bail!("tests failed: {names}");
    }
    println!("== again, alone: {names}");
    for one in fallen {
        let tests = one.fallen.iter().map(String::as_str);
        let arguments: Vec<&str> = ["--exact", "--test-threads=1"].into_iter().chain(tests).collect();
        let again = one.program.run(&arguments, environment)?;
        if !again.passed {
            bail!("tests failed twice: {}", self::names(&[&again]));
        }
    }
    println!("== failed beside others and passes alone: {names}");
    Ok(())
}

/// Whether all that fell has a name, and is little.
fn may_stand(fallen: &[&Ended]) -> bool {
    let tests: usize = fallen.iter().map(|one| one.fallen.len()).sum();
    fallen.iter().all(|one| !one.unnamed) && tests <= MOST
}

fn names(fallen: &[&Ended]) -> String {
    let one = |ended: &&Ended| {
        let tests: Vec<&str> = ended.fallen.iter().map(String::as_str).collect();
        let tests = if ended.unnamed { vec!["without a name"] } else { tests };
        format!("{}: {}", ended.program.name, tests.join(", "))
    };
    fallen.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test::programs::Program;

    /// The end of a program of which some tests fell, and that does as `again` does when it is run again.
    fn ended(first: &[&str], again: &str, killed: bool) -> Ended {
        let program = Program::at(again);
        let fallen = first.iter().map(ToString::to_string).collect();
        Ended { program, took: Duration::ZERO, passed: first.is_empty(), fallen, unnamed: killed }
    }

    #[test]
    fn what_passes_alone_stands_and_what_fails_again_does_not() {
        let outcome = |again| judge(&[ended(&["a"], again, false)], &[]).is_ok();
        assert_eq!((outcome("/bin/true"), outcome("/bin/false")), (true, false));
        assert!(
            judge(&[ended(&[], "/bin/false", false)], &[]).is_ok(),
            "nothing fell, so nothing is run again"
        );
    }

    #[test]
    fn a_program_that_was_killed_gets_no_second_chance() {
        assert!(judge(&[ended(&["a"], "/bin/true", true)], &[]).is_err());
    }

    #[test]
    fn many_at_once_are_no_accident() {
        let names: Vec<String> = (0..=MOST).map(|n| format!("t{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(judge(&[ended(&names[..MOST], "/bin/true", false)], &[]).is_ok());
        assert!(
            judge(&[ended(&names[..3], "/bin/true", false), ended(&names[3..], "/bin/true", false)], &[])
                .is_err()
        );
    }
}
