//! Passwords that became known: a sorted file of SHA-1 hashes, searched without being loaded.
//!
//! The form is that of "Have I Been Pwned": a line `HASH` or `HASH:COUNT` for each password, with the hash in
//! hexadecimal digits, sorted by hash. Hashes may be cut to their first digits, all to the same number.
//!
//! A list of gigabytes is not read to find out whether it is sorted: lines at [`PROBES`] places are compared when it is
//! opened, and each search compares the lines that it meets.

use std::fmt;
use std::io;
use std::sync::Arc;

use durable::FileStamp;
use sha1::{Digest, Sha1};

/// A file that can be read anywhere.
pub trait ReadAt: Send + Sync {
    /// Reads bytes from that place on; 0 at the end.
    fn read_at(&self, out: &mut [u8], place: u64) -> io::Result<usize>;
}

impl ReadAt for std::fs::File {
    fn read_at(&self, out: &mut [u8], place: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, out, place)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, out: &mut [u8], place: u64) -> io::Result<usize> {
        let from = usize::try_from(place).unwrap_or(usize::MAX).min(self.len());
        let count = out.len().min(self.len() - from);
        out[..count].copy_from_slice(&self[from..from + count]);
        Ok(count)
    }
}

/// The list.
#[derive(Clone)]
pub struct BreachList {
    name: String,
    file: Arc<dyn ReadAt>,
    bytes: u64,
    /// Which version of the file it is; none: it is no file.
    stamp: Option<FileStamp>,
}

/// Places of a list that are looked at when it is opened.
const PROBES: u64 = 1000;
/// Digits of a whole hash.
const HASH_DIGITS: usize = 40;
/// Fewer digits say too little: every password would be found.
const HASH_DIGITS_MIN: usize = 10;
/// No line is longer: a hash, a colon, a number, the end of a line.
const LINE_BYTES_MAX: usize = 96;

impl BreachList {
    /// A list of so many bytes; the name is for messages.
    ///
    /// # Errors
    /// When it is empty, or one of the lines that are looked at is not of the form or not in its place.
    pub fn open(name: &str, file: Arc<dyn ReadAt>, bytes: u64, stamp: Option<FileStamp>) -> io::Result<BreachList> {
        let list = BreachList { name: name.to_owned(), file, bytes, stamp };
        if bytes == 0 {
            return Err(list.invalid("the list is empty: every password would be taken"));
        }
        list.check_order()?;
        Ok(list)
    }

    /// How large the file is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether lines far apart are in order, and their hashes of one length.
    fn check_order(&self) -> io::Result<()> {
        let mut before = self.line_from(0)?;
        let mut at = 0;
        let step = (self.bytes / PROBES).max(1);
        for place in
            (1..=PROBES).map(|probe| probe * step).chain([self.bytes.saturating_sub(2 * LINE_BYTES_MAX as u64)])
        {
            if place <= at || place >= self.bytes {
                continue;
            }
            let start = self.line_start(place)?;
            if start >= self.bytes || start <= at {
                continue;
            }
            let line = self.line_from(start)?;
            if line.digits != before.digits {
                let (one, other) = (before.digits, line.digits);
                return Err(self.invalid(&format!("hashes have {one} digits, and {other} at byte {start}")));
            }
            if line.hash < before.hash {
                return Err(self.not_sorted(start));
            }
            (before, at) = (line, start);
        }
        Ok(())
    }

