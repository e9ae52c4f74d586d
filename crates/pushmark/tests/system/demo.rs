//! The stock ticker in a real browser: both pages show the same market. One page gets every quote by push,
//! the other gets the newest state by pull; the displayed numbers match what happened. Needs chromium.

use crate::tool;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::page::Page;
use crate::tool::{Tool, number};
use serde_json::Value;

/// `pushmark demo` and its address. Dropping it ends it.
struct Demo {
    child: Child,
    url: String,
}

impl Demo {
    fn start(arguments: &[&str]) -> Demo {
        let mut command = Command::new(tool::program());
        command.arg("demo").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().next().expect("a URL").to_owned();
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with('/'), "{line}");
        Demo { child, url }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One quote in the log of a page.
#[derive(Debug)]
struct Quote {
    n: u64,
    price: f64,
    created_us: f64,
    shown_us: f64,
    delay_us: f64,
    overtaken: bool,
}

/// Returns the quotes by stock, in the order of display.
fn quotes(ticker: &Value) -> BTreeMap<String, Vec<Quote>> {
    let mut all: BTreeMap<String, Vec<Quote>> = BTreeMap::new();
    for one in ticker["log"].as_array().expect("a log") {
        let quote = Quote {
            n: number(one, "/n") as u64,
            price: number(one, "/price"),
            created_us: number(one, "/created_us"),
            shown_us: number(one, "/shown_us"),
            delay_us: number(one, "/delay_us"),
            overtaken: one["overtaken"] == true,
        };
        all.entry(one["stock"].as_str().expect("a stock").to_owned()).or_default().push(quote);
    }
    all
}

/// Reads the state of both tickers at one instant, and the texts of their numbers.
const LOOK: &str = "(() => {
  const look = (one) => {
    one.draw()
    const data = {}
    for (const each of one.section.querySelectorAll('data')) data[each.className] = [each.value, each.textContent]
    const rows = {}
    for (const [stock, row] of Object.entries(one.rows)) rows[stock] = [row.className, row.cells[1].textContent, row.cells[2].textContent]
    const { log, polls, shown, missed, requests, redundant, bytes, transport } = one
    return { log, polls, shown, missed, requests, redundant, bytes, transport, data, rows }
  }
  return { push: ticker.push && look(ticker.push), pull: ticker.pull && look(ticker.pull), bound_us: clock.bound_us }
})()";

/// Checks that the displayed numbers follow from the log.
#[track_caller]
fn numbers_hold(ticker: &Value) {
    let log = ticker["log"].as_array().expect("a log");
    let mut delays: Vec<f64> = log.iter().map(|one| number(one, "/delay_us")).collect();
    delays.sort_by(f64::total_cmp);
    let (low, high) = (delays[(delays.len() - 1) / 2], delays[delays.len() / 2]);
    let overtaken = log.iter().filter(|one| one["overtaken"] == true).count() as f64;
    for (name, value) in [
        ("median", (low + high) / 2.0),
        ("mean", delays.iter().sum::<f64>() / delays.len() as f64),
        ("longest", delays[delays.len() - 1]),
        ("shown", log.len() as f64 - overtaken),
        ("missed", overtaken),
        ("requests", number(ticker, "/requests")),
        ("redundant", number(ticker, "/redundant")),
        ("bytes", number(ticker, "/bytes")),
    ] {
        let shown: f64 = ticker["data"][name][0].as_str().and_then(|v| v.parse().ok()).expect(name);
        assert!((shown - value).abs() < 1e-3, "{name}: {shown}, and {value} happened");
    }
    // A browser rounds a half up, Rust rounds it to even.
    let (text, longest) = (ticker["data"]["longest"][1].as_str().expect("a text"), delays[delays.len() - 1]);
    assert!([time(longest), time(longest + 1e-3)].contains(&text.to_owned()), "{text}: {longest} us");
}

/// Formats a time with three digits.
fn time(us: f64) -> String {
    let (value, unit) = if us < 999_500.0 { (us / 1e3, "ms") } else { (us / 1e6, "s") };
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$}\u{a0}{unit}")
}

