//! `studies/pages` is made from `studies/suites/` and `record/`: a stale page fails. `PUSHMARK_BLESS=1`, which
//! `cargo xtask studies` sets, rewrites the pages.

mod tool;

use std::fs;
use std::path::{Path, PathBuf};

use pushmark_model::run::RunFiles;
use pushmark_model::suite::{Suite, SuiteFile};
use pushmark_report::suite::{StudySuite, study_page};
use pushmark_store as store;

/// Returns the kept results of a suite: their folder, the suite and its runs. The figures are those that
/// its file asks for today.
fn kept(root: &Path, file: &SuiteFile) -> Option<(String, Suite, Vec<RunFiles>)> {
    let mut machines: Vec<PathBuf> =
        fs::read_dir(root.join("record")).ok()?.flatten().map(|entry| entry.path()).collect();
    machines.sort();
    // The newest record of the suite.
    let folder =
        machines.into_iter().rev().map(|m| m.join(&file.name)).find(|f| f.join("suite.json").is_file())?;
    let mut suite: Suite = serde_json::from_str(&fs::read_to_string(folder.join("suite.json")).ok()?).ok()?;
    suite.figures.clone_from(&file.figures);
    let runs = store::find_runs(&folder).into_iter().map(|run| {
        let (run, windows) = store::load(&run).expect("a kept run is readable");
        RunFiles { run, windows }
    });
    let runs = runs.collect();
    Some((folder.strip_prefix(root).ok()?.display().to_string(), suite, runs))
}

#[test]
fn the_pages_of_the_studies_are_those_of_the_record() {
    let root = tool::root();
    let mut files: Vec<PathBuf> =
        fs::read_dir(root.join("studies/suites")).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut suites = Vec::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "toml")) {
        let text = fs::read_to_string(file).unwrap();
        let suite = SuiteFile::parse(&text, &[]).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        if let Some(study) = suite.study.clone() {
            let kept = kept(&root, &suite);
            suites.push((suite.name, suite.analysis, study, kept));
        }
    }
    let folder = root.join("studies/pages");
    let bless = std::env::var_os("PUSHMARK_BLESS").is_some();
    for number in 1..=5 {
        let of: Vec<StudySuite<'_>> = suites
            .iter()
            .filter(|(_, _, study, _)| study.number == number)
            .map(|(name, analysis, study, kept)| StudySuite {
                name,
                analysis,
                study,
                kept: kept.as_ref().map(|(folder, suite, runs)| (folder.as_str(), suite, runs.as_slice())),
            })
            .collect();
        let page = study_page(number, &of);
        let mut written = vec![(format!("{number}.md"), page.text)];
        written.extend(page.drawings);
        for (name, text) in written {
            let path = folder.join(&name);
            if bless {
                fs::create_dir_all(path.parent().expect("a file in a folder")).unwrap();
                fs::write(&path, &text).unwrap();
            }
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert!(found == text, "studies/pages/{name} is stale: cargo xtask studies writes it anew");
        }
    }
}
