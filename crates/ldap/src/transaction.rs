//! Values of the extended operations that begin and end transactions (RFC 5805 §2). The transaction specification
//! control's value and that of a start response are the identifier as it is.

use ber::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE, Writer};

use crate::DecodeError;
use crate::controls::{ControlBuf, put_control_list};

/// An end transaction request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTransaction<'a> {
    /// Whether its updates are to be done, or forgotten.
    pub commit: bool,
    /// Which transaction.
    pub identifier: &'a [u8],
}

impl<'a> EndTransaction<'a> {
    /// From a request value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of an end transaction request"))?);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let commit = if inner.peek_tag() == Some(BOOLEAN) { inner.boolean()? } else { true };
        let identifier = inner.octets()?;
        inner.finish()?;
        Ok(Self { commit, identifier })
    }

    /// To a request value.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        let mark = w.begin(SEQUENCE);
        if !self.commit {
            w.boolean(BOOLEAN, false);
        }
        w.octets(OCTET_STRING, self.identifier);
        w.end(mark);
        out
    }
}

/// The value of an end transaction response: the message id of the update that failed, or the response controls of
/// those that have any. `None` when there is neither.
pub fn encode_end_response(failed: Option<i32>, controls: &[(i32, Vec<ControlBuf>)]) -> Option<Vec<u8>> {
    if failed.is_none() && controls.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    let mark = w.begin(SEQUENCE);
    if let Some(id) = failed {
        w.integer(INTEGER, i64::from(id));
    }
    if !controls.is_empty() {
        let list = w.begin(SEQUENCE);
        for (id, controls) in controls {
            let one = w.begin(SEQUENCE);
            w.integer(INTEGER, i64::from(*id));
            put_control_list(&mut w, SEQUENCE, controls);
            w.end(one);
        }
        w.end(list);
    }
    w.end(mark);
    Some(out)
}

/// The message id of the update that failed, from the value of an end transaction response; `None` when it names none.
#[must_use]
pub fn decode_failed(value: &[u8]) -> Option<i32> {
    let mut inner = Reader::new(value).sequence().ok()?;
    if inner.peek_tag() != Some(INTEGER) {
        return None;
    }
    i32::try_from(inner.integer().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commit_is_the_default() {
        assert_eq!(EndTransaction { commit: true, identifier: b"7" }.encode(), b"\x30\x03\x04\x017");
        assert_eq!(EndTransaction { commit: false, identifier: b"7" }.encode(), b"\x30\x06\x01\x01\x00\x04\x017");
        for bad in [None, Some(&b""[..]), Some(b"\x30\x00"), Some(b"\x30\x03\x01\x01\x00"), Some(b"\x04\x017")] {
            assert!(EndTransaction::decode(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_response_says_only_what_there_is_to_say() {
        assert_eq!(encode_end_response(None, &[]), None);
        assert_eq!(encode_end_response(Some(5), &[]).unwrap(), b"\x30\x03\x02\x01\x05");
        assert_eq!(decode_failed(b"\x30\x03\x02\x01\x05"), Some(5));
        let control = ControlBuf::new("1.2", Some(b"v".to_vec()));
        let value = encode_end_response(None, &[(3, vec![control])]).unwrap();
        assert_eq!(value, b"\x30\x13\x30\x11\x30\x0f\x02\x01\x03\x30\x0a\x30\x08\x04\x031.2\x04\x01v");
        assert_eq!(decode_failed(&value), None);
        assert_eq!(decode_failed(b""), None);
    }

    proptest! {
        #[test]
        fn requests_round_trip(commit: bool, identifier: Vec<u8>) {
            let request = EndTransaction { commit, identifier: &identifier };
            let value = request.encode();
            prop_assert_eq!(EndTransaction::decode(Some(&value)), Ok(request));
        }

        /// What is read of damaged bytes is said again as it was read.
        #[test]
        fn no_bytes_panic(commit: bool, identifier: Vec<u8>, at: prop::sample::Index, byte: u8, noise: Vec<u8>) {
            let mut bytes = EndTransaction { commit, identifier: &identifier }.encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            for bytes in [bytes, noise] {
                if let Ok(request) = EndTransaction::decode(Some(&bytes)) {
                    let again = request.encode();
                    prop_assert_eq!(EndTransaction::decode(Some(&again)), Ok(request));
                }
                let _ = decode_failed(&bytes);
            }
        }
    }
}
