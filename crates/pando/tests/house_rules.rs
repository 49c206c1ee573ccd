//! The rules of the house that a compiler does not check: which crate may import which, and what a source file looks
//! like.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod source_files;

use std::fs;
use std::path::{Path, PathBuf};

use source_files::sources_below;

/// The crates from the ground up; each may import those on lower floors only.
const FLOORS: &[(&str, u8)] = &[
    ("ber", 0),
    ("durable", 0),
    ("nearest", 0),
    ("ldap", 1),
    ("password", 1),
    ("aci", 2),
    ("sasl", 2),
    ("accounts", 3),
    ("outbound", 2),
    ("notification", 2),
    ("logstat", 2),
    ("tasks", 2),
    ("schema", 3),
    ("config", 4),
    ("store", 4),
    ("query", 5),
    ("access", 6),
    ("change", 7),
    ("directory", 8),
    ("jobs", 8),
    ("runtime", 8),
    ("backup", 9),
    ("web", 9),
    ("server", 10),
    ("pando", 11),
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

/// Where the links of a page lead that stay in the repository, without places in the page.
fn links(page: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(page).unwrap();
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let is_local = |target: &&str| !target.is_empty() && !target.contains("://");
    let lead = |target: &str| page.parent().unwrap().join(target).canonicalize();
    targets
        .filter(is_local)
        .map(|it| lead(it).unwrap_or_else(|_| panic!("{}: ({it}) leads nowhere", page.display())))
        .collect()
}

#[test]
fn every_page_is_found_and_every_link_leads_somewhere() {
    let docs = root().join("docs").canonicalize().unwrap();
    let tour = docs.join("README.md");
    let mut pages = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    for folder in [docs.clone(), docs.join("reference")] {
        pages.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    assert!(pages.len() > 15, "{pages:?}");
    let found = links(&tour);
    for page in &pages {
        links(page);
        let is_found = found.contains(page) || *page == tour || !page.starts_with(&docs);
        assert!(is_found, "{} is not linked from docs/README.md", page.display());
    }
    assert!(found.contains(&docs.join("decisions")));
}

#[test]
fn every_file_says_what_it_is_for_and_stays_small() {
    let source = |(name, _): &(&str, u8)| sources_below(&root().join("crates").join(name).join("src"));
    let files: Vec<PathBuf> = FLOORS.iter().flat_map(source).collect();
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
fn unsafe_stays_in_the_store_and_the_runtime() {
    for (name, _) in FLOORS.iter().filter(|(n, _)| !["store", "runtime"].contains(n)) {
        for file in sources_below(&root().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains("allow(unsafe_code)"), "{}", file.display());
        }
    }
}
