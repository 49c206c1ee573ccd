//! The rows that a rate tool prints, in the columns of OpenDJ's tools.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

use super::engine::Times;
use super::figures::{Figures, Sums};

/// For whom rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Columns for people, as of OpenDJ up to 2.6.
    Columns,
    /// Columns between lines, as of OpenDJ from 4.0 on.
    Boxed,
    /// Comma separated values for scripts.
    Csv,
    /// An object of JSON a row.
    Json,
}

/// The last column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// None.
    Nothing,
    /// Entries that a search gives.
    EntriesPerSearch,
    /// How many percent of the operations are adds.
    AddPercent,
    /// How many percent of the time is that of binds.
    BindTimePercent,
}

/// Makes the rows.
#[derive(Debug)]
pub struct Report {
    form: Form,
    percentiles: Vec<f64>,
    extra: Extra,
}

/// Width of a column.
const WIDTH: usize = 9;
/// Width of a column between lines.
const BOXED_WIDTH: usize = 8;

impl Extra {
    /// Title, least width between lines, and decimals.
    fn column(self) -> Option<(&'static str, usize, usize)> {
        match self {
            Extra::Nothing => None,
            Extra::EntriesPerSearch => Some(("Entries/Srch", 5, 1)),
            Extra::AddPercent => Some(("Add%", 6, 2)),
            Extra::BindTimePercent => Some(("bind time %", 5, 1)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Extra::Nothing => "",
            Extra::EntriesPerSearch => "entriesPerSearch",
            Extra::AddPercent => "addPercent",
            Extra::BindTimePercent => "bindTimePercent",
        }
    }

    fn value(self, sums: &Sums) -> f64 {
        let of = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        match self {
            Extra::Nothing => 0.0,
            Extra::EntriesPerSearch => of(sums.extra, sums.operations - sums.errors),
            Extra::AddPercent => 100.0 * of(sums.extra, sums.operations),
            Extra::BindTimePercent => 100.0 * of(sums.extra, sums.took_us),
        }
    }
}

/// The numbers of a row.
struct Row {
    seconds: f64,
    rates: [f64; 2],
    means: [f64; 2],
    percentiles: Vec<f64>,
    errors: f64,
    extra: f64,
}

impl Report {
    /// With these percentiles.
    pub fn new(form: Form, percentiles: Vec<f64>, extra: Extra) -> Report {
        Report { form, percentiles, extra }
    }

    /// What is printed above the rows; nothing above JSON.
    pub fn head(&self) -> Option<String> {
        match self.form {
            Form::Json => None,
            Form::Csv => Some(self.csv_head()),
            Form::Columns => Some(self.columns_head()),
            Form::Boxed => Some(self.boxed_head()),
        }
    }

    fn csv_head(&self) -> String {
        let mut head = "Time (seconds),Recent throughput (ops/second),Average throughput (ops/second),\
                        Recent response time (milliseconds),Average response time (milliseconds)"
            .to_owned();
        for percent in &self.percentiles {
            _ = write!(head, ",{percent}% response time (milliseconds)");
        }
        head.push_str(",Errors/second");
        if let Some((title, ..)) = self.extra.column() {
            _ = write!(head, ",{title}");
        }
        head
    }

    fn titles(&self) -> impl Iterator<Item = String> {
        let percentiles = self.percentiles.iter().map(|percent| format!("{percent}%"));
        ["recent", "average", "recent", "average"].map(str::to_owned).into_iter().chain(percentiles)
    }

    fn columns_head(&self) -> String {
        let (throughput, response) = (2 * WIDTH, (2 + self.percentiles.len()) * WIDTH);
        let mut head = format!("{:^throughput$}{:^response$}\n", "Throughput", "Response Time");
        _ = writeln!(head, "{:^throughput$}{:^response$}", "(ops/second)", "(milliseconds)");
        for title in self.titles().chain(["err/sec".to_owned()]) {
            _ = write!(head, "{title:>WIDTH$}");
        }
        if let Some((title, ..)) = self.extra.column() {
            _ = write!(head, " {title}");
        }
        head
    }

    /// Widths of the last section between lines: of the errors, and of the extra column.
    fn boxed_last(&self) -> usize {
        let extra = self.extra.column().map_or(0, |(title, width, _)| width.max(title.len()) + 1);
        BOXED_WIDTH + extra
    }

    fn boxed_head(&self) -> String {
        let columns = |count: usize| count * (BOXED_WIDTH + 1);
        let (throughput, response) = (columns(2), columns(2 + self.percentiles.len()));
        let last = self.boxed_last() + 1;
        let has_extra = self.extra != Extra::Nothing;
        let line = "-".repeat(throughput + response + last + "| | | |".len());
        let section = |titles: [&str; 3]| {
            let [one, two, three] = titles;
            let (one, two, three) = (centred(one, throughput), centred(two, response), centred(three, last));
            format!("| {one}| {two}| {three}| \n")
        };
        let mut head = format!("{line}\n");
        head += &section(["Throughput", "Response Time", if has_extra { "Additional" } else { "" }]);
        head += &section(["(ops/second)", "(milliseconds)", if has_extra { "Statistics" } else { "" }]);
        head += &self.boxed_line(self.titles().collect(), "err/sec", |(title, ..)| title.to_owned());
        head.push('\n');
        head += &line;
        head
    }

