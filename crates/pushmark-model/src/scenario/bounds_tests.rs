//! Numbers that no run can use are rejected at their place, and quickly.

use super::Scenario;

fn said(text: &str) -> Vec<String> {
    let errors = Scenario::parse(text, &[]).err().unwrap_or_default();
    errors
        .into_iter()
        .map(|e| format!("{}: {} ({})", e.key, e.message, e.accepted.unwrap_or_default()))
        .collect()
}

const TARGET: &str = "[target]\nserver = \"builtin\"\n";

#[test]
fn a_rate_has_a_lower_bound() {
    for (rate, refused) in [("1e-12/s", true), ("0.9e-9/s", true), ("1e-9/s", false), ("0.5/s", false)] {
        let errors = said(&format!("{TARGET}[publisher]\nrate = \"{rate}\"\n"));
        assert_eq!(
            errors.iter().any(|e| e.starts_with("publisher.rate: this rate is too low")),
            refused,
            "{rate}: {errors:?}"
        );
    }
}

#[test]
fn channels_have_a_bound_together() {
    let subscriptions =
        |more: &str| said(&format!("{TARGET}[load]\nconnections = 10\n[subscriptions]\n{more}\n"));
    let errors = subscriptions("channels = 1679616\nper_connection = 1679616");
    assert!(errors[0].starts_with("subscriptions.per_connection: "), "{errors:?}");
    assert!(errors[0].contains("at most 65536"), "{errors:?}");
    let text = "[load]\nconnections = 1000000\n[subscriptions]\nchannels = 1000\nper_connection = 1000\n";
    let errors = said(&format!("{TARGET}{text}"));
    assert!(errors[0].contains("are too many subscriptions") && errors.len() == 1, "{errors:?}");
    let text = "[subscriptions]\nchannels = 1679616\n[publisher]\nrate = \"10/s\"\n";
    let errors = said(&format!("{TARGET}{text}"));
    assert!(
        errors[0].starts_with("publisher.rate: ") && errors[0].contains("over all channels"),
        "{errors:?}"
    );
    assert_eq!(subscriptions("channels = 1000\nper_connection = 100"), [] as [&str; 0]);
}

#[test]
fn a_file_of_very_many_mistakes_is_read_once() {
    let few: String = (0..30).map(|n| format!("k{n} = 1\n")).collect();
    assert_eq!(said(&few).len(), 20, "the first of many");
    let many: String = (0..100_001).map(|n| format!("k{n} = 1\n")).collect();
    assert_eq!(said(&many).len(), 1, "each error after the first reads all of it again");
}
