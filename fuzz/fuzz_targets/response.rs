//! Responses, as the tools read them.
#![no_main]

use ldap::client::{Response, ServerMessage};
use ldap::encode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ServerMessage::decode(bytes) else { return };
    match &message.op {
        Response::SearchEntry(entry) => {
            let _: usize = entry.attributes.iter().map(|a| a.values.iter().count()).sum();
        }
        Response::Done { tag, result } => {
            let mut out = Vec::new();
            encode::result(&mut out, message.id, *tag, result, &[]);
            assert_eq!(ServerMessage::decode(&out).unwrap().op, message.op);
        }
        _ => {}
    }
    let _ = message.controls.iter().count();
});
