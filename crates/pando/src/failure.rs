//! How a tool fails: one clear line, and an exit status that is not 0.

use std::fmt;
use std::process::ExitCode;

use crate::output::errln;

/// What went wrong, for the person at the terminal.
#[derive(Debug)]
pub struct Failure {
    message: String,
    status: u8,
}

/// What a tool ends with.
pub type Outcome = Result<ExitCode, Failure>;

impl Failure {
    /// A failure with exit status 1.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), status: 1 }
    }

    /// The same with another exit status.
    pub fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// The same with where it happened before its message.
    pub fn prefixed(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prints `pando TOOL: message`; a message of several lines (all faults of a file) gets the name on each.
    pub fn report(&self, tool: &str) -> ExitCode {
        for line in self.message.lines() {
            errln!("pando {tool}: {line}");
        }
        ExitCode::from(self.status)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

/// Adds what was being done to an error that does not know.
pub trait Context<T> {
    /// `what: error`
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format_args!("{what}: {error}")))
    }
}

macro_rules! failures {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new(error)
            }
        })*
    };
}

failures!(
    ::backup::BackupError,
    ::backup::storage::StorageError,
    config::ConfigErrors,
    crate::makeldif::TemplateError,
    directory::OpenError,
    directory::SubjectError,
    jobs::JobError,
    schema::SchemaErrors,
    store::StoreError,
);
