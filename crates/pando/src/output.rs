//! What the tools print. Who reads it may go before its end (`pando … | head -1`): the rest is dropped, the tool ends
//! as it would have.
//!
//! Knows standard output and standard error, and nothing of what is printed. Tools print with [`out!`], [`outln!`] and
//! [`errln!`]: the macros of the standard library panic when the reader is gone.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// The first failure of standard output. What is printed afterwards is dropped.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints to standard output.
macro_rules! out {
    ($($argument:tt)*) => { $crate::output::print(format_args!($($argument)*)) };
}

/// Prints a line to standard output.
macro_rules! outln {
    ($($argument:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($argument)*))) };
}

/// Prints a line to standard error.
macro_rules! errln {
    ($($argument:tt)*) => { $crate::output::note(format_args!("{}\n", format_args!($($argument)*))) };
}

pub(crate) use {errln, out, outln};

/// Standard output for long texts: fails when the reader is gone, so that the work can end early.
pub struct Output;

impl Output {
    fn noted<T>(written: io::Result<T>) -> io::Result<T> {
        written.inspect_err(|error| {
            FAILURE
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
        })
    }

    fn check() -> io::Result<()> {
        match &*FAILURE.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::check()?;
        Self::noted(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::check()?;
        Self::noted(io::stdout().flush())
    }
}

/// Prints to standard output; [`out!`] calls it.
pub fn print(text: fmt::Arguments<'_>) {
    // A failure is kept for the end of the tool.
    let _ = Output.write_fmt(text);
}

/// Prints to standard error; [`errln!`] calls it. A failure of this has no other place to be reported.
pub fn note(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}

/// Whether the reader of standard output is gone.
pub fn reader_is_gone() -> bool {
    Output::check().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The status of a tool that ended with `status`: output that could not be written, other than to a reader that went,
/// is a failure.
pub fn finish(tool: &str, status: ExitCode) -> ExitCode {
    match Output.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            errln!("pando {tool}: standard output: {error}");
            ExitCode::FAILURE
        }
        _ => status,
    }
}
