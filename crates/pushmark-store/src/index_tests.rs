//! The index follows the folders, and survives their loss and its own.

use std::fs;

use pushmark_model::run::CaseRef;
use serde_json::Value;

use super::*;
use crate::{self as store, Kept, testing};

fn keep(results: &Path, id: &str) -> (Run, PathBuf) {
    let run = testing::run(id);
    let kept = Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None };
    let folder = store::save(&kept, &[results.join(id)]).unwrap().folder;
    (run, folder)
}

const ID: &str = "20261121T200412Z-fan-out-k3f9";

#[test]
fn a_run_is_found_by_its_id_its_short_id_and_its_name() {
    let results = tempfile::tempdir().unwrap();
    let (run, folder) = keep(results.path(), ID);
    let mut index = Index::open(results.path()).unwrap();
    index.insert(&run, &folder).unwrap();
    for key in [ID, "k3f9", "20261121", "fan-out"] {
        assert_eq!(index.find(key).unwrap(), [(ID.to_string(), folder.clone())], "{key}");
    }
    assert_eq!(index.find("%").unwrap(), []);
    fs::remove_dir_all(&folder).unwrap();
    index.remove(ID).unwrap();
    assert_eq!(index.find(ID).unwrap(), []);
    let left = Index::query(results.path(), "SELECT count(*) FROM arms").unwrap();
    assert_eq!(left.rows, [[Value::from(0)]]);
}

#[test]
fn folders_that_come_and_go_are_followed() {
    let results = tempfile::tempdir().unwrap();
    let mut index = Index::open(results.path()).unwrap();
    let (_, folder) = keep(results.path(), ID);
    let elsewhere = tempfile::tempdir().unwrap();
    let (run, outside) = keep(elsewhere.path(), "20261121T200500Z-fan-out-m2x7");
    index.insert(&run, &outside).unwrap();
    assert_eq!(index.follow().unwrap(), []);
    assert_eq!(index.find("fan-out").unwrap().len(), 2, "one copied here, one kept elsewhere by -o");
    fs::remove_dir_all(folder).unwrap();
    index.follow().unwrap();
    assert_eq!(index.find("fan-out").unwrap()[0].1, outside);
}

#[test]
fn a_lost_or_damaged_index_is_built_from_the_folders() {
    let results = tempfile::tempdir().unwrap();
    keep(results.path(), ID);
    keep(results.path(), "20261121T200500Z-fan-out-m2x7");
    let count = || Index::query(results.path(), "SELECT count(*) FROM runs").unwrap().rows[0][0].clone();
    assert_eq!(count(), 2);
    fs::write(results.path().join(FILE), "not a database at all, but long enough to be read as one").unwrap();
    assert_eq!(count(), 2);
    fs::remove_file(results.path().join(FILE)).unwrap();
    fs::write(results.path().join(ID).join("run.json"), "{").unwrap();
    let rebuilt = rebuild(results.path()).unwrap();
    assert_eq!((rebuilt.runs, rebuilt.unusable.len()), (1, 1));
    assert!(rebuilt.unusable[0].1.contains("cut off"), "{}", rebuilt.unusable[0].1);
}

