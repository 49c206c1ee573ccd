//! The file of the book: one JSON document, replaced as a whole.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use durable::ReadBound;
use serde::{Deserialize, Serialize};

use crate::recurring::Recurring;
use crate::task::Task;

/// More than a full book takes.
const FILE: ReadBound = ReadBound::file(64 << 20);
/// The form that is written.
const FORMAT: u32 = 1;

/// What is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pages {
    pub format: u32,
    pub scheduled: Vec<Task>,
    pub recurring: Vec<Recurring>,
}

/// Why the book cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The system refuses.
    #[error("the file of the tasks, {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It holds something else.
    #[error(
        "{path} does not hold tasks as this version writes them ({problem}): move it away, and the tasks in it are \
             forgotten"
    )]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Default for Pages {
    fn default() -> Self {
        Pages { format: FORMAT, scheduled: Vec::new(), recurring: Vec::new() }
    }
}

/// What the file holds; nothing when there is none.
pub(crate) fn read(path: &Path) -> Result<Pages, BookError> {
    let bytes = match FILE.read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Pages::default()),
        bytes => bytes.map_err(|error| BookError::Io { path: path.to_owned(), error })?,
    };
    let content = |problem: String| BookError::Content { path: path.to_owned(), problem };
    let pages: Pages = serde_json::from_slice(&bytes).map_err(|error| content(error.to_string()))?;
    if pages.format != FORMAT {
        return Err(content(format!("its format is {}", pages.format)));
    }
    Ok(pages)
}

/// Returns when the file is on the disk.
pub(crate) fn write(path: &Path, pages: &Pages) -> Result<(), BookError> {
    let failed = |error: io::Error| BookError::Io { path: path.to_owned(), error };
    let bytes = serde_json::to_vec_pretty(pages).map_err(|error| failed(error.into()))?;
    durable::replace_file(path, &bytes, Some(PermissionsExt::from_mode(0o600))).map_err(failed)
}
