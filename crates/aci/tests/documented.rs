//! The page about the language is true: its examples are instructions, and it leaves no word out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

use aci::{DAYS, Reading, Right, TargetScope, parse_as};

const PAGE: &str = include_str!("../../../docs/access-instructions.md");

#[test]
fn the_examples_of_the_page_are_instructions() {
    let blocks = PAGE.split("```aci\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(examples.len() > 5);
    for example in examples {
        let parsed = parse_as(example, Reading::Strict).unwrap_or_else(|error| panic!("{error}\n{example}"));
        assert_eq!(parsed.warnings, [], "{example}");
    }
}

#[test]
fn every_word_is_on_the_page() {
    let targets = ["target", "targetattr", "targetfilter", "targattrfilters", "targetscope", "targetcontrol", "extop"];
    let moves = ["target_from", "target_to"];
    let conditions =
        ["userdn", "groupdn", "roledn", "userattr", "ip", "dns", "timeofday", "dayofweek", "authmethod", "ssf"];
    for word in targets.into_iter().chain(moves).chain(conditions) {
        let is_in_table = PAGE.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{word}`")));
        assert!(is_in_table, "{word}");
    }
    for word in Right::ALL.map(Right::as_str).into_iter().chain(TargetScope::ALL.map(TargetScope::as_str)) {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
    }
    assert!(PAGE.contains(&DAYS.join(",")));
}
