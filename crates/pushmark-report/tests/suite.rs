//! The report of a suite over made-up suites: its statements are those of the runs, missing results are
//! shown as missing, and its texts stay inside their drawings without overlap.

use pushmark_chart::terminal::Style;
use pushmark_report::suite as report;

#[path = "data/layout.rs"]
#[allow(unreachable_pub)]
mod layout;
#[path = "data/sample.rs"]
#[allow(unreachable_pub)]
mod sample;
#[path = "data/seconds.rs"]
#[allow(unreachable_pub)]
mod seconds;
#[path = "data/suites.rs"]
#[allow(unreachable_pub)]
mod suites;

use layout::{assert_offline, ids_twice, misplaced, rows};

/// Returns the extreme suites, and suites with seconds in them.
fn all() -> Vec<(&'static str, suites::Made)> {
    let mut all = suites::extremes();
    all.extend([("seconds", seconds::over_time(1)), ("seconds of five starts", seconds::over_time(5))]);
    all
}

fn plain() -> Style<'static> {
    Style { color: false, utf8: true, report_path: None }
}

#[test]
fn every_extreme_suite_becomes_a_page_and_a_text() {
    for (name, (suite, runs)) in all() {
        let page = report::html(&suite, &runs);
        assert!(page.starts_with("<!DOCTYPE html>"), "{name}");
        assert!(!page.contains("NaN") && !page.contains(">inf"), "{name}: a number that is none");
        for id in report::figure_ids(&suite, &runs) {
            assert!(report::csv(&suite, &runs, &id).is_some_and(|c| c.lines().count() > 1), "{name} {id}");
            if let Some(svg) = report::svg(&suite, &runs, &id) {
                assert!(!svg.contains("var("), "{name} {id}: colours are written in");
                assert!(svg.contains(&format!("suite {}", suite.name)), "{name} {id}: where it is from");
            }
        }
        for utf8 in [true, false] {
            let text = report::text(&suite, &runs, Style { utf8, ..plain() });
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
                assert!(utf8 || line.is_ascii(), "{name}: {line}");
            }
        }
    }
}

#[test]
fn nothing_in_the_page_is_fetched_or_run() {
    let (suite, runs) = suites::chat(3);
    assert_offline(&report::html(&suite, &runs));
}

/// A suite's page contains every number three times (drawing, table, CSV): 2 MB for the largest.
#[test]
fn a_page_of_195_cells_weighs_less_than_2_mb() {
    let (suite, runs) = suites::comet();
    assert_eq!(suite.cases.len(), 195);
    let page = report::html(&suite, &runs);
    assert!(page.len() < 2 << 20, "{} KB", page.len() >> 10);
}

#[test]
fn ids_are_unique() {
    for (name, (suite, runs)) in all() {
        let page = report::html(&suite, &runs);
        let twice = ids_twice(&page);
        assert!(twice.is_empty(), "{name}: {twice:?}");
    }
}

