//! The suites of the tree: each can be read, planned and scaled on any machine; nothing is started.

use std::path::{Path, PathBuf};

use crate::tool::{Tool, root};
use pushmark_host::server::registry::Registry;
use pushmark_model::suite::Scale;
use pushmark_run::suite::{AskedSuite, Glob, Loaded, SuiteSettings, load};

fn suites() -> Vec<PathBuf> {
    let of = |folder: &str| {
        let entries = std::fs::read_dir(root().join(folder)).expect("the suites of the tree");
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
        paths.sort();
        assert!(!paths.is_empty());
        paths
    };
    [of("suites"), of("studies/suites")].concat()
}

fn read(path: &Path, scale: Scale) -> Loaded {
    let registry = Registry::load(Some(&root().join("servers"))).unwrap_or_else(|report| panic!("{report}"));
    let wishes = SuiteSettings { overrides: Vec::new(), scale };
    load(AskedSuite::File(path), &wishes, &registry, None).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn every_suite_of_the_tree_can_be_planned_and_says_what_it_shows() {
    for path in suites() {
        let loaded = read(&path, Scale::NONE);
        let suite = &loaded.suite;
        assert_eq!(path.file_stem().unwrap().to_str(), Some(suite.name.as_str()));
        assert!(suite.analysis.len() > 40, "{}: say what it shows", path.display());
        assert!(!suite.cases.is_empty() && suite.cases.len() == loaded.scenarios.len());
        for (case, scenario) in suite.cases.iter().zip(&loaded.scenarios) {
            assert_eq!(case.id, scenario.scenario.name);
            assert!(case.planned_s > 0.0 && case.clients > 0, "{}", case.id);
            // The kept scenario of a case can be run again alone.
            assert!(scenario.text.contains(&case.id), "{}", scenario.text);
        }
    }
}

#[test]
fn a_scaled_suite_is_shorter_and_smaller_and_keeps_what_it_is_about() {
    for path in suites() {
        let (whole, tenth) = (read(&path, Scale::NONE), read(&path, Scale { all: 0.1, time: 1.0 }));
        for (a, b) in whole.scenarios.iter().zip(&tenth.scenarios) {
            let (a, b) = (&a.plan, &b.plan);
            for (a, b) in a.arms.iter().zip(&b.arms) {
                assert!(b.connections <= a.connections && b.phases.measure_ns <= a.phases.measure_ns);
                assert_eq!(
                    (a.hold_ns, a.poll, a.connect_timeout_ns),
                    (b.hold_ns, b.poll, b.connect_timeout_ns)
                );
                let interval = |arm: &pushmark_model::plan::ArmPlan| {
                    arm.publisher.as_ref().map(|publisher| publisher.interval_ns)
                };
                assert_eq!(interval(a), interval(b));
                if let Some(interval_ns) = interval(a) {
                    let least = (3.0 * interval_ns).min(a.phases.measure_ns as f64);
                    assert!(b.phases.measure_ns as f64 >= least, "{path:?}: three intervals are left");
                }
            }
        }
    }
}

#[test]
fn a_dry_run_lists_every_case_and_leaves_nothing_behind() {
    let tool = Tool::new();
    for path in suites() {
        let path = path.display().to_string();
        let text = tool.run(&["suite", &path, "--dry-run"]).expect(0).never_panicked();
        let json = tool.run(&["suite", &path, "--dry-run", "--format", "json"]).expect(0);
        let plan: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
        let cases = plan["cases"].as_array().unwrap();
        for case in cases {
            let id = case["id"].as_str().unwrap();
            assert!(text.out.contains(id), "{id} is not in\n{}", text.out);
            assert!(case["axes"].is_object() && case["planned_s"].is_number() && case["clients"].is_number());
        }
        assert!(text.out.contains("to run") && text.out.contains("this machine:"));
    }
    assert!(tool.names("").is_empty(), "nothing is kept of a dry run: {:?}", tool.names(""));
}

#[test]
fn without_a_file_the_tour_of_five_minutes_is_planned() {
    let tool = Tool::new();
    let json = tool.run(&["suite", "--dry-run", "--format", "json"]).expect(0);
    let plan: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(plan["name"], "quick");
    let cases = plan["cases"].as_array().unwrap();
    let planned_s: f64 = cases.iter().map(|case| case["planned_s"].as_f64().unwrap()).sum();
    assert!((120.0..270.0).contains(&planned_s), "{planned_s} s by plan");
    let studies: std::collections::BTreeSet<&str> =
        cases.iter().map(|case| case["axes"]["study"].as_str().unwrap()).collect();
    assert_eq!(studies.len(), 5, "{studies:?}");
    assert!(cases.iter().all(|case| case.get("refused").is_none()), "any machine holds it");
}

#[test]
fn only_chooses_cases_by_their_names() {
    let tool = Tool::new();
    let json = tool
        .run(&["suite", "--dry-run", "--format", "json", "--only", "comet-*", "--only", "*-push"])
        .expect(0);
    let plan: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let ids: Vec<&str> =
        plan["cases"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
    assert!(ids.iter().all(|id| Glob::new("comet-*").matches(id) || id.ends_with("-push")));
    tool.run(&["suite", "--dry-run", "--only", "comet-stream-20"])
        .expect(2)
        .says(&["none of the", "did you mean comet-stream-200?"]);
    tool.run(&["suite", "--dry-run", "--scale", "2"]).expect(2).says(&["--scale 2", "above 0 to 1"]);
    tool.run(&["suite", "--dry-run", "--repeat", "0"]).expect(2).says(&["--repeat 0", "1 or more"]);
    tool.run(&["suite", "--resume"]).expect(2).says(&["--output"]);
}
