//! Tables as OpenDJ's tools print them: left-aligned columns, a line of dashes below the headings; colons between them
//! in `dsconfig`.

use std::fmt::Write;

use crate::output::out;
use crate::terminal;

/// A column is not made narrower than this.
const COLUMN_MIN: usize = 8;

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

    /// Prints it, as wide as the terminal; whole where a program or a file reads it.
    pub fn print(&self) {
        out!("{}", self.render(terminal::columns()));
    }

    /// The text; what does not fit into `limit` columns goes on in further lines of its cell.
    fn render(&self, limit: Option<usize>) -> String {
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain(self.headings.get(column).map(|heading| heading.chars().count())).max().unwrap_or(0)
        };
        let between = if self.has_colons { " : " } else { "  " };
        let mut widths: Vec<usize> = (0..self.headings.len()).map(width_of).collect();
        if let Some(limit) = limit {
            let gaps = between.len() * widths.len().saturating_sub(1);
            narrow(&mut widths, limit.saturating_sub(gaps));
        }
        let mut out = String::new();
        lines(&mut out, &widths, &self.headings, between);
        let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let _ = writeln!(out, "{}", dashes.join(&between.replace(' ', "-")));
        for row in &self.rows {
            lines(&mut out, &widths, row, between);
        }
        out
    }
}

/// Takes from the widest columns until all together have `limit`.
fn narrow(widths: &mut [usize], limit: usize) {
    while widths.iter().sum::<usize>() > limit {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > COLUMN_MIN) else { return };
        *widest -= 1;
    }
}

/// A row: as many lines as its longest cell needs.
fn lines(out: &mut String, widths: &[usize], cells: &[String], between: &str) {
    let pieces: Vec<Vec<String>> = cells.iter().zip(widths).map(|(cell, width)| wrapped(cell, *width)).collect();
    for number in 0..pieces.iter().map(Vec::len).max().unwrap_or(0) {
        let mut line = String::new();
        for (column, (cell, width)) in pieces.iter().zip(widths).enumerate() {
            let cell = cell.get(number).map_or("", String::as_str);
            let gap = if column > 0 { between } else { "" };
            let _ = write!(line, "{gap}{cell:width$}");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A cell in lines of at most `width` columns, which end behind a space or a mark where there is one.
fn wrapped(cell: &str, width: usize) -> Vec<String> {
    let mut rest: Vec<char> = cell.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > width.max(1) {
        let fits = width.max(1);
        let end = (1..=fits).rev().find(|end| {
            let is_space_next = rest.get(*end).is_some_and(|next| *next == ' ');
            is_space_next || rest.get(end - 1).is_some_and(|last| matches!(last, ' ' | ',' | ';' | '/' | ')'))
        });
        let tail = rest.split_off(end.unwrap_or(fits));
        lines.push(rest.iter().collect::<String>().trim_end().to_owned());
        rest = tail.into_iter().skip_while(|next| *next == ' ').collect();
    }
    lines.push(rest.into_iter().collect());
    lines
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
            table.render(None),
            "Backend ID      Storage\n-----------------------\nuserRoot        lmdb\nalone\nanotherBackend  x\n"
        );
        let mut table = Table::new(&["Property", "Value(s)"]).with_colons();
        table.row(vec!["enabled".into(), "true".into()]);
        assert_eq!(table.render(None), "Property : Value(s)\n---------:---------\nenabled  : true\n");
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let mut table = Table::new(&["Name", "Value"]);
        table.row(vec!["short".into(), "a longer text, of words that go on".into()]);
        table.row(vec!["a".into(), "uninterruptedly".into()]);
        let text = table.render(Some(20));
        let lines = [
            "short  a longer",
            "       text, of",
            "       words that go",
            "       on",
            "a      uninterrupted",
            "       ly",
        ];
        let expected = format!("Name   Value\n{}\n{}\n", "-".repeat(20), lines.join("\n"));
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.chars().count() <= 20));
        assert_eq!(table.render(Some(80)), table.render(None));
    }
}