#[test]
fn no_text_leaves_its_drawing_or_covers_another() {
    let mut wrong = Vec::new();
    for (name, (suite, runs)) in all() {
        wrong.extend(misplaced(name, report::drawings(&suite, &runs)));
    }
    assert!(wrong.is_empty(), "{} texts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_matrix_shows_what_became_of_every_cell() {
    let (suite, runs) = suites::chat(1);
    let csv = rows(&report::csv(&suite, &runs, "tails").expect("the matrix"));
    assert_eq!(csv.len(), 30, "a row a cell");
    let find = |id: &str| csv.iter().find(|r| r["case"] == id).unwrap_or_else(|| panic!("{id}"));
    let fates = [
        ("node-comet-1000", "valid"),
        ("node-long-poll-15000", "suspect"),
        ("node-comet-20000", "invalid"),
        ("tomcat-6-comet-15000", "incomplete"),
        ("tomcat-6-comet-20000", "refused"),
        ("tomcat-7-long-poll-20000", "died"),
    ];
    for (id, fate) in fates {
        assert_eq!(find(id)["verdict"], fate, "{id}");
    }
    let page = report::html(&suite, &runs);
    for mark in ["✕\u{a0}invalid", "†\u{a0}died", ">refused<", "▲\u{a0}", "◐\u{a0}"] {
        assert!(page.contains(mark), "{mark}");
    }
    // An invalid value is not in the column of values, but in a separate one.
    let invalid = find("node-comet-20000");
    assert_eq!(invalid["delivery_p99_us"], "");
    assert!(invalid["unbelieved_delivery_p99_us"].parse::<f64>().is_ok_and(|v| v > 0.0));
    assert_eq!(find("node-comet-1000")["unbelieved_delivery_p99_us"], "");
}

#[test]
fn a_value_is_the_median_of_the_starts_with_its_bounds() {
    for (repeat, bounds) in [(1, false), (3, true), (10, true)] {
        let (suite, runs) = suites::chat(repeat);
        let csv = rows(&report::csv(&suite, &runs, "latency").expect("the figure"));
        let row = csv.iter().find(|r| r["case"] == "node-comet-1000").expect("a cell");
        let mut of: Vec<i64> = runs
            .iter()
            .filter(|r| r.run.case.as_ref().is_some_and(|c| c.id == "node-comet-1000"))
            .filter_map(|r| r.run.arms[0].delivery.as_ref()?.latency.p50_us)
            .collect();
        of.sort_unstable();
        assert_eq!(of.len(), repeat as usize);
        let middle = (of[(of.len() - 1) / 2] + of[of.len() / 2]) as f64 / 2.0;
        assert!((row["delivery_p50_us"].parse::<f64>().expect("a value") - middle).abs() < 1e-6);
        assert_eq!(row["n"], repeat.to_string());
        assert_eq!(!row["delivery_p50_us_low"].is_empty(), bounds, "n = {repeat}");
    }
}

/// Returns the sentence under a figure, from the page.
fn paragraph(page: &str, id: &str) -> String {
    let figure = page.split(&format!("id=\"f-{id}\"")).nth(1).expect("the figure");
    let start = figure.find("<p class=\"s\">").expect("its paragraph") + "<p class=\"s\">".len();
    figure[start..].split("</p>").next().unwrap_or_default().to_string()
}

/// Returns the caption of a figure, from the page.
fn caption(page: &str, id: &str) -> String {
    let figure = page.split(&format!("id=\"f-{id}\"")).nth(1).expect("the figure");
    let caption = figure.split("<figcaption>").nth(1).expect("its caption");
    caption.split("</figcaption>").next().unwrap_or_default().to_string()
}

#[test]
fn the_paragraph_follows_the_data() {
    let said = |repeat, id: &str| {
        let (suite, runs) = suites::chat(repeat);
        paragraph(&report::html(&suite, &runs), id).replace("&#39;", "'")
    };
    let figures = [(10, "latency"), (1, "latency"), (3, "joint"), (3, "offered"), (3, "servers")];
    let all: Vec<String> = figures.map(|(n, id)| format!("{id}, n = {n}: {}", said(n, id))).into();
    insta::assert_snapshot!("suite-says", all.join("\n"));
}

#[test]
fn a_difference_inside_the_bars_is_not_named() {
    let mut suite = suites::suite(
        "same",
        &[("style", &["comet", "long-poll"]), ("clients", &["1000", "2000"])],
        vec![pushmark_model::suite::Figure {
            id: "same".into(),
            title: "same".into(),
            x: "clients".into(),
            y: "delivery.p50".into(),
            ..Default::default()
        }],
    );
    let mut said = |spread: f64| {
        let runs = suites::run(&mut suite, 5, |axes, start, arm| {
            let style = if axes["style"] == "comet" { 1.0 } else { 1.05 };
            suites::latency(arm, 1_000.0 * style * (1.0 + spread * f64::from(start)));
        });
        paragraph(&report::html(&suite, &runs), "same")
    };
    assert!(said(0.2).contains("No difference is seen between stream and long-poll"), "{}", said(0.2));
    assert!(said(0.001).contains("long-poll lies above stream at every place"), "{}", said(0.001));
}

#[test]
fn published_values_are_judged_by_order_ratio_and_knee() {
    let (suite, runs) = suites::chat(5);
    let page = report::html(&suite, &runs);
    let section = page.split("<h2>Published against measured</h2>").nth(1).expect("the section");
    let section = section.split("</section>").next().unwrap_or_default();
    assert_eq!(section.matches("<tr>").count(), 1 + 11, "a row a printed value");
    for said in [
        "pairs of cells stand in the published order",
        "the published value: not alike",
        "bend at 10k",
        "no: it held here",
    ] {
        assert!(section.contains(said), "{said}: {section}");
    }
}

#[test]
fn the_text_of_a_suite() {
    let (suite, runs) = suites::chat(1);
    insta::assert_snapshot!("suite-text", report::text(&suite, &runs, plain()));
}

#[test]
fn drawings_are_as_they_were() {
    let (suite, runs) = suites::chat(5);
    for id in ["latency", "joint", "offered", "servers"] {
        insta::assert_snapshot!(format!("suite-{id}"), report::svg(&suite, &runs, id).expect("a drawing"));
    }
    insta::assert_snapshot!("suite-matrix", report::csv(&suite, &runs, "tails").expect("a matrix"));
}

/// Small panels over the seconds of a run, of its queue and of its flood.
#[test]
fn drawings_over_time_are_as_they_were() {
    let (suite, runs) = seconds::over_time(1);
    for id in ["cpu", "emit", "place", "rate"] {
        insta::assert_snapshot!(
            format!("suite-over-time-{id}"),
            report::svg(&suite, &runs, id).expect("a drawing")
        );
    }
    let page = report::html(&suite, &runs);
    let said = ["cpu", "memory", "emit", "threads", "place", "rate"]
        .map(|id| format!("{id}: {}\n  {}", paragraph(&page, id), caption(&page, id)));
    insta::assert_snapshot!("suite-over-time-says", said.join("\n"));
    let all = report::csv(&suite, &runs, "cpu").expect("its table")
        + &report::csv(&suite, &runs, "rate").expect("its table");
    insta::assert_snapshot!("suite-over-time-tables", all);
}

/// No caption, sentence or heading shows the name of a column; they use words.
#[test]
fn a_column_of_windows_is_named_in_words() {
    let (suite, runs) = seconds::over_time(1);
    let page = report::html(&suite, &runs);
    let raw = ["server_cpu_us", "server_rss_bytes", "emit_duration_max_us", "server_threads"];
    // The CSV of a download keeps the column names, which programs read.
    let shown: String =
        page.split("href=\"data:").map(|part| part.split_once('"').map_or(part, |p| p.1)).collect();
    for name in raw {
        assert!(!shown.contains(name), "{name}");
    }
}

/// The title of a flood's page names the connections held, not the deliveries missed by clients that had
/// not connected yet.
#[test]
fn the_title_of_a_flood_says_what_it_held() {
    let (_, mut runs) = seconds::over_time(1);
    let at = runs.iter().position(|f| f.run.name == "node-comet-1000").expect("a run of it");
    runs[at].run.arms[0].delivery.as_mut().expect("a delivery").unserved = 500;
    let page = pushmark_report::html(&runs[at..=at]);
    let title = page.split("<title>").nth(1).and_then(|t| t.split("</title>").next()).expect("a title");
    assert!(title.contains("stream held 2\u{202f}235 clients at once"), "{title}");
    assert!(!title.contains("lost"), "{title}");
}
