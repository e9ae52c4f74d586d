//! The values of `{secret.NAME}`, from the environment and the file of `[target] secrets`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use pushmark_model::scenario::{Scenario, ScenarioError, is_secret_name};
use pushmark_model::secret::{LEN_MIN, SecretValues, variable};
use pushmark_model::template::ClientFields;

use super::read_bytes;
use pushmark_console::output::note;
use pushmark_console::redact;

/// Finds the value of every secret that a scenario names.
///
/// # Errors
/// Fails if a name has no value, a value is too short to be recognized in other text, or the file is invalid.
pub(super) fn read(scenario: &Scenario, folder: &Path) -> Result<SecretValues, Vec<ScenarioError>> {
    let file = match &scenario.target.secrets {
        Some(path) => of_file(path, &folder.join(path)).map_err(|error| vec![*error])?,
        None => BTreeMap::new(),
    };
    let mut errors = Vec::new();
    let mut values = Vec::new();
    for (name, key) in scenario.secret_names() {
        let named = format!("{{secret.{name}}}");
        let given = std::env::var(variable(&name)).ok().or_else(|| file.get(&name).cloned());
        match given {
            None => {
                let line = format!("a line {name}=VALUE in the file of target.secrets");
                errors.push(
                    ScenarioError::at(key, format!("{named} has no value"))
                        .found(&named)
                        .accepted(format!("the environment variable {}, or {line}", variable(&name))),
                );
            }
            Some(value) if value.len() < LEN_MIN || value.contains(['\r', '\n', '\0']) => errors.push(
                ScenarioError::at(key, format!("the value of {named} cannot be removed from a result"))
                    .found(&named)
                    .accepted(format!("one line of {LEN_MIN} bytes or more")),
            ),
            Some(value) => values.push((name, value)),
        }
    }
    if errors.is_empty() { Ok(values.into_iter().collect()) } else { Err(errors) }
}

/// Reads lines of `NAME=VALUE`. Empty lines and lines that begin with `#` are ignored.
fn of_file(written: &str, path: &Path) -> Result<BTreeMap<String, String>, Box<ScenarioError>> {
    let wrong = |what: String| {
        let error = ScenarioError::at("target.secrets", what).found(format!("{written:?}"));
        Box::new(error.accepted("a text file with a line NAME=VALUE for each secret"))
    };
    let bytes = read_bytes(path).map_err(|error| wrong(format!("the file of secrets: {}", error.message)))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("the file of secrets is not UTF-8".to_owned()))?;
    let mode = path.metadata().map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        note(&format!("{}: other users can read these secrets; use chmod 600", path.display()));
    }
    let mut values = BTreeMap::new();
    for (n, line) in text.lines().enumerate().map(|(n, line)| (n, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // The line itself may be a secret, so only its number is reported.
        let (name, value) =
            line.split_once('=').ok_or_else(|| wrong(format!("line {} has no `=`", n + 1)))?;
        values.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(values)
}

/// Hides these from now on: the values of secrets, the literal credentials of the scenario, and those of
/// its clients' table.
pub(super) fn learn(scenario: &Scenario, clients: Option<&ClientFields>, secrets: &SecretValues) {
    let mut known = scenario.distinct_secrets();
    secrets.iter().for_each(|(_, value)| known.add(value));
    if let Some(clients) = clients {
        let used = scenario.credential_columns();
        for (n, name) in clients.columns.iter().enumerate() {
            if is_secret_name(name) || used.contains(name) {
                clients.rows.iter().filter_map(|row| row.get(n)).for_each(|value| known.add(value));
            }
        }
    }
    redact::learn(&known);
}
