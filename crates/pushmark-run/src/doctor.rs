//! The output of `pushmark doctor`: each check of [`pushmark_host::preflight`], as text or JSON.

use pushmark_chart::numbers::TERMINAL;
use serde_json::{Value, json};

use pushmark_console::exit::Exit;
use pushmark_console::progress::screen::Screen;
use pushmark_host::preflight::{Finding, Grade, Machine, Need, largest_crowd};

/// Returns exit code 4 if a plan would be refused, else 0.
pub fn exit(findings: &[Finding]) -> Exit {
    if findings.iter().any(|f| f.grade == Grade::Refused) { Exit::Refused } else { Exit::Pass }
}

/// Formats the findings as text: problems first, with reason and remedy.
pub fn text(findings: &[Finding], need: &Need, machine: &Machine, screen: &Screen) -> String {
    let mut order: Vec<&Finding> = findings.iter().collect();
    order.sort_by_key(|f| std::cmp::Reverse(f.grade));
    let width = order.iter().map(|f| f.code.len()).max().unwrap_or(0);
    let mut text = String::new();
    for f in order {
        // `ok` is wider than the glyph it replaces.
        let column = if screen.unicode { 1 } else { 2 };
        let glyph = screen.words(glyph(f.grade));
        text.push_str(&format!("{glyph:column$} {:width$}  {}", f.code, f.found));
        if f.grade == Grade::Fine {
            text.push('\n');
            continue;
        }
        let pad = " ".repeat(column + 1 + width);
        text.push_str(&format!("\n{pad}  needed  {}\n{pad}  why     {}\n", f.needed, f.why));
        if let Some(fix) = &f.fix {
            text.push_str(&format!("{pad}  try     {fix}\n"));
        }
    }
    let fits = largest_crowd(need, machine);
    text.push_str(&format!(
        "\n  this machine holds up to {} connections per process{}\n",
        TERMINAL.count(fits),
        if need.same_host { ", with the server on this machine" } else { "" }
    ));
    screen.words(&text)
}

/// Formats the findings as JSON.
pub fn json(findings: &[Finding], need: &Need, machine: &Machine) -> Value {
    let finding = |f: &Finding| {
        json!({
            "code": f.code,
            "grade": f.grade.name(),
            "found": f.found,
            "needed": f.needed,
            "why": f.why,
            "try": f.fix,
        })
    };
    json!({
        "schema": "pushmark.doctor/1",
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "connections_max": largest_crowd(need, machine),
    })
}

fn glyph(grade: Grade) -> &'static str {
    match grade {
        Grade::Fine => "✓",
        Grade::Note => " ",
        Grade::Doubt => "▲",
        Grade::Refused => "✕",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<Finding> {
        let finding = |code, grade, found: &str, fix: Option<&str>| Finding {
            code,
            grade,
            found: found.into(),
            needed: "more".into(),
            why: "it matters",
            fix: fix.map(str::to_string),
        };
        vec![
            finding("timers", Grade::Fine, "60 µs (p99)", None),
            finding("listen_queue", Grade::Doubt, "64", Some("sudo sysctl -w x=1")),
            finding("open_files", Grade::Refused, "1,024", Some("ulimit")),
        ]
    }

    #[test]
    fn the_worst_comes_first_with_its_remedy() {
        let machine = Machine {
            open_files: (1_024, 1_024),
            ports: (32_768, 60_999),
            memory_bytes: 1 << 30,
            ..Machine::default()
        };
        let ascii = Screen { columns: None, colours: false, unicode: false };
        let need = Need::of_crowd(1_000);
        insta::assert_snapshot!(text(&findings(), &need, &machine, &ascii), @"
        x  open_files    1,024
                         needed  more
                         why     it matters
                         try     ulimit
        !  listen_queue  64
                         needed  more
                         why     it matters
                         try     sudo sysctl -w x=1
        ok timers        60 us (p99)

          this machine holds up to 860 connections per process, with the server on this machine
        ");
        assert_eq!(json(&findings(), &need, &machine)["findings"][2]["grade"], "refused");
        assert_eq!(exit(&findings()), Exit::Refused);
        assert_eq!(exit(&findings()[..2]), Exit::Pass);
    }
}
