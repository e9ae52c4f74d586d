//! What other tools read from our runs: JMeter's own reader gets our counts, and the table of all metrics
//! is valid CSV.

use crate::tool::{LOAD, Tool, arms, number};
use conformance::{own, tools};

#[test]
fn jmeter_counts_what_we_counted() {
    if !tools::present(&["javac", "maven", "jmeter reader"]) {
        return;
    }
    let tool = Tool::new();
    let text = format!(
        "name = \"samples\"\ntransports = [\"sse\", \"websocket\"]\n[target]\nserver = \"builtin\"\n{LOAD}\
         [publisher]\nrate = \"50/s\"\n"
    );
    let run = tool.measure(&text, &[]);
    let ended = tool.run(&["runs", "export", "out", "--format", "jtl", "--to", "out.jtl"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let seen = read(&tool.path("out.jtl"));
    for (arm, row) in arms(&run).iter().zip(&seen) {
        let transport = arm["transport"].as_str().unwrap();
        assert_eq!(row[0], format!("samples {transport}"));
        // JMeter counts by the second of receipt, pushmark by the second of due: they differ by the edge
        // of one second.
        let (delivered, samples) = (number(arm, "/delivery/delivered"), field(row, 1));
        let (missing, errors) = (number(arm, "/delivery/missing"), field(row, 2));
        assert!((delivered + missing - samples).abs() <= 8.0 * 50.0 * 0.2, "{delivered} and {samples}");
        assert_eq!(missing, errors);
        // JMeter's times are whole ms, rounded up.
        let (ours, theirs) = (number(arm, "/delivery/latency/mean_us") / 1_000.0, field(row, 4));
        assert!((theirs - ours - 0.5).abs() < 1.0 + 0.2 * ours, "{ours} ms and {theirs} ms");
    }

    let thin =
        tool.run(&["runs", "export", "out", "--format", "jtl", "--at-most", "100", "--to", "thin.jtl"]);
    assert!(thin.code == 0 && thin.err.contains("each represents"), "{thin:#?}");
    let samples: f64 = read(&tool.path("thin.jtl")).iter().map(|row| field(row, 1)).sum();
    assert!((50.0..=100.0).contains(&samples), "{samples}");
    let again = tool.run(&["runs", "export", "out", "--format", "jtl", "--to", "out.jtl"]);
    assert!(again.code == 2 && again.err.contains("already exists"), "{again:#?}");
}

/// Returns a row a label, as JMeter read the file: label, samples, errors, least, mean, most.
fn read(file: &std::path::Path) -> Vec<Vec<String>> {
    let folder = own("jmeter/target");
    let path = format!("{0}/classes:{0}/lib/*", folder.display());
    let mut command = tools::command("java");
    command.args(["-cp", &path, "pushmark.ReadJtl"]).arg(file);
    let output = command.output().expect("java");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn field(row: &[String], at: usize) -> f64 {
    row[at].parse().unwrap_or_else(|_| panic!("a number in {row:?}"))
}

#[test]
fn all_metrics_are_one_table() {
    let tool = Tool::new();
    let run = tool.measure(
        &format!("name = \"wide\"\ntransports = [\"sse\"]\n[target]\nserver = \"builtin\"\n{LOAD}"),
        &[],
    );
    let ended = tool.run(&["runs", "export", "out", "--format", "csv"]);
    assert_eq!(ended.code, 0, "{ended:#?}");
    let mut csv = csv::Reader::from_reader(ended.out.as_bytes());
    let at = csv.headers().unwrap().iter().position(|h| h == "delivery.delivered").expect("its column");
    let row = csv.records().next().unwrap().unwrap();
    assert_eq!(row[at].parse::<f64>().unwrap(), number(&arms(&run)[0], "/delivery/delivered"));
    let missing = tool.run(&["runs", "export", "nowhere", "--format", "csv"]);
    assert_eq!(missing.code, 2, "{missing:#?}");
}
