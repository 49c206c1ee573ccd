//! Which of several files comes first: the one whose lines are older.

use std::io;
use std::path::{Path, PathBuf};

use super::lines::{Ending, Lines};
use super::source::{STANDARD_INPUT, open};
use crate::line::{Line, LineReader};
use crate::record::Moment;

/// Lines of a file that are looked at for a time.
const LINES_MAX: usize = 1000;

/// A file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct FileError {
    path: PathBuf,
    error: io::Error,
}

/// The files in the order of their first times. Standard input, and a file without a time, stays behind the one before
/// it.
///
/// # Errors
/// When one of several cannot be read; one alone is not looked at.
pub fn in_time_order(files: &[PathBuf], reader: &mut LineReader) -> Result<Vec<PathBuf>, FileError> {
    if files.len() < 2 {
        return Ok(files.to_vec());
    }
    let mut timed: Vec<(Option<Moment>, PathBuf)> = Vec::new();
    for path in files {
        let time = first_time(path, reader).map_err(|error| FileError { path: path.clone(), error })?;
        let time = time.or(timed.last().and_then(|(before, _)| *before));
        timed.push((time, path.clone()));
    }
    timed.sort_by_key(|(time, _)| *time);
    Ok(timed.into_iter().map(|(_, path)| path).collect())
}

fn first_time(path: &Path, reader: &mut LineReader) -> io::Result<Option<Moment>> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(None);
    }
    let mut source = open(path)?;
    reader.begin_file();
    let mut lines = Lines::default();
    let (mut seen, mut found) = (0, None);
    let mut each = |line: &[u8], _: Ending| {
        seen += 1;
        if let (None, Line::Record(record)) = (found, reader.read(line)) {
            found = record.time;
        }
        found.is_some() || seen > LINES_MAX
    };
    let mut is_done = false;
    while !is_done {
        // A file that is damaged is read as far as it goes, and that is said when it is read.
        let more = lines.read(&mut source, &mut |line, ending| is_done |= each(line, ending)).unwrap_or(false);
        if !more {
            lines.finish(&mut |line, ending| is_done |= each(line, ending));
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn older_files_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let line = |day: u32| format!("[{day:02}/Apr/2008:14:50:11 +0200] conn=1 op=0 msgId=1 - UNBIND\n");
        let new = write("a", &line(3));
        let old = write("b", &format!("a damaged line\n{}{}", line(1), line(9)));
        let none = write("c", "nothing\n");
        let middle = write("d", line(2).trim_end());
        let mut reader = LineReader::default();
        let order = in_time_order(&[new.clone(), old.clone(), none.clone(), middle.clone()], &mut reader).unwrap();
        assert_eq!(order, [old, none, middle, new.clone()]);
        let error = in_time_order(&[new, folder.path().join("x")], &mut reader).unwrap_err().to_string();
        assert!(error.contains("x: No such file"), "{error}");
    }
}
