//! Axes: what each of their values sets, and which lines of the suite set it.

use super::source::{Written, WrittenAxis, WrittenMatrix, is_own};
use crate::scenario::{ScenarioError, Source, join, nearest, parse_path};

/// A key of the scenario, its value, and the lines of the suite that set it.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// The key's path in the scenario.
    pub(super) path: Vec<String>,
    pub(super) value: toml::Value,
    /// Place of the key in the suite.
    pub(super) key_at: Vec<String>,
    /// Place of the value in the suite.
    pub(super) value_at: Vec<String>,
}

/// A value of an axis.
pub(super) struct Value {
    pub(super) text: String,
    pub(super) sets: Vec<Set>,
}

/// An axis of one matrix.
pub(super) struct Effective<'w> {
    pub(super) name: &'w str,
    pub(super) label: Option<&'w str>,
    pub(super) values: Vec<Value>,
}

/// Returns the axes of a matrix in their order: those of `order_of_axes`, then the common axes, then the
/// matrix's own. An own axis replaces a common one of the same name. Each group is in the order of the file.
pub(super) fn effective<'w>(
    written: &'w Written,
    matrix: &'w WrittenMatrix,
    at: &[String],
    source: &Source,
    seen: &mut Vec<Vec<String>>,
    errors: &mut Vec<ScenarioError>,
) -> Vec<Effective<'w>> {
    let mut all: Vec<(usize, &str, &WrittenAxis, Vec<String>)> = Vec::new();
    for (name, axis) in &written.axes {
        let common_at = vec![text("axes"), name.clone()];
        let position = source.position(&common_at);
        match matrix.axes.get(name) {
            Some(own) => all.push((position, name, own, [at, &common_at].concat())),
            None => all.push((position, name, axis, common_at)),
        }
    }
    for (name, axis) in matrix.axes.iter().filter(|(name, _)| !written.axes.contains_key(*name)) {
        let own_at = [at, &[text("axes"), name.clone()]].concat();
        // Keys of a matrix come after those of all matrices, wherever the tables are in the file.
        all.push((source.position(&own_at).saturating_add(usize::MAX / 2), name, axis, own_at));
    }
    all.sort_by_key(|(position, name, ..)| (rank(written, name), *position));
    let mut effective = Vec::new();
    for (_, name, axis, at) in all {
        // A common axis is read for each matrix; its mistakes are reported once.
        let mut found = Vec::new();
        let values = values_of(name, axis, &at, source, &mut found);
        if !seen.contains(&at) {
            seen.push(at.clone());
            errors.append(&mut found);
        }
        effective.push(Effective { name, label: axis.label.as_deref(), values });
    }
    effective
}

fn values_of(
    name: &str,
    axis: &WrittenAxis,
    at: &[String],
    source: &Source,
    errors: &mut Vec<ScenarioError>,
) -> Vec<Value> {
    let here = join(at);
    if axis.values.is_empty() {
        let error = ScenarioError::at(format!("{here}.values"), format!("the axis `{name}` has no values"));
        errors.push(error.accepted("a list of values, such as [\"1s\", \"5s\"] or [1000, 5000]"));
    }
    let key_at = [at, &[text("key")]].concat();
    let path = axis.key.as_deref().map(|key| {
        let path = parse_path(key);
        match &path {
            None => errors.push(no_key(format!("{here}.key"), key)),
            Some(path) => {
                let own = is_own(path, format!("{here}.key"));
                // Here the key is the value of another key.
                errors.extend(own.map(|error| ScenarioError { on_key: false, ..error }));
            }
        }
        path.unwrap_or_default()
    });
    let mut values: Vec<Value> = Vec::new();
    for (i, value) in axis.values.iter().enumerate() {
        let value_at = [at, &[text("values"), i.to_string()]].concat();
        let before = errors.len();
        let value = match (value, &path) {
            (toml::Value::Table(table), _) => several(table, &value_at, source, errors),
            (scalar, Some(path)) => shown(scalar).map(|text| Value {
                text,
                sets: vec![Set {
                    path: path.clone(),
                    value: scalar.clone(),
                    key_at: key_at.clone(),
                    value_at: value_at.clone(),
                }],
            }),
            (_, None) => {
                errors.push(
                    ScenarioError::at(&here, format!("the axis `{name}` has no `key` for its values"))
                        .accepted("key = \"load.connections\" beside the values, or values such as { name = \"…\", set = { … } }"),
                );
                return Vec::new();
            }
        };
        let Some(value) = value else {
            if errors.len() == before {
                errors.push(
                    ScenarioError::at(join(&value_at), "this value has no name")
                        .accepted("a text, a number, true or false; else { name = \"…\", set = { … } }"),
                );
            }
            continue;
        };
        if values.iter().any(|other| other.text == value.text) {
            let error =
                ScenarioError::at(join(&value_at), format!("the axis `{name}` has `{}` twice", value.text));
            errors.push(error.found(format!("{:?} again", value.text)).accepted("each value once"));
            continue;
        }
        values.push(value);
    }
    values
}

