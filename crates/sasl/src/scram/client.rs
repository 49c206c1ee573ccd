//! The client's side of an exchange: what a tool says that binds with SCRAM. Without channel binding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use password::{ScramHash, prepare};
use subtle::ConstantTimeEq;
use thiserror::Error;
use zeroize::Zeroizing;

/// More rounds of the key derivation are not done: a server must not be able to keep its clients busy.
const ITERATIONS_MAX: u32 = 10_000_000;

/// Why a client ends an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScramClientFault {
    /// The first message of the server.
    #[error("the server's challenge does not have the form of RFC 5802")]
    Challenge,
    /// The nonce of the server does not begin with that of the client.
    #[error("the server's challenge belongs to another exchange")]
    Nonce,
    /// More rounds than are done.
    #[error("the server asks for more than {ITERATIONS_MAX} rounds of key derivation")]
    Iterations,
    /// The server does not know the keys of the user.
    #[error("the server does not prove that it knows the user: it may be another server than it says")]
    Signature,
}

/// A client that has said who it is, and waits for the challenge.
#[derive(Debug)]
pub struct ScramClient {
    hash: ScramHash,
    header: String,
    bare: String,
    nonce: String,
}

/// A client that has sent its proof, and waits for the server's signature.
#[derive(Debug)]
pub struct ScramProven {
    signature: Vec<u8>,
}

impl ScramClient {
    /// Begins an exchange; gives the first message. `nonce` is visible ASCII without a comma, never used before.
    #[must_use]
    pub fn begin(hash: ScramHash, user: &str, authzid: Option<&str>, nonce: &str) -> (ScramClient, Vec<u8>) {
        let header = match authzid {
            Some(authzid) => format!("n,a={},", escaped(authzid)),
            None => "n,,".to_owned(),
        };
        let user = prepare(user).map_or_else(|| user.to_owned(), |user| user.into_owned());
        let bare = format!("n={},r={nonce}", escaped(&user));
        let message = format!("{header}{bare}").into_bytes();
        (ScramClient { hash, header, bare, nonce: nonce.to_owned() }, message)
    }

    /// Answers the challenge with a proof.
    ///
    /// # Errors
    /// When the challenge is malformed, of another exchange, or too costly.
    pub fn prove(self, challenge: &[u8], password: &str) -> Result<(ScramProven, Vec<u8>), ScramClientFault> {
        let text = std::str::from_utf8(challenge).map_err(|_| ScramClientFault::Challenge)?;
        let mut parts = text.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name));
        let (Some(nonce), Some(salt), Some(iterations)) = (part("r="), part("s="), part("i=")) else {
            return Err(ScramClientFault::Challenge);
        };
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(ScramClientFault::Nonce);
        }
        let salt = STANDARD.decode(salt).map_err(|_| ScramClientFault::Challenge)?;
        let iterations: u32 = iterations.parse().map_err(|_| ScramClientFault::Challenge)?;
        if iterations == 0 || iterations > ITERATIONS_MAX {
            return Err(ScramClientFault::Iterations);
        }
        let prepared = Zeroizing::new(prepare(password).map_or_else(|| password.to_owned(), |it| it.into_owned()));
        let salted = self.hash.salted_password(prepared.as_bytes(), &salt, iterations);
        let client_key = Zeroizing::new(self.hash.hmac(&salted, b"Client Key"));
        let without_proof = format!("c={},r={nonce}", STANDARD.encode(&self.header));
        let covered = format!("{},{text},{without_proof}", self.bare);
        let signature = self.hash.hmac(&self.hash.digest(&client_key), covered.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(left, right)| left ^ right).collect();
        let message = format!("{without_proof},p={}", STANDARD.encode(proof)).into_bytes();
        let server_key = self.hash.hmac(&salted, b"Server Key");
        Ok((ScramProven { signature: self.hash.hmac(&server_key, covered.as_bytes()) }, message))
    }
}

impl ScramProven {
    /// Judges the server's last message.
    ///
    /// # Errors
    /// When its signature is wrong or missing.
    pub fn check(self, last: &[u8]) -> Result<(), ScramClientFault> {
        let text = std::str::from_utf8(last).map_err(|_| ScramClientFault::Signature)?;
        let signature = text.split(',').next().and_then(|part| part.strip_prefix("v="));
        let signature = signature.and_then(|it| STANDARD.decode(it).ok()).ok_or(ScramClientFault::Signature)?;
        if bool::from(signature.ct_eq(&self.signature)) { Ok(()) } else { Err(ScramClientFault::Signature) }
    }
}

/// `,` and `=` in names (RFC 5802 §5.1).
fn escaped(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scram::{ChannelBindings, ClientFirst, Offer};
    use password::ScramKeys;

    fn exchange(hash: ScramHash, password: &str) -> Result<Result<(), ScramClientFault>, String> {
        let bindings = ChannelBindings::default();
        let offer = Offer { hash, plus: false, plus_is_announced: false, bindings: &bindings };
        let (client, first) = ScramClient::begin(hash, "a,b=c", Some("u:other"), "fyko+d2lbbFgONRv9qkxdawL");
        let read = ClientFirst::parse(&first, &offer).map_err(|fault| fault.to_string())?;
        assert_eq!((read.user(), read.authzid()), ("a,b=c", Some("u:other")));
        let keys = ScramKeys::of_password(hash, b"secret12", b"salt of the user", 4096);
        let (server, challenge) = read.challenge(keys, "3rfcNHYJY1ZVvWVs7j");
        let (proven, last) = client.prove(&challenge, password).map_err(|fault| fault.to_string())?;
        let answer = server.finish(&last).map_err(|fault| fault.to_string())?;
        Ok(proven.check(&answer.0))
    }

    #[test]
    fn client_and_server_understand_each_other() {
        for hash in [ScramHash::Sha1, ScramHash::Sha256, ScramHash::Sha512] {
            assert_eq!(exchange(hash, "secret12"), Ok(Ok(())));
            assert_eq!(exchange(hash, "secret13"), Err("The proof is wrong".to_owned()));
        }
    }

    #[test]
    fn a_challenge_of_another_exchange_or_form_is_refused() {
        let refused = |challenge: &str| {
            let (client, _) = ScramClient::begin(ScramHash::Sha256, "user", None, "abc");
            client.prove(challenge.as_bytes(), "secret12").map(|_| ()).unwrap_err()
        };
        assert_eq!(refused("r=abd,s=QSXCR+Q6sek8bf92,i=4096"), ScramClientFault::Nonce);
        assert_eq!(refused("r=abc,s=QSXCR+Q6sek8bf92,i=4096"), ScramClientFault::Nonce);
        assert_eq!(refused("r=abcd,s=QSXCR+Q6sek8bf92,i=4000000000"), ScramClientFault::Iterations);
        for text in ["", "r=abcd,s=QSXCR+Q6sek8bf92", "r=abcd,s=?,i=4096", "s=QSXCR+Q6sek8bf92,r=abcd,i=1", "e=no"] {
            assert_eq!(refused(text), ScramClientFault::Challenge, "{text}");
        }
    }

    #[test]
    fn a_server_without_the_keys_is_found_out() {
        let (client, _) = ScramClient::begin(ScramHash::Sha256, "user", None, "abc");
        let (proven, _) = client.prove(b"r=abcd,s=QSXCR+Q6sek8bf92,i=4096", "secret12").unwrap();
        assert_eq!(proven.check(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="), Err(ScramClientFault::Signature));
    }
}
