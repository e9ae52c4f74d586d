//! The report over plausible and extreme runs: its numbers are the run's, its texts stay inside their
//! drawings without overlap, and nothing in it points outside.

use pushmark_chart::terminal::Style;
use pushmark_model::run::RunFiles;
use pushmark_model::run::VerdictState;
use pushmark_model::transport::Transport;
use pushmark_report as report;

#[path = "data/layout.rs"]
#[allow(unreachable_pub)]
mod layout;
#[path = "data/sample.rs"]
#[allow(unreachable_pub)]
mod sample;

use layout::{assert_offline, ids_twice, misplaced, rows};

fn files(samples: Vec<sample::Sample>) -> Vec<RunFiles> {
    samples.into_iter().map(|(run, windows)| RunFiles { run, windows }).collect()
}

fn one(sample: sample::Sample) -> Vec<RunFiles> {
    files(vec![sample])
}

fn plain(report_path: Option<&str>) -> Style<'_> {
    Style { color: false, utf8: true, report_path }
}

#[test]
fn every_extreme_run_becomes_a_page_and_a_text() {
    for (name, samples) in sample::extremes() {
        let files = files(samples);
        let page = report::html(&files);
        assert!(page.starts_with("<!DOCTYPE html>"), "{name}");
        for id in report::figure_ids(&files) {
            let svg = report::svg(&files, id).expect("a figure that is listed");
            assert!(
                !svg.contains("var("),
                "{name} {id}: a drawing that leaves the page has its colours written in"
            );
            assert!(svg.contains(&files[0].run.id), "{name} {id}: the run's id goes with the drawing");
            assert!(report::csv(&files, id).expect("its data").lines().count() > 0, "{name} {id}");
        }
        assert!(!page.contains("NaN") && !page.contains(">inf"), "{name}: a number that is none");
    }
}

