//! Pictures of the time line, as SVG: how many operations a second, and how long they took.

use std::fmt::Write;

use crate::summary::{Length, MinuteRow, StallRow, Summary, Time};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 180.0;
/// Room for the numbers at the left, and for the times below.
const LEFT: f64 = 70.0;
const BELOW: f64 = 24.0;

/// Columns of a picture: rows of the time line that fall into one are shown together.
const COLUMNS_MAX: usize = 600;

/// The shortest time that the picture of times shows.
const LOWEST_NS: f64 = 10_000.0;

/// What a column shows.
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    operations: u64,
    errors: u64,
    p50: u64,
    p99: u64,
    max: u64,
}

impl Column {
    fn add(&mut self, row: &MinuteRow) {
        self.operations += row.operations;
        self.errors += row.errors;
        self.p50 = self.p50.max(row.p50.0);
        self.p99 = self.p99.max(row.p99.0);
        self.max = self.max.max(row.max.0);
    }
}

/// The time line as columns between two points in time, in seconds.
struct Line {
    from: f64,
    until: f64,
    columns: Vec<Column>,
}

#[allow(clippy::cast_precision_loss, reason = "for pictures")]
fn seconds(time: Time) -> f64 {
    time.0.unix_ns as f64 / 1e9
}

impl Line {
    /// None of a log without times.
    fn of(summary: &Summary) -> Option<Line> {
        let begin = |row: &MinuteRow| row.at.0.unix_seconds();
        let (first, last) = (begin(summary.minutes.first()?), begin(summary.minutes.last()?));
        let width = summary.minute_seconds.max(1);
        let length = last - first + width;
        let count = usize::try_from(length / width).unwrap_or(COLUMNS_MAX).clamp(1, COLUMNS_MAX);
        let mut columns = vec![Column::default(); count];
        for row in &summary.minutes {
            let at = i128::from(begin(row) - first) * count as i128 / i128::from(length);
            if let Some(column) = usize::try_from(at).ok().and_then(|at| columns.get_mut(at)) {
                column.add(row);
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "for pictures")]
        let (from, until) = (first as f64, (first + length) as f64);
        Some(Line { from, until, columns })
    }

    fn column_seconds(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "for pictures")]
        let count = self.columns.len() as f64;
        (self.until - self.from) / count
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + ((seconds - self.from) / (self.until - self.from)).clamp(0.0, 1.0) * (WIDTH - LEFT)
    }

    /// The frame of a picture, with the stalls behind what is drawn on it, and the times below.
    fn begin(&self, out: &mut String, label: &str, summary: &Summary) {
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{label}\">\
             <rect class=\"frame\" x=\"{LEFT}\" y=\"0\" width=\"{}\" height=\"{HEIGHT}\"/>",
            HEIGHT + BELOW,
            WIDTH - LEFT
        );
        for StallRow { from, until, .. } in &summary.stalls {
            let (left, right) = (self.x(seconds(*from)), self.x(seconds(*until)));
            let _ = write!(
                out,
                "<rect class=\"stall\" x=\"{left:.1}\" y=\"0\" width=\"{:.1}\" height=\"{HEIGHT}\"/>",
                (right - left).max(1.0)
            );
        }
        let times = [summary.minutes.first(), summary.minutes.get(summary.minutes.len() / 2), summary.minutes.last()];
        for (row, anchor) in times.into_iter().flatten().zip(["start", "middle", "end"]) {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                self.x(seconds(row.at)),
                HEIGHT + BELOW - 6.0,
                row.at
            );
        }
    }
}

fn mark(out: &mut String, y: f64, text: &str) {
    let _ = write!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 6.0, y.max(10.0));
}

