//! Tables as OpenDJ's tools print them: left-aligned columns, a line of dashes below the headings; colons between them
//! in `dsconfig`.

use std::fmt::Write;

/// A table that grows by rows.
#[derive(Debug)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    has_colons: bool,
}

impl Table {
    /// A table with these columns.
    pub fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|heading| (*heading).to_owned()).collect();
        Self { headings, rows: Vec::new(), has_colons: false }
    }

    /// The same with colons between its columns.
    pub fn with_colons(self) -> Self {
        Self { has_colons: true, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text.
    pub fn render(&self) -> String {
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain(self.headings.get(column).map(|heading| heading.len())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width_of).collect();
        let mut out = String::new();
        let between = if self.has_colons { " : " } else { "  " };
        line(&mut out, &widths, &self.headings, between);
        let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let _ = writeln!(out, "{}", dashes.join(&between.replace(' ', "-")));
        for row in &self.rows {
            line(&mut out, &widths, row, between);
        }
        out
    }
}

fn line(out: &mut String, widths: &[usize], cells: &[impl AsRef<str>], between: &str) {
    let last = cells.len().saturating_sub(1);
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cell.as_ref();
        let _ = if column == last { write!(out, "{cell}") } else { write!(out, "{cell:width$}{between}") };
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_not_padded() {
        let mut table = Table::new(&["Backend ID", "Storage"]);
        table.row(vec!["userRoot".into(), "lmdb".into()]);
        table.row(vec!["alone".into()]);
        table.row(vec!["anotherBackend".into(), "x".into()]);
        assert_eq!(
            table.render(),
            "Backend ID      Storage\n-----------------------\nuserRoot        lmdb\nalone\nanotherBackend  x\n"
        );
        let mut table = Table::new(&["Property", "Value(s)"]).with_colons();
        table.row(vec!["enabled".into(), "true".into()]);
        assert_eq!(table.render(), "Property : Value(s)\n---------:---------\nenabled  : true\n");
    }
}
