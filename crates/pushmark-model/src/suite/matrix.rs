//! Expands matrices: every combination of the values of the axes, without the excluded ones. Records which
//! line of the suite set which key of a cell.

use std::collections::BTreeMap;

use super::Axis;
use super::axis::{Effective, Set, Value, effective, rank, sets_of, shown, text};
use super::source::{Written, WrittenMatrix};
use crate::scenario::{ScenarioError, Source, join, nearest};

/// Maximum number of cases of a suite: a month at four minutes per case.
const CASES_MAX: usize = 10_000;

/// One cell: its place in the matrix and its scenario.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its axis values joined by `-`, as part of a path.
    pub id: String,
    /// Axis → value.
    pub axes: BTreeMap<String, String>,
    /// The scenario's keys.
    pub(super) scenario: toml::Table,
    /// The keys that were set, in order: a later one replaces an earlier one.
    pub(super) sets: Vec<Set>,
}

/// Expanded matrices.
pub(super) struct Expanded {
    /// All axes.
    pub(super) axes: Vec<Axis>,
    /// All cells, in the order of the matrices and of the axes.
    pub(super) cells: Vec<Cell>,
    /// Mistakes in axes and in set values. Values of other axes may be missing because of them.
    pub(super) axes_errors: Vec<ScenarioError>,
    /// All other mistakes.
    pub(super) errors: Vec<ScenarioError>,
}

/// Expands all matrices. If there are errors, cells may be missing.
pub(super) fn expand(written: &Written, source: &Source) -> Expanded {
    let mut axes_errors = Vec::new();
    let mut errors = Vec::new();
    let mut axes: Vec<Axis> = Vec::new();
    let mut cells: Vec<(usize, Cell)> = Vec::new();
    let mut seen = Vec::new();
    for (m, matrix) in written.matrix.iter().enumerate() {
        let at = [text("matrix"), m.to_string()];
        let fixed = sets_of(&matrix.set, &[&at[..], &[text("set")]].concat(), source, &mut axes_errors);
        let effective = effective(written, matrix, &at, source, &mut seen, &mut axes_errors);
        for axis in &effective {
            take_in(&mut axes, axis);
        }
        let excluded = excluded(matrix, &at, &effective, &mut errors);
        let count = effective.iter().map(|axis| axis.values.len()).try_fold(1usize, usize::checked_mul);
        if count.is_none_or(|count| count + cells.len() > CASES_MAX) {
            errors.push(
                ScenarioError::at(join(&at), "the suite has too many cases")
                    .found(count.map_or("more than can be counted".to_owned(), |n| format!("{n} cases here")))
                    .accepted(format!("at most {CASES_MAX}")),
            );
            continue;
        }
        let before = cells.len();
        for values in combinations(&effective) {
            let names = effective.iter().zip(&values).map(|(axis, v)| (axis.name.to_owned(), v.text.clone()));
            let names: BTreeMap<String, String> = names.collect();
            let matches = |exclude: &BTreeMap<String, Vec<String>>| {
                exclude.iter().all(|(axis, any)| any.contains(&names[axis]))
            };
            if excluded.iter().any(matches) {
                continue;
            }
            let sets = fixed.iter().chain(values.iter().flat_map(|v| &v.sets)).cloned().collect();
            let id = id_of(values.iter().map(|v| v.text.as_str()), &matrix.name);
            match cell(id, names, &written.scenario, sets) {
                Ok(cell) => cells.push((m, cell)),
                Err(error) if axes_errors.contains(&*error) => {}
                Err(error) => axes_errors.push(*error),
            }
        }
        if cells.len() == before && axes_errors.is_empty() {
            errors.push(
                ScenarioError::at(join(&at), format!("{} has no case left", named(matrix, m)))
                    .found("exclusions that match every case")
                    .accepted("at least one case a matrix"),
            );
        }
    }
    order_of_axes(written, &axes, &mut errors);
    if axes_errors.is_empty() && errors.is_empty() {
        errors = doubled(written, &cells);
    }
    axes.sort_by_key(|axis| rank(written, &axis.name));
    let cells = cells.into_iter().map(|(_, cell)| cell).collect();
    Expanded { axes, cells, axes_errors, errors }
}

fn order_of_axes(written: &Written, axes: &[Axis], errors: &mut Vec<ScenarioError>) {
    for (i, name) in written.order_of_axes.iter().enumerate() {
        if !axes.iter().any(|axis| axis.name == *name) {
            errors.push(unknown_axis(
                format!("order_of_axes[{i}]"),
                name,
                axes.iter().map(|a| a.name.as_str()),
            ));
        }
    }
}

/// Adds an axis of a matrix to those of the suite, with the values that are not yet known.
fn take_in(axes: &mut Vec<Axis>, axis: &Effective<'_>) {
    let at = axes.iter().position(|known| known.name == axis.name).unwrap_or_else(|| {
        let name = axis.name.to_owned();
        axes.push(Axis { label: axis.label.unwrap_or(&name).to_owned(), name, values: Vec::new() });
        axes.len() - 1
    });
    for value in &axis.values {
        if !axes[at].values.contains(&value.text) {
            axes[at].values.push(value.text.clone());
        }
    }
}

