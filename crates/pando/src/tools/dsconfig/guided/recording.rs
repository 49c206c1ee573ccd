//! The commands that would do without questions what was done by answers: printed, and kept in a file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::failure::{Context, Failure};
use crate::output::outln;
use crate::tools::dsconfig::changes::PropertyChange;

/// Where commands go.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Questions and answers")]
pub struct Recording {
    /// After what was done by answering questions, print the command that does it without any
    #[arg(long = "displayCommand", global = true)]
    display: bool,
    /// Append these commands to a file, which -F can read
    #[arg(long = "commandFilePath", value_name = "FILE", global = true)]
    file: Option<PathBuf>,
}

impl Recording {
    /// A new part of the file begins; one that cannot be written is known before anything is done.
    pub fn begin(&self) -> Result<(), Failure> {
        self.append("# A session of dsconfig.\n")
    }

    /// A command was done.
    pub fn done(&self, words: &[String]) -> Result<(), Failure> {
        let command = command(words);
        if self.display {
            outln!("\nThe equivalent non-interactive command-line is:\n{command}");
        }
        self.append(&format!("\n{command}\n"))
    }

    fn append(&self, text: &str) -> Result<(), Failure> {
        let Some(path) = &self.file else { return Ok(()) };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_data()));
        written.context(path.display())
    }
}

/// The words of changes.
pub fn words_of(changes: &[PropertyChange]) -> Vec<String> {
    changes.iter().flat_map(PropertyChange::options).flatten().collect()
}

/// A command as a shell reads it, an option a line.
fn command(words: &[String]) -> String {
    let mut text = "pando dsconfig".to_owned();
    for (at, word) in words.iter().chain([&"--no-prompt".to_owned()]).enumerate() {
        // A word with a NUL, which no shell takes, is shown as it is.
        let quoted = shlex::try_quote(word).unwrap_or(word.into());
        let before = if at > 0 && word.starts_with("--") { " \\\n          " } else { " " };
        text.push_str(before);
        text.push_str(&quoted);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_given_to_a_shell() {
        let words = ["create-x", "--x-name", "a b", "--set", "size:5 mb"].map(str::to_owned);
        assert_eq!(
            command(&words),
            [
                "pando dsconfig create-x \\",
                "          --x-name 'a b' \\",
                "          --set 'size:5 mb' \\",
                "          --no-prompt",
            ]
            .join("\n")
        );
    }
}