    /// As it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a password is in the list.
    ///
    /// # Errors
    /// When the file cannot be read, or a line that is met is not of the form.
    pub fn has(&self, password: &[u8]) -> io::Result<bool> {
        let mut digits = [0; HASH_DIGITS];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(Sha1::digest(password)) {
            pair.copy_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
        }
        // The line that is looked for begins, if it is there, in `low..high`.
        let (mut low, mut high) = (0, self.bytes);
        // Lines between these two are between them by their hashes, too, if the list is sorted.
        let (mut least, mut greatest) = ([0; HASH_DIGITS], [u8::MAX; HASH_DIGITS]);
        while low < high {
            let middle = low + (high - low) / 2;
            let start = self.line_start(middle)?;
            if start >= high {
                high = middle;
                continue;
            }
            let line = self.line_from(start)?;
            if line.hash < least || line.hash > greatest {
                return Err(self.not_sorted(start));
            }
            match line.digits().cmp(&digits[..line.digits]) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => (low, least) = (start + line.bytes, line.hash),
                std::cmp::Ordering::Greater => (high, greatest) = (middle, line.hash),
            }
        }
        Ok(false)
    }

    /// Where the first line begins that begins at `place` or after it.
    fn line_start(&self, place: u64) -> io::Result<u64> {
        if place == 0 {
            return Ok(0);
        }
        let mut bytes = [0; LINE_BYTES_MAX];
        let bytes = self.read(&mut bytes, place - 1)?;
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => Ok(place + end as u64),
            None if bytes.len() < LINE_BYTES_MAX => Ok(self.bytes),
            None => Err(self.bad(place)),
        }
    }

    fn line_from(&self, start: u64) -> io::Result<Line> {
        let mut buffer = [0; LINE_BYTES_MAX];
        let bytes = self.read(&mut buffer, start)?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let text = &bytes[..end.unwrap_or(bytes.len())];
        if end.is_none() && bytes.len() == LINE_BYTES_MAX {
            return Err(self.bad(start));
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let (hash, count) = match text.iter().position(|byte| *byte == b':') {
            Some(colon) => (&text[..colon], &text[colon + 1..]),
            None => (text, &b""[..]),
        };
        let is_hash = (HASH_DIGITS_MIN..=HASH_DIGITS).contains(&hash.len()) && hash.iter().all(u8::is_ascii_hexdigit);
        if !is_hash || !count.iter().all(u8::is_ascii_digit) {
            return Err(self.bad(start));
        }
        let mut hash_digits = [0; HASH_DIGITS];
        hash_digits[..hash.len()].copy_from_slice(hash);
        hash_digits.make_ascii_uppercase();
        Ok(Line { hash: hash_digits, digits: hash.len(), bytes: end.map_or(bytes.len(), |end| end + 1) as u64 })
    }

    fn read<'b>(&self, out: &'b mut [u8], place: u64) -> io::Result<&'b [u8]> {
        let mut filled = 0;
        while filled < out.len() {
            match self.file.read_at(&mut out[filled..], place + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&out[..filled])
    }

    fn bad(&self, place: u64) -> io::Error {
        self.invalid(&format!(
            "there is no line of the form HASH:COUNT at byte {place}; the list is sorted SHA-1 hashes in hexadecimal \
             digits, one a line"
        ))
    }

    fn not_sorted(&self, place: u64) -> io::Error {
        let order = "sort the file by its hashes (LC_ALL=C sort)";
        self.invalid(&format!("the line at byte {place} is not in its place: {order}"))
    }

    fn invalid(&self, told: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, told)
    }
}

struct Line {
    hash: [u8; HASH_DIGITS],
    digits: usize,
    /// With its end.
    bytes: u64,
}

impl Line {
    fn digits(&self) -> &[u8] {
        &self.hash[..self.digits]
    }
}

fn hex(half: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(half & 15)]
}

impl fmt::Debug for BreachList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BreachList").field("name", &self.name).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Lists are the same when they are read from the same version of the same file.
impl PartialEq for BreachList {
    fn eq(&self, other: &BreachList) -> bool {
        Arc::ptr_eq(&self.file, &other.file)
            || (&self.name, self.bytes, self.stamp) == (&other.name, other.bytes, other.stamp)
    }
}

impl Eq for BreachList {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line_of(password: &str, digits: usize) -> String {
        Sha1::digest(password).iter().map(|byte| format!("{byte:02X}")).collect::<String>()[..digits].to_owned()
    }

    fn list(text: &str) -> BreachList {
        let bytes = text.as_bytes().to_vec();
        let size = bytes.len() as u64;
        BreachList::open("known", Arc::new(bytes), size, None).unwrap()
    }

