//! Files that templates name: name lists, included templates.
//!
//! Looks in the resource directory, beside the template and in the current directory, then among the lists that are
//! built in.

use std::path::{Path, PathBuf};

use durable::ReadBound;

use super::error::Fault;

/// The lists that are always there.
const BUILT_IN: [(&str, &str); 5] = [
    ("first.names", include_str!("../../data/first.names")),
    ("last.names", include_str!("../../data/last.names")),
    ("streets", include_str!("../../data/streets")),
    ("cities", include_str!("../../data/cities")),
    ("states", include_str!("../../data/states")),
];

/// Largest file that is read.
pub(super) const FILE: ReadBound = ReadBound::stream(256 << 20);

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    directories: Vec<PathBuf>,
}

impl Resources {
    /// The resource directory first, then the template's, then the current one.
    pub fn new(resource_path: Option<&Path>, template: Option<&Path>) -> Self {
        let beside = template.and_then(Path::parent).map(Path::to_owned);
        let directories = resource_path.map(Path::to_owned).into_iter().chain(beside).chain([PathBuf::from(".")]);
        Self { directories: directories.collect() }
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Result<String, Fault> {
        let found = self.directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file());
        let Some(path) = found else {
            return match BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
                Some((_, text)) => Ok((*text).to_owned()),
                None => Err(Fault::NoSuchFile(name.into())),
            };
        };
        FILE.text(&path).map_err(|error| Fault::Unreadable { path, error })
    }

    /// The lines of a file that are not empty; at least one.
    pub fn lines(&self, name: &str) -> Result<Vec<String>, Fault> {
        let text = self.text(name)?;
        let lines: Vec<String> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        if lines.is_empty() { Err(Fault::EmptyFile(name.into())) } else { Ok(lines) }
    }
}
