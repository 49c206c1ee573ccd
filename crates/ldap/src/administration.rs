//! Values of the extended operations with which administrators steer a running server: Pando's own, described in
//! `docs/reference/administration.md`.
//!
//! Knows how they are written; what they do, and who may ask for it, is decided elsewhere.

use ber::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE, Tag, Writer};

use crate::DecodeError;

const ALL: Tag = 0x80;
const DEGRADED: Tag = 0x81;
const NAMED: Tag = 0xa2;
const TOTAL: Tag = 0x80;

/// Which indexes of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChoice {
    /// All of them.
    All,
    /// Those that are new or out of date.
    Degraded,
    /// These: index ids such as `cn.caseIgnoreMatch`, or attributes.
    Named(Vec<String>),
}

/// A request to build indexes anew while the server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebuildIndexes {
    /// The backend's id.
    pub backend: String,
    /// Which of its indexes.
    pub which: IndexChoice,
    /// The response comes when they are built; until then intermediate responses tell how far they are. Otherwise it
    /// comes at once.
    pub wait: bool,
}

/// A request to set the clock by which accounts are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAccountClock {
    /// By how many milliseconds it is to be ahead of the system's clock; below 0: behind it.
    pub ahead_ms: i64,
}

/// What became of a configuration that the server took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadResponse {
    /// What took effect, a sentence each.
    pub changed: Vec<String>,
    /// What differs from what the server started with and takes a restart, a sentence each.
    pub at_restart: Vec<String>,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// What is counted: `entries`.
    pub phase: String,
    /// How many are done.
    pub done: u64,
    /// How many there are, if that is known.
    pub total: Option<u64>,
}

impl RebuildIndexes {
    /// From a request value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut inner = content(value, "the value of a rebuild request")?;
        let backend = text(inner.octets()?, "the backend")?;
        let which = match inner.element()? {
            (ALL, []) => IndexChoice::All,
            (DEGRADED, []) => IndexChoice::Degraded,
            (NAMED, list) => IndexChoice::Named(decode_names(Reader::new(list), "an index")?),
            (tag, _) => {
                return Err(DecodeError::BadEnumerated { field: "choice of indexes", value: i64::from(tag) });
            }
        };
        let wait = inner.boolean()?;
        inner.finish_extensible(&[])?;
        Ok(Self { backend, which, wait })
    }

    /// To a request value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|w| {
            w.octets(OCTET_STRING, self.backend.as_bytes());
            match &self.which {
                IndexChoice::All => w.null(ALL),
                IndexChoice::Degraded => w.null(DEGRADED),
                IndexChoice::Named(names) => put_names(w, NAMED, names),
            }
            w.boolean(BOOLEAN, self.wait);
        })
    }
}

impl SetAccountClock {
    /// From a request value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut inner = content(value, "the value of a request to set the clock")?;
        let ahead_ms = inner.integer()?;
        inner.finish_extensible(&[])?;
        Ok(Self { ahead_ms })
    }

    /// To a request value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|w| w.integer(INTEGER, self.ahead_ms))
    }
}

impl ReloadResponse {
    /// From a response value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut inner = content(value, "the value of a reload response")?;
        let changed = decode_names(inner.sequence()?, "what changed")?;
        let at_restart = decode_names(inner.sequence()?, "what takes a restart")?;
        inner.finish_extensible(&[])?;
        Ok(Self { changed, at_restart })
    }

    /// To a response value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoded(|w| {
            put_names(w, SEQUENCE, &self.changed);
            put_names(w, SEQUENCE, &self.at_restart);
        })
    }
}

