//! A folder in which the tools run as a person runs them, for the tests that look at what they print.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

pub const PANDO: &str = env!("CARGO_BIN_EXE_pando");

/// A directory of its own, in which the tools run.
pub struct Place(TempDir);

/// What a tool printed and how it ended.
pub struct Done {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn run_program(&self, program: &Path, arguments: &[&str]) -> Done {
        let Output { status, stdout, stderr } =
            Command::new(program).args(arguments).current_dir(self.path()).env_remove("PANDO_HOME").output().unwrap();
        Done {
            status: status.code().unwrap_or(-1),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs `pando LINE`; single quotes hold words together.
    pub fn run(&self, line: &str) -> Done {
        let words: Vec<&str> = line
            .split('\'')
            .enumerate()
            .flat_map(|(place, part)| if place % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
            .collect();
        self.run_program(Path::new(PANDO), &words)
    }

    pub fn must(&self, line: &str) -> Done {
        let done = self.run(line);
        assert_eq!(done.status, 0, "{line}\n{}{}", done.out, done.err);
        done
    }

    /// The command fails with status 1 and says exactly this.
    pub fn refuses(&self, line: &str, message: &str) {
        let done = self.run(line);
        assert_eq!((done.status, done.err.as_str()), (1, format!("{message}\n").as_str()), "{line}");
    }

    pub fn setup(&self) -> &Self {
        self.must(
            "setup --instance inst --baseDN dc=example,dc=com --rootUserDN 'cn=Directory Manager' \
            --rootUserPassword secret12 --no-prompt --quiet --skipPortCheck",
        );
        self
    }
}
