//! SCRAM: the exchanges that the RFCs print, each rule of channel binding, and a client written from the RFC.

#![allow(clippy::unwrap_used, reason = "a test that fails says so by panicking")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use password::{ScramHash, ScramKeys};
use proptest::prelude::*;
use sasl::scram::{ChannelBindings, ClientFirst, Decoys, Exchange, Offer, ScramFault, ServerFinal};

fn salted(hash: ScramHash, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
    let mut block = hash.hmac(password, &[salt, &[0, 0, 0, 1]].concat());
    let mut sum = block.clone();
    for _ in 1..iterations {
        block = hash.hmac(password, &block);
        sum.iter_mut().zip(&block).for_each(|(left, right)| *left ^= right);
    }
    sum
}

fn offer(hash: ScramHash, bindings: &ChannelBindings) -> Offer<'_> {
    Offer { hash, plus: false, plus_is_announced: !bindings.is_empty(), bindings }
}

fn with_tls() -> ChannelBindings {
    ChannelBindings { tls_server_end_point: Some([7; 32].into()), tls_exporter: Some([9; 32]) }
}

/// What a client answers to a challenge, and what it expects to hear.
fn answer(hash: ScramHash, password: &[u8], bare: &str, binding: &[u8], challenge: &str) -> (String, Vec<u8>) {
    let mut parts = challenge.split(',');
    let nonce = parts.next().unwrap().strip_prefix("r=").unwrap();
    let salt = STANDARD.decode(parts.next().unwrap().strip_prefix("s=").unwrap()).unwrap();
    let iterations = parts.next().unwrap().strip_prefix("i=").unwrap().parse().unwrap();
    let salted = salted(hash, password, &salt, iterations);
    let without_proof = format!("c={},r={nonce}", STANDARD.encode(binding));
    let covered = format!("{bare},{challenge},{without_proof}");
    let client_key = hash.hmac(&salted, b"Client Key");
    let signature = hash.hmac(&hash.digest(&client_key), covered.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(signature).map(|(left, right)| left ^ right).collect();
    let server = hash.hmac(&hash.hmac(&salted, b"Server Key"), covered.as_bytes());
    let expected = format!("v={}", STANDARD.encode(server)).into_bytes();
    (format!("{without_proof},p={}", STANDARD.encode(proof)), expected)
}

fn begin(header: &str, offer: &Offer<'_>, keys: ScramKeys) -> Result<(Exchange, String), ScramFault> {
    let message = format!("{header}n=ann,r=fyko");
    let first = ClientFirst::parse(message.as_bytes(), offer)?;
    let (exchange, challenge) = first.challenge(keys, "3rfcNHYJY1ZVvWVs7j");
    Ok((exchange, String::from_utf8(challenge).unwrap()))
}

/// One exchange with the header and the data of a binding.
fn run(offer: &Offer<'_>, header: &str, data: &[u8]) -> Result<(), ScramFault> {
    let stored = ScramKeys::of_password(offer.hash, b"pencil", b"salt", 2);
    let (exchange, challenge) = begin(header, offer, stored)?;
    let binding = [header.as_bytes(), data].concat();
    let (answer, expected) = answer(offer.hash, b"pencil", "n=ann,r=fyko", &binding, &challenge);
    exchange.finish(answer.as_bytes()).map(|last| assert_eq!(last, ServerFinal(expected)))
}

struct Printed {
    hash: ScramHash,
    first: &'static str,
    nonce: &'static str,
    salt: &'static str,
    challenge: &'static str,
    last: &'static str,
    signature: &'static str,
}

#[test]
fn the_exchanges_that_the_rfcs_print_come_out_the_same() {
    let rfc_5802 = Printed {
        hash: ScramHash::Sha1,
        first: "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
        nonce: "3rfcNHYJY1ZVvWVs7j",
        salt: "QSXCR+Q6sek8bf92",
        challenge: "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
        last: "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        signature: "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    };
    let rfc_7677 = Printed {
        hash: ScramHash::Sha256,
        first: "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        nonce: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        salt: "W22ZaJ0SNY7soEsUEjb6gQ==",
        challenge: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        last: "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
               p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        signature: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    };
    for printed in [rfc_5802, rfc_7677] {
        let none = ChannelBindings::default();
        let first = ClientFirst::parse(printed.first.as_bytes(), &offer(printed.hash, &none)).unwrap();
        assert_eq!((first.user(), first.authzid()), ("user", None));
        let stored = ScramKeys::of_password(printed.hash, b"pencil", &STANDARD.decode(printed.salt).unwrap(), 4096);
        let (exchange, challenge) = first.challenge(stored, printed.nonce);
        assert_eq!(String::from_utf8(challenge).unwrap(), printed.challenge);
        let last = exchange.finish(printed.last.as_bytes());
        assert_eq!(last, Ok(ServerFinal(printed.signature.as_bytes().to_vec())));
    }
}

#[test]
fn all_hashes_and_all_bindings_work() {
    let (none, tls) = (ChannelBindings::default(), with_tls());
    for hash in [ScramHash::Sha1, ScramHash::Sha256, ScramHash::Sha512] {
        assert_eq!(run(&offer(hash, &none), "n,,", b""), Ok(()));
        assert_eq!(run(&offer(hash, &none), "n,a=u:bob,", b""), Ok(()));
        // Without TLS nothing is announced, so that `y` is the truth.
        assert_eq!(run(&offer(hash, &none), "y,,", b""), Ok(()));
        assert_eq!(run(&offer(hash, &tls), "n,,", b""), Ok(()));
        let plus = Offer { plus: true, ..offer(hash, &tls) };
        assert_eq!(run(&plus, "p=tls-exporter,,", &[9; 32]), Ok(()));
        assert_eq!(run(&plus, "p=tls-server-end-point,,", &[7; 32]), Ok(()));
        // As libldap and slapd spell it.
        assert_eq!(run(&plus, "p=ldap,,", &[b"tls-server-end-point:".as_slice(), &[7; 32]].concat()), Ok(()));
    }
}

#[test]
fn a_binding_that_does_not_go_with_the_mechanism_is_refused() {
    let (none, tls) = (ChannelBindings::default(), with_tls());
    let plain = offer(ScramHash::Sha256, &tls);
    let plus = Offer { plus: true, ..plain };
    assert_eq!(run(&plain, "y,,", b""), Err(ScramFault::Downgrade));
    assert_eq!(run(&plain, "p=tls-exporter,,", &[9; 32]), Err(ScramFault::BindingUnexpected));
    assert_eq!(run(&plus, "n,,", b""), Err(ScramFault::BindingMissing));
    assert_eq!(run(&plus, "y,,", b""), Err(ScramFault::BindingMissing));
    assert_eq!(run(&plus, "p=tls-unique,,", b"x"), Err(ScramFault::BindingUnknown));
    // As Cyrus SASL sends it for the mechanism with -PLUS.
    let prefixed = [b"tls-server-end-point:".as_slice(), &[7; 32]].concat();
    assert_eq!(run(&plain, "p=ldap,,", &prefixed), Ok(()));
    assert_eq!(run(&plain, "p=ldap,,", &[7; 32]), Err(ScramFault::BindingDiffers));
    let in_the_clear = Offer { bindings: &none, plus_is_announced: false, ..plus };
    assert_eq!(run(&in_the_clear, "p=tls-exporter,,", &[9; 32]), Err(ScramFault::BindingUnknown));
    assert_eq!(run(&plus, "p=tls-exporter,,", &[8; 32]), Err(ScramFault::BindingDiffers));
    assert_eq!(run(&plus, "p=tls-exporter,,", &[7; 32]), Err(ScramFault::BindingDiffers));
    assert_eq!(run(&plus, "p=ldap,,", &[7; 32]), Err(ScramFault::BindingDiffers));
    let prefixed = [b"tls-server-end-point:".as_slice(), &[7; 32]].concat();
    assert_eq!(run(&plus, "p=tls-server-end-point,,", &prefixed), Err(ScramFault::BindingDiffers));
}

#[test]
fn the_last_message_has_to_belong_to_the_exchange() {
    let none = ChannelBindings::default();
    let hash = ScramHash::Sha256;
    let finish = |change: &dyn Fn(String) -> String, password: &[u8], binding: &[u8]| {
        let stored = ScramKeys::of_password(hash, b"pencil", b"salt", 2);
        let (exchange, challenge) = begin("n,,", &offer(hash, &none), stored).unwrap();
        let (answer, _) = answer(hash, password, "n=ann,r=fyko", binding, &challenge);
        exchange.finish(change(answer).as_bytes()).map(|_| ())
    };
    let same = |answer: String| answer;
    assert_eq!(finish(&same, b"pencil", b"n,,"), Ok(()));
    assert_eq!(finish(&same, b"pencils", b"n,,"), Err(ScramFault::WrongProof));
    assert_eq!(finish(&same, b"pencil", b"y,,"), Err(ScramFault::BindingDiffers));
    assert_eq!(finish(&same, b"pencil", b"n,a=u:bob,"), Err(ScramFault::BindingDiffers));
    let other_nonce = |answer: String| answer.replace("7j,p=", "7k,p=");
    assert_eq!(finish(&other_nonce, b"pencil", b"n,,"), Err(ScramFault::NonceDiffers));
    let short = |answer: String| format!("{},p=AAAA", answer.split(",p=").next().unwrap());
    assert_eq!(finish(&short, b"pencil", b"n,,"), Err(ScramFault::WrongProof));
    let empty = |answer: String| format!("{},p=", answer.split(",p=").next().unwrap());
    assert_eq!(finish(&empty, b"pencil", b"n,,"), Err(ScramFault::WrongProof));
    // An extension that is not covered by the proof.
    let added = |answer: String| answer.replace(",p=", ",x=1,p=");
    assert_eq!(finish(&added, b"pencil", b"n,,"), Err(ScramFault::WrongProof));
}

#[test]
fn no_proof_is_right_for_a_decoy() {
    let none = ChannelBindings::default();
    let decoys = Decoys::new(b"secret", 2, 16);
    let stored = decoys.keys(ScramHash::Sha256, "ann");
    let (exchange, challenge) = begin("n,,", &offer(ScramHash::Sha256, &none), stored.clone()).unwrap();
    let salt = format!(",s={},i=2", STANDARD.encode(&stored.salt));
    assert!(challenge.ends_with(&salt), "{challenge}");
    let (answer, _) = answer(ScramHash::Sha256, b"pencil", "n=ann,r=fyko", b"n,,", &challenge);
    assert_eq!(exchange.finish(answer.as_bytes()), Err(ScramFault::WrongProof));
}

#[test]
fn names_are_prepared_for_comparison() {
    let none = ChannelBindings::default();
    let offer = offer(ScramHash::Sha256, &none);
    let prepared = |name: &str| {
        let message = format!("n,,n={name},r=1");
        ClientFirst::parse(message.as_bytes(), &offer).map(|first| first.prepared_user)
    };
    assert_eq!(prepared("a\u{ad}n\u{2168}"), Ok("anIX".to_owned()));
    assert_eq!(prepared("x=2Cy=3D"), Ok("x,y=".to_owned()));
    // Newer than SASLprep.
    assert_eq!(prepared("\u{1f980}"), Ok("\u{1f980}".to_owned()));
}

proptest! {
    /// No message makes the server panic, and none is taken for a proof.
    #[test]
    fn rubbish_is_refused(
        first in "[nyp],(a=[a-z=]{0,4})?,[nrm=,a-z]{0,12}",
        last in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let tls = with_tls();
        let offer = offer(ScramHash::Sha1, &tls);
        let _ = ClientFirst::parse(first.as_bytes(), &offer);
        let (exchange, _) = begin("n,,", &offer, ScramKeys::of_password(ScramHash::Sha1, b"x", b"y", 1)).unwrap();
        prop_assert!(exchange.finish(&last).is_err());
    }
}