    fn boxed_line(
        &self,
        cells: Vec<String>,
        errors: &str,
        extra: impl FnOnce((&'static str, usize, usize)) -> String,
    ) -> String {
        let mut line = "| ".to_owned();
        for (at, cell) in cells.iter().enumerate() {
            let between = if at == 2 { "| " } else { "" };
            _ = write!(line, "{between}{cell:>BOXED_WIDTH$} ");
        }
        _ = write!(line, "| {errors:>BOXED_WIDTH$} ");
        if let Some(column) = self.extra.column() {
            let width = column.1.max(column.0.len());
            _ = write!(line, "{:>width$} ", extra(column));
        }
        line.push_str("| ");
        line
    }

    /// A row: what came in an interval, and until its end.
    pub fn row(&self, figures: &Figures, now: Times) -> String {
        let per_second = |count: u64, time: Duration| count as f64 / time.as_secs_f64().max(1e-9);
        let recent = now.to.saturating_sub(now.from);
        let row = Row {
            seconds: now.to.as_secs_f64(),
            rates: [per_second(figures.recent.operations, recent), per_second(figures.all.operations, now.to)],
            means: [figures.recent.mean_ms(), figures.all.mean_ms()],
            percentiles: self.percentiles.iter().map(|percent| figures.percentile_ms(*percent)).collect(),
            errors: per_second(figures.recent.errors, recent),
            extra: self.extra.value(&figures.recent),
        };
        match self.form {
            Form::Csv => self.csv_row(&row),
            Form::Columns => self.columns_row(&row),
            Form::Boxed => self.boxed_row(&row),
            Form::Json => self.json_row(&row, figures),
        }
    }

    fn csv_row(&self, row: &Row) -> String {
        let mut text = format!("{:.3}", row.seconds);
        row.rates.iter().for_each(|rate| _ = write!(text, ",{rate:.1}"));
        row.means.iter().chain(&row.percentiles).for_each(|time| _ = write!(text, ",{time:.3}"));
        _ = write!(text, ",{:.1}", row.errors);
        if let Some((_, _, decimals)) = self.extra.column() {
            _ = write!(text, ",{:.decimals$}", row.extra);
        }
        text
    }

    fn columns_row(&self, row: &Row) -> String {
        let mut text = String::new();
        row.rates.iter().for_each(|rate| _ = write!(text, "{rate:>WIDTH$.1}"));
        row.means.iter().chain(&row.percentiles).for_each(|time| _ = write!(text, "{time:>WIDTH$.3}"));
        _ = write!(text, "{:>WIDTH$.1}", row.errors);
        if let Some((title, _, decimals)) = self.extra.column() {
            let width = title.len();
            _ = write!(text, " {:>width$.decimals$}", row.extra);
        }
        text
    }

    fn boxed_row(&self, row: &Row) -> String {
        let rates = row.rates.iter().map(|rate| format!("{rate:.1}"));
        let means = row.means.iter().map(|time| format!("{time:.3}"));
        let percentiles = row.percentiles.iter().map(|time| format!("{time:.2}"));
        let cells = rates.chain(means).chain(percentiles).collect();
        self.boxed_line(cells, &format!("{:.1}", row.errors), |(_, _, decimals)| format!("{:.decimals$}", row.extra))
    }

    fn json_row(&self, row: &Row, figures: &Figures) -> String {
        let exact = |value: f64, decimals: i32| {
            let scale = 10_f64.powi(decimals);
            (value * scale).round() / scale
        };
        let [recent, average] = row.rates.map(|rate| exact(rate, 1));
        let [recent_ms, average_ms] = row.means.map(|time| exact(time, 3));
        let named = self.percentiles.iter().zip(&row.percentiles);
        let percentiles: serde_json::Map<String, serde_json::Value> =
            named.map(|(percent, time)| (percent.to_string(), json!(exact(*time, 3)))).collect();
        let mut object = json!({
            "seconds": exact(row.seconds, 3),
            "throughput": { "recent": recent, "average": average },
            "responseTimeMs": {
                "recent": recent_ms, "average": average_ms, "max": exact(figures.max_ms(), 3),
                "percentiles": percentiles,
            },
            "operations": figures.all.operations,
            "errors": figures.all.errors,
            "errorsPerSecond": exact(row.errors, 1),
        });
        if self.extra != Extra::Nothing
            && let Some(object) = object.as_object_mut()
        {
            object.insert(self.extra.name().to_owned(), json!(exact(row.extra, 2)));
        }
        object.to_string()
    }
}

/// In the middle, as OpenDJ's tools do it: the odd blank stands behind.
fn centred(text: &str, width: usize) -> String {
    let before = width.saturating_sub(text.len()) / 2;
    format!("{:before$}{text:<rest$}", "", rest = width - before)
}
