//! Tables on stdout: text to read and to paste into Markdown, or JSON.

use serde_json::json;

use crate::machine::Machine;
use crate::run::Format;

/// Rows under a title.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    targets: Vec<(String, bool)>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&'static str]) -> Table {
        Table {
            title: title.into(),
            columns: columns.to_vec(),
            rows: Vec::new(),
            targets: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// A figure that was to be reached, with what was measured.
    pub(crate) fn target(&mut self, text: impl Into<String>, reached: bool) {
        self.targets.push((text.into(), reached));
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Prints it; gives whether every target was reached.
    pub(crate) fn print(&self, format: Format) -> bool {
        match format {
            Format::Text => print!("{}", self.text(&Machine::here())),
            Format::Json => println!("{}", self.json(&Machine::here())),
        }
        self.targets.iter().all(|(_, reached)| *reached)
    }

    pub(crate) fn text(&self, machine: &Machine) -> String {
        let header: Vec<String> = self.columns.iter().map(|c| (*c).to_owned()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&header]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        let rule: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
        let mut text = format!("\n{}\n{machine}\n\n{}{}", self.title, line(&header), line(&rule));
        self.rows.iter().for_each(|row| text += &line(row));
        text.push('\n');
        for (target, reached) in &self.targets {
            text += &format!("{} {target}\n", if *reached { "reached    " } else { "not reached" });
        }
        self.notes.iter().for_each(|note| text += &format!("{note}\n"));
        text
    }

    fn json(&self, machine: &Machine) -> serde_json::Value {
        let targets =
            self.targets.iter().map(|(text, reached)| json!({ "target": text, "reached": reached }));
        json!({
            "title": self.title, "machine": machine, "columns": self.columns, "rows": self.rows,
            "targets": targets.collect::<Vec<_>>(), "notes": self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new("Cost", &["who", "µs"]);
        table.row(vec!["floor".into(), "4.1".into()]);
        table.target("≤ 1.5 × the floor: 1.2", true);
        let machine = Machine {
            commit: "abc".into(),
            cpu: "a CPU".into(),
            cpus: 2,
            kernel: "6.1".into(),
            command: "bench engine".into(),
        };
        let expected = "\nCost\ncommit abc · a CPU, 2 CPUs, Linux 6.1\nbench engine\n\n\
                        | who   | µs  |\n| ----- | --- |\n| floor | 4.1 |\n\nreached     ≤ 1.5 × the floor: 1.2\n";
        assert_eq!(table.text(&machine), expected);
        assert_eq!(table.json(&machine)["targets"][0]["reached"], true);
    }
}