#[test]
fn push_shows_every_quote_and_pull_what_is_there_when_it_asks() {
    let Some(mut page) = Page::open() else { return };
    let demo = Demo::start(&["--rate", "10/s", "--pull-interval", "700ms", "--seed", "7"]);
    page.reader(1240, 1250, &[]);
    page.go(&demo.url);
    page.until("ticker.pull?.polls.length >= 9 && ticker.push.shown >= 100");
    let both = page.ask(LOOK);
    let (push, pull) = (&both["push"], &both["pull"]);

    let pushed = quotes(push);
    assert_eq!(pushed.len(), 4, "four stocks");
    for (stock, own) in &pushed {
        assert!(own.windows(2).all(|pair| pair[1].n == pair[0].n + 1), "{stock}: each, in order");
        assert!(own.iter().all(|quote| !quote.overtaken), "{stock}");
    }
    assert_eq!(number(push, "/missed"), 0.0);
    assert_eq!(number(push, "/requests"), 1.0);

    // The same quotes, except those between two polls.
    assert!(number(pull, "/missed") > 0.0);
    for (stock, own) in quotes(pull) {
        assert!(own.windows(2).all(|pair| pair[1].n == pair[0].n + 1), "{stock}: each is accounted for");
        let prices: BTreeMap<u64, f64> = pushed[&stock].iter().map(|quote| (quote.n, quote.price)).collect();
        let shared: Vec<&Quote> =
            own.iter().filter(|quote| !quote.overtaken && prices.contains_key(&quote.n)).collect();
        assert!(shared.len() >= 5, "{stock}: {own:?}");
        assert!(shared.iter().all(|quote| prices[&quote.n] == quote.price), "{stock}");
        let made: BTreeMap<u64, f64> =
            pushed[&stock].iter().map(|quote| (quote.n, quote.created_us)).collect();
        for quote in own.iter().filter(|quote| made.contains_key(&quote.n)) {
            assert!((quote.created_us - made[&quote.n]).abs() < 1.0, "{stock}: {quote:?}");
        }
    }
    delays_fill_the_gaps(&pushed, pull, number(&both, "/bound_us"));
    let mid = |ticker: &Value| ticker["data"]["median"][0].as_str().and_then(|v| v.parse::<f64>().ok());
    assert!(mid(push) < mid(pull), "{:?} {:?}", mid(push), mid(pull));
    numbers_hold(push);
    numbers_hold(pull);
    assert_eq!(page.complaints, Vec::<String>::new());
}

/// Checks that a quote made between two polls waits for the second poll: at most the gap between them, and
/// with evenly spread waits. The actual times of the polls are used, however busy the machine is; a late
/// quote certainly existed when the other page showed it.
fn delays_fill_the_gaps(pushed: &BTreeMap<String, Vec<Quote>>, pull: &Value, bound_us: f64) {
    let on_its_way: BTreeMap<(&str, u64), f64> = pushed
        .iter()
        .flat_map(|(stock, own)| own.iter().map(move |quote| ((&**stock, quote.n), quote.delay_us)))
        .collect();
    let polls: Vec<(f64, f64)> = pull["polls"]
        .as_array()
        .expect("polls")
        .iter()
        .map(|poll| (number(poll, "/asked_us"), number(poll, "/came_us")))
        .collect();
    let mut shares = Vec::new();
    let pulled = quotes(pull);
    let all = pulled.iter().flat_map(|(stock, own)| own.iter().map(move |quote| (&**stock, quote)));
    for (stock, quote) in all {
        assert!(quote.delay_us > -bound_us, "{quote:?}");
        // A quote on one page only is from before the other page began.
        let Some(way_us) = on_its_way.get(&(stock, quote.n)).map(|us| us.max(0.0)) else { continue };
        // The poll that returned the quote was logged just after it; the poll before was sent before the
        // quote existed.
        let Some(after) = polls.iter().position(|poll| poll.1 >= quote.shown_us) else { continue };
        if after == 0 {
            continue;
        }
        let there_us = quote.created_us + way_us;
        assert!(there_us >= polls[after - 1].0 - bound_us - 1e3, "{quote:?} {way_us} {polls:?}");
        let gap_us = quote.shown_us - polls[after - 1].0;
        assert!(quote.delay_us <= gap_us + way_us + bound_us + 1e3, "{quote:?} of {gap_us}");
        shares.push((quote.shown_us - there_us) / gap_us);
    }
    shares.sort_by(f64::total_cmp);
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(shares.len() >= 100, "{}", shares.len());
    assert!((0.35..0.65).contains(&mean), "mean {mean}");
    assert!(shares[shares.len() / 10] < 0.3 && shares[shares.len() * 9 / 10] > 0.7, "{shares:?}");
}

