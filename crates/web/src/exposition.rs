//! Metrics as text: Prometheus' format 0.0.4 and OpenMetrics 1.0.
//!
//! Knows the two formats and not what is measured. Own code because `prometheus-client` writes OpenMetrics alone.

use std::fmt::Write;

/// Which of the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What every version of Prometheus reads.
    Prometheus,
    /// What newer ones ask for.
    OpenMetrics,
}

/// What kind of number it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the server runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Times by buckets.
    Histogram,
}

/// All numbers of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Without the `_total` that counters get.
    pub name: &'static str,
    /// What kind.
    pub kind: Kind,
    /// One sentence.
    pub help: &'static str,
    /// One for each combination of labels.
    pub samples: Vec<Sample>,
}

/// One number, or one histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values.
    pub labels: Vec<(&'static str, String)>,
    /// What is told.
    pub value: Value,
}

/// What a sample tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// Any number.
    Number(f64),
    /// How many were at most as long as each bound, and altogether.
    Histogram {
        /// Bounds in seconds, with the count of all that are not longer.
        buckets: Vec<(f64, u64)>,
        /// All together, in seconds.
        sum: f64,
        /// How many.
        count: u64,
    },
}

impl Family {
    /// A family without samples.
    #[must_use]
    pub fn new(kind: Kind, name: &'static str, help: &'static str) -> Self {
        Self { name, kind, help, samples: Vec::new() }
    }

    /// A counter of one number.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, count: u64) -> Self {
        Self::new(Kind::Counter, name, help).with(Vec::new(), Value::Count(count))
    }

    /// A gauge of one number.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, number: f64) -> Self {
        Self::new(Kind::Gauge, name, help).with(Vec::new(), Value::Number(number))
    }

    /// Adds a sample.
    #[must_use]
    pub fn with(mut self, labels: Vec<(&'static str, String)>, value: Value) -> Self {
        self.samples.push(Sample { labels, value });
        self
    }
}

impl Format {
    /// What an `Accept` header asks for.
    #[must_use]
    pub fn of_accept(accept: Option<&str>) -> Self {
        match accept {
            Some(accept) if accept.contains("application/openmetrics-text") => Format::OpenMetrics,
            _ => Format::Prometheus,
        }
    }

    /// The `Content-Type` of the answer.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The text of all families that have samples.
    #[must_use]
    pub fn text(self, families: &[Family]) -> String {
        let mut text = String::new();
        for family in families.iter().filter(|family| !family.samples.is_empty()) {
            self.family(&mut text, family);
        }
        if self == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    fn family(self, text: &mut String, family: &Family) {
        let (name, help) = (family.name, family.help);
        let (kind, suffix) = match family.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
            Kind::Histogram => ("histogram", ""),
        };
        // OpenMetrics names the family without the suffix of its samples.
        let shown = if self == Format::OpenMetrics { "" } else { suffix };
        line(
            text,
            format_args!("# HELP {name}{shown} {}", Escaped { text: help, quotes: self == Format::OpenMetrics }),
        );
        line(text, format_args!("# TYPE {name}{shown} {kind}"));
        for Sample { labels, value } in &family.samples {
            let all = Labels { labels, bound: None };
            match value {
                Value::Count(count) => line(text, format_args!("{name}{suffix}{all} {count}")),
                Value::Number(number) => line(text, format_args!("{name}{suffix}{all} {number}")),
                Value::Histogram { buckets, sum, count } => {
                    for (bound, within) in buckets {
                        let bound = Labels { labels, bound: Some(*bound) };
                        line(text, format_args!("{name}_bucket{bound} {within}"));
                    }
                    let last = Labels { labels, bound: Some(f64::INFINITY) };
                    line(text, format_args!("{name}_bucket{last} {count}"));
                    line(text, format_args!("{name}_sum{all} {sum}"));
                    line(text, format_args!("{name}_count{all} {count}"));
                }
            }
        }
    }
}

fn line(text: &mut String, written: std::fmt::Arguments<'_>) {
    // Writing to a string never fails.
    let _ = text.write_fmt(written);
    text.push('\n');
}

/// Labels in braces; nothing where there are none.
struct Labels<'l> {
    labels: &'l [(&'static str, String)],
    /// The bound of a bucket.
    bound: Option<f64>,
}

impl std::fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.labels.is_empty() && self.bound.is_none() {
            return Ok(());
        }
        let mut separator = '{';
        for (name, value) in self.labels {
            write!(f, "{separator}{name}=\"{}\"", Escaped { text: value, quotes: true })?;
            separator = ',';
        }
        match self.bound {
            Some(bound) if bound.is_infinite() => write!(f, "{separator}le=\"+Inf\"")?,
            // OpenMetrics wants bounds to be floats, also whole ones.
            Some(bound) => write!(f, "{separator}le=\"{bound:?}\"")?,
            None => {}
        }
        f.write_str("}")
    }
}

/// A text with backslashes and ends of lines escaped, and quotation marks where the format asks for it.
struct Escaped<'t> {
    text: &'t str,
    quotes: bool,
}

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.text.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '"' if self.quotes => f.write_str("\\\"")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> Vec<Family> {
        let times = Value::Histogram { buckets: vec![(0.001, 2), (1.0, 3)], sum: 2.5, count: 4 };
        vec![
            Family::counter("a_requests", "Requests.", 7),
            Family::gauge("b_bytes", "A \"quoted\\ help.", 0.5),
            Family::new(Kind::Gauge, "empty", "Nothing to say."),
            Family::new(Kind::Histogram, "c_seconds", "Times.").with(vec![("kind", "x\"y\n".to_owned())], times),
        ]
    }

    #[test]
    fn prometheus_text() {
        let expected = "# HELP a_requests_total Requests.\n# TYPE a_requests_total counter\na_requests_total 7\n\
            # HELP b_bytes A \"quoted\\\\ help.\n# TYPE b_bytes gauge\nb_bytes 0.5\n\
            # HELP c_seconds Times.\n# TYPE c_seconds histogram\n\
            c_seconds_bucket{kind=\"x\\\"y\\n\",le=\"0.001\"} 2\nc_seconds_bucket{kind=\"x\\\"y\\n\",le=\"1.0\"} 3\n\
            c_seconds_bucket{kind=\"x\\\"y\\n\",le=\"+Inf\"} 4\nc_seconds_sum{kind=\"x\\\"y\\n\"} 2.5\n\
            c_seconds_count{kind=\"x\\\"y\\n\"} 4\n";
        assert_eq!(Format::Prometheus.text(&families()), expected);
    }

    #[test]
    fn openmetrics_text() {
        let text = Format::OpenMetrics.text(&families());
        assert!(text.starts_with("# HELP a_requests Requests.\n# TYPE a_requests counter\na_requests_total 7\n"));
        assert!(text.contains("# HELP b_bytes A \\\"quoted\\\\ help.\n"));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn formats_are_chosen_by_accept() {
        let newer = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2";
        assert_eq!(Format::of_accept(Some(newer)), Format::OpenMetrics);
        for other in [None, Some("*/*"), Some("text/plain")] {
            assert_eq!(Format::of_accept(other), Format::Prometheus);
        }
    }
}
