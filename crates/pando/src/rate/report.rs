//! The rows that a rate tool prints, in the columns of OpenDJ's tools.

use std::fmt::Write;
use std::time::Duration;

use super::figures::Figures;

/// For whom rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Columns for people.
    Columns,
    /// Comma separated values for scripts.
    Csv,
}

/// Makes the rows.
#[derive(Debug)]
pub struct Report {
    form: Form,
    percentiles: Vec<f64>,
}

/// Width of a column.
const WIDTH: usize = 9;

impl Report {
    /// With these percentiles.
    pub fn new(form: Form, percentiles: Vec<f64>) -> Report {
        Report { form, percentiles }
    }

    /// What is printed above the rows.
    pub fn head(&self) -> String {
        let percentiles = self.percentiles.iter().map(|percent| format!("{percent}%"));
        match self.form {
            Form::Csv => {
                let mut head = "Time (seconds),Recent throughput (ops/second),Average throughput (ops/second),\
                                Recent response time (milliseconds),Average response time (milliseconds)"
                    .to_owned();
                for percentile in percentiles {
                    _ = write!(head, ",{percentile} response time (milliseconds)");
                }
                head + ",Errors/second"
            }
            Form::Columns => {
                let (throughput, response) = (2 * WIDTH, (2 + self.percentiles.len()) * WIDTH);
                let mut head = format!("{:^throughput$}{:^response$}\n", "Throughput", "Response Time");
                _ = writeln!(head, "{:^throughput$}{:^response$}", "(ops/second)", "(milliseconds)");
                let fixed = ["recent", "average", "recent", "average"].map(str::to_owned);
                for title in fixed.into_iter().chain(percentiles).chain(["err/sec".to_owned()]) {
                    _ = write!(head, "{title:>WIDTH$}");
                }
                head
            }
        }
    }

    /// A row: what came in the last `recent` of `all` the time.
    pub fn row(&self, figures: &Figures, recent: Duration, all: Duration) -> String {
        let per_second = |count: u64, time: Duration| count as f64 / time.as_secs_f64().max(1e-9);
        let rates = [per_second(figures.recent.operations, recent), per_second(figures.all.operations, all)];
        let means = [figures.recent.mean_ms(), figures.all.mean_ms()];
        let percentiles = self.percentiles.iter().map(|percent| figures.percentile_ms(*percent));
        let times: Vec<f64> = means.into_iter().chain(percentiles).collect();
        let errors = per_second(figures.recent.errors, recent);
        let mut row = String::new();
        match self.form {
            Form::Csv => {
                _ = write!(row, "{:.3}", all.as_secs_f64());
                rates.iter().for_each(|rate| _ = write!(row, ",{rate:.1}"));
                times.iter().for_each(|time| _ = write!(row, ",{time:.3}"));
                _ = write!(row, ",{errors:.1}");
            }
            Form::Columns => {
                rates.iter().for_each(|rate| _ = write!(row, "{rate:>WIDTH$.1}"));
                times.iter().for_each(|time| _ = write!(row, "{time:>WIDTH$.3}"));
                _ = write!(row, "{errors:>WIDTH$.1}");
            }
        }
        row
    }
}