#[test]
fn a_change_is_coloured_and_said_by_arrow_and_sign() {
    let Some(mut page) = Page::open() else { return };
    let demo = Demo::start(&["--rate", "4/s", "--pull-interval", "500ms"]);
    page.go(&demo.url);
    page.until("ticker.pull?.shown >= 12 && ticker.push.shown >= 24");
    let both = page.ask(LOOK);
    for way in ["push", "pull"] {
        let ticker = &both[way];
        let quotes = quotes(ticker);
        let mut directions = Vec::new();
        for (stock, own) in quotes {
            let shown: Vec<&Quote> = own.iter().filter(|quote| !quote.overtaken).collect();
            let (before, now) = (shown[shown.len() - 2], shown[shown.len() - 1]);
            let up = now.price > before.price;
            let row = &ticker["rows"][&stock];
            assert_eq!(row[0], if up { "up" } else { "down" }, "{way} {stock}");
            assert_eq!(row[1], format!("{:.2}", now.price), "{way} {stock}");
            let sign = if up { "↑ +" } else { "↓ −" };
            assert!(row[2].as_str().is_some_and(|text| text.starts_with(sign)), "{way} {stock}: {row}");
            directions.push(up);
        }
        assert_eq!(directions.len(), 4);
    }
    // The effect uses motion only for readers without a preference for reduced motion.
    let effect = "getComputedStyle(document.querySelector('tr.up, tr.down')).animationName";
    let colour = "getComputedStyle(document.querySelector('tr.up, tr.down')).boxShadow";
    assert!(["up", "down"].contains(&page.ask(effect).as_str().expect("a name")));
    page.reader(1000, 900, &[("prefers-reduced-motion", "reduce")]);
    assert_eq!(page.ask(effect), "none");
    assert!(page.ask(colour).as_str().is_some_and(|shadow| shadow.contains("inset")));
}

#[test]
fn each_transport_shows_every_quote() {
    let Some(mut page) = Page::open() else { return };
    let demo = Demo::start(&["--rate", "8/s"]);
    for transport in ["sse", "websocket", "long-poll", "stream"] {
        page.go(&format!("{}push?push={transport}", demo.url));
        page.until(&format!("ticker.push?.transport === '{transport}' && ticker.push.shown >= 40"));
        let push = &page.ask(LOOK)["push"];
        assert_eq!(number(push, "/missed"), 0.0, "{transport}");
        for own in quotes(push).values() {
            assert!(own.windows(2).all(|pair| pair[1].n == pair[0].n + 1), "{transport}: {own:?}");
        }
        // A long poll sends a new request after each answer; all others send one.
        assert_eq!(number(push, "/requests") > 1.0, transport == "long-poll");
        numbers_hold(push);
    }
    assert_eq!(page.complaints, Vec::<String>::new());
}

#[test]
fn each_page_alone_and_both_fit_a_narrow_window_in_both_themes() {
    let Some(mut page) = Page::open() else { return };
    let demo = Demo::start(&["--rate", "5/s", "--pull-interval", "400ms"]);
    let pictures = std::env::var_os("PUSHMARK_PICTURES");
    for (path, shown, hidden) in [("", "both", "none"), ("push", "push", "pull"), ("pull", "pull", "push")] {
        for (width, theme) in [(360, "light"), (360, "dark"), (1240, "light"), (1240, "dark")] {
            page.reader(width, 1300, &[("prefers-color-scheme", theme)]);
            page.go(&format!("{}{path}", demo.url));
            page.until(
                "Object.values(ticker).length && Object.values(ticker).every((one) => one.shown >= 12)",
            );
            let sideways =
                page.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(sideways, 0, "{path} at {width} px scrolls sideways");
            let visible = |id: &str| format!("document.getElementById('{id}').checkVisibility()");
            if hidden != "none" {
                assert_eq!(page.ask(&visible(hidden)), false, "{path}");
                assert_eq!(page.ask(&visible(shown)), true, "{path}");
                assert_eq!(page.ask("Object.keys(ticker).join()"), shown);
            }
            let ground = page.ask("getComputedStyle(document.body).backgroundColor");
            assert_eq!(ground, if theme == "dark" { "rgb(20, 23, 28)" } else { "rgb(255, 255, 255)" });
            let clock = page.ask("document.getElementById('clock').textContent");
            assert!(
                clock.as_str().is_some_and(|text| text.contains("exchanges") && text.contains('±')),
                "{clock}"
            );
            if let Some(folder) = &pictures {
                use base64::Engine as _;
                let bytes = base64::engine::general_purpose::STANDARD.decode(page.picture()).expect("base64");
                let name = format!("demo-{shown}-{width}-{theme}.png");
                std::fs::write(std::path::Path::new(folder).join(name), bytes).expect("a picture");
            }
        }
    }
    assert_eq!(page.complaints, Vec::<String>::new());
}

#[test]
fn ctrl_c_ends_it_and_wrong_flags_are_told() {
    let mut demo = Demo::start(&[]);
    let pid = rustix::process::Pid::from_raw(demo.child.id() as i32).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
    let mut status = None;
    tool::until("it ends", || {
        status = demo.child.try_wait().expect("its end");
        status.is_some()
    });
    assert!(status.is_some_and(|status| status.success()));

    let tool = Tool::new();
    tool.run(&["demo", "--rate", "90/s"]).expect(2).says(&["--rate", "50/s"]);
    tool.run(&["demo", "--pull-interval", "2h"]).expect(2).says(&["--pull-interval", "100ms to 60s"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    tool.run(&["demo", "--port", &port]).expect(4).says(&["cannot listen on 127.0.0.1:"]);
}