/// Operations a second; failed ones in front.
#[allow(clippy::cast_precision_loss, reason = "for pictures")]
pub(crate) fn rate(summary: &Summary) -> String {
    let mut out = String::new();
    let Some(line) = Line::of(summary) else { return out };
    let of = |count: u64| count as f64 / line.column_seconds();
    let highest = line.columns.iter().map(|column| of(column.operations)).fold(0.0, f64::max).max(1e-9);
    line.begin(&mut out, "operations a second", summary);
    let width = (WIDTH - LEFT) / line.columns.len() as f64;
    for (number, column) in line.columns.iter().enumerate() {
        for (count, class) in [(column.operations, "rate"), (column.errors, "errors")] {
            let height = of(count) / highest * HEIGHT;
            if count > 0 {
                let _ = write!(
                    out,
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{height:.1}\"/>",
                    LEFT + number as f64 * width,
                    HEIGHT - height
                );
            }
        }
    }
    let digits = if highest < 10.0 { 2 } else { 0 };
    mark(&mut out, 0.0, &format!("{highest:.digits$}/s"));
    mark(&mut out, HEIGHT, "0");
    out + "</svg>"
}

/// How long operations took: half of them, 99 of 100, the longest; each step up is ten times as long.
#[allow(clippy::cast_precision_loss, reason = "for pictures")]
pub(crate) fn times(summary: &Summary) -> String {
    let mut out = String::new();
    let Some(line) = Line::of(summary) else { return out };
    let highest = line.columns.iter().map(|column| column.max).max().unwrap_or(0) as f64;
    let decades = (highest.max(LOWEST_NS * 10.0) / LOWEST_NS).log10().ceil();
    let y = |ns: f64| HEIGHT - ((ns.max(LOWEST_NS) / LOWEST_NS).log10() / decades).clamp(0.0, 1.0) * HEIGHT;
    line.begin(&mut out, "how long operations took", summary);
    let mut step = LOWEST_NS;
    for _ in 0..=(decades as u32) {
        let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {0:.1}H{WIDTH}\"/>", y(step));
        mark(&mut out, y(step), &step_text(step));
        step *= 10.0;
    }
    let width = (WIDTH - LEFT) / line.columns.len() as f64;
    for (class, of) in [
        ("longest", (|column: &Column| column.max) as fn(&Column) -> u64),
        ("p99", |column| column.p99),
        ("p50", |column| column.p50),
    ] {
        let mut path = String::new();
        for (number, column) in line.columns.iter().enumerate().filter(|(_, column)| of(column) > 0) {
            let _ =
                write!(path, "M{:.1} {:.1}h{:.2}", LEFT + number as f64 * width, y(of(column) as f64), width.max(2.0));
        }
        let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    out + "</svg>"
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number below a day")]
fn step_text(ns: f64) -> String {
    let text = Length(ns.round() as u64).to_string();
    text.replace(".00", "").replace(".0", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::line::LineReader;
    use crate::settings::Settings;

    #[test]
    fn pictures_show_the_time_line_and_its_stalls() {
        let mut analysis = Analysis::new(Settings::default(), LineReader::default());
        assert_eq!(rate(&analysis.summary()), "");
        for minute in 0..50 {
            for connection in 0..4 {
                let etime = if minute == 20 { "30.5" } else { "0.002" };
                let line = format!(
                    "[01/Apr/2008:15:{minute:02}:59 +0200] conn={connection} op={minute} msgId=1 - RESULT err={} \
                     tag=101 nentries=0 etime={etime}",
                    if minute == 7 { 50 } else { 0 }
                );
                analysis.line(line.as_bytes());
            }
        }
        let summary = analysis.summary();
        let picture = rate(&summary);
        let count = |picture: &str, class: &str| picture.matches(&format!("class=\"{class}\"")).count();
        assert_eq!(["frame", "stall", "rate", "errors"].map(|class| count(&picture, class)), [1, 1, 50, 1]);
        assert!(picture.contains(">0.07/s<") && picture.contains(">01/Apr/2008:15:25:00<"), "{picture}");
        let picture = times(&summary);
        assert_eq!(["stall", "p50", "p99", "longest", "grid"].map(|class| count(&picture, class)), [1, 1, 1, 1, 8]);
        assert!(picture.contains(">10 µs<") && picture.contains(">100 s<"), "{picture}");
    }
}
