//! A summary as sections with headings: tables and lines, for a terminal or a page.
//!
//! The first sections are those of `logconv.pl`, by its names where it has them.

use crate::record::Kind;
use crate::summary::{
    CodeRow, Counted, FilterRow, GroupRow, GuessRow, KindRow, Length, MinuteRow, OperationRow, StallRow, Summary, Time,
};

/// Kinds that tables of suffixes and clients have a column for.
const GROUP_KINDS: [Kind; 7] =
    [Kind::Search, Kind::Bind, Kind::Modify, Kind::Add, Kind::Delete, Kind::ModifyDn, Kind::Compare];

/// A section.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What stands above the table, or all of it.
    pub lines: Vec<String>,
    /// Names of columns; none where there is no table.
    pub headings: Vec<&'static str>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
    /// What stands below the table.
    pub below: Vec<String>,
}

impl Section {
    fn table(title: impl Into<String>, headings: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        let headings = if rows.is_empty() { Vec::new() } else { headings.to_vec() };
        Self { title: title.into(), lines: Vec::new(), headings, rows, below: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.rows.is_empty() && self.below.is_empty()
    }
}

/// What stands at the top of a report: when the log begins and ends, and what is wrong with it.
#[must_use]
pub fn head(summary: &Summary) -> Vec<String> {
    let time = |time: Option<Time>| time.map_or_else(|| "the log has no times".to_owned(), |time| time.to_string());
    let lines = &summary.lines;
    let mut head = vec![
        format!("Start of Log:  {}", time(summary.start)),
        format!("End of Log:    {}", time(summary.end)),
        format!("Lines:         {}", lines.all),
    ];
    let faulty = [
        (lines.bad, "damaged, or not of an access log"),
        (lines.cut, "cut, because they are longer than 1 MiB"),
        (lines.unfinished, "without an end, at the end of a file"),
        (lines.left_out, "left out by time or client"),
        (lines.dropped, "missing, because the server could not write them"),
    ];
    let faulty = faulty.into_iter().filter(|(count, _)| *count > 0);
    head.extend(faulty.map(|(count, what)| format!("Lines that are {what}: {count}")));
    head.extend(lines.examples.iter().map(|example| format!("  {example}")));
    head
}

/// All sections that have anything, without findings and head. `rows` is how many rows a list has at most.
#[must_use]
pub fn sections(summary: &Summary, rows: usize) -> Vec<Section> {
    let mut sections = vec![
        operations(summary),
        groups("Operations by suffix", "Suffix", &summary.suffixes),
        groups("Operations by client", "Client", &summary.clients),
        Section {
            lines: summary.longest_etimes.iter().map(|row| format!("{:<12}    {}", row.value, row.count)).collect(),
            ..Section::table(format!("Top {rows} Longest etimes"), &[], Vec::new())
        },
        longest(summary, rows),
        stalls(&summary.stalls),
        unindexed(&summary.unindexed),
        counted("Indexes that searches lacked", "Index", &summary.missing_indexes),
        failed_binds(&summary.failed_binds),
        filters(&summary.filters),
        counted("Most frequent bind DNs", "Name", &summary.bind_names),
        counted("Extended operations", "OID", &summary.extended),
        codes("Result codes", &summary.result_codes),
        codes("Notes", &summary.notes),
        codes("Connection codes", &summary.connection_codes),
        minutes(summary),
    ];
    sections.retain(|section| !section.is_empty());
    if summary.excess_max > 0
        && let Some(last) = sections.last_mut()
    {
        last.below.push(format!(
            "Counts of the lists may be too high by at most {}: there were more names than are told apart.",
            summary.excess_max
        ));
    }
    sections
}

fn operations(summary: &Summary) -> Section {
    let headings =
        ["Operation", "Count", "Per second", "Errors", "Mean", "50 %", "99 %", "99.9 %", "Longest", "Together"];
    let row = |row: &KindRow| {
        let mut cells = vec![row.kind.to_owned(), row.count.to_string(), format!("{:.1}", row.per_second)];
        cells.push(row.errors.to_string());
        cells.extend([row.mean, row.p50, row.p99, row.p999, row.max, row.total].map(|it| length(it, row.timed)));
        cells
    };
    let mut section = Section::table("Operations", &headings, summary.operations.iter().map(row).collect());
    let connections = &summary.connections;
    section.below.push(format!(
        "Connections: {} opened, {} closed, at most {} at once",
        connections.opened, connections.closed, connections.peak
    ));
    let unanswered: u64 = summary.operations.iter().map(|row| row.unanswered).sum();
    if unanswered > 0 {
        section.below.push(format!("Requests without an answer in the log: {unanswered}"));
    }
    if let Some(internal) = &summary.internal {
        section.below.push(format!(
            "Operations of the server itself: {}, {} together, the longest {} ({})",
            internal.count, internal.total, internal.max, internal.dn
        ));
    }
    section
}

/// A length of operations of which so many have one.
fn length(length: Length, timed: u64) -> String {
    if timed == 0 { "-".to_owned() } else { length.to_string() }
}

fn groups(title: &str, heading: &'static str, rows: &[GroupRow]) -> Section {
    let mut headings = vec![heading, "All"];
    headings.extend(GROUP_KINDS.map(Kind::name));
    headings.extend(["MOD/DEL", "Errors", "Mean", "Longest"]);
    let row = |row: &GroupRow| {
        let mut cells = vec![row.name.clone(), row.operations.to_string()];
        cells.extend(GROUP_KINDS.map(|kind| row.kinds.of(kind).to_string()));
        cells.push(row.modifications_per_delete.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.1}")));
        cells.extend([row.errors.to_string(), length(row.mean, row.timed), length(row.max, row.timed)]);
        cells
    };
    Section::table(title, &headings, rows.iter().map(row).collect())
}

fn longest(summary: &Summary, rows: usize) -> Section {
    let headings = ["Etime", "Answered", "Operation", "Kind", "Entries", "Waited for", "Client", "What"];
    let row = |row: &OperationRow| {
        vec![
            row.etime.to_string(),
            written(row.answered),
            ids(row),
            row.kind.to_owned(),
            row.entries.map_or_else(|| "-".to_owned(), |entries| entries.to_string()),
            row.waited_for.clone(),
            row.client.clone(),
            what(row),
        ]
    };
    let title = format!("Top {rows} longest operations");
    Section::table(title, &headings, summary.longest_operations.iter().map(row).collect())
}

fn written(time: Option<Time>) -> String {
    time.map_or_else(String::new, |time| time.to_string())
}

fn ids(row: &OperationRow) -> String {
    let operation = row.operation.map_or_else(String::new, |operation| format!(" op={operation}"));
    let message = if row.message > 0 { format!(" msgId={}", row.message) } else { String::new() };
    format!("conn={}{operation}{message}", row.connection)
}

fn what(row: &OperationRow) -> String {
    [row.dn.as_str(), row.filter.as_str()].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

fn stalls(rows: &[StallRow]) -> Section {
    let headings =
        ["Stall", "From", "Until", "Length", "Operations", "Connections", "Unindexed", "Deletes before", "Longest"];
    let row = |(number, row): (usize, &StallRow)| {
        vec![
            (number + 1).to_string(),
            row.from.to_string(),
            row.until.to_string(),
            row.length.to_string(),
            row.operations.to_string(),
            row.connections.to_string(),
            row.unindexed.to_string(),
            row.deletes_before.to_string(),
            row.longest.to_string(),
        ]
    };
    Section::table("Stalls", &headings, rows.iter().enumerate().map(row).collect())
}

fn search(row: &FilterRow) -> Vec<String> {
    let mut cells = vec![row.count.to_string(), row.total.to_string(), row.max.to_string()];
    cells.extend([row.entries_max.to_string(), row.shape.clone()]);
    cells
}

fn filters(rows: &[FilterRow]) -> Section {
    let headings = ["Searches", "Together", "Longest", "Most entries", "Shape"];
    Section::table("Most frequent searches", &headings, rows.iter().map(search).collect())
}

fn unindexed(rows: &[FilterRow]) -> Section {
    let headings = ["Searches", "Together", "Longest", "Most entries", "Shape", "What helps", "Base of the longest"];
    let row = |row: &FilterRow| {
        let mut cells = search(row);
        cells.extend([row.help.clone(), row.base.clone()]);
        cells
    };
    Section::table("Unindexed searches", &headings, rows.iter().map(row).collect())
}

fn counted(title: &str, heading: &'static str, rows: &[Counted]) -> Section {
    let row = |row: &Counted| vec![row.count.to_string(), row.value.clone()];
    Section::table(title, &["Count", heading], rows.iter().map(row).collect())
}

fn codes(title: &str, rows: &[CodeRow]) -> Section {
    let row = |row: &CodeRow| vec![row.count.to_string(), row.code.clone(), row.meaning.clone()];
    Section::table(title, &["Count", "Code", "Meaning"], rows.iter().map(row).collect())
}

fn failed_binds(rows: &[GuessRow]) -> Section {
    let row = |row: &GuessRow| {
        let mut cells = vec![row.count.to_string(), row.client.clone(), row.names.to_string(), row.last_name.clone()];
        cells.extend([written(row.first), written(row.last)]);
        cells
    };
    let headings = ["Count", "Client", "Names", "Last name", "First", "Last"];
    Section::table("Failed binds by client", &headings, rows.iter().map(row).collect())
}

/// The minutes in which somebody waited as long as in a stall.
fn minutes(summary: &Summary) -> Section {
    let headings = ["Minute", "Ended", "Of them slow", "Waiting", "99 %", "Longest", "MOD", "DEL"];
    let row = |row: &MinuteRow| {
        let mut cells = vec![row.at.to_string(), row.operations.to_string(), row.slow.to_string()];
        cells.extend([row.waiting.to_string(), row.p99.to_string(), row.max.to_string()]);
        cells.extend([row.kinds.of(Kind::Modify).to_string(), row.kinds.of(Kind::Delete).to_string()]);
        cells
    };
    let waited = summary.minutes.iter().filter(|row| row.slow > 0 || row.waiting > 0);
    let mut section = Section::table("Minutes in which operations waited", &headings, waited.map(row).collect());
    if summary.minute_seconds > 60 && !section.rows.is_empty() {
        section.lines.push(format!("The log is long: a row has {} minutes.", summary.minute_seconds / 60));
    }
    section
}
