//! The page in a real browser: nothing is fetched, nothing is reported, every text is inside its drawing
//! without overlap, nothing scrolls sideways. Needs chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use pushmark_model::run::RunFiles;
use pushmark_report as report;

#[path = "data/sample.rs"]
#[allow(unreachable_pub)]
mod sample;
#[path = "data/seconds.rs"]
#[allow(unreachable_pub)]
mod seconds;
#[path = "data/suites.rs"]
#[allow(unreachable_pub)]
mod suites;

/// Runs in the COPY of a page under test, never in a report: it reads the boxes of all texts from the
/// browser and reports faults to the page around it.
const CHECK: &str = r#"<script>
addEventListener('load', () => {
  for (const d of document.querySelectorAll('details')) d.open = true;
  const wrong = [];
  const name = (e) => (e.closest('figure')?.querySelector('h3')?.textContent ?? '') + ' "' + e.textContent + '"';
  for (const svg of document.querySelectorAll('figure svg')) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) continue;
    const texts = [...svg.querySelectorAll('text')].map((e) => [e, e.getBoundingClientRect()]);
    for (const [i, [e, a]] of texts.entries()) {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 3 || a.bottom > frame.bottom + 3)
        wrong.push('outside: ' + name(e));
      for (const [o, b] of texts.slice(i + 1)) {
        // A line box is taller than its letters.
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 5) wrong.push('overlap: ' + name(e) + ' and ' + name(o));
      }
    }
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) wrong.push('sideways: ' + page.scrollWidth + ' of ' + page.clientWidth);
  const file = location.pathname.split('/').pop();
  parent.postMessage(file + ' ' + innerWidth + ' px: ' + wrong.length + ' wrong\n' + wrong.join('\n'), '*');
});
</script>"#;

/// A window is never narrower than 500 px, but a frame can be: both widths at once. Frames overlap,
/// because a browser may skip content outside its window.
const FRAMES: &str = r#"<!DOCTYPE html><title>waiting</title>
<style>iframe { position: absolute; top: 0; left: 0; height: 900px; border: 0; }</style><script>
const said = [];
addEventListener('message', (m) => { said.push(m.data); document.title = said.sort().join('; '); });
</script>"#;

/// Pages in one browser, because starting a browser takes longer than drawing a page.
const AT_ONCE: usize = 8;
/// Pages of a kind in a plain `cargo test`.
const FEW: usize = 2;

/// Whether nothing may be left out, as under `cargo xtask test`.
fn all() -> bool {
    std::env::var("PUSHMARK_TEST_ALL").is_ok_and(|v| v == "1")
}

/// Returns the pages to look at: while one works on the report, the first ones of each kind.
fn looked_at<T>(mut pages: Vec<T>) -> Vec<T> {
    pages.truncate(if all() { usize::MAX } else { FEW });
    pages
}

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let found = named.or_else(|| Some(PathBuf::from("/usr/bin/chromium"))).filter(|p| p.exists());
    if found.is_none() {
        assert!(
            !all(),
            "chromium is not installed (CHROMIUM or /usr/bin/chromium): the report was not tested in a browser"
        );
        eprintln!("skipped: chromium not installed");
    }
    found
}

/// Returns the title after load, and every message of the browser.
fn open(chromium: &Path, page: &Path) -> (String, Vec<String>) {
    let profile = tempfile::tempdir().expect("a profile folder");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=20000", "--dump-dom"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1800,1000", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium starts");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let title =
        dom.split_once("<title>").and_then(|d| d.1.split_once("</title>")).map_or("", |t| t.0).to_string();
    let log = String::from_utf8_lossy(&output.stderr);
    let complaints =
        log.lines().filter(|l| l.contains("CONSOLE") || l.contains("net::ERR")).map(String::from).collect();
    (title, complaints)
}

