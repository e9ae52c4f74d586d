//! The state of a suite, read from its folder.

use super::*;
use pushmark_model::run::{CaseRef, Reason, VerdictState};
use pushmark_model::suite::Case;
use pushmark_store::testing;

fn suite(cases: &[&str]) -> Suite {
    let case = |id: &&str| Case { id: (*id).to_owned(), ..Case::default() };
    Suite {
        schema: SCHEMA.to_owned(),
        name: "s".to_owned(),
        repeat: 2,
        scale: 1.0,
        scale_time: 1.0,
        text: "scenario.seed = 1\nfigures = [1]".to_owned(),
        cases: cases.iter().map(case).collect(),
        ..Suite::default()
    }
}

fn keep(place: &Path, case: &str, repeat: u32, interrupted: bool) {
    let mut run = testing::run(&format!("{case}-{repeat}-{interrupted}"));
    run.case = Some(CaseRef { suite: "s".into(), id: case.into(), repeat, ..CaseRef::default() });
    if interrupted {
        run.verdict.reasons.push(Reason {
            code: "interrupted".into(),
            state: VerdictState::Incomplete,
            arm: None,
            concerns: Vec::new(),
            seen: String::new(),
            why: String::new(),
            try_: String::new(),
        });
    }
    let kept = store::Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None };
    store::save(&kept, &[place.join(&run.id)]).unwrap();
}

#[test]
fn whole_runs_are_done_and_interrupted_ones_are_not() {
    let parent = tempfile::tempdir().unwrap();
    let place = parent.path().join("s");
    let mut asked = suite(&["a", "b"]);
    drop(Folder::begin(&place, &asked).unwrap());
    keep(&place, "a", 1, false);
    keep(&place, "a", 2, true);
    keep(&place, "of-another-suite", 1, false);
    fs::create_dir(place.join(".b.7.partial")).unwrap();
    let (mut folder, unusable) = Folder::resume(&place, &mut asked).unwrap();
    assert!(unusable.is_empty());
    assert_eq!(folder.done.keys().copied().collect::<Vec<_>>(), [Turn { case: 0, repeat: 1 }]);
    assert!(!place.join(".b.7.partial").exists(), "drafts of the dead are removed");
    // The interrupted one stays until there is a whole one.
    assert!(place.join("a-2-true").exists());
    let shown: Vec<String> = folder.files().into_iter().map(|one| one.run.id).collect();
    assert_eq!(shown, ["a-1-false", "a-2-true"], "and is shown");
    keep(&place, "a", 2, false);
    let (run, _) = store::load(&place.join("a-2-false")).unwrap();
    folder.kept(&asked, Turn { case: 0, repeat: 2 }, &run);
    assert_eq!(folder.done.len(), 2);
    assert!(!place.join("a-2-true").exists());
}

#[test]
fn what_differs_is_named() {
    let kept = suite(&["a"]);
    assert_eq!(differs(&kept, &kept), None);
    let text = |text: &str| Suite { text: text.to_owned(), ..kept.clone() };
    let asked = Suite { seed: 5, scale: 0.1, ..text("order = 'random'\nscenario.seed = 2") };
    let told = differs(&kept, &asked).unwrap();
    for part in ["in `order`", "in `scenario`", "there 0, here 5: --seed 0", "--scale 1, here 0.1"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(differs(&kept, &text("# Mended.\nscenario.seed = 1\nstudy.number = 1")), None);
    assert!(differs(&kept, &Suite { scale_time: 0.5, ..kept.clone() }).is_some());
}

#[test]
fn more_repeats_are_taken_over_and_fewer_keep_what_there_is() {
    let parent = tempfile::tempdir().unwrap();
    let place = parent.path().join("s");
    drop(Folder::begin(&place, &suite(&["a"])).unwrap());
    let mut more = Suite { repeat: 5, ..suite(&["a"]) };
    drop(Folder::resume(&place, &mut more).unwrap());
    assert_eq!(read(&place).unwrap().repeat, 5);
    let mut fewer = Suite { repeat: 1, ..suite(&["a"]) };
    drop(Folder::resume(&place, &mut fewer).unwrap());
    assert_eq!(fewer.repeat, 5);
}

#[test]
fn one_process_a_folder_and_no_other_folder() {
    let parent = tempfile::tempdir().unwrap();
    let place = parent.path().join("s");
    let folder = Folder::begin(&place, &suite(&["a"])).unwrap();
    let error = Folder::resume(&place, &mut suite(&["a"])).unwrap_err();
    assert!(error.to_string().contains("another pushmark"), "{error}");
    drop(folder);
    Folder::resume(&place, &mut suite(&["a"])).unwrap();
    let error = Folder::resume(parent.path(), &mut suite(&["a"])).unwrap_err();
    assert_eq!(Ending::exit_of(&error), Exit::Usage);
    assert!(error.to_string().contains("contains no suite"), "{error}");
}

#[test]
fn a_run_without_arms_of_its_plan_was_stopped_between_them() {
    let mut run = testing::run("a");
    run.plan = serde_json::json!({ "arms": [{}, {}] });
    assert!(!is_interrupted(&run));
    run.plan = serde_json::json!({ "arms": [{}, {}, {}] });
    assert!(is_interrupted(&run));
}
