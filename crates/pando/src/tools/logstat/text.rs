//! The report for people at a terminal: findings first, then section by section.

use logstat::sections::{head, sections};
use logstat::summary::Summary;

use crate::output::outln;
use crate::table::Table;

/// Columns at which findings are wrapped.
const COLUMNS: usize = 110;

/// Prints it. `title` says which log, `notes` what could not be read of it, `rows` how many rows a list has at most.
pub fn print(title: &str, notes: &[String], summary: &Summary, rows: usize) {
    outln!("{title}\n");
    head(summary).iter().chain(notes).for_each(|line| outln!("{line}"));
    outln!("\n----- Findings -----\n");
    if summary.findings.is_empty() {
        outln!("Nothing stands out.");
    }
    for (number, finding) in summary.findings.iter().enumerate() {
        outln!("{:>2}. {}", number + 1, wrapped(&finding.text, COLUMNS, "    "));
    }
    for section in sections(summary, rows) {
        outln!("\n----- {} -----\n", section.title);
        section.lines.iter().for_each(|line| outln!("{line}"));
        if !section.rows.is_empty() {
            let mut table = Table::new(&section.headings);
            section.rows.into_iter().for_each(|row| table.row(row));
            table.print();
        }
        if !section.below.is_empty() {
            outln!("\n{}", section.below.join("\n"));
        }
    }
}

/// Lines of words; those after the first begin with `indent`.
fn wrapped(text: &str, columns: usize, indent: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > columns {
            out.push('\n');
            out.push_str(indent);
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_wrapped_at_words() {
        assert_eq!(wrapped("one two three four", 8, "  "), "one two\n  three\n  four");
        assert_eq!(wrapped("muchlongerthanaline a", 8, "  "), "muchlongerthanaline\n  a");
        assert_eq!(wrapped("", 8, "  "), "");
    }
}
