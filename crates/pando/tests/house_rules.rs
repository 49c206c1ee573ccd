//! The rules of the house that a compiler does not check: which crate may import which, and what a source file looks like.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// The crates from the ground up; each may import those on lower floors only.
const FLOORS: &[(&str, u8)] = &[
    ("ber", 0),
    ("ldap", 1),
    ("schema", 2),
    ("config", 3),
    ("store", 3),
    ("directory", 4),
    ("server", 5),
    ("pando", 6),
];

/// A longer file holds more than one idea.
const FILE_LINES_MAX: usize = 700;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
}

/// The names under `[dependencies]` of a manifest (not those for tests).
fn dependencies(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|l| l.trim() != "[dependencies]")
        .skip(1)
        .take_while(|l| !l.starts_with('['))
        .filter_map(|l| l.split(['.', '=', ' ']).next())
        .filter(|n| !n.is_empty() && !n.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn imports_run_downwards() {
    let mut crates = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let own = floor(&name).unwrap_or_else(|| panic!("{name} has no floor: add it to FLOORS and ARCHITECTURE.md"));
        for dependency in dependencies(&fs::read_to_string(path.join("Cargo.toml")).unwrap()) {
            if let Some(other) = floor(&dependency) {
                assert!(other < own, "{name} (floor {own}) imports {dependency} (floor {other})");
            }
        }
        crates += 1;
    }
    assert_eq!(crates, FLOORS.len());
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_stays_small() {
    let mut files = Vec::new();
    for (name, _) in FLOORS {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    assert!(files.len() > 50);
    let mut faults = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        if !text.starts_with("//!") {
            faults.push(format!("{}: does not open with //!", file.display()));
        }
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{}: {lines} lines", file.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `unsafe` is allowed where the design allows it, and nowhere else.
#[test]
fn unsafe_stays_in_the_store_and_the_event_loops() {
    for (name, _) in FLOORS.iter().filter(|(n, _)| !["store", "server"].contains(n)) {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains("allow(unsafe_code)"), "{}", file.display());
        }
    }
}
