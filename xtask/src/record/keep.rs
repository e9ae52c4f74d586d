//! The part of a suite's folder that is kept in the repository. It holds what a report needs and no bulk, and
//! names no folder of the machine it ran on. Called again after more cases, it adds the new ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::shell;

/// Keys of `suite.json` that say which suite it is, beside what of its text is measured.
const SAME: [&str; 4] = ["name", "seed", "scale", "scale_time"];

/// What was done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) all: usize,
    pub(super) new: usize,
    pub(super) replaced: usize,
}

/// Keeps the runs of the suite in `from` under `to`.
pub(super) fn keep(from: &Path, to: &Path) -> anyhow::Result<Done> {
    let names = Names::of(from);
    let suite = json(&from.join("suite.json"))?;
    if let Ok(before) = json(&to.join("suite.json")) {
        let clean = names.without(suite.clone());
        if let Some(key) = SAME.into_iter().find(|key| before.get(key) != clean.get(key)) {
            bail!("{} holds another suite: its {key} differs", to.display());
        }
        if measured(&before) != measured(&clean) {
            bail!("{} holds another suite: its text measures something else", to.display());
        }
    }
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let mut there = runs(to)?;
    let mut done = Done { all: 0, new: 0, replaced: 0 };
    for (case, folder) in runs(from)? {
        let name = folder.file_name().context("a run's folder has a name")?.to_owned();
        let place = to.join(&name);
        if place.is_dir() {
            continue;
        }
        if let Some(old) = there.insert(case, place.clone()) {
            // Measured again: one start of a case is one run.
            fs::remove_dir_all(&old).with_context(|| old.display().to_string())?;
            done.replaced += 1;
        }
        let run = names.without(json(&folder.join("run.json"))?);
        // Beside its place, then renamed: what is cut off half-way must not be taken for a run.
        let partial = to.join(format!(".{}.partial", name.to_string_lossy()));
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir(&partial)?;
        fs::write(partial.join("run.json"), serde_json::to_string(&run)? + "\n")?;
        fs::copy(folder.join("windows.csv"), partial.join("windows.csv"))?;
        fs::rename(&partial, &place).with_context(|| place.display().to_string())?;
        done.new += 1;
    }
    fs::write(to.join("suite.json"), serde_json::to_string_pretty(&names.without(suite))? + "\n")?;
    done.all = there.len();
    Ok(done)
}

/// The text of a suite without its descriptions and figures: these may be corrected later.
pub(super) fn measured(suite: &Value) -> toml::Table {
    measured_of(suite["text"].as_str().unwrap_or_default())
}

/// The same of the text itself.
pub(super) fn measured_of(text: &str) -> toml::Table {
    let mut table: toml::Table = text.parse().unwrap_or_default();
    table.retain(|key, _| !["analysis", "study", "figures"].contains(&key));
    table
}

/// Whole runs of a suite's folder, by case and start. Those that were interrupted are not kept.
fn runs(folder: &Path) -> anyhow::Result<BTreeMap<(String, u64), PathBuf>> {
    let mut runs = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if hidden || !path.join("run.json").is_file() {
            continue;
        }
        let run = json(&path.join("run.json"))?;
        let (case, repeat) = (run.pointer("/case/id"), run.pointer("/case/repeat"));
        let (Some(case), Some(repeat)) = (case.and_then(Value::as_str), repeat.and_then(Value::as_u64))
        else {
            bail!("{} is no run of a suite", path.display())
        };
        let reasons = run.pointer("/verdict/reasons").and_then(Value::as_array);
        if !reasons.is_some_and(|all| all.iter().any(|reason| reason["code"] == "interrupted")) {
            runs.insert((case.to_owned(), repeat), path);
        }
    }
    Ok(runs)
}

pub(super) fn json(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Folders of this machine, and their replacements.
struct Names(Vec<(String, String)>);

impl Names {
    fn of(suite: &Path) -> Names {
        let mut names = Vec::new();
        let mut add = |path: &Path, word: &str| {
            for path in [path.canonicalize().ok(), std::path::absolute(path).ok()].into_iter().flatten() {
                let text = path.display().to_string();
                if text.len() > 1 {
                    names.push((text, word.to_owned()));
                }
            }
        };
        add(suite, "SUITE");
        add(&shell::root(), ".");
        std::env::var_os("HOME").into_iter().for_each(|home| add(Path::new(&home), "~"));
        add(&std::env::temp_dir(), "TMP");
        // A folder inside another is named before the other.
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Names(names)
    }

    /// Replaces these folders in the value, at every depth.
    fn without(&self, value: Value) -> Value {
        match value {
            Value::String(text) => {
                Value::String(self.0.iter().fold(text, |text, (path, word)| text.replace(path, word)))
            }
            Value::Array(items) => items.into_iter().map(|item| self.without(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, field)| (key, self.without(field))).collect()
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(folder: &Path, id: &str, case: &str, interrupted: bool) {
        let reasons = if interrupted { r#"[{"code":"interrupted"}]"# } else { "[]" };
        let path = folder.join(id);
        fs::create_dir_all(&path).unwrap();
        let home = folder.display();
        let text = format!(
            "{{\n  \"id\": \"{id}\",\n  \"command\": \"pushmark suite -o {home}\",\n  \"case\": {{\"id\": \"{case}\", \"repeat\": 1}},\n  \
             \"verdict\": {{\"reasons\": {reasons}}}\n}}"
        );
        fs::write(path.join("run.json"), text).unwrap();
        for bulk in ["windows.csv", "latency.hlog", "report.html"] {
            fs::write(path.join(bulk), "x\n").unwrap();
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_kept_is_small_names_no_folder_and_grows_with_the_suite() {
        let parent = std::env::temp_dir().join(format!("xtask-record-{}", std::process::id()));
        let (from, to) = (parent.join("results"), parent.join("record"));
        fs::create_dir_all(&from).unwrap();
        fs::write(from.join("suite.json"), r#"{"name": "s", "text": "seed = 1", "repeat": 1}"#).unwrap();
        run(&from, "1-a", "a", false);
        run(&from, "2-b", "b", true);
        run(&from, ".3-c.7.partial", "c", false);
        assert_eq!(keep(&from, &to).unwrap(), Done { all: 1, new: 1, replaced: 0 });
        assert_eq!(names(&to), ["1-a", "suite.json"]);
        assert_eq!(names(&to.join("1-a")), ["run.json", "windows.csv"]);
        let text = fs::read_to_string(to.join("1-a/run.json")).unwrap();
        assert!(text.contains("-o SUITE") && text.lines().count() == 1, "{text}");

        run(&from, "4-b", "b", false);
        fs::remove_dir_all(from.join("2-b")).unwrap();
        fs::remove_dir_all(from.join("1-a")).unwrap();
        run(&from, "5-a", "a", false);
        assert_eq!(keep(&from, &to).unwrap(), Done { all: 2, new: 2, replaced: 1 });
        assert_eq!(names(&to), ["4-b", "5-a", "suite.json"]);
        assert_eq!(keep(&from, &to).unwrap(), Done { all: 2, new: 0, replaced: 0 });

        fs::write(from.join("suite.json"), r#"{"name": "s", "text": "seed = 2"}"#).unwrap();
        assert!(keep(&from, &to).unwrap_err().to_string().contains("measures something else"));
        fs::remove_dir_all(&parent).unwrap();
    }
}