/// A value that sets several keys: `{ name = "comet", set = { transports = ["stream"] } }`.
fn several(
    table: &toml::Table,
    at: &[String],
    source: &Source,
    errors: &mut Vec<ScenarioError>,
) -> Option<Value> {
    const KEYS: [&str; 2] = ["name", "set"];
    for key in table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        errors.push(
            ScenarioError::at(
                join(&[at, std::slice::from_ref(key)].concat()),
                format!("unknown key `{key}` in a value"),
            )
            .found(format!("`{key}`"))
            .accepted(KEYS.join(", "))
            .nearest(nearest(key, KEYS))
            .on_key(),
        );
    }
    let name = table.get("name").and_then(shown);
    let set = table.get("set").and_then(toml::Value::as_table);
    let (Some(text), Some(set)) = (name, set) else {
        errors.push(
            ScenarioError::at(join(at), "this value does not say what it sets, or has no name").accepted(
                "{ name = \"comet\", set = { transports = [\"stream\"], \"load.hold\" = \"180s\" } }",
            ),
        );
        return None;
    };
    Some(Value { text, sets: sets_of(set, &[at, &["set".to_owned()]].concat(), source, errors) })
}

/// Returns the keys of a `set`, in the order of the file. `"load.hold"` names a key of the scenario. A table
/// under a name without dots is flattened, so that `load = { hold = … }` means the same.
pub(super) fn sets_of(
    set: &toml::Table,
    at: &[String],
    source: &Source,
    errors: &mut Vec<ScenarioError>,
) -> Vec<Set> {
    let mut sets = Vec::new();
    for (key, value) in set {
        let here = [at, std::slice::from_ref(key)].concat();
        let path = if key.contains(['.', '"']) { parse_path(key) } else { Some(vec![key.clone()]) };
        match path {
            Some(path) => {
                errors.extend(is_own(&path, join(&here)));
                flatten(path, value, here, &mut sets);
            }
            None => errors.push(no_key(join(&here), key).on_key()),
        }
    }
    sets.sort_by_key(|set| source.position(&set.value_at));
    sets
}

fn flatten(path: Vec<String>, value: &toml::Value, at: Vec<String>, sets: &mut Vec<Set>) {
    match value {
        toml::Value::Table(table) if path.len() == 1 && at.last() == path.last() && !table.is_empty() => {
            for (key, value) in table {
                let with = |path: &[String]| [path, std::slice::from_ref(key)].concat();
                sets.push(Set {
                    path: with(&path),
                    value: value.clone(),
                    key_at: with(&at),
                    value_at: with(&at),
                });
            }
        }
        _ => sets.push(Set { path, value: value.clone(), key_at: at.clone(), value_at: at }),
    }
}

fn no_key(at: String, key: &str) -> ScenarioError {
    ScenarioError::at(at, "this is not a key of a scenario")
        .found(format!("{key:?}"))
        .accepted("a dotted key, such as \"load.connections\"")
}

/// Returns a value as text: for tables, ids and exclusions.
pub(super) fn shown(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) if !text.is_empty() => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(yes.to_string()),
        _ => None,
    }
}

/// Returns the place of an axis in `order_of_axes`; axes that it does not name are last.
pub(super) fn rank(written: &Written, name: &str) -> usize {
    written.order_of_axes.iter().position(|n| n == name).unwrap_or(usize::MAX)
}

pub(super) fn text(word: &str) -> String {
    word.to_owned()
}
