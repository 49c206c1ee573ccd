//! The names of log files that were put aside, and the order in which they were.
//!
//! `access.YYYYMMDDhhmmssZ` (UTC) as OpenDJ has them. A clock can be set back, and a second is long: a file that would
//! not come last by its time gets the time of the last one and a number behind it (`access.20260101120000Z.001`), so
//! that the order of the names is the order in which they were given, and no name is ahead of the clock that gave it.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Digits of the time in a name.
const TIME_DIGITS: usize = 14;

/// Most digits of the number behind it that are taken for one.
const NUMBER_DIGITS_MAX: usize = 9;

/// A log file that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotatedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// What the names are ordered by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct NameOrder {
    /// The time, as digits.
    time: String,
    number: u32,
}

impl NameOrder {
    /// Of what follows the log's own name.
    fn of(rest: &str) -> Option<Self> {
        let (time, rest) = rest.strip_prefix('.')?.split_once('Z')?;
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = match rest.strip_prefix('.') {
            None if rest.is_empty() => 0,
            Some(digits) if are_digits(digits) && digits.len() <= NUMBER_DIGITS_MAX => digits.parse().ok()?,
            _ => return None,
        };
        (time.len() == TIME_DIGITS && are_digits(time)).then(|| Self { time: time.to_owned(), number })
    }

    fn suffix(&self) -> String {
        let Self { time, number } = self;
        if *number == 0 { format!(".{time}Z") } else { format!(".{time}Z.{number:03}") }
    }
}

/// The files of a log that were put aside, the one that was first before the others.
///
/// # Errors
/// When the folder cannot be read.
pub fn files(current: &Path) -> io::Result<Vec<RotatedFile>> {
    Ok(places(current)?.into_iter().map(|(_, file)| file).collect())
}

/// What the current file of a log is called when it is put aside now: a name behind those of all others.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn next_name(current: &Path, now: SystemTime) -> io::Result<PathBuf> {
    let own = NameOrder { time: digits_of(now), number: 0 };
    let place = match places(current)?.pop() {
        Some((last, _)) if last >= own => NameOrder { number: last.number.saturating_add(1), time: last.time },
        _ => own,
    };
    let mut name = current.as_os_str().to_owned();
    name.push(place.suffix());
    Ok(PathBuf::from(name))
}

/// The folder of a log.
pub(super) fn folder(current: &Path) -> &Path {
    current.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn places(current: &Path) -> io::Result<Vec<(NameOrder, RotatedFile)>> {
    let name = current.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(current))? {
        let entry = entry?;
        let place = entry.file_name().to_str().and_then(|other| other.strip_prefix(&name)).and_then(NameOrder::of);
        if let Some(place) = place {
            found.push((place, RotatedFile { path: entry.path(), bytes: entry.metadata()?.len() }));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

fn digits_of(now: SystemTime) -> String {
    let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = Timestamp::from_second(i64::try_from(second).unwrap_or(0)).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(TimeZone::UTC).strftime("%Y%m%d%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_they_were_given() {
        let dir = tempfile::tempdir().unwrap();
        let current = dir.path().join("access");
        let now = UNIX_EPOCH + std::time::Duration::from_secs(1_473_683_131);
        let mut given = Vec::new();
        for _ in 0..1_005 {
            let name = next_name(&current, now).unwrap();
            fs::write(&name, "").unwrap();
            given.push(name);
        }
        assert_eq!(given[0], dir.path().join("access.20160912122531Z"));
        assert_eq!(given[1_000], dir.path().join("access.20160912122531Z.1000"));
        let found: Vec<PathBuf> = files(&current).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(found, given);
    }

    #[test]
    fn other_files_are_not_taken_for_rotated_ones() {
        for other in [
            "",
            ".gz",
            ".20160101",
            ".20160101000000Z.gz",
            ".20160101000000Z.",
            ".2016010100000xZ",
            ".20160101000000Z.1.gz",
        ] {
            assert_eq!(NameOrder::of(other), None, "{other}");
        }
        assert_eq!(
            NameOrder::of(".20160101000000Z.7"),
            Some(NameOrder { time: "20160101000000".to_owned(), number: 7 })
        );
    }
}
