//! Whether the needs of a server are met on this machine.

use std::process::{Command, Stdio};

use super::jdk;
use super::paths::{at_home, in_path, search_path};
use pushmark_model::server::Need;

/// Returns whether a need is met now.
pub fn is_met(need: &Need) -> bool {
    match (&need.program, need.jdk, &need.file, &need.probe[..]) {
        (Some(program), ..) => in_path(program).is_some(),
        (_, Some(feature), ..) => jdk::find(feature).is_some(),
        (_, _, Some(file), _) => at_home(file).exists(),
        (_, _, _, [program, arguments @ ..]) => {
            let mut probe = Command::new(program);
            probe.args(arguments).env("PATH", search_path());
            probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        }
        // Refused when the file was read.
        _ => false,
    }
}

/// The number of given ways to find a need; it must be one.
pub(super) fn ways(need: &Need) -> usize {
    [need.program.is_some(), need.jdk.is_some(), need.file.is_some(), !need.probe.is_empty()]
        .into_iter()
        .filter(|given| *given)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_find_a_need_finds_and_misses() {
        let need = Need::default();
        let program = |name: &str| Need { program: Some(name.into()), ..need.clone() };
        let file = |name: &str| Need { file: Some(name.into()), ..need.clone() };
        let probe = |word: &str| Need { probe: vec![word.into()], ..need.clone() };
        for (met, missed) in [
            (program("sh"), program("no-such-program")),
            (file("/proc/self/stat"), file("/no/such/file")),
            (probe("true"), probe("false")),
        ] {
            assert!(is_met(&met) && ways(&met) == 1, "{met:?}");
            assert!(!is_met(&missed), "{missed:?}");
        }
        assert!(!is_met(&Need { jdk: Some(1_000), ..need.clone() }));
        assert!(!is_met(&need));
    }
}