impl JobProgress {
    /// From the value of an intermediate response.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut inner = content(value, "the value of a progress report")?;
        let phase = text(inner.octets()?, "the phase")?;
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        let done = count(inner.integer()?);
        let total = match inner.peek_tag() {
            Some(TOTAL) => Some(count(inner.integer_tagged(TOTAL)?)),
            _ => None,
        };
        inner.finish_extensible(&[])?;
        Ok(Self { phase, done, total })
    }

    /// To the value of an intermediate response.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        encoded(|w| {
            w.octets(OCTET_STRING, self.phase.as_bytes());
            w.integer(INTEGER, count(self.done));
            if let Some(total) = self.total {
                w.integer(TOTAL, count(total));
            }
        })
    }
}

/// Names, one after the other, such as those of the indexes that are rebuilt.
#[must_use]
pub fn encode_name_list(names: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    put_names(&mut Writer::new(&mut out), SEQUENCE, names);
    out
}

/// Reads what [`encode_name_list`] writes.
pub fn decode_name_list(value: Option<&[u8]>) -> Result<Vec<String>, DecodeError> {
    decode_names(content(value, "the value of a rebuild response")?, "an index")
}

fn content<'a>(value: Option<&'a [u8]>, what: &'static str) -> Result<Reader<'a>, DecodeError> {
    let mut outer = Reader::new(value.ok_or(DecodeError::Empty(what))?);
    let inner = outer.sequence()?;
    outer.finish()?;
    Ok(inner)
}

fn encoded(put: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out);
    let mark = w.begin(SEQUENCE);
    put(&mut w);
    w.end(mark);
    out
}

fn put_names(w: &mut Writer<'_>, tag: Tag, names: &[String]) {
    let list = w.begin(tag);
    names.iter().for_each(|name| w.octets(OCTET_STRING, name.as_bytes()));
    w.end(list);
}

fn decode_names(mut list: Reader<'_>, what: &'static str) -> Result<Vec<String>, DecodeError> {
    let mut names = Vec::new();
    while !list.is_empty() {
        names.push(text(list.octets()?, what)?);
    }
    Ok(names)
}

fn text(bytes: &[u8], what: &'static str) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| DecodeError::NotUtf8(what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rebuild_request_on_the_wire() {
        let which = IndexChoice::Named(vec!["cn".to_owned()]);
        let request = RebuildIndexes { backend: "u".to_owned(), which, wait: true };
        assert_eq!(request.encode(), [0x30, 12, 4, 1, b'u', 0xa2, 4, 4, 2, b'c', b'n', 1, 1, 0xff]);
        for bad in [None, Some(&b""[..]), Some(&[0x30, 0]), Some(&[0x30, 5, 4, 1, b'u', 0x85, 0]), Some(&[4, 1, b'u'])]
        {
            assert!(RebuildIndexes::decode(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn values_round_trip(backend: String, names: Vec<String>, more: Vec<String>, wait: bool, kind in 0..3,
                             done in 0..=i64::MAX as u64, total in proptest::option::of(0..=i64::MAX as u64)) {
            let which = match kind {
                0 => IndexChoice::All,
                1 => IndexChoice::Degraded,
                _ => IndexChoice::Named(names.clone()),
            };
            let request = RebuildIndexes { backend: backend.clone(), which, wait };
            prop_assert_eq!(RebuildIndexes::decode(Some(&request.encode())), Ok(request));
            prop_assert_eq!(decode_name_list(Some(&encode_name_list(&names))), Ok(names.clone()));
            let response = ReloadResponse { changed: names, at_restart: more };
            prop_assert_eq!(ReloadResponse::decode(Some(&response.encode())), Ok(response));
            let progress = JobProgress { phase: backend, done, total };
            prop_assert_eq!(JobProgress::decode(Some(&progress.encode())), Ok(progress));
        }

        #[test]
        fn nonsense_is_an_error_and_no_panic(bytes: Vec<u8>) {
            let _ = (RebuildIndexes::decode(Some(&bytes)), ReloadResponse::decode(Some(&bytes)));
            let _ = (JobProgress::decode(Some(&bytes)), decode_name_list(Some(&bytes)));
        }
    }
}
