//! The findings of a check as a table for people and as a document for programs.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::{Finding, Verdict};
use pushmark_console::progress::screen::Screen;

/// Columns before the sentence.
const NUMBER: usize = 7;

/// One line a finding, more if it failed.
pub fn lines(finding: &Finding, screen: &Screen) -> String {
    let (glyph, colour) = match finding.verdict {
        Verdict::Pass => ("✓", Some(AnsiColor::Green)),
        Verdict::Fail { .. } => ("✕", Some(AnsiColor::Red)),
        Verdict::NotOffered(_) => ("·", None),
    };
    let style = match colour.filter(|_| screen.colours) {
        Some(colour) => Style::new().fg_color(Some(colour.into())),
        None => Style::new(),
    };
    let column = if screen.unicode { 1 } else { 2 };
    let mut text = format!(
        "{style}{:column$}{style:#} {:NUMBER$} {}\n",
        screen.words(glyph),
        finding.case.id,
        screen.words(finding.case.wants),
    );
    let indent = column + NUMBER + 2;
    let mut more = |label: &str, words: &str| {
        for (n, line) in words.lines().enumerate() {
            let label = if n == 0 { label } else { "" };
            text.push_str(&format!("{:indent$}{label:6} {}\n", "", screen.words(line)));
        }
    };
    match &finding.verdict {
        Verdict::Pass => {}
        Verdict::NotOffered(why) => more("", &format!("not offered: {why}")),
        Verdict::Fail { sent, came } => {
            more("sent", &sent.join("\n"));
            more("came", came);
        }
    }
    text
}

/// `61 of 70 cases passed, 1 failed (6.3/1), 8 not offered`.
pub fn summary(findings: &[Finding]) -> String {
    let count = |is: fn(&Verdict) -> bool| findings.iter().filter(|f| is(&f.verdict)).count();
    let failed: Vec<&str> = failed(findings).map(|finding| finding.case.id).collect();
    let mut text = format!("{} of {} cases passed", count(|v| *v == Verdict::Pass), findings.len());
    if !failed.is_empty() {
        text.push_str(&format!(", {} failed ({})", failed.len(), failed.join(" ")));
    }
    let lacking = count(|v| matches!(v, Verdict::NotOffered(_)));
    if lacking > 0 {
        text.push_str(&format!(", {lacking} not offered"));
    }
    text
}

/// Those that failed.
pub fn failed(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| is_failed(finding))
}

/// Whether one failed.
pub fn is_failed(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::Fail { .. })
}

/// All findings as a document for programs.
pub fn document(name: &str, seed: u64, findings: &[Finding]) -> Value {
    let cases: Vec<Value> = findings.iter().map(case).collect();
    json!({
        "schema": "pushmark.check/1",
        "target": name,
        "seed": seed,
        "passed": failed(findings).next().is_none(),
        "summary": summary(findings),
        "cases": cases,
    })
}

fn case(finding: &Finding) -> Value {
    let mut value = json!({
        "id": finding.case.id,
        "clause": finding.case.clause(),
        "wants": finding.case.wants,
        "took_us": finding.took.as_micros() as u64,
    });
    let (verdict, more) = match &finding.verdict {
        Verdict::Pass => ("pass", json!({})),
        Verdict::NotOffered(why) => ("not offered", json!({ "why": why })),
        Verdict::Fail { sent, came } => ("fail", json!({ "sent": sent, "came": came })),
    };
    value["verdict"] = json!(verdict);
    for (key, more) in more.as_object().into_iter().flatten() {
        value[key] = more.clone();
    }
    value
}
