//! How much is kept.

use std::time::Duration;

use ::backup::retention::Retention;
use clap::Args;
use jiff::{Span, SpanRelativeTo};

#[derive(Debug, Args)]
pub struct RetentionOptions {
    /// Remove old full backups until so many are left
    #[arg(long = "keepFull", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    full_backups: Option<u64>,
    /// Remove what is not needed to restore any moment of the last time so long, such as 30d or 12h
    #[arg(long = "keepAge", value_name = "TIME", value_parser = length)]
    age: Option<Duration>,
    /// Remove the oldest until the rest has at most so many bytes, such as 20GiB
    #[arg(long = "keepBytes", value_name = "SIZE", value_parser = size)]
    bytes: Option<u64>,
}

/// Reads a length of time: 30d, 12h, 90m.
pub fn length(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is no length of time: write it as 30d, 12h or 90m");
    let span: Span = text.parse().map_err(|_| wrong())?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Duration::try_from(length).ok().filter(|length| *length >= Duration::from_secs(1)).ok_or_else(wrong)
}

impl RetentionOptions {
    pub fn retention(&self) -> Retention {
        Retention { full_backups: self.full_backups, age: self.age, bytes: self.bytes }
    }
}

fn size(text: &str) -> Result<u64, String> {
    config::parse_size(text).ok_or_else(|| format!("\"{text}\" is no size: write it as 20GiB or 500MiB"))
}
