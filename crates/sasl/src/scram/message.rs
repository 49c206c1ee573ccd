//! The messages of a SCRAM client (RFC 5802 §7), taken apart.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::fault::ScramFault;
use crate::MESSAGE_BYTES_MAX;
use crate::gs2::{Gs2Header, unescaped};

/// Longest nonce of a client.
const NONCE_BYTES_MAX: usize = 512;

/// `n,,n=user,r=nonce`
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FirstMessage<'a> {
    pub(super) header: Gs2Header<'a>,
    /// What comes after the header.
    pub(super) bare: &'a str,
    pub(super) user: Cow<'a, str>,
    pub(super) nonce: &'a str,
}

/// `c=biws,r=nonce,p=proof`
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FinalMessage<'a> {
    pub(super) binding: Vec<u8>,
    pub(super) nonce: &'a str,
    pub(super) proof: Vec<u8>,
    /// The message up to `,p=`.
    pub(super) without_proof: &'a str,
}

fn text(message: &[u8]) -> Result<&str, ScramFault> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(ScramFault::NotText);
    }
    std::str::from_utf8(message).map_err(|_| ScramFault::NotText)
}

/// RFC 5802 §7: `printable`, everything visible in ASCII but the comma.
fn is_nonce(nonce: &str) -> bool {
    !nonce.is_empty() && nonce.len() <= NONCE_BYTES_MAX && nonce.bytes().all(|byte| byte.is_ascii_graphic())
}

/// An extension: a letter, `=`, and at least one character.
fn is_extension(part: &str) -> bool {
    matches!(part.as_bytes(), [letter, b'=', _, ..] if letter.is_ascii_alphabetic()) && !part.contains('\0')
}

impl<'a> FirstMessage<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, ScramFault> {
        let (header, bare) = Gs2Header::parse(text(message)?)?;
        let mut parts = bare.split(',');
        let mut next = || parts.next().unwrap_or_default();
        let user = match next() {
            extension if extension.starts_with("m=") => return Err(ScramFault::MandatoryExtension),
            part => part.strip_prefix("n=").ok_or(ScramFault::Form("n="))?,
        };
        let user = unescaped(user)?;
        let nonce = next().strip_prefix("r=").ok_or(ScramFault::Form("r="))?;
        if !is_nonce(nonce) {
            return Err(ScramFault::Nonce);
        }
        match parts.all(is_extension) {
            true => Ok(FirstMessage { header, bare, user, nonce }),
            false => Err(ScramFault::Form("an extension")),
        }
    }
}

impl<'a> FinalMessage<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, ScramFault> {
        let message = text(message)?;
        let decode = |part: &str, what| STANDARD.decode(part).map_err(|_| ScramFault::Form(what));
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(ScramFault::Form("p="))?;
        let mut parts = without_proof.split(',');
        let mut next = || parts.next().unwrap_or_default();
        let binding = decode(next().strip_prefix("c=").ok_or(ScramFault::Form("c="))?, "c=")?;
        let nonce = next().strip_prefix("r=").ok_or(ScramFault::Form("r="))?;
        match parts.all(is_extension) {
            true => Ok(FinalMessage { binding, nonce, proof: decode(proof, "p=")?, without_proof }),
            false => Err(ScramFault::Form("an extension")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gs2::Gs2Fault;

    #[test]
    fn names_are_unescaped_and_later_extensions_are_ignored() {
        let first = FirstMessage::parse(b"n,a=u:x,n=a=2Cb=3Dc,r=ab!,x=1,y=2,3").map(|_| ());
        assert_eq!(first, Err(ScramFault::Form("an extension")));
        let first = FirstMessage::parse(b"n,a=u:x,n=a=2Cb=3Dc,r=ab!,x=1,y=2").unwrap();
        assert_eq!((first.user.as_ref(), first.nonce), ("a,b=c", "ab!"));
        assert_eq!(first.bare, "n=a=2Cb=3Dc,r=ab!,x=1,y=2");
    }

    #[test]
    fn first_messages_of_another_form_are_refused() {
        for (message, fault) in [
            (&b"n,,n=user"[..], ScramFault::Form("r=")),
            (b"n,,r=1,n=user", ScramFault::Form("n=")),
            (b"n,,m=1,n=user,r=1", ScramFault::MandatoryExtension),
            (b"n,,n=user,r=", ScramFault::Nonce),
            (b"n,,n=user,r=a b", ScramFault::Nonce),
            (b"n,,n=user,r=\xc3\xa9", ScramFault::Nonce),
            (b"n,,n=,r=1", ScramFault::Gs2(Gs2Fault::Name)),
            (b"n,,n=a=20,r=1", ScramFault::Gs2(Gs2Fault::Name)),
            (b"n,,n=\xff,r=1", ScramFault::NotText),
            (b"", ScramFault::Gs2(Gs2Fault::Header)),
            (b"n,,", ScramFault::Form("n=")),
        ] {
            assert_eq!(FirstMessage::parse(message), Err(fault), "{}", String::from_utf8_lossy(message));
        }
        let long = format!("n,,n=user,r={}", "a".repeat(NONCE_BYTES_MAX + 1));
        assert_eq!(FirstMessage::parse(long.as_bytes()), Err(ScramFault::Nonce));
    }

    #[test]
    fn final_messages_of_another_form_are_refused() {
        let good = FinalMessage::parse(b"c=biws,r=abc,x=1,p=AAAA").unwrap();
        assert_eq!((good.binding.as_slice(), good.nonce, good.without_proof), (&b"n,,"[..], "abc", "c=biws,r=abc,x=1"));
        for (message, fault) in [
            (&b"c=biws,r=abc"[..], ScramFault::Form("p=")),
            (b"r=abc,c=biws,p=AAAA", ScramFault::Form("c=")),
            (b"c=biws,x=1,r=abc,p=AAAA", ScramFault::Form("r=")),
            (b"c=b*ws,r=abc,p=AAAA", ScramFault::Form("c=")),
            (b"c=biws,r=abc,p=AA", ScramFault::Form("p=")),
            (b"c=biws,r=abc,p=AAAA,x=1", ScramFault::Form("p=")),
            (b"\xff", ScramFault::NotText),
        ] {
            assert_eq!(FinalMessage::parse(message), Err(fault), "{}", String::from_utf8_lossy(message));
        }
    }
}
