//! The table of a figure: the same numbers twice, for people in the page and plain in CSV (unit in the
//! column name, empty = absent).

use maud::{Markup, html};

use super::css;
use super::numbers::{PAGE, TimeUnit};

/// One value as shown and as written to CSV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// For people.
    pub shown: String,
    /// For programs.
    pub plain: String,
}

impl Cell {
    /// A text, the same for both.
    pub fn text(text: impl Into<String>) -> Cell {
        let shown: String = text.into();
        Cell { plain: shown.clone(), shown }
    }

    /// A count, grouped for people.
    pub fn count(value: u64) -> Cell {
        Cell { shown: PAGE.count(value), plain: value.to_string() }
    }

    /// A count, or an absent value.
    pub fn count_or_absent(value: Option<u64>) -> Cell {
        value.map_or_else(Cell::absent, Cell::count)
    }

    /// Shows three significant digits, and keeps more for CSV.
    pub fn number(value: Option<f64>) -> Cell {
        value.map_or_else(Cell::absent, |v| Cell { shown: PAGE.three(v), plain: plain(v) })
    }

    /// Shows µs in the unit of the column.
    pub fn time(value_us: Option<f64>, unit: TimeUnit) -> Cell {
        value_us.map_or_else(Cell::absent, |v| Cell { shown: PAGE.time_in(v, unit), plain: plain(v) })
    }

    /// A value that was not measured: a dash, empty in CSV.
    pub fn absent() -> Cell {
        Cell { shown: "–".into(), plain: String::new() }
    }

    /// Shows a dash and the reason.
    pub fn absent_for(reason: &str) -> Cell {
        Cell { shown: format!("– {reason}"), plain: String::new() }
    }
}

/// Formats digits without grouping.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:.6}") }
}

/// A table of a figure.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Heading in the page and name in CSV.
    pub columns: Vec<(String, String)>,
    /// One cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// The page shows every n-th row; CSV has all.
    pub each: usize,
}

impl Table {
    /// An empty table of these columns: heading, and name in CSV.
    pub fn new(columns: &[(&str, &str)]) -> Table {
        let columns =
            columns.iter().map(|(shown, plain)| ((*shown).to_string(), (*plain).to_string())).collect();
        Table { columns, rows: Vec::new(), each: 1 }
    }

    /// Adds a row, a cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a cell a column");
        self.rows.push(row);
    }

    /// Leaves out rows of the page, so that at most sixty remain.
    pub fn thinned(mut self) -> Table {
        self.each = self.rows.len().div_ceil(60).max(1);
        self
    }

    /// Renders CSV.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|c| c.1.as_str())).expect("writing to memory");
        for row in &self.rows {
            writer.write_record(row.iter().map(|c| c.plain.as_str())).expect("writing to memory");
        }
        String::from_utf8(writer.into_inner().expect("writing to memory")).expect("all cells are UTF-8")
    }

    /// Renders HTML. On a narrow page each row is a block, its cells named by a rule a column.
    pub fn html(&self, id: &str) -> Markup {
        let names: String = self
            .columns
            .iter()
            .enumerate()
            .skip(1)
            .map(|(i, c)| format!("#{id} td:nth-child({}):before{{content:{}}}", i + 1, css::string(&c.0)))
            .collect();
        html! {
            style { (maud::PreEscaped(format!("@media screen and (max-width:760px){{{names}}}"))) }
            table id=(id) {
                thead { tr { @for column in &self.columns { th scope="col" { (column.0) } } } }
                tbody {
                    @for row in self.rows.iter().step_by(self.each.max(1)) {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell.shown) } } @else { td { (cell.shown) } }
                            }
                        }
                    }
                }
            }
            @if self.each > 1 {
                p.more { "One row of " (self.each) " is shown; CSV has all " (PAGE.count(self.rows.len() as u64)) "." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_plain_and_absent_is_empty() {
        let mut table = Table::new(&[("arm", "arm"), ("p99, ms", "p99_us"), ("count", "count")]);
        table.push(vec![
            Cell::text("a, b"),
            Cell::time(Some(12_345.0), TimeUnit::Ms),
            Cell::count(6_000_000),
        ]);
        table.push(vec![Cell::text("c"), Cell::absent(), Cell::count_or_absent(None)]);
        assert_eq!(table.csv(), "arm,p99_us,count\n\"a, b\",12345,6000000\nc,,\n");
    }
}
