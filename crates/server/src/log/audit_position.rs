//! How far an audit log got: read from its own end, so that nothing has to be kept beside it.
//!
//! A record ends with a blank line, and its first line has its number. What follows the last blank line was being
//! written when the server or the machine stopped: it is cut off, because its change is written again. After a power
//! cut the last bytes may be missing anywhere ([`UNSYNCED_BYTES_MAX`]), before others that are there: the text ends
//! before the first such hole. Files that were put aside are whole: they were synced before.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use change::audit::CHANGE_NUMBER;
use runtime::log::rotated;

/// What a file without records of its own begins with: the number of the last change before it follows.
pub(super) const AFTER: &str = "Changes after ";

/// Bytes at the end of the file that the disk may not have.
pub(super) const UNSYNCED_BYTES_MAX: u64 = 8 << 20;

/// Bytes that are read at once, from the end.
const STEP_BYTES: u64 = 64 * 1024;

/// The number of the last change that is written whole, in the current file or in the last one that was put aside. A
/// record that is cut short is taken off the current one. `None` when there is no record.
pub(super) fn find(path: &Path) -> io::Result<Option<u64>> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(mut file) => {
            let sound = sound_until(&mut file)?;
            let end = whole_until(&mut file, sound)?;
            file.set_len(end)?;
            if let Some(number) = last_number(&mut file, end)? {
                return Ok(Some(number));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let older = match rotated::files(path) {
        Ok(older) => older,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    for aside in older.iter().rev() {
        if let Some(number) = last_number(&mut File::open(&aside.path)?, aside.bytes)? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Offset of the first hole: bytes that a power cut kept from the disk. The end of the file when there is none.
fn sound_until(file: &mut File) -> io::Result<u64> {
    let end = file.seek(SeekFrom::End(0))?;
    // Twice as far back as needed, should what was written have been cut off and written again.
    let mut at = end.saturating_sub(2 * UNSYNCED_BYTES_MAX);
    file.seek(SeekFrom::Start(at))?;
    let mut piece = Vec::new();
    loop {
        piece.clear();
        file.take(STEP_BYTES).read_to_end(&mut piece)?;
        // No text has such a byte: values that do are written in base64.
        if let Some(hole) = piece.iter().position(|byte| *byte == 0) {
            return Ok(at + hole as u64);
        }
        if piece.is_empty() {
            return Ok(end);
        }
        at += piece.len() as u64;
    }
}

/// Where the last blank line before `end` ends; 0 when there is none.
fn whole_until(file: &mut File, end: u64) -> io::Result<u64> {
    backwards(file, end, |start, bytes| {
        bytes.windows(2).rposition(|pair| pair == b"\n\n").map(|at| start + at as u64 + 2)
    })
    .map(|found| found.unwrap_or(0))
}

/// The number in the last headline before `end`.
fn last_number(file: &mut File, end: u64) -> io::Result<Option<u64>> {
    backwards(file, end, |_, bytes| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().rev().find_map(number_of)
    })
}

/// The number that a line says, if it is the first line of a record or tells where the file begins. Comments that show
/// attributes begin with their names, the first line of a record with the year.
fn number_of(line: &str) -> Option<u64> {
    let (before, after) = line.strip_prefix("# ")?.split_once(CHANGE_NUMBER)?;
    let is_headline = before.starts_with(|c: char| c.is_ascii_digit()) || before == AFTER;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    if is_headline { digits.parse().ok() } else { None }
}

/// Reads towards the beginning, more each time, until `find` finds something in what ends at `end`.
fn backwards<T>(file: &mut File, end: u64, find: impl Fn(u64, &[u8]) -> Option<T>) -> io::Result<Option<T>> {
    let mut length = STEP_BYTES;
    loop {
        let start = end.saturating_sub(length);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(end - start).read_to_end(&mut bytes)?;
        let found = find(start, &bytes);
        if found.is_some() || start == 0 {
            return Ok(found);
        }
        length = length.saturating_mul(4);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RECORD: &str = "# 2026-11-21T10:00:00.000Z; conn=3; op=4; csn=x; changenumber=17; user=cn=Directory \
        Manager; cause=request\n\
                          dn: dc=com\nchangetype: delete\n\n";

    #[test]
    fn the_last_whole_record_counts_and_the_rest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        assert_eq!(find(&path).unwrap(), None);
        let next = RECORD.replace("17", "18");
        for cut in [0, 1, 40, next.len() - 1] {
            fs::write(&path, format!("{RECORD}{}", &next[..cut])).unwrap();
            assert_eq!(find(&path).unwrap(), Some(17), "{cut}");
            assert_eq!(fs::read_to_string(&path).unwrap(), RECORD);
        }
        fs::write(&path, format!("{RECORD}{next}")).unwrap();
        assert_eq!(find(&path).unwrap(), Some(18));
        // What a power cut leaves.
        fs::write(&path, [RECORD.as_bytes(), &[0; 5000]].concat()).unwrap();
        assert_eq!(find(&path).unwrap(), Some(17));
        // A hole in the record before the last, which reached the disk earlier.
        let third = RECORD.replace("17", "19");
        for hole in [1, 20, next.len() - 5] {
            let mut holed = next.clone().into_bytes();
            holed[hole..hole + 4].fill(0);
            fs::write(&path, [RECORD.as_bytes(), &holed, third.as_bytes()].concat()).unwrap();
            assert_eq!(find(&path).unwrap(), Some(17), "{hole}");
            assert_eq!(fs::read_to_string(&path).unwrap(), RECORD);
        }
        // A record longer than what is read at once.
        let long = format!("{}description: {}\n\n", next.trim_end_matches('\n'), "x".repeat(300_000));
        fs::write(&path, format!("{RECORD}{long}")).unwrap();
        assert_eq!(find(&path).unwrap(), Some(18));
    }

    #[test]
    fn users_cannot_fake_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let faked = RECORD.replace("cn=Directory Manager", "cn=x; changenumber=99");
        fs::write(
            &path,
            faked.replace(
                "\n\n",
                "\ndescription: y; conn=1; changenumber=99\n# creatorsName: cn=; conn=1; changenumber=99\n\n",
            ),
        )
        .unwrap();
        assert_eq!(find(&path).unwrap(), Some(17));
    }

    #[test]
    fn a_new_file_goes_on_where_the_one_put_aside_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        fs::write(folder.path().join("audit.20260101000000Z"), RECORD.replace("17", "3")).unwrap();
        fs::write(folder.path().join("audit.20260102000000Z"), RECORD).unwrap();
        assert_eq!(find(&path).unwrap(), Some(17));
        fs::write(&path, "").unwrap();
        assert_eq!(find(&path).unwrap(), Some(17));
        fs::write(&path, format!("# {}{CHANGE_NUMBER}20\n\n", AFTER)).unwrap();
        assert_eq!(find(&path).unwrap(), Some(20));
    }
}
