//! The habits of the house that neither the compiler nor rustfmt checks: the width of lines, how modules and paths are
//! written, and that every dependency is used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod source_files;

use std::fs;
use std::path::{Path, PathBuf};

use source_files::sources_below;

/// Columns of a line, comments and strings included.
const COLUMNS_MAX: usize = 120;

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn sources(folders: &[&str]) -> Vec<PathBuf> {
    folders.iter().flat_map(|folder| sources_below(&root().join(folder))).collect()
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn lines_have_at_most_120_columns() {
    let mut faults = Vec::new();
    for file in sources(&["crates", "fuzz", "bench"]) {
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                faults.push(format!("{}:{}: {columns} columns", file.display(), number + 1));
            }
        }
    }
    assert_none(&faults);
}

/// A module with parts is `name/mod.rs`, so that everything of it lies in one folder.
#[test]
fn a_module_with_parts_is_one_folder() {
    let beside = sources(&["crates"]).into_iter().filter(|file| file.with_extension("").is_dir());
    assert_none(&beside.map(|file| format!("{}: move it to mod.rs in its folder", file.display())).collect::<Vec<_>>());
}

/// `crate::` says where a name lives wherever the line is moved; `super` reaches one floor at most.
#[test]
fn paths_climb_one_floor_at_most() {
    let mut faults = Vec::new();
    let climb = ["super::", "super"].concat();
    for file in sources(&["crates"]) {
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            if line.contains(&climb) {
                faults.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert_none(&faults);
}

/// One `use` for each module that names come from, as `use std::sync::{Arc, Mutex};`: changes of one import touch one
/// line.
#[test]
fn imports_are_one_use_for_each_module() {
    let mut faults = Vec::new();
    for file in sources(&["crates", "fuzz", "bench"]) {
        let text = fs::read_to_string(&file).unwrap();
        for import in text.split("\nuse ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let is_nested = import.split_once('{').is_some_and(|(_, names)| names.contains("::"));
            if is_nested {
                faults.push(format!(
                    "{}: use {}",
                    file.display(),
                    import.split_whitespace().collect::<Vec<_>>().join(" ")
                ));
            }
        }
    }
    assert_none(&faults);
}

/// The names in one table of a manifest.
fn names_in(manifest: &str, table: &str) -> Vec<String> {
    let header = format!("[{table}]");
    let rows =
        manifest.lines().skip_while(|line| line.trim() != header).skip(1).take_while(|line| !line.starts_with('['));
    let names = rows.filter_map(|line| line.split(['.', '=', ' ']).next());
    names.filter(|name| !name.is_empty() && !name.starts_with('#')).map(str::to_owned).collect()
}

/// The name of a package in sources, where it differs.
fn library(package: &str) -> String {
    match package {
        "md-5" => "md5".to_owned(),
        package => package.replace('-', "_"),
    }
}

fn uses(text: &str, library: &str) -> bool {
    text.match_indices(library).any(|(place, _)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (before, after) = (&text[..place], &text[place + library.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn every_dependency_is_used() {
    let mut faults = Vec::new();
    let mut asked = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let files = sources_below(&folder);
        let code = |file: &PathBuf| {
            let text = fs::read_to_string(file).unwrap();
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
        };
        let text: String = files.iter().map(code).collect();
        for table in ["dependencies", "dev-dependencies"] {
            for name in names_in(&manifest, table) {
                if !uses(&text, &library(&name)) {
                    faults.push(format!("{}: [{table}] {name} is not used", folder.display()));
                }
                asked.push(name);
            }
        }
    }
    let workspace = names_in(&fs::read_to_string(root().join("Cargo.toml")).unwrap(), "workspace.dependencies");
    assert!(workspace.len() > 30 && asked.len() > 60, "the manifests are not read");
    let idle = workspace.iter().filter(|name| !asked.contains(name));
    faults.extend(idle.map(|name| format!("Cargo.toml: [workspace.dependencies] no crate asks for {name}")));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