#[test]
fn other_machines_stand_in_the_page_and_in_the_text() {
    let files = one(sample::over_machines());
    let (page, text) = (report::html(&files), report::text(&files, plain(None)));
    for shown in [
        "Machines",
        "load-2 (host-of-load-2)",
        "nothing heard for 9 s",
        "beside (the-server)",
        "server, watched",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    for shown in [
        "2 agents",
        "load-1",
        "watched the server",
        "−31.5 … 47.2",
        "of one machine, no second clock: p50 0.4",
    ] {
        assert!(text.contains(shown), "{shown}\n{text}");
    }
}

#[test]
fn nothing_in_the_page_is_fetched_or_run() {
    let page = report::html(&files((0..5).map(sample::suspect).collect()));
    assert_offline(&page);
    let outside =
        page.match_indices("http").filter(|(at, _)| !page[*at..].starts_with("http://www.w3.org/2000/svg"));
    assert_eq!(outside.count(), 0, "no address but the namespace of SVG");
    for url in page.match_indices("url(").map(|(at, _)| &page[at..at + 5]) {
        assert!(["url(#", "url(%"].contains(&url), "{url}: paint is in the same drawing");
    }
}

#[test]
fn a_run_of_five_arms_weighs_less_than_700_kb() {
    for starts in [1, 5] {
        let page = report::html(&files((0..starts).map(sample::suspect).collect()));
        assert!(page.len() < 700 * 1024, "{} KB for {starts} starts", page.len() / 1024);
    }
}

#[test]
fn ids_are_unique_over_both_drawings_and_all_sections() {
    let mut other = sample::five_arms(0);
    other.0.name = "another".into();
    let mut runs = one(sample::suspect(0));
    runs.extend(one(other));
    let page = report::html(&runs);
    let twice = ids_twice(&page);
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn no_text_leaves_its_drawing_or_covers_another() {
    let mut wrong = Vec::new();
    for (name, samples) in sample::extremes() {
        wrong.extend(misplaced(name, report::drawings(&files(samples))));
    }
    assert!(wrong.is_empty(), "{} texts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn numbers_of_figures_are_the_runs() {
    let sample = sample::five_arms(0);
    let runs = one(sample.clone());
    let csv = |id: &str| rows(&report::csv(&runs, id).expect(id));
    let number = |row: &std::collections::HashMap<String, String>, key: &str| -> f64 {
        row[key].parse().unwrap_or_else(|_| panic!("{key} = {:?}", row[key]))
    };
    for (i, arm) in sample.0.arms.iter().enumerate() {
        let d = arm.delivery.as_ref().expect("a delivery");
        let server = arm.server.as_ref().expect("a server");
        let row = &csv("deliveries")[i];
        assert_eq!(row["arm"], arm.transport.name());
        for (key, value) in
            [("intended", d.intended), ("delivered", d.delivered), ("missing", d.missing), ("late", d.late)]
        {
            assert_eq!(number(row, key), value as f64, "{key} of {}", arm.transport);
        }
        let row = &csv("percentiles")[i];
        assert_eq!(number(row, "p50_us"), d.latency.p50_us.unwrap() as f64);
        assert_eq!(number(row, "p99_us"), d.latency.p99_us.unwrap() as f64);
        assert_eq!(number(row, "read_lag_p99_us"), d.read_lag.p99_us.unwrap() as f64);
        let row = &csv("cpu")[i];
        let per_million = server.cpu_us as f64 / 1e6 / (d.delivered as f64 / 1e6);
        assert!((number(row, "server_cpu_s_per_million") - per_million).abs() < 1e-5);
        let row = &csv("age-against-cost")[i];
        assert_eq!(number(row, "age_p50_us"), d.age_of_information.as_ref().unwrap().p50_us as f64);
        let row = &csv("memory")[i];
        assert!(
            (number(row, "rss_bytes_per_connection") - server.rss_bytes_per_connection.unwrap()).abs() < 1e-5
        );
        let row = &csv("connect")[i];
        assert_eq!(number(row, "p99_us"), arm.connect.as_ref().unwrap().p99_us as f64);
        assert_eq!((row["verdict"].as_str(), row["n"].as_str()), ("valid", "1"));
        assert_eq!(row["run"], sample.0.id);
    }
}

#[test]
fn browsers_and_a_feed_have_figures_of_their_own() {
    let sample = sample::with_browsers_and_feed();
    let runs = one(sample.clone());
    let csv = |id: &str| rows(&report::csv(&runs, id).expect(id));
    let browsers = csv("browsers");
    let of: Vec<&str> = browsers.iter().map(|row| row["arm"].as_str()).collect();
    assert_eq!(of, ["poll", "long-poll", "stream", "sse"]);
    let heard = &sample.0.arms[2].browser.as_ref().unwrap().latency;
    assert_eq!(browsers[2]["browsers_p50_us"], heard.p50_us.unwrap().to_string());
    assert_eq!((browsers[2]["bound_us"].as_str(), browsers[0]["heard"].as_str()), ("1400", "0"));
    assert_eq!(browsers[1]["browsers_p50_us"], "", "nothing was heard");
    let page = report::html(&runs);
    for said in ["differ by more than the bound: sse", "a browser shows no state of a poll"] {
        assert!(page.contains(said), "{said}");
    }
    let feed = csv("ingest");
    assert_eq!(feed.len(), 3);
    let each: f64 = feed[0]["server_us_per_publication"].parse().unwrap();
    assert!((each - 400_000.0 / 60.0).abs() < 1e-3, "{each}");
    assert!(report::csv(&one(sample::five_arms(0)), "ingest").is_none(), "no feed, no figure");
}

#[test]
fn the_curve_of_who_is_connected_shows_every_storm() {
    let runs = one(sample::storms());
    let svg = report::svg(&runs, "connections").expect("a figure");
    let from = svg.find("<title>sse;").expect("the arm's line");
    let line = svg[from..].split_once(" d=\"M").expect("a path").1.split('"').next().expect("its end");
    // `x y`, then relative steps: a fall is a long step down the page.
    let spaced = line.replace('l', " ").replace('-', " -");
    let numbers: Vec<f64> = spaced.split_whitespace().map(|n| n.parse().expect(n)).collect();
    let falls = numbers[2..].chunks(2).filter(|step| step[1] > 150.0).count();
    assert_eq!(falls, 10, "{line}");
    let page = report::html(&runs);
    let said = "sse lost 10\u{202f}000 connections, reconnected 10\u{202f}000 times.";
    assert!(page.contains(said), "it says so above the drawing");
    let row = &rows(&report::csv(&runs, "connections").expect("its data"))[3];
    assert_eq!((row["arm"].as_str(), row["lost"].as_str()), ("sse", "10000"));
}

#[test]
fn the_page_says_by_what_the_crowd_was_read_where_it_is_not_the_usual() {
    let page = |asked: &str, driven: &str| {
        let mut sample = sample::five_arms(0);
        sample.0.scenario["poller"] = asked.into();
        sample.0.plan["arms"][0]["poller"] = driven.into();
        report::html(&one(sample))
    };
    let (ring, fell_back) = ("connections by io_uring.", "io_uring was requested and is not available");
    for (asked, driven, says) in [
        ("epoll", "epoll", [false, false]),
        ("io_uring", "io_uring", [true, false]),
        ("io_uring", "epoll", [false, true]),
    ] {
        let page = page(asked, driven);
        assert_eq!([ring, fell_back].map(|text| page.contains(text)), says, "{asked}, {driven}");
    }
}

#[test]
fn repeats_are_totals_and_medians() {
    let runs = files((0..5).map(sample::five_arms).collect());
    let row = &rows(&report::csv(&runs, "deliveries").unwrap())[2];
    assert_eq!((row["delivered"].as_str(), row["n"].as_str()), ("6000000", "5"));
    let mut p50: Vec<i64> =
        runs.iter().map(|r| r.run.arms[2].delivery.as_ref().unwrap().latency.p50_us.unwrap()).collect();
    p50.sort_unstable();
    let row = &rows(&report::csv(&runs, "percentiles").unwrap())[2];
    assert_eq!(row["p50_us"], p50[2].to_string());
    assert!(row["p50_low_us"].parse::<f64>().unwrap() < p50[2] as f64, "an interval from five starts");
}

#[test]
fn a_number_not_measured_is_absent_with_its_reason() {
    for (name, samples) in sample::extremes() {
        let runs = files(samples);
        match name {
            "no optional field" => {
                let row = &rows(&report::csv(&runs, "memory").unwrap())[0];
                assert_eq!(row["rss_bytes_per_connection"], "");
                assert!(report::html(&runs).contains("the server process is unknown"));
            }
            "few publications" => {
                let row = &rows(&report::csv(&runs, "percentiles").unwrap())[0];
                assert_eq!(row["p99_us"], "");
                assert!(report::html(&runs).contains("too few: 60 of 100 publications"));
            }
            "everything missing" => {
                let row = &rows(&report::csv(&runs, "percentiles").unwrap())[0];
                assert_eq!((row["p50_us"].as_str(), row["p50_at_least_us"].as_str()), ("", "2000000"));
            }
            "an invalid arm" => {
                let row = &rows(&report::csv(&runs, "cpu").unwrap())[1];
                assert_eq!(
                    (row["verdict"].as_str(), row["server_cpu_s_per_million"].as_str()),
                    ("invalid", "")
                );
                assert!(row["reason"].starts_with("generator core 97 % busy"));
            }
            "an unstable arm" => {
                let row = &rows(&report::csv(&runs, "percentiles").unwrap())[1];
                assert_eq!(row["p50_us"], "");
                assert!(report::html(&runs).contains("backlog +1\u{202f}240/s"));
            }
            "observe" => assert!(report::html(&runs).contains("[target.publish]")),
            _ => {}
        }
    }
}

#[test]
fn what_is_believed_of_an_invalid_arm_is_shown_figure_by_figure() {
    let mut sample = sample::five_arms(0);
    sample::doubt(&mut sample, Transport::WebSocket, VerdictState::Invalid, "read_lag", "read lag");
    sample.0.verdict.reasons[0].concerns = vec!["latency.p99".into(), "from_sent.p99".into()];
    let arm = sample.0.arms.iter().position(|a| a.transport == Transport::WebSocket).expect("an arm");
    let delivery = sample.0.arms[arm].delivery.clone().expect("a delivery");
    let runs = one(sample);
    let row = &rows(&report::csv(&runs, "percentiles").unwrap())[arm];
    assert_eq!(row["p50_us"], delivery.latency.p50_us.unwrap().to_string());
    assert_eq!(row["p99_us"], "", "{row:?}");
    let page = report::html(&runs);
    assert!(page.contains("websocket: invalid beyond p90, not drawn there"));
    let full = page.split_once("Full table").expect("the full table").1;
    let cells = |name: &str| {
        let named = |row: &&str| row.starts_with(name);
        full.split("<th scope=\"row\">").find(named).unwrap_or_else(|| panic!("no row {name}")).to_owned()
    };
    let digits: String = cells("delivered<").chars().filter(char::is_ascii_digit).collect();
    assert!(digits.contains(&delivery.delivered.to_string()), "counts stay: {digits}");
    for believed in ["delivered<", "missing<", "received − due p50", "server, CPU-s", "opened<"] {
        assert!(!cells(believed).contains("invalid"), "{believed}: {}", cells(believed));
    }
    for not in ["received − due p99,", "received − sent p99,", "age of information, p99"] {
        assert!(cells(not).contains("– invalid"), "{not}: {}", cells(not));
    }
}

#[test]
fn the_title_says_at_most_twelve_words_and_two_numbers() {
    for (name, samples) in sample::extremes() {
        let page = report::html(&files(samples));
        let title = &page[page.find("<title>").unwrap() + 7..page.find("</title>").unwrap()];
        let finding = title.split_once(": ").expect("name: finding").1;
        assert!(finding.split_whitespace().count() <= 12, "{name}: {finding}");
        let numbers =
            finding.split([' ', '\u{a0}']).filter(|w| w.starts_with(|c: char| c.is_ascii_digit())).count();
        assert!(numbers <= 2, "{name}: {finding}");
    }
}

#[test]
fn the_verdict_stands_before_any_figure() {
    let page = report::html(&one(sample::suspect(0)));
    assert!(page.find("aria-label=\"verdict\"").unwrap() < page.find("<figure").unwrap());
}

#[test]
fn the_text_of_repeated_starts() {
    let runs = files((0..5).map(sample::suspect).collect());
    insta::assert_snapshot!(report::text(&runs, plain(Some("results/k3f9/report.html"))), @r"
    pushmark · fan-out · builtin · 1,000 clients a transport · 5 starts each

    ▲ suspect   use the numbers of long-poll with care; the other four are reliable

      intended 6,000,000 each
                  delivered    lost  late  superseded                       outcome
      poll          300,000       0     0   5,700,000  ▉░░░░░░░░░░░░░░░░░░  held
    ▲ long-poll   5,999,325     265   410           0  ██████████████████▉  held
      stream      6,000,000       0     0           0  ███████████████████  held
      sse         6,000,000       0     0           0  ███████████████████  held
      websocket   5,940,445  59,555     0           0  ██████████████████▊  degraded

      websocket       59,540 deliveries had no client: it was not connected
                        (unserved)
                      130 connections were lost: reset (130)

      received − due, ms        read lag   age    server CPU-s
                  p50     p99        p99   p50    per million deliveries
      poll       25.0    49.5       0.11   525    21.4  [20.1, 23.8]
    ▲ long-poll  0.77    8.91       0.61  25.6    33.8  [31.8, 37.5]
      stream     0.31    1.50       0.11  25.3    3.42  [3.22, 3.80]
      sse        0.35    1.91       0.11  25.4    3.71  [3.49, 4.12]
      websocket  0.27    1.17       0.11  25.3    2.94  [2.77, 3.26]
      last client to receive a broadcast, p50 ms: poll 90.0, long-poll 2.23, stream
      1.11, sse 1.26, websocket 0.97
      median of 5 starts, [95 % interval]; poll: latency of the 1 in 20 updates that
      a client saw

    ▲ seen   generator core 84 % busy in long-poll (suspect from 80 %), in 5 of 5
             starts
      why    pushmark, not the server, may have caused the slowest deliveries
      try    --set load.connections=800

      thresholds   delivery.missing == 0   FAIL long-poll 265, websocket 15
                   delivery.p99 < 50ms     inconclusive poll 49.5 ms
      report   results/k3f9/report.html
    ");
}

#[test]
fn the_text_of_one_start_on_a_plain_terminal() {
    let runs = one(sample::five_arms(0));
    let style = Style { color: false, utf8: false, report_path: None };
    insta::assert_snapshot!(report::text(&runs, style), @r"
    pushmark - fan-out - builtin - 1,000 clients a transport - one start, n = 1

    ok valid     the numbers of all five arms are reliable

      intended 1,200,000 each
                  delivered    lost  late  superseded                       outcome
      poll           60,000       0     0   1,140,000   ..................  held
      long-poll   1,199,865      53    82           0  ##################   held
      stream      1,200,000       0     0           0  ###################  held
      sse         1,200,000       0     0           0  ###################  held
      websocket   1,188,089  11,911     0           0  ##################   degraded

      websocket       11,908 deliveries had no client: it was not connected
                        (unserved)
                      26 connections were lost: reset (26)

      received - due, ms        read lag   age    server CPU-s
                  p50     p99        p99   p50    per million deliveries
      poll       25.0    49.5       0.11   525    21.4
      long-poll  0.77    8.91       0.61  25.6    33.8
      stream     0.31    1.50       0.11  25.3    3.42
      sse        0.35    1.91       0.11  25.4    3.71
      websocket  0.27    1.17       0.11  25.3    2.94
      last client to receive a broadcast, p50 ms: poll 90.0, long-poll 2.23, stream
      1.11, sse 1.26, websocket 0.97
      one start, n = 1: no interval (--repeat 5 gives one); poll: latency of the 1
      in 20 updates that a client saw

      thresholds   delivery.missing == 0   FAIL long-poll 53, websocket 3
                   delivery.p99 < 50ms     pass 5 of 5
    ");
}

#[test]
fn the_text_of_an_observed_target() {
    let observed = sample::extremes().into_iter().find(|e| e.0 == "observe").expect("an observed run").1;
    insta::assert_snapshot!(report::text(&files(observed), plain(None)), @r"
    pushmark · fan-out · https://example.org/events · 1,000 clients a transport
      one start, n = 1

    ✓ valid     the numbers of all five arms are reliable

                               messages       payload     gap, ms
                   messages          /s            /s         p50      p99
      poll           48,210         804       243 KiB        49.0      125
      long-poll      48,210         804       243 KiB        49.0      125
      stream         48,210         804       243 KiB        49.0      125
      sse            48,210         804       243 KiB        49.0      125
      websocket      48,210         804       243 KiB        49.0      125
      Nothing was published by pushmark, so deliveries, loss and latency are absent:
      add [target.publish] to the scenario to get them.

      thresholds   delivery.missing == 0   FAIL long-poll 53, websocket 3
                   delivery.p99 < 50ms     pass 5 of 5
    ");
}

#[test]
fn order_that_bayeux_does_not_promise_is_explained() {
    let explained = |sample: sample::Sample| {
        let runs = one(sample);
        let text = report::text(&runs, plain(None)).replace("\n  ", " ");
        let allowed = text.contains("bayeux: out of order, which Bayeux allows without acknowledge");
        (allowed, report::html(&runs).contains("bayeux: deliveries arrived out of order"))
    };
    assert_eq!(explained(sample::all_arms(0)), (true, true));
    let mut promised = sample::all_arms(0);
    for bayeux in promised.0.arms.iter_mut().filter_map(|a| a.bayeux.as_mut()) {
        bayeux.order_promised = true;
    }
    assert_eq!(explained(promised), (false, false), "a promise that was broken is no one's bias");
}

#[test]
fn text_fits_80_columns_in_every_extreme() {
    for (name, samples) in sample::extremes() {
        let runs = files(samples);
        for utf8 in [true, false] {
            let text = report::text(&runs, Style { color: false, utf8, report_path: None });
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{name}: {} columns: {line}", line.chars().count());
                assert!(utf8 || line.is_ascii(), "{name}: {line}");
                assert!(!line.contains('\u{1b}'));
            }
        }
    }
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let runs = one(sample::suspect(0));
    let coloured = report::text(&runs, Style { color: true, utf8: true, report_path: None });
    assert!(coloured.contains("\u{1b}[33m▲ suspect"), "suspect is yellow");
    let mut bare = String::new();
    let mut escape = false;
    for c in coloured.chars() {
        match (escape, c) {
            (false, '\u{1b}') => escape = true,
            (true, 'm') => escape = false,
            (true, _) => {}
            (false, c) => bare.push(c),
        }
    }
    assert_eq!(bare, report::text(&runs, plain(None)));
}

#[test]
fn the_words_of_a_verdict_follow_its_arms() {
    let mut sample = sample::five_arms(0);
    sample::doubt(&mut sample, Transport::Poll, VerdictState::Suspect, "a", "x");
    sample::doubt(&mut sample, Transport::Sse, VerdictState::Invalid, "b", "y");
    let text = report::text(&one(sample), plain(None));
    let said = "✕ invalid   do not use the numbers of sse; use the numbers of poll with care;";
    assert!(text.contains(said), "{text}");
}
