//! A log that is still written: a row for each minute as it ends.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use logstat::analysis::Analysis;
use logstat::input::follow::Followed;
use logstat::summary::MinuteRow;
use store::bulk::Cancel;

use super::read::give;
use crate::failure::{Context, Failure};
use crate::output::{Output, outln, reader_is_gone};

/// Between two looks at the log.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Lines of a minute are written a moment after it.
const LATE_SECONDS: i64 = 3;

/// Reads the file, then what comes, until `cancel`; prints a row for each minute that ends meanwhile.
pub fn run(path: &Path, is_json: bool, analysis: &mut Analysis, cancel: &Cancel) -> Result<(), Failure> {
    let mut followed = Followed::open(path).context(path.display())?;
    analysis.begin_file(&path.display().to_string());
    let begun = unix_seconds();
    let mut printed = begun - begun.rem_euclid(60) - 1;
    if !is_json {
        outln!("{}", HEADINGS);
    }
    while !cancel.is_cancelled() && !reader_is_gone() {
        followed.read(&mut |line, ending| give(analysis, line, ending)).context(path.display())?;
        for row in analysis.ended_minutes(printed, unix_seconds() - LATE_SECONDS) {
            printed = row.at.0.unix_seconds();
            print(&row, is_json)?;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    followed.read(&mut |line, ending| give(analysis, line, ending)).context(path.display())?;
    followed.finish(&mut |line, ending| give(analysis, line, ending));
    Ok(())
}

const HEADINGS: &str = "Minute                 Operations  Errors  Unindexed      50 %      99 %   Longest  Waiting";

fn print(row: &MinuteRow, is_json: bool) -> Result<(), Failure> {
    if is_json {
        outln!("{}", serde_json::to_string(row).context("a minute")?);
    } else {
        outln!(
            "{}  {:>10}  {:>6}  {:>9}  {:>8}  {:>8}  {:>8}  {:>7}",
            row.at,
            row.operations,
            row.errors,
            row.unindexed,
            row.p50.to_string(),
            row.p99.to_string(),
            row.max.to_string(),
            row.waiting
        );
    }
    // Whoever reads a pipe is to see it now.
    let _ = std::io::Write::flush(&mut Output);
    Ok(())
}

fn unix_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
