//! Filters as text, and the same bytes as BER: what is accepted is written in a form that is accepted and says the
//! same.
#![no_main]

use ldap::{Filter, FilterBuf, filter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(parsed) = filter::parse(text)
    {
        assert_eq!(FilterBuf::from_ber(parsed.as_ber()).unwrap(), parsed);
        let shown = parsed.to_string();
        assert_eq!(filter::parse(&shown).unwrap(), parsed, "{shown}");
    }
    if let Ok(decoded) = Filter::decode(&mut ber::Reader::new(bytes)) {
        let nodes = decoded.nodes();
        for (index, node) in nodes.iter().enumerate() {
            assert!(node.end(index) > index && node.end(index) <= nodes.len());
        }
        let _ = decoded.to_string();
    }
});
