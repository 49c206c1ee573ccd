//! Access control instructions: what is accepted is written in a form that is accepted and says the same, and what is
//! refused is refused at a place of the text.
#![no_main]

use aci::{Reading, parse, parse_as};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for reading in [Reading::Strict, Reading::Import] {
        match parse_as(text, reading) {
            Ok(parsed) => {
                let shown = parsed.aci.to_string();
                assert_eq!(parse(&shown).unwrap(), parsed.aci, "{shown}");
            }
            Err(error) => {
                assert!(error.position <= text.len());
                let _ = (error.to_string(), error.marked(text));
            }
        }
    }
});
