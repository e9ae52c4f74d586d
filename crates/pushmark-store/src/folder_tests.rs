//! A written folder can be read; an unreadable one reports why.

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::*;
use crate::testing;

fn window() -> Window {
    Window { arm: "sse".into(), second: 3, phase: "measure".into(), p99_us: Some(-4), ..Window::default() }
}

fn saved(parent: &Path, windows: &[Window]) -> PathBuf {
    let run = testing::run("20261121T200412Z-fan-out-k3f9");
    let kept = Kept { run: &run, windows, intervals: &[], logs: &[], report_html: Some("<!doctype html>") };
    let saved = save(&kept, &[parent.join(&run.id)]).unwrap();
    assert!(saved.trouble.is_none());
    saved.folder
}

#[test]
fn a_run_reads_back_as_it_was() {
    let parent = tempfile::tempdir().unwrap();
    let folder = saved(parent.path(), &[window(), Window::default()]);
    let (run, windows) = load(&folder).unwrap();
    let text = fs::read_to_string(folder.join("run.json")).unwrap();
    assert_eq!(serde_json::to_string_pretty(&run).unwrap() + "\n", text);
    assert_eq!((windows.len(), windows[0].p99_us, windows[0].p50_us), (2, Some(-4), None));
    assert_eq!(fs::read_to_string(folder.join("scenario.toml")).unwrap(), "name = \"fan-out\"\n");
    assert!(folder.join("report.html").exists());
    assert!(load(&folder.join("run.json")).is_ok(), "its file names it too");
}

#[test]
fn without_windows_there_is_still_a_header() {
    let parent = tempfile::tempdir().unwrap();
    let folder = saved(parent.path(), &[]);
    let csv = fs::read_to_string(folder.join("windows.csv")).unwrap();
    assert!(csv.starts_with("arm,second,phase,asked,connected,") && csv.lines().count() == 1);
    assert!(load(&folder).unwrap().1.is_empty());
    fs::remove_file(folder.join("windows.csv")).unwrap();
    assert!(load(&folder).unwrap().1.is_empty());
}

#[test]
fn other_tools_can_read_the_interval_log() {
    let parent = tempfile::tempdir().unwrap();
    let log = fs::read(saved(parent.path(), &[]).join("latency.hlog")).unwrap();
    let head: Vec<&str> = std::str::from_utf8(&log).unwrap().lines().take(4).collect();
    assert_eq!(head[0], "#[Histogram log format version 1.3]");
    assert_eq!(head[2], "#[StartTime: 1795291452.000 (seconds since epoch)]");
    let intervals: Vec<_> = IntervalLogIterator::new(&log)
        .filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(i) => {
                Some((i.tag().unwrap().as_str(), i.start_timestamp().as_secs(), i.max()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("sse.latency", 1, 1_000.0),
        ("sse.latency.negative", 1, 3.0),
        ("websocket.latency", 12, 1_000.0),
        ("websocket.latency.negative", 12, 3.0),
    ];
    assert_eq!(intervals, expected);
}

#[test]
fn a_place_that_takes_nothing_gives_way_to_the_next() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let run = testing::run("id");
    let kept = Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None };
    let (bad, good) = (file.join("run"), parent.path().join("spare/run"));
    let saved = save(&kept, &[bad.clone(), good.clone()]).unwrap();
    assert_eq!(saved.folder, good);
    assert!(format!("{:#}", saved.trouble.unwrap()).contains("cannot create"));
    let error = save(&kept, &[bad]).unwrap_err();
    assert!(format!("{error:#}").starts_with("the run is not stored on disk"), "{error:#}");
}

#[test]
fn what_cannot_be_read_says_why() {
    let whole = serde_json::to_string_pretty(&testing::run("id")).unwrap();
    let says = |text: &str, expected: &str| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    says(&whole[..whole.len() / 2], "cut off at line");
    says("", "cut off");
    says("<html>", "not JSON");
    says("{}", "no key \"schema\"");
    says(&whole.replace("pushmark.run/1", "pushmark.run/2"), "newer pushmark");
    says(&whole.replace("pushmark.run/1", "k6/1"), "not pushmark.run/1");
    says(&whole.replace("\"seed\": 42", "\"seed\": \"x\""), "line");
    assert!(load(Path::new("/no/such/run")).unwrap_err().to_string().contains("does not exist"));
}

#[test]
fn runs_are_found_in_folders_of_folders() {
    let parent = tempfile::tempdir().unwrap();
    let plain = saved(parent.path(), &[]);
    let nested = saved(&parent.path().join("suite"), &[]);
    fs::create_dir(parent.path().join(".x.partial")).unwrap();
    fs::write(parent.path().join(".x.partial/run.json"), "{").unwrap();
    assert_eq!(find_runs(parent.path()), [plain.clone(), nested]);
    assert_eq!(find_runs(&plain), [plain]);
}

#[test]
fn the_spare_folder_is_this_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let above = tempfile::tempdir().unwrap();
    let spare = spare_folder(above.path()).unwrap();
    assert_eq!(spare.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(spare_folder(above.path()).unwrap(), spare, "it is used again");

    fs::set_permissions(&spare, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(spare_folder(above.path()).is_err(), "others could read it");
    fs::remove_dir(&spare).unwrap();
    let elsewhere = above.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &spare).unwrap();
    assert!(spare_folder(above.path()).is_err(), "a link is not followed");
    fs::remove_file(&spare).unwrap();
    fs::write(&spare, "").unwrap();
    assert!(spare_folder(above.path()).is_err(), "a file is no folder");
}
