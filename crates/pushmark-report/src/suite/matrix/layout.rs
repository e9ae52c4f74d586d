//! Assigns axes to rows, columns and separate tables. Columns: the crowd (or the axis that the figure
//! names, or the last axis). Rows: the server and the style (or the first two others). A table for each
//! value of the rest.

use pushmark_model::suite::{Axis, Figure};
use pushmark_model::transport::Transport;

use super::super::super::case::ArmView;
use super::super::cells::{Cell, View};
use super::super::places::number as in_order;

/// Axes at the head of a row before all others.
const HEADS: [&str; 4] = ["server", "style", "transport", "scheme"];

/// The axes of a figure, each in its role.
pub(super) struct Layout<'a> {
    pub(super) rows: Vec<&'a Axis>,
    column: Option<&'a Axis>,
    /// A case has several arms, and each is a row.
    pub(super) by_transport: bool,
    rest: Vec<&'a Axis>,
    cells: Vec<usize>,
    view: &'a View<'a>,
}

/// One table.
pub(super) struct Block<'v, 'a> {
    /// The values of the axes that are neither rows nor columns.
    pub(super) title: String,
    /// Values of the column axis that occur, in its order.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row<'v, 'a>>,
}

/// One row.
pub(super) struct Row<'v, 'a> {
    pub(super) values: Vec<String>,
    /// Present only if a case has several arms, or if all cells of the row have the same transport.
    pub(super) transport: Option<Transport>,
    /// One a column.
    pub(super) cells: Vec<Option<&'v Cell<'a>>>,
}

