//! The lines of an access log: of what was put aside of it, then of the file itself, then as they come.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use config::Config;

use crate::failure::{Context, Failure};
use crate::instance;

/// Longest line that is read; longer ones are cut.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Between two looks at a log that is followed.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Which files.
pub fn files(config: &Config, named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    instance::access_log_files(config)
}

/// Gives every line to `each`; of the last file also those that come within `follow`.
pub fn read(files: &[PathBuf], follow: Option<Duration>, each: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    let (last, before) = match files.split_last() {
        Some((last, before)) => (last, before),
        None => return Ok(()),
    };
    for file in before {
        lines(&mut open(file)?, &mut String::new(), each).context(file.display())?;
    }
    let mut reader = open(last)?;
    let mut rest = String::new();
    lines(&mut reader, &mut rest, each).context(last.display())?;
    let until = follow.map(|follow| Instant::now() + follow);
    while until.is_some_and(|until| Instant::now() < until) {
        std::thread::sleep(LOOK_EVERY);
        lines(&mut reader, &mut rest, each).context(last.display())?;
        // What was put aside is read to its end before the new file is begun.
        if is_another(&reader, last) {
            lines(&mut reader, &mut rest, each).context(last.display())?;
            reader = open(last)?;
            rest.clear();
        }
    }
    if !rest.is_empty() {
        each(&rest);
    }
    Ok(())
}

fn open(file: &Path) -> Result<BufReader<File>, Failure> {
    Ok(BufReader::new(File::open(file).context(file.display())?))
}

/// Whether the name stands for another file by now.
fn is_another(open: &BufReader<File>, file: &Path) -> bool {
    match (open.get_ref().metadata(), file.metadata()) {
        (Ok(own), Ok(now)) => (own.dev(), own.ino()) != (now.dev(), now.ino()),
        // It is put aside, and the new one is not there yet.
        _ => false,
    }
}

/// Gives whole lines; the begin of one that is not whole stays in `rest`.
fn lines(reader: &mut BufReader<File>, rest: &mut String, each: &mut dyn FnMut(&str)) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let count = std::io::Read::take(&mut *reader, LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        rest.push_str(&String::from_utf8_lossy(&bytes));
        if rest.ends_with('\n') || rest.len() as u64 >= LINE_BYTES_MAX {
            each(rest.trim_end_matches('\n'));
            rest.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_come_whole_also_while_the_log_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&first, "one\ntwo\n").unwrap();
        fs::write(&second, "three\nfo").unwrap();
        let mut found = Vec::new();
        let writer = second.clone();
        let appended = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            let mut file = fs::OpenOptions::new().append(true).open(&writer).unwrap();
            file.write_all(b"ur\nfive\n").unwrap();
            std::thread::sleep(Duration::from_millis(500));
            fs::rename(&writer, writer.with_extension("old")).unwrap();
            fs::write(&writer, "six\n").unwrap();
        });
        let follow = Some(Duration::from_millis(2_500));
        read(&[first, second], follow, &mut |line| found.push(line.to_owned())).unwrap();
        appended.join().unwrap();
        assert_eq!(found, ["one", "two", "three", "four", "five", "six"]);
    }
}