    fn opened(text: &str) -> Result<BreachList, String> {
        let (bytes, size) = (text.as_bytes().to_vec(), text.len() as u64);
        BreachList::open("known", Arc::new(bytes), size, None).map_err(|error| error.to_string())
    }

    fn lines(count: usize) -> Vec<String> {
        let mut lines: Vec<String> = (0..count).map(|nth| line_of(&format!("password {nth}"), 40)).collect();
        lines.sort();
        lines
    }

    #[test]
    fn a_list_that_is_empty_or_not_sorted_is_refused() {
        assert!(opened("").unwrap_err().contains("the list is empty"));
        for count in [2, 3, 100, 100_000] {
            let mut lines = lines(count);
            assert!(opened(&lines.join("\n")).is_ok(), "{count}");
            lines.reverse();
            let told = opened(&lines.join("\n")).unwrap_err();
            assert!(told.contains("is not in its place: sort the file"), "{count}: {told}");
        }
        let mut short = lines(100);
        short[60].truncate(20);
        let told = opened(&short.join("\n")).unwrap_err();
        assert!(told.contains("hashes have 40 digits, and 20 at byte 2460"), "{told}");
    }

    /// What lies between the places that are looked at first is found out by the searches that come there.
    #[test]
    fn a_search_says_that_a_list_is_not_sorted() {
        let mut lines = lines(100_000);
        let (middle, last) = (50_001, lines.len() - 2);
        lines.swap(middle, last);
        let list = opened(&lines.join("\n"));
        let Ok(list) = list else { return };
        let all = (0..100_000).map(|nth| list.has(format!("password {nth}").as_bytes()));
        let failed =
            all.filter(|found| found.as_ref().is_err_and(|error| error.to_string().contains("not in its place")));
        assert!(failed.count() > 0);
    }

    #[test]
    fn a_list_of_another_version_of_the_file_is_another_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let open = || {
            let file = std::fs::File::open(&path).unwrap();
            let bytes = file.metadata().unwrap().len();
            BreachList::open("list", Arc::new(file), bytes, FileStamp::of(&path)).unwrap()
        };
        std::fs::write(&path, line_of("one", 40)).unwrap();
        let first = open();
        assert_eq!(first, open());
        let other = folder.path().join("other");
        std::fs::write(&other, line_of("two", 40)).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(first, open(), "of the same name and size");
    }

    proptest! {
        /// Of every file exactly the passwords of its lines are found, with and without counts, whatever ends a line.
        #[test]
        fn what_is_in_the_list_is_found(
            count in 1_usize..40,
            digits in prop::sample::select(vec![10_usize, 16, 39, 40]),
            end in prop::sample::select(vec!["\n", "\r\n"]),
            has_counts: bool,
            ends_at_last: bool,
        ) {
            let mut lines: Vec<String> = (0..count).map(|nth| line_of(&format!("password {nth}"), digits)).collect();
            lines.sort();
            let numbered = lines.iter().enumerate().map(|(nth, line)| match has_counts {
                true => format!("{line}:{}", nth.pow(5)),
                false => line.to_lowercase(),
            });
            let mut text = numbered.collect::<Vec<_>>().join(end);
            if ends_at_last {
                text.push_str(end);
            }
            let list = list(&text);
            for nth in 0..60 {
                prop_assert_eq!(list.has(format!("password {nth}").as_bytes()).unwrap(), nth < count, "{}", nth);
            }
        }
    }

    #[test]
    fn what_is_no_list_is_not_searched() {
        for text in ["password\n", "5BAA61E4C:1\n", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:x\n", "\n"] {
            assert!(opened(text).is_err(), "{text}");
        }
        let later = format!("{}\n{}\n", line_of("a", 40), "z".repeat(200));
        let error = opened(&later).unwrap_err();
        assert!(error.starts_with("there is no line of the form HASH:COUNT at byte "), "{error}");
    }
}
