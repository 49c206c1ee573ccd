//! The pages for those who work on Pando name modules, types, functions and files that are there: nobody looks for what
//! was renamed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

mod source_files;
#[allow(dead_code, reason = "the test of circles uses the rest")]
mod source_tree;

use std::fs;

use source_files::sources_below;
use source_tree::{Found, House, Segments, crates_folder};

/// Pages that lead through the sources.
const PAGES: [&str; 4] = ["ARCHITECTURE.md", "README.md", "docs/contributing.md", "crates/store/README.md"];

/// Folders at the top of the repository that pages name files of.
const FOLDERS: [&str; 6] = ["bench", "crates", "docs", "fuzz", "scripts", "tests"];

/// What stands between single back quotes, outside of blocks of code.
fn quoted(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if !is_block {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// A path of a module, a type, a function or a method: `query::plan::Planner::node`.
fn is_path(text: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    text.contains("::") && text.split("::").all(is_name)
}

/// Whether the path leads somewhere; what follows a type is a method, a variant or a field of its file.
fn is_defined(house: &House, path: &[String]) -> bool {
    match (house.find(path, 0), path.last()) {
        (Some(Found::Module(found)), _) => house.modules.contains_key(&found),
        (Some(Found::Name(file, name)), Some(last)) if name != *last => {
            let text = fs::read_to_string(file).unwrap();
            text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').any(|word| word == last)
        }
        (found, _) => found.is_some(),
    }
}

#[test]
fn pages_name_what_is_there() {
    let house = House::read();
    let top = crates_folder().join("..");
    let files = sources_below(&crates_folder());
    let (mut faults, mut count) = (Vec::new(), 0);
    for page in PAGES {
        for text in quoted(&fs::read_to_string(top.join(page)).unwrap()) {
            let first = text.split(['/', ':']).next().unwrap_or_default().to_owned();
            let is_there = if is_path(&text) && house.crates.contains(&first) {
                let path: Segments = text.split("::").map(str::to_owned).collect();
                is_defined(&house, &path)
            } else if FOLDERS.contains(&first.as_str()) && text.contains('/') && !text.contains([' ', '*', 'N']) {
                top.join(&text).exists()
            } else if text.ends_with(".rs") && !text.contains([' ', '*']) {
                files.iter().any(|file| file.ends_with(&text))
            } else {
                continue;
            };
            count += 1;
            if !is_there {
                faults.push(format!("{page}: {text}"));
            }
        }
    }
    assert!(count > 50, "only {count} names were looked at");
    assert!(faults.is_empty(), "not there any more:\n{}", faults.join("\n"));
}

#[test]
fn names_that_are_not_there_are_found() {
    let house = House::read();
    let is_there = |text: &str| is_defined(&house, &text.split("::").map(str::to_owned).collect::<Segments>());
    assert!(is_there("query::plan") && is_there("query::filter::Matcher") && is_there("query::rights::Answer::Ask"));
    assert!(
        !is_there("query::nowhere")
            && !is_there("query::filter::Matchmaker")
            && !is_there("query::rights::Answer::Perhaps")
    );
}
