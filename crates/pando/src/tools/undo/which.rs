//! The options that say which changes are to be undone.

use change::history::{Bounds, Change};
use clap::Args;

use crate::failure::Failure;
use crate::tools::time;

/// Which changes are meant: those to which everything applies that is given.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Which {
    /// The change with this number
    #[arg(value_name = "CHANGE_NUMBER", conflicts_with_all = ["from", "to", "by", "since", "until"])]
    pub(super) number: Option<u64>,
    /// Changes from this number on
    #[arg(long = "from", value_name = "NUMBER")]
    pub(super) from: Option<u64>,
    /// Changes up to this number
    #[arg(long = "to", value_name = "NUMBER")]
    pub(super) to: Option<u64>,
    /// Changes made by this user
    #[arg(long = "by", value_name = "DN")]
    pub(super) by: Option<String>,
    /// Changes at or after this time: "2026-11-21 10:00" (local), 2026-11-21T10:00:00Z, or "2h" for two hours ago
    #[arg(long = "since", value_name = "TIME", value_parser = time::parse)]
    pub(super) since: Option<u64>,
    /// Changes before this time
    #[arg(long = "until", value_name = "TIME", value_parser = time::parse)]
    pub(super) until: Option<u64>,
}

impl Which {
    pub(super) fn describe_none(&self, Bounds { first, last }: Bounds) -> Failure {
        let what = match self.number {
            Some(number) => format!("there is no change {number}"),
            None => "no change matches".to_owned(),
        };
        match last.checked_sub(first) {
            Some(_) => Failure::new(format_args!("{what}: the history has changes {first} to {last}")),
            None => Failure::new(format_args!("{what}: the history is empty")),
        }
    }

    /// Whether a change is meant, but for who made it.
    pub(super) fn has(&self, change: &Change<'_>) -> bool {
        let (number, time) = (change.number, change.csn.time_us);
        self.number.is_none_or(|wanted| number == wanted)
            && self.from.is_none_or(|from| number >= from)
            && self.to.is_none_or(|to| number <= to)
            && self.since.is_none_or(|since| time >= since)
            && self.until.is_none_or(|until| time < until)
    }
}