#[test]
fn an_answer_has_three_forms() {
    let results = tempfile::tempdir().unwrap();
    keep(results.path(), ID);
    let sql = "SELECT transport, outcome, missing, p99_us, age_mean_us FROM arms ORDER BY transport";
    let answer = Index::query(results.path(), sql).unwrap();
    insta::assert_snapshot!(answer.text(), @"
    transport  outcome   missing  p99_us  age_mean_us
    sse        degraded        2     990  –
    websocket  held            0     990  –
    ");
    insta::assert_snapshot!(answer.csv().unwrap(), @"
    transport,outcome,missing,p99_us,age_mean_us
    sse,degraded,2,990,
    websocket,held,0,990,
    ");
    assert_eq!(answer.json()[0]["missing"], 2);
    assert!(answer.json()[0]["age_mean_us"].is_null());
}

#[test]
fn a_query_only_reads_and_a_wrong_one_shows_the_tables() {
    let results = tempfile::tempdir().unwrap();
    keep(results.path(), ID);
    let error = |sql| format!("{:#}", Index::query(results.path(), sql).unwrap_err());
    assert!(error("DELETE FROM runs").contains("read-only"));
    assert!(error("SELECT p98 FROM arms").contains("CREATE TABLE arms"));
    assert!(error("SELECT p98 FROM arms").contains("no such column"));
}

/// A run of a suite, kept two levels below the results.
fn keep_case(results: &Path, id: &str, repeat: u32) -> (Run, PathBuf) {
    let mut run = testing::run(id);
    run.case = Some(CaseRef {
        suite: "chat".into(),
        id: "builtin-20".into(),
        axes: [("room", "20"), ("clients", "1000")].map(|(a, v)| (a.to_owned(), v.to_owned())).into(),
        repeat,
        scale: 1.0,
        scale_time: 1.0,
    });
    let kept = Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None };
    let folder = store::save(&kept, &[results.join("chat").join(id)]).unwrap().folder;
    (run, folder)
}

#[test]
fn metrics_axes_and_phases_can_be_asked_for() {
    let results = tempfile::tempdir().unwrap();
    keep_case(results.path(), ID, 1);
    let one = |sql| Index::query(results.path(), sql).unwrap().rows;
    assert_eq!(
        one("SELECT value FROM metrics WHERE metric = 'delivery.missing' AND transport = 'sse'"),
        [[Value::from(2.0)]]
    );
    assert_eq!(one("SELECT value FROM axes WHERE axis = 'room'"), [["20"]]);
    assert_eq!(one("SELECT DISTINCT end_us - start_us FROM measured"), [[10_000_000]]);
    assert_eq!(one("SELECT count(*) FROM metrics WHERE metric LIKE 'poll.%'"), [[0]], "no one polled");
}

#[test]
fn every_view_answers_on_fixed_runs() {
    let results = tempfile::tempdir().unwrap();
    keep(results.path(), "20261121T200400Z-fan-out-aaaa");
    keep_case(results.path(), ID, 1);
    keep_case(results.path(), "20261121T200500Z-fan-out-m2x7", 2);
    let views = Index::query(results.path(), "SELECT name FROM sqlite_master WHERE type = 'view'").unwrap();
    for view in views.rows {
        let view = view[0].as_str().unwrap();
        Index::query(results.path(), &format!("SELECT * FROM {view}")).unwrap();
    }
    let text = |sql| Index::query(results.path(), sql).unwrap().text();
    insta::assert_snapshot!(text("SELECT repeat, transport, users, room, delivered_per_s, p99_us FROM study_2_chat ORDER BY 1, 2"), @"
    repeat  transport  users  room  delivered_per_s  p99_us
         1  sse           10  20               99.8     990
         1  websocket     10  20              100.0     990
         2  sse           10  20               99.8     990
         2  websocket     10  20              100.0     990
    ");
    insta::assert_snapshot!(text("SELECT case_id, transport, n, mean, variance FROM cell_metrics WHERE metric = 'delivery.missing'"), @"
    case_id     transport  n  mean  variance
    builtin-20  sse        2   2.0       0.0
    builtin-20  websocket  2   0.0       0.0
    ");
    assert_eq!(
        Index::query(results.path(), "SELECT count(*) FROM cells").unwrap().rows,
        [[4]],
        "of suites only"
    );
}

#[test]
fn two_writers_wait_for_each_other() {
    let results = tempfile::tempdir().unwrap();
    Index::open(results.path()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let results = results.path();
            scope.spawn(move || {
                for n in 0..20 {
                    let (run, folder) = keep_case(
                        results,
                        &format!("20261121T2005{n:02}Z-fan-out-{writer}{writer}{writer}{writer}"),
                        1,
                    );
                    Index::open(results).unwrap().insert(&run, &folder).unwrap();
                }
            });
        }
    });
    let database = Connection::open(results.path().join(FILE)).unwrap();
    let runs: i64 = database.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 40, "none lost, and no folder was needed to find them");
}
