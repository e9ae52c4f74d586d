//! Doubts from real browsers that ran in parallel with the synthetic clients.

use pushmark_model::metrics::family;
use pushmark_model::run::{Arm, Browser, Reason, VerdictState};

use super::words::{reason, time};
use pushmark_chart::numbers::TERMINAL;

/// Returns a doubt for each difference between browsers and crowd.
pub(super) fn doubts(arm: &Arm) -> Vec<Reason> {
    let Some(browser) = arm.browser.as_ref().filter(|browser| browser.refused.is_none()) else {
        return Vec::new();
    };
    let suspect = |code, family, text| reason(arm, code, VerdictState::Suspect, &[family], text);
    let mut reasons = Vec::new();
    if browser.agreement.as_ref().is_some_and(|agreement| !agreement.ok) {
        reasons.push(suspect("browser_disagrees", family::LATENCY, disagrees(arm, browser)));
    }
    let crowd_lost = arm.delivery.as_ref().is_some_and(|d| d.missing + d.unserved > 0);
    if browser.opened < browser.asked || (browser.missing > 0 && !crowd_lost) {
        reasons.push(suspect("browser_missed", family::COUNTS, missed(arm, browser)));
    }
    reasons
}

fn disagrees(arm: &Arm, browser: &Browser) -> [String; 3] {
    let agreement = browser.agreement.clone().unwrap_or_default();
    let signed = |us: i64| format!("{}{}", if us < 0 { "−" } else { "+" }, time(us.abs()));
    [
        format!(
            "browsers differ from the synthetic clients of {} by {} at the median and {} at p90 (suspect beyond {})",
            arm.transport,
            signed(agreement.p50_difference_us),
            signed(agreement.p90_difference_us),
            time(agreement.bound_us as i64)
        ),
        "either the browsers or the synthetic clients do not measure what a user would see".into(),
        "fewer connections, or more cores: a browser that waits for a core receives late".into(),
    ]
}

fn missed(arm: &Arm, browser: &Browser) -> [String; 3] {
    let said = browser.troubles.first().map_or(String::new(), |trouble| format!("; a page said: {trouble}"));
    [
        format!(
            "{} of {} browsers subscribed in time in {}, and missed {} of {} deliveries{said}",
            browser.opened,
            browser.asked,
            arm.transport,
            TERMINAL.count(browser.missing),
            TERMINAL.count(browser.intended)
        ),
        "the synthetic clients received messages that real browsers did not".into(),
        "a longer settle (--set load.settle=5s); run.json holds the errors that the pages reported".into(),
    ]
}
