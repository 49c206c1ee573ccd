//! Whether a signed token (JWT, RFC 7519) is good, and whom it is about.
//!
//! Only keys with a public half are used: a token that says it is signed with a shared secret is refused. The time is
//! given.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};
use thiserror::Error;

/// Most keys of a key set.
const KEYS_MAX: usize = 1000;

/// What a token has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenRules {
    /// `iss`.
    pub issuer: String,
    /// One of them in `aud`.
    pub audience: Vec<String>,
    /// The claim that names the user.
    pub claim: String,
    /// What `scope` has to contain, if anything.
    pub scope: Option<String>,
    /// By how much the clocks of issuer and server may differ, in seconds.
    pub leeway_seconds: u64,
}

/// The keys of an issuer (RFC 7517).
#[derive(Default)]
pub struct KeySet(Vec<Key>);

struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// Why a key set cannot be used.
#[derive(Debug, Error)]
pub enum KeySetFault {
    /// It is no JSON object with `keys`.
    #[error("It is not a JSON Web Key Set: {0}")]
    Json(String),
    /// There is no key that signatures can be checked with.
    #[error("It has no public key of kind RSA, EC (P-256, P-384) or OKP (Ed25519) for signatures")]
    NoKey,
    /// Too many.
    #[error("It has more than {KEYS_MAX} keys")]
    TooMany,
}

/// Why a token is not good.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenFault {
    /// Not a token, or signed in a way that is not accepted.
    #[error("The token is malformed or signed in a way that is not accepted: {0}")]
    Form(String),
    /// None of the keys of the key set.
    #[error("The key set has no key that the token can be signed with")]
    UnknownKey,
    /// Not signed by the issuer.
    #[error("The signature of the token is wrong")]
    Signature,
    /// `iss`
    #[error("The token is of another issuer")]
    Issuer,
    /// `aud`
    #[error("The token is for another audience")]
    Audience,
    /// `exp`
    #[error("The token has expired, or does not say when it does")]
    Expired,
    /// `nbf`
    #[error("The token is not valid yet")]
    NotYet,
    /// `scope`
    #[error("The token does not have the scope {0}")]
    Scope(String),
    /// The claim with the name.
    #[error("The token has no text in the claim {0}")]
    NoName(String),
}

impl KeySet {
    /// Reads a key set. Keys of other kinds and for other uses are left out.
    ///
    /// # Errors
    /// When it is malformed or has no key that is of use.
    pub fn parse(text: &[u8]) -> Result<Self, KeySetFault> {
        let json = |error: &dyn std::fmt::Display| KeySetFault::Json(error.to_string());
        let set: Value = serde_json::from_slice(text).map_err(|error| json(&error))?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or_else(|| json(&"there is no list \"keys\""))?;
        if keys.len() > KEYS_MAX {
            return Err(KeySetFault::TooMany);
        }
        let keys: Vec<Key> = keys.iter().filter_map(Key::of).collect();
        if keys.is_empty() { Err(KeySetFault::NoKey) } else { Ok(KeySet(keys)) }
    }

    /// How many keys it has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The user that a token is about.
    ///
    /// # Errors
    /// When the token is not good.
    pub fn subject(&self, token: &str, rules: &TokenRules, unix_seconds: u64) -> Result<String, TokenFault> {
        let form = |error: jsonwebtoken::errors::Error| TokenFault::Form(error.to_string());
        let header = decode_header(token).map_err(form)?;
        if header.crit.as_ref().is_some_and(|names| !names.is_empty()) {
            return Err(TokenFault::Form("its header has critical fields (crit)".to_owned()));
        }
        let mut candidates = self.0.iter().filter(|key| key.may_have_signed(&header)).peekable();
        if candidates.peek().is_none() {
            return Err(TokenFault::UnknownKey);
        }
        let claims = candidates.find_map(|key| key.claims(token, header.alg).ok()).ok_or(TokenFault::Signature)?;
        rules.check(&claims, unix_seconds)
    }
}

impl Key {
    fn of(json: &Value) -> Option<Key> {
        let jwk: Jwk = serde_json::from_value(json.clone()).ok()?;
        if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let family = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa.algorithms(),
            AlgorithmParameters::EllipticCurve(key) => match key.curve {
                EllipticCurve::P256 => &[Algorithm::ES256][..],
                EllipticCurve::P384 => &[Algorithm::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                AlgorithmFamily::Ed.algorithms()
            }
            _ => return None,
        };
        let named = jwk.common.key_algorithm;
        let is_named = |algorithm: &&Algorithm| named.is_none_or(|named| named.to_string() == name_of(**algorithm));
        let algorithms: Vec<Algorithm> = family.iter().filter(is_named).copied().collect();
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        (!algorithms.is_empty()).then_some(Key { id: jwk.common.key_id, algorithms, key })
    }

    fn may_have_signed(&self, header: &Header) -> bool {
        let is_named = match (&header.kid, &self.id) {
            (Some(wanted), Some(id)) => wanted == id,
            _ => true,
        };
        is_named && self.algorithms.contains(&header.alg)
    }

    /// What the token says, if this key signed it. What it says is judged by [`TokenRules`].
    fn claims(&self, token: &str, algorithm: Algorithm) -> Result<Map<String, Value>, jsonwebtoken::errors::Error> {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims::<&str>(&[]);
        (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
        decode(token, &self.key, &validation).map(|token| token.claims)
    }
}

fn name_of(algorithm: Algorithm) -> String {
    format!("{algorithm:?}")
}

impl TokenRules {
    fn check(&self, claims: &Map<String, Value>, unix_seconds: u64) -> Result<String, TokenFault> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        // RFC 7519 §2: a number that need not be whole.
        let seconds = |name: &str| claims.get(name).and_then(Value::as_f64);
        let (now, leeway) = (unix_seconds as f64, self.leeway_seconds as f64);
        if text("iss") != Some(self.issuer.as_str()) {
            return Err(TokenFault::Issuer);
        }
        let is_wanted = |value: &Value| value.as_str().is_some_and(|value| self.audience.iter().any(|it| it == value));
        let is_for_us = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_wanted),
            Some(one) => is_wanted(one),
            None => false,
        };
        if !is_for_us {
            return Err(TokenFault::Audience);
        }
        if seconds("exp").is_none_or(|end| end + leeway <= now) {
            return Err(TokenFault::Expired);
        }
        if claims.contains_key("nbf") && seconds("nbf").is_none_or(|begin| begin > now + leeway) {
            return Err(TokenFault::NotYet);
        }
        if let Some(scope) = &self.scope
            && !text("scope").unwrap_or_default().split(' ').any(|given| given == scope)
        {
            return Err(TokenFault::Scope(scope.clone()));
        }
        let name = text(&self.claim).filter(|name| !name.is_empty() && !name.contains('\0'));
        name.map(str::to_owned).ok_or_else(|| TokenFault::NoName(self.claim.clone()))
    }
}
