//! What a task says of itself, as OpenDJ writes it into `ds-task-log-message`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Messages that are kept of a task: the first ones, and the last.
const MESSAGES_MAX: usize = 50;
/// Of them the first ones.
const FIRST: usize = 10;
/// Longest text of a message.
const TEXT_BYTES_MAX: usize = 1024;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It goes as it should.
    Notice,
    /// Something is worth a look.
    Warning,
    /// It failed.
    Error,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        }
    }
}

/// Adds a message to those of a task. `count` numbers it; when there are too many, those in the middle go.
pub(crate) fn push(messages: &mut Vec<String>, count: u64, severity: Severity, text: &str, now: Timestamp) {
    let time = now.to_zoned(TimeZone::system()).strftime("%d/%b/%Y:%H:%M:%S %z");
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = text.get(..end).unwrap_or_default();
    let severity = severity.name();
    messages.push(format!("[{time}] severity=\"{severity}\" msgCount={count} message=\"{text}\""));
    if messages.len() > MESSAGES_MAX {
        messages.remove(FIRST);
    }
}
