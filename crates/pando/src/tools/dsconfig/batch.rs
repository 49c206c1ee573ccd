//! Several commands in one run, as lines of a text: what each line says.
//!
//! Knows words and lines; what a command does is not its business.

use std::io::{self, Read};
use std::path::Path;

use durable::ReadBound;

use crate::failure::{Context, Failure};

/// Longest text that is read: some ten thousand commands.
const BATCH_BYTES_MAX: u64 = 4 << 20;

/// One command of a batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// Its first line in the text, from 1.
    pub number: usize,
    /// As it was written, on one line.
    pub text: String,
}

/// The text of a file, or of standard input.
pub fn read(file: Option<&Path>) -> Result<String, Failure> {
    match file {
        Some(file) => ReadBound::stream(BATCH_BYTES_MAX).text(file).context(file.display()),
        None => {
            let mut bytes = Vec::new();
            let input = io::stdin().lock();
            input.take(BATCH_BYTES_MAX + 1).read_to_end(&mut bytes).context("standard input")?;
            if bytes.len() as u64 > BATCH_BYTES_MAX {
                return Err(Failure::new(format_args!(
                    "standard input is longer than {BATCH_BYTES_MAX} bytes: divide the batch"
                )));
            }
            String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not text in UTF-8"))
        }
    }
}

/// The commands of a text. A line that ends with a backslash goes on in the next; blank lines and those that begin with
/// `#` say nothing.
pub fn lines(text: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut open: Option<Line> = None;
    for (index, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with('#');
        if open.is_none() && (is_comment || line.trim().is_empty()) {
            continue;
        }
        let mut command = open.take().unwrap_or_else(|| Line { number: index + 1, text: String::new() });
        match line.trim_end().strip_suffix('\\') {
            Some(part) => {
                command.text.push_str(part);
                open = Some(command);
            }
            None => {
                command.text.push_str(line);
                found.push(command);
            }
        }
    }
    found.extend(open);
    for command in &mut found {
        command.text = command.text.trim().to_owned();
    }
    found
}

impl Line {
    /// The words of the command, as a shell divides them, without the name of the tool, which may stand before them.
    pub fn words(&self) -> Result<Vec<String>, Failure> {
        let words = shlex::split(&self.text).ok_or_else(|| Failure::new("a quotation mark is not closed"))?;
        let mut words = words.into_iter().peekable();
        words.next_if(|word| word == "pando");
        words.next_if(|word| word.rsplit('/').next() == Some("dsconfig"));
        Ok(words.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_lines_with_the_number_of_their_first() {
        let text = "# Indexes.\n\n  set-a \\\n   --set b:c \\\n --set d:e\n#x\n\tget-f 'g h'\\\n";
        let found: Vec<(usize, Vec<String>)> =
            lines(text).iter().map(|line| (line.number, line.words().unwrap())).collect();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(found, [(3, words("set-a --set b:c --set d:e")), (7, vec!["get-f".to_owned(), "g h".to_owned()])]);
    }

    #[test]
    fn words_are_divided_as_by_a_shell() {
        let words = |text: &str| Line { number: 1, text: text.to_owned() }.words().map_err(|it| it.to_string());
        assert_eq!(words(r#"dsconfig a --set "b:c d" e\ f"#).unwrap(), ["a", "--set", "b:c d", "e f"]);
        assert_eq!(words("pando dsconfig a").unwrap(), ["a"]);
        assert_eq!(words("/opt/bin/dsconfig a").unwrap(), ["a"]);
        assert_eq!(words("a 'b").unwrap_err(), "a quotation mark is not closed");
    }
}
