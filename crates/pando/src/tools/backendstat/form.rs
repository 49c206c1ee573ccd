//! The forms of output: a table with its trailer, or JSON.

use crate::output::outln;
use crate::table::Table;

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Table,
    Json,
}

/// The table and OpenDJ's line below it.
pub(super) fn finish(table: &Table, rows: usize) {
    table.print();
    outln!("\nTotal: {rows}");
}

/// One JSON value.
pub(super) fn print_json(value: &serde_json::Value) {
    outln!("{value:#}");
}
