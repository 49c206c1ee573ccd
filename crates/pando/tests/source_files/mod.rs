//! The source files below a folder, for the tests that check them. Knows nothing of what is in them.

use std::fs;
use std::path::{Path, PathBuf};

/// All Rust files below a folder, but those that a build made.
pub fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(sources_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}
