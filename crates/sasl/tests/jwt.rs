//! Tokens: each rule that makes one good has a token that breaks it.

#![allow(clippy::unwrap_used, reason = "a test that fails says so by panicking")]

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use sasl::jwt::{KeySet, KeySetFault, TokenFault, TokenRules};
use serde_json::{Value, json};

const NOW: u64 = 1_800_000_000;

struct Issuer {
    signing: EncodingKey,
    public: String,
}

impl Issuer {
    fn new() -> Issuer {
        let document = Ed25519KeyPair::generate().unwrap();
        let pkcs8 = document.to_pkcs8v1().unwrap();
        let public = URL_SAFE_NO_PAD.encode(document.public_key().as_ref());
        Issuer { signing: EncodingKey::from_ed_der(pkcs8.as_ref()), public }
    }

    fn key(&self, id: &str) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": self.public })
    }

    fn keys(&self) -> KeySet {
        let rubbish = json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "shared" });
        KeySet::parse(json!({ "keys": [rubbish, self.key("one")] }).to_string().as_bytes()).unwrap()
    }

    fn token(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.signing).unwrap()
    }
}

fn header(id: Option<&str>) -> Header {
    Header { kid: id.map(str::to_owned), ..Header::new(Algorithm::EdDSA) }
}

fn rules() -> TokenRules {
    TokenRules {
        issuer: "https://id.example.com".to_owned(),
        audience: vec!["ldap".to_owned(), "directory".to_owned()],
        claim: "preferred_username".to_owned(),
        scope: Some("ldap.bind".to_owned()),
        leeway_seconds: 30,
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example.com", "aud": ["web", "ldap"], "exp": NOW + 60, "nbf": NOW, "sub": "4711",
        "preferred_username": "ann", "scope": "openid ldap.bind",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut all = claims();
    all[name] = value;
    all
}

#[test]
fn a_good_token_names_its_user() {
    let issuer = Issuer::new();
    let token = issuer.token(&header(Some("one")), &claims());
    assert_eq!(issuer.keys().subject(&token, &rules(), NOW), Ok("ann".to_owned()));
    let token = issuer.token(&header(None), &with("aud", json!("directory")));
    assert_eq!(issuer.keys().subject(&token, &rules(), NOW), Ok("ann".to_owned()));
    // The clocks may differ by half a minute.
    assert_eq!(issuer.keys().subject(&token, &rules(), NOW + 89), Ok("ann".to_owned()));
    assert_eq!(issuer.keys().subject(&token, &rules(), NOW - 30), Ok("ann".to_owned()));
}

#[test]
fn a_token_that_breaks_one_rule_is_refused() {
    let issuer = Issuer::new();
    for (name, value, fault) in [
        ("iss", json!("https://evil.example.com"), TokenFault::Issuer),
        ("iss", Value::Null, TokenFault::Issuer),
        ("aud", json!("web"), TokenFault::Audience),
        ("aud", json!([]), TokenFault::Audience),
        ("aud", Value::Null, TokenFault::Audience),
        ("exp", json!(NOW - 30), TokenFault::Expired),
        ("exp", json!("soon"), TokenFault::Expired),
        ("exp", Value::Null, TokenFault::Expired),
        ("nbf", json!(NOW + 31), TokenFault::NotYet),
        ("scope", json!("ldap.bindings"), TokenFault::Scope("ldap.bind".to_owned())),
        ("scope", Value::Null, TokenFault::Scope("ldap.bind".to_owned())),
        ("preferred_username", json!(7), TokenFault::NoName("preferred_username".to_owned())),
        ("preferred_username", json!(""), TokenFault::NoName("preferred_username".to_owned())),
    ] {
        let token = issuer.token(&header(Some("one")), &with(name, value.clone()));
        assert_eq!(issuer.keys().subject(&token, &rules(), NOW), Err(fault), "{name} {value}");
    }
}

#[test]
fn a_signature_of_somebody_else_is_refused() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let keys = issuer.keys();
    let subject = |token: &str| keys.subject(token, &rules(), NOW);
    assert_eq!(subject(&other.token(&header(Some("one")), &claims())), Err(TokenFault::Signature));
    assert_eq!(subject(&issuer.token(&header(Some("two")), &claims())), Err(TokenFault::UnknownKey));
    let critical = Header { crit: Some(vec!["b64".to_owned()]), ..header(Some("one")) };
    assert!(matches!(subject(&issuer.token(&critical, &claims())), Err(TokenFault::Form(_))));
    // Signed with a shared secret: the public key, or a key of kind `oct` in the set.
    for (id, secret) in [(Some("one"), issuer.public.as_bytes()), (Some("shared"), b"secret"), (None, b"secret")] {
        let header = Header { kid: id.map(str::to_owned), ..Header::new(Algorithm::HS256) };
        let token = encode(&header, &claims(), &EncodingKey::from_secret(secret)).unwrap();
        assert_eq!(subject(&token), Err(TokenFault::UnknownKey), "{id:?}");
    }
    let claims = URL_SAFE_NO_PAD.encode(claims().to_string());
    let unsigned = format!("{}.{claims}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#));
    for token in [unsigned.as_str(), "", "a.b.c", "a.b"] {
        assert!(matches!(subject(token), Err(TokenFault::Form(_))), "{token}");
    }
}

#[test]
fn a_key_set_without_a_public_key_is_refused() {
    let parse = |text: &str| KeySet::parse(text.as_bytes()).map(|_| ());
    assert!(matches!(parse("{"), Err(KeySetFault::Json(_))));
    assert!(matches!(parse("{}"), Err(KeySetFault::Json(_))));
    assert!(matches!(parse(r#"{"keys":[]}"#), Err(KeySetFault::NoKey)));
    assert!(matches!(parse(r#"{"keys":[{"kty":"oct","k":"c2VjcmV0"},3]}"#), Err(KeySetFault::NoKey)));
    let mut encryption = Issuer::new().key("one");
    encryption["use"] = json!("enc");
    assert!(matches!(parse(&json!({ "keys": [encryption] }).to_string()), Err(KeySetFault::NoKey)));
    let many = vec![json!(1); 1001];
    assert!(matches!(parse(&json!({ "keys": many }).to_string()), Err(KeySetFault::TooMany)));
}