impl<'a> Layout<'a> {
    /// Returns a layout for each set of axes: the cells of a suite may have different axes.
    pub(super) fn all(view: &'a View<'a>, figure: &Figure, cells: &[&'a Cell<'a>]) -> Vec<Layout<'a>> {
        let mut groups: Vec<(Vec<&String>, Vec<&'a Cell<'a>>)> = Vec::new();
        for cell in cells {
            let axes: Vec<&String> = cell.case.axes.keys().collect();
            match groups.iter_mut().find(|g| g.0 == axes) {
                Some(group) => group.1.push(cell),
                None => groups.push((axes, vec![cell])),
            }
        }
        let overall = view.varied(cells);
        groups.iter().map(|(_, cells)| Layout::of(view, figure, cells, &overall)).collect()
    }

    fn of(view: &'a View<'a>, figure: &Figure, cells: &[&'a Cell<'a>], overall: &[&'a Axis]) -> Layout<'a> {
        let varied = view.varied(cells);
        let has = |a: &&Axis| cells.iter().any(|c| c.axis(&a.name).is_some());
        let named = |name: &str| varied.iter().copied().find(|a| a.name == name);
        let column = named(&figure.x)
            .or_else(|| named("clients"))
            .or_else(|| varied.last().copied())
            .or_else(|| view.axis("clients").filter(has))
            .or_else(|| view.suite.axes.iter().rfind(has));
        let is_column = |a: &&Axis| column.is_some_and(|c| c.name == a.name);
        let mut others: Vec<&Axis> = varied.into_iter().filter(|a| !is_column(a)).collect();
        others.sort_by_key(|a| HEADS.iter().position(|h| *h == a.name).unwrap_or(HEADS.len()));
        if let Some(panel) = &figure.panel {
            others.sort_by_key(|a| a.name == *panel);
        }
        let rest = others.split_off(others.len().min(2));
        let mut rows = others;
        if rows.is_empty() {
            rows.extend(view.axis("server").filter(|a| has(a) && !is_column(a)));
        }
        // A value that these cells share, but not the whole figure, is in the title.
        let is_row = |a: &&Axis| rows.iter().any(|r| r.name == a.name);
        let fixed = overall
            .iter()
            .filter(|a| has(a) && !is_column(a) && !is_row(a) && !rest.iter().any(|r| r.name == a.name));
        let rest: Vec<&Axis> = fixed.copied().chain(rest.iter().copied()).collect();
        let by_transport = cells.iter().any(|c| c.arms().len() > 1);
        let cells =
            cells.iter().filter_map(|c| view.cells.iter().position(|d| std::ptr::eq(*c, d))).collect();
        Layout { rows, column, by_transport, rest, cells, view }
    }

    pub(super) fn column_label(&self) -> &str {
        self.column.map_or("", |a| a.label.as_str())
    }

    /// Returns the tables, in the order of the axes.
    pub(super) fn blocks(&self) -> Vec<Block<'_, 'a>> {
        let mut keys: Vec<(Vec<usize>, Vec<&Cell<'a>>)> = Vec::new();
        for cell in self.cells.iter().map(|i| &self.view.cells[*i]) {
            let key = places(&self.rest, cell);
            match keys.iter_mut().find(|k| k.0 == key) {
                Some(found) => found.1.push(cell),
                None => keys.push((key, vec![cell])),
            }
        }
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        keys.iter()
            .map(|(_, cells)| {
                let columns = self.columns_of(cells);
                let rows = self.rows_of(cells, &columns);
                Block { title: self.title(cells[0]), columns, rows }
            })
            .collect()
    }

    fn columns_of(&self, cells: &[&Cell<'a>]) -> Vec<String> {
        let Some(axis) = self.column else { return vec![String::new()] };
        let occurs = |value: &&String| cells.iter().any(|c| c.axis(&axis.name) == Some(value.as_str()));
        let mut columns: Vec<String> = axis.values.iter().filter(occurs).cloned().collect();
        // Crowds of several matrices are in the order of the suite, numbers in numeric order.
        if columns.iter().all(|v| in_order(v).is_some()) {
            columns
                .sort_by(|a, b| in_order(a).partial_cmp(&in_order(b)).unwrap_or(std::cmp::Ordering::Equal));
        }
        columns
    }

    fn title(&self, cell: &Cell<'_>) -> String {
        let part = |a: &&Axis| Some(format!("{} {}", a.label, cell.axis(&a.name)?));
        self.rest.iter().filter_map(part).collect::<Vec<_>>().join(", ")
    }

    fn rows_of<'v>(&'v self, cells: &[&'v Cell<'a>], columns: &[String]) -> Vec<Row<'v, 'a>> {
        let mut rows: Vec<(Vec<usize>, Row<'v, 'a>)> = Vec::new();
        for cell in cells {
            let key = places(&self.rows, cell);
            let column = self.column.map_or(Some(0), |axis| {
                columns.iter().position(|v| Some(v.as_str()) == cell.axis(&axis.name))
            });
            for transport in self.transports(cell, cells) {
                let found = rows.iter().position(|(k, r)| *k == key && r.transport == transport);
                let at = found.unwrap_or_else(|| {
                    let value = |a: &&Axis| cell.axis(&a.name).unwrap_or("–").to_string();
                    let values = self.rows.iter().map(value).collect();
                    rows.push((key.clone(), Row { values, transport, cells: vec![None; columns.len()] }));
                    rows.len() - 1
                });
                if let Some(column) = column {
                    rows[at].1.cells[column] = Some(cell);
                }
            }
        }
        rows.sort_by(|a, b| (&a.0, a.1.transport).cmp(&(&b.0, b.1.transport)));
        rows.into_iter().map(|r| r.1).collect()
    }

    /// Returns the arms for which a cell has a row: its own; without a run, those of its neighbours.
    fn transports(&self, cell: &Cell<'_>, cells: &[&Cell<'_>]) -> Vec<Option<Transport>> {
        if !self.by_transport {
            return vec![None];
        }
        let of = |c: &Cell<'_>| c.arms().iter().map(|a| Some(a.transport)).collect::<Vec<_>>();
        let own = of(cell);
        if !own.is_empty() {
            return own;
        }
        let like = cells.iter().filter(|c| places(&self.rows, c) == places(&self.rows, cell));
        let mut all: Vec<_> = like.flat_map(|c| of(c)).collect();
        all.sort();
        all.dedup();
        if all.is_empty() { vec![None] } else { all }
    }
}

impl<'a> Row<'_, 'a> {
    /// Returns any arm of the row, for its mark; `None` if its cells have different transports.
    pub(super) fn arm(&self) -> Option<&ArmView<'a>> {
        let mut arms = self.cells.iter().flatten().filter_map(|c| self.arm_of(c));
        let first = arms.next()?;
        arms.all(|a| a.transport == first.transport).then_some(first)
    }

    pub(super) fn arm_of<'c>(&self, cell: &'c Cell<'a>) -> Option<&'c ArmView<'a>> {
        match self.transport {
            Some(transport) => cell.arms().iter().find(|a| a.transport == transport),
            None => cell.arms().first(),
        }
    }

    /// Whether the first value differs from the row above.
    pub(super) fn opens(&self, above: Option<&Row<'_, '_>>) -> bool {
        above.is_some_and(|a| a.values.first() != self.values.first())
    }
}

/// Returns the position of a cell on each of some axes; an axis it does not have is last.
fn places(axes: &[&Axis], cell: &Cell<'_>) -> Vec<usize> {
    let place = |a: &&Axis| a.values.iter().position(|v| Some(v.as_str()) == cell.axis(&a.name));
    axes.iter().map(|a| place(a).unwrap_or(usize::MAX)).collect()
}
