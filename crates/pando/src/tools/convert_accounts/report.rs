//! What a conversion did, attribute by attribute, and what is left to do.

use std::collections::BTreeMap;

use crate::output::outln;
use crate::table::Table;

/// What became of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It means the same here.
    Kept,
    /// Something else says the same here.
    Converted,
    /// Nothing here says it; it is not in the output.
    LeftOut,
}

#[derive(Debug)]
struct Row {
    entries: u64,
    first_line: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Report {
    rows: BTreeMap<(Fate, String, String), Row>,
    commands: Vec<String>,
}

impl Report {
    /// Notes an attribute of the entry that begins in a line.
    pub fn note(&mut self, fate: Fate, attribute: &str, what: &str, line: u64) {
        let key = (fate, attribute.to_owned(), what.to_owned());
        self.rows.entry(key).or_insert(Row { entries: 0, first_line: line }).entries += 1;
    }

    /// Notes a command that has to be given.
    pub fn command(&mut self, command: String) {
        if !self.commands.contains(&command) {
            self.commands.push(command);
        }
    }

    /// Whether something has no counterpart.
    pub fn has_left_out(&self) -> bool {
        self.rows.keys().any(|(fate, ..)| *fate == Fate::LeftOut)
    }

    #[cfg(test)]
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// Prints it.
    pub fn print(&self) {
        let mut table = Table::new(&["Attribute", "Is", "Which means", "Entries", "First line"]);
        for ((fate, attribute, what), row) in &self.rows {
            let fate = match fate {
                Fate::Kept => "kept",
                Fate::Converted => "converted",
                Fate::LeftOut => "left out",
            };
            let cells = [attribute.clone(), fate.to_owned(), what.clone()];
            table.row(cells.into_iter().chain([row.entries.to_string(), row.first_line.to_string()]).collect());
        }
        if self.rows.is_empty() {
            outln!("No entry says anything of password policies or of the state of accounts.");
        } else {
            table.print();
        }
        if !self.commands.is_empty() {
            outln!("\nThe policies of the configuration are set by:");
            self.commands.iter().for_each(|command| outln!("{command}"));
        }
    }
}
