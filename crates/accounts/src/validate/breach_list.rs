//! Passwords that became known: a sorted file of SHA-1 hashes, searched without being loaded.
//!
//! The form is that of "Have I Been Pwned": a line `HASH` or `HASH:COUNT` for each password, with the hash in
//! hexadecimal digits, sorted by hash. Hashes may be cut to their first digits, all to the same number.

use std::fmt;
use std::io;
use std::sync::Arc;

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
}

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
    /// When the first line is not of the form.
    pub fn open(name: &str, file: Arc<dyn ReadAt>, bytes: u64) -> io::Result<BreachList> {
        let list = BreachList { name: name.to_owned(), file, bytes };
        if bytes > 0 {
            list.line_from(0)?;
        }
        Ok(list)
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
        while low < high {
            let middle = low + (high - low) / 2;
            let start = self.line_start(middle)?;
            if start >= high {
                high = middle;
                continue;
            }
            let line = self.line_from(start)?;
            match line.digits().cmp(&digits[..line.digits]) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = start + line.bytes,
                std::cmp::Ordering::Greater => high = middle,
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
        let told = format!(
            "{}: there is no line of the form HASH:COUNT at byte {place}; the list is sorted SHA-1 hashes in \
             hexadecimal digits, one a line",
            self.name
        );
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

/// Lists are the same when they are read from the same file.
impl PartialEq for BreachList {
    fn eq(&self, other: &BreachList) -> bool {
        Arc::ptr_eq(&self.file, &other.file) || (self.name == other.name && self.bytes == other.bytes)
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
        BreachList::open("known", Arc::new(bytes), size).unwrap()
    }

    proptest! {
        /// Of every file exactly the passwords of its lines are found, with and without counts, whatever ends a line.
        #[test]
        fn what_is_in_the_list_is_found(
            count in 0_usize..40,
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
            if ends_at_last && count > 0 {
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
            let size = text.len() as u64;
            assert!(BreachList::open("known", Arc::new(text.as_bytes().to_vec()), size).is_err(), "{text}");
        }
        let later = format!("{}\n{}\n", line_of("a", 40), "z".repeat(200));
        let error = list(&later).has(b"password").unwrap_err().to_string();
        assert!(error.starts_with("known: there is no line of the form HASH:COUNT at byte "), "{error}");
    }
}