/// Returns what a browser finds wrong with named pages at 1280 and at 360 px.
fn check(chromium: &Path, pages: &[(&str, String)]) -> Vec<String> {
    pages.chunks(AT_ONCE).flat_map(|some| check_at_once(chromium, some)).collect()
}

fn check_at_once(chromium: &Path, pages: &[(&str, String)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    // In the widest of the common fonts, because any other leaves more room.
    let checked = format!("{CHECK}<style>*{{font-family:'DejaVu Sans'!important}}</style></body>");
    let mut around = FRAMES.to_owned();
    for (n, (_, page)) in pages.iter().enumerate() {
        let file = folder.path().join(format!("{n}.html"));
        std::fs::write(file, page.replace("</body>", &checked)).expect("the page is written");
        for width in [1280, 360] {
            around.push_str(&format!("<iframe src=\"{n}.html\" style=\"width:{width}px\"></iframe>"));
        }
    }
    let frames = folder.path().join("frames.html");
    std::fs::write(&frames, around).expect("the page around them is written");
    let (title, mut wrong) = open(chromium, &frames);
    for (n, (name, _)) in pages.iter().enumerate() {
        for width in [1280, 360] {
            if !title.contains(&format!("{n}.html {width} px: 0 wrong")) {
                wrong.push(format!("{name} is {n}.html, {width} px: {title}"));
            }
        }
    }
    wrong
}

fn page_of(samples: Vec<sample::Sample>) -> String {
    let runs: Vec<RunFiles> = samples.into_iter().map(|(run, windows)| RunFiles { run, windows }).collect();
    report::html(&runs)
}

#[test]
fn the_page_holds_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let pages: Vec<_> =
        looked_at(sample::extremes()).into_iter().map(|(name, samples)| (name, page_of(samples))).collect();
    let wrong = check(&chromium, &pages);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_of_a_suite_holds_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let over_time = ("seconds", seconds::over_time(1));
    let all = looked_at(suites::extremes()).into_iter().chain([over_time]);
    let pages: Vec<_> = all.map(|(name, (suite, runs))| (name, report::suite::html(&suite, &runs))).collect();
    let wrong = check(&chromium, &pages);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Paper cannot be unfolded: parts that are folded on the screen are open in print.
#[test]
fn folded_matrices_are_open_in_print() {
    let Some(chromium) = chromium() else { return };
    let (suite, runs) = suites::comet();
    let page = report::suite::html(&suite, &runs);
    let printed = page.replace("@media print{", "@media all{");
    assert_ne!(page, printed);
    // Whether the browser draws every table of a matrix.
    let ask = r"<script>
addEventListener('load', () => {
  const all = [...document.querySelectorAll('.matrices table')];
  const folded = all.filter((t) => t.closest('details') && !t.closest('details').open);
  const seen = all.filter((t) => t.checkVisibility({ contentVisibilityAuto: true }) && t.offsetHeight > 0);
  document.title = `${folded.length > 0} ${seen.length == all.length}`;
});
</script></body>";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    for (page, expected) in [(&page, "true false"), (&printed, "true true")] {
        std::fs::write(&path, page.replace("</body>", ask)).expect("the page is written");
        assert_eq!(open(&chromium, &path), (expected.to_string(), Vec::new()));
    }
}

#[test]
fn the_check_sees_what_is_planted() {
    let Some(chromium) = chromium() else { return };
    let page = page_of(vec![sample::five_arms(0)]);
    let planted = page.replacen(
        "</svg><svg class=\"x\"",
        "<text x=\"1140\" y=\"12\">planted</text></svg><svg class=\"x\"",
        1,
    );
    assert_ne!(page, planted);
    // The fault is found in the second page, and not in the first.
    let wrong = check(&chromium, &[("sound", page), ("planted", planted)]).join("\n");
    assert!(wrong.contains("outside") && wrong.contains("planted is 1.html"), "{wrong}");
    assert!(!wrong.contains("sound is"), "{wrong}");
}