/// Axis → the values that are excluded together.
fn excluded(
    matrix: &WrittenMatrix,
    at: &[String],
    axes: &[Effective<'_>],
    errors: &mut Vec<ScenarioError>,
) -> Vec<BTreeMap<String, Vec<String>>> {
    let mut all = Vec::new();
    for (i, written) in matrix.exclude.iter().enumerate() {
        let here = [at, &[text("exclude"), i.to_string()]].concat();
        if written.is_empty() {
            let error = ScenarioError::at(join(&here), "this exclusion names no axis");
            errors.push(error.accepted("an axis and its value or values, such as style = [\"comet\"]"));
            continue;
        }
        let mut exclude = BTreeMap::new();
        for (name, given) in written {
            let key = join(&[&here[..], std::slice::from_ref(name)].concat());
            let Some(axis) = axes.iter().find(|axis| axis.name == name) else {
                errors.push(unknown_axis(key, name, axes.iter().map(|a| a.name)).on_key());
                continue;
            };
            let list = match given {
                toml::Value::Array(list) => list.clone(),
                one => vec![one.clone()],
            };
            let known: Vec<&str> = axis.values.iter().map(|v| v.text.as_str()).collect();
            let mut any = Vec::new();
            for (n, value) in list.iter().enumerate() {
                let value_key = if given.is_array() { format!("{key}[{n}]") } else { key.clone() };
                match shown(value) {
                    Some(text) if known.contains(&text.as_str()) => any.push(text),
                    // An axis with invalid values was already reported.
                    _ if known.is_empty() => {}
                    text => errors.push(unknown_value(
                        value_key,
                        name,
                        &text.unwrap_or(value.to_string()),
                        &known,
                    )),
                }
            }
            exclude.insert(name.clone(), any);
        }
        all.push(exclude);
    }
    all
}

pub(super) fn unknown_axis<'a>(
    key: String,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> ScenarioError {
    let known: Vec<&str> = known.collect();
    ScenarioError::at(key, format!("there is no axis `{name}`"))
        .found(format!("{name:?}"))
        .accepted(if known.is_empty() { "no axis: the suite has none".to_owned() } else { known.join(", ") })
        .nearest(nearest(name, known.iter().copied()))
}

pub(super) fn unknown_value(key: String, axis: &str, value: &str, known: &[&str]) -> ScenarioError {
    ScenarioError::at(key, format!("the axis `{axis}` has no value `{value}`"))
        .found(format!("{value:?}"))
        .accepted(known.join(", "))
        .nearest(nearest(value, known.iter().copied()))
}

/// Returns every combination. The last axis changes fastest.
fn combinations<'e>(axes: &'e [Effective<'_>]) -> Vec<Vec<&'e Value>> {
    axes.iter().fold(vec![Vec::new()], |all, axis| {
        let with = |values: &Vec<&'e Value>, value| values.iter().copied().chain([value]).collect();
        all.iter().flat_map(|values| axis.values.iter().map(move |value| with(values, value))).collect()
    })
}

/// Returns cases with the same name: they would share a row and be mistaken for each other.
fn doubled(written: &Written, cells: &[(usize, Cell)]) -> Vec<ScenarioError> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut told: Vec<(usize, usize)> = Vec::new();
    let mut errors = Vec::new();
    for (m, cell) in cells {
        let Some(&other) = first.get(cell.id.as_str()) else {
            first.insert(&cell.id, *m);
            continue;
        };
        // Two matrices that share one name share many: the first is enough.
        if told.contains(&(other, *m)) {
            continue;
        }
        told.push((other, *m));
        let of = |m: usize| named(&written.matrix[m], m);
        let both = if other == *m { of(*m) } else { format!("{} and {}", of(other), of(*m)) };
        let given = cell.axes.iter().map(|(axis, value)| format!("{axis} = {value}"));
        errors.push(
            ScenarioError::at(
                format!("matrix[{m}]"),
                format!("two cases are called `{}`, in {both}", cell.id),
            )
            .found(given.collect::<Vec<_>>().join(", "))
            .accepted("values whose names, joined by hyphens, differ")
            .help("give a value another name: { name = \"…\", set = { … } }"),
        );
    }
    errors
}

fn named(matrix: &WrittenMatrix, m: usize) -> String {
    if matrix.name.is_empty() { format!("matrix {}", m + 1) } else { format!("the matrix `{}`", matrix.name) }
}

fn cell(
    id: String,
    axes: BTreeMap<String, String>,
    common: &toml::Table,
    sets: Vec<Set>,
) -> Result<Cell, Box<ScenarioError>> {
    let mut scenario = common.clone();
    for set in &sets {
        if let Err(in_the_way) = put(&mut scenario, &set.path, set.value.clone()) {
            let text = format!("`{in_the_way}` is not a table here, so it has no keys");
            return Err(Box::new(ScenarioError::at(join(&set.key_at), text).on_key()));
        }
    }
    Ok(Cell { id, axes, scenario, sets })
}

/// Sets a value at a path. Fails with the key that is not a table.
pub(super) fn put(mut table: &mut toml::Table, path: &[String], value: toml::Value) -> Result<(), String> {
    let Some((last, parents)) = path.split_last() else { return Ok(()) };
    for (depth, parent) in parents.iter().enumerate() {
        let next = table.entry(parent.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        table = next.as_table_mut().ok_or_else(|| join(&path[..=depth]))?;
    }
    table.insert(last.clone(), value);
    Ok(())
}

/// Returns values joined by hyphens, in `[a-z0-9.-]`; for a matrix without axes, its name.
fn id_of<'v>(values: impl Iterator<Item = &'v str>, matrix: &str) -> String {
    let mut joined = values.collect::<Vec<_>>().join("-");
    if joined.is_empty() {
        joined = if matrix.is_empty() { text("case") } else { matrix.to_owned() };
    }
    let mut id = String::with_capacity(joined.len());
    for character in joined.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() || character == '.' {
            id.push(character);
        } else if !id.is_empty() && !id.ends_with('-') {
            id.push('-');
        }
    }
    id.trim_end_matches('-').trim_start_matches('.').to_owned()
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
