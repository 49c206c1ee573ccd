//! Messages of SASL clients and tokens; the first byte chooses the decoder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sasl::jwt::{KeySet, TokenRules};
use sasl::plain::Plain;
use sasl::scram::{ChannelBindings, ClientFirst, Decoys, Offer};
use sasl::{ScramHash, external, oauthbearer};

fuzz_target!(|data: &[u8]| {
    let Some((choice, message)) = data.split_first() else { return };
    let bindings = ChannelBindings { tls_server_end_point: Some([7; 32].into()), tls_exporter: Some([9; 32]) };
    let plus = choice & 0x80 != 0;
    let offer = Offer { hash: ScramHash::Sha256, plus, plus_is_announced: true, bindings: &bindings };
    match choice & 0x07 {
        0 => drop(Plain::parse(message).map(|plain| assert!(!plain.password.is_empty()))),
        1 => drop(external::authorization_id(Some(message))),
        2 => drop(oauthbearer::Request::parse(message).map(|request| assert!(!request.token.is_empty()))),
        3 => drop(KeySet::parse(message)),
        4 => {
            let keys = br#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
            let Ok(keys) = KeySet::parse(keys) else { return };
            let Ok(token) = std::str::from_utf8(message) else { return };
            assert!(keys.subject(token, &TokenRules::default(), 0).is_err());
        }
        _ => {
            // The first message and the last one, divided by a line feed.
            let mut parts = message.splitn(2, |byte| *byte == b'\n');
            let Ok(first) = ClientFirst::parse(parts.next().unwrap_or_default(), &offer) else { return };
            let keys = Decoys::new(b"secret", 4096, 16).keys(ScramHash::Sha256, &first.prepared_user);
            let (exchange, _) = first.challenge(keys, "nonce");
            assert!(exchange.finish(parts.next().unwrap_or_default()).is_err());
        }
    }
});
