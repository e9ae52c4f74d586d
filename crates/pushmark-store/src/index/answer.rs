//! The answer to a query: columns and rows, as text, JSON or CSV.

use anyhow::{Context as _, bail};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::SCHEMA;

/// Maximum rows of an answer; an answer with more reports the limit.
const ROWS_MAX: usize = 100_000;

/// The result of a SELECT.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, null where absent.
    pub rows: Vec<Vec<Value>>,
    /// The result had more rows than these.
    pub cut_off: bool,
}

impl Answer {
    /// Runs one statement that only reads.
    pub(super) fn of(database: &Connection, sql: &str) -> anyhow::Result<Answer> {
        let mut statement = database
            .prepare(sql)
            .with_context(|| format!("the query cannot be run; the tables are\n{SCHEMA}"))?;
        if !statement.readonly() {
            bail!("the index is read-only here; it is built from the run folders");
        }
        let columns: Vec<String> = statement.column_names().map(str::to_string).collect();
        let mut answer = Answer { columns, ..Answer::default() };
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if answer.rows.len() == ROWS_MAX {
                answer.cut_off = true;
                break;
            }
            let values = (0..answer.columns.len()).map(|at| row.get_ref(at).map(value));
            answer.rows.push(values.collect::<Result<_, _>>()?);
        }
        Ok(answer)
    }

    /// Renders a table: numbers to the right, `–` if absent.
    pub fn text(&self) -> String {
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|v| if v.is_null() { "–".into() } else { plain(v) }).collect())
            .collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                let widest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
                widest.max(self.columns[at].chars().count())
            })
            .collect();
        let is_number: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().any(|row| row[at].is_number())).collect();
        let line = |row: &[String]| {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[at] - cell.chars().count());
                let gap = if at == 0 { "" } else { "  " };
                let cell = if is_number[at] { format!("{pad}{cell}") } else { format!("{cell}{pad}") };
                line.push_str(&format!("{gap}{cell}"));
            }
            line.trim_end().to_string() + "\n"
        };
        let mut text = line(&self.columns);
        text.extend(cells.iter().map(|row| line(row)));
        if self.cut_off {
            text.push_str(&format!("only the first {ROWS_MAX} rows are shown\n"));
        }
        text
    }

    /// A list of objects.
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Value>| self.columns.iter().cloned().zip(row.iter().cloned()).collect();
        Value::Array(self.rows.iter().map(|row| Value::Object(object(row))).collect())
    }

    /// Renders comma-separated values with a header; empty if absent.
    pub fn csv(&self) -> anyhow::Result<String> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(&self.columns)?;
        for row in &self.rows {
            csv.write_record(row.iter().map(plain))?;
        }
        Ok(String::from_utf8(csv.into_inner()?)?)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    }
}
