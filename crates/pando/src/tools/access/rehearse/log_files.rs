//! The lines of an access log: of what was put aside of it, then of the file itself, then as they come.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use config::Config;
use logstat::input::follow::Followed;
use logstat::input::lines::{Ending, Lines};
use logstat::input::source;

use crate::failure::{Context, Failure};
use crate::instance;

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
    let mut each = |line: &[u8], _: Ending| each(&String::from_utf8_lossy(line));
    let (before, last) = match files.split_last() {
        Some((last, before)) if follow.is_some() => (before, Some(last)),
        _ => (files, None),
    };
    for file in before {
        let mut source = source::open(file).context(file.display())?;
        let mut lines = Lines::default();
        while lines.read(&mut source, &mut each).context(file.display())? {}
        lines.finish(&mut each);
    }
    let (Some(last), Some(follow)) = (last, follow) else { return Ok(()) };
    let mut followed = Followed::open(last).context(last.display())?;
    let until = Instant::now() + follow;
    loop {
        followed.read(&mut each).context(last.display())?;
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    followed.finish(&mut each);
    Ok(())
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
