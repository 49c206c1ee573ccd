//! Simple paged results (RFC 2696): where a page begins, when it is full, and the cookie by which the client asks for
//! the next.
//!
//! The server keeps nothing between pages. A cookie holds the place of the last entry sent, what request of whom it
//! belongs to, and a checksum under a key of this run of the server. Nobody else can read it: numbers of entries and
//! sort keys would tell of entries that the client does not see. So a cookie is good after any number of other
//! operations and on any connection, as long as the server runs, and what comes and goes between two pages neither
//! repeats an entry nor ends the search.
//!
//! Places ascend: by sort key when sorted, then by backend, base and number of the entry.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use ldap::controls::PagedResults;
use ldap::oids::control;
use ldap::{ControlBuf, LdapResult, SearchRequest};
use store::EntryId;

use super::entry_writer::CANDIDATES_PER_LOOK;
use super::part::Part;
use super::refusal::SearchRefusal;
use super::stop::Stop;
use crate::controls::ReadControls;
use access::Identity;
use access::limits::SessionLimits;
use query::backend::BackendIndex;

/// First byte of a cookie: the form of the rest.
const COOKIE_VERSION: u8 = 1;

/// Makes the checksums of cookies: a keyed hash (SipHash) with a new key whenever the server starts.
#[derive(Clone, Debug, Default)]
pub struct CookieKey(RandomState);

impl CookieKey {
    fn checksum(&self, bytes: &[u8]) -> u64 {
        self.0.hash_one(bytes)
    }

    /// Makes `bytes` unreadable, or readable again. Different contents have different checksums.
    fn hide(&self, bytes: &mut [u8], checksum: u64) {
        for (at, chunk) in bytes.chunks_mut(8).enumerate() {
            let mask = self.0.hash_one((checksum, at)).to_be_bytes();
            chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        }
    }

    /// Stands for everything in a search request that must not change from page to page. Limits and the page size may.
    /// Another identity's cookie is one of another search.
    pub(super) fn request(&self, request: &SearchRequest<'_>, wanted: &ReadControls<'_>, identity: &Identity) -> u64 {
        let mut hasher = self.0.build_hasher();
        identity.dn().hash(&mut hasher);
        (request.base, request.scope, request.deref_aliases, request.types_only).hash(&mut hasher);
        request.filter.to_string().hash(&mut hasher);
        request.attributes.iter().for_each(|attribute| attribute.hash(&mut hasher));
        (wanted.manage_dsa_it, wanted.subentries).hash(&mut hasher);
        if let Some(presentation) = &wanted.presentation {
            (presentation.attributes, presentation.matched_values.len()).hash(&mut hasher);
            presentation.matched_values.iter().for_each(|filter| filter.to_string().hash(&mut hasher));
            for key in presentation.sort.iter().flat_map(|sort| &sort.keys) {
                (key.attribute, key.ordering_rule, key.reverse).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Where an entry stands in a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// Its sort key; empty when nothing is sorted.
    pub(super) key: Vec<u8>,
    pub(super) backend: BackendIndex,
    pub(super) base: EntryId,
    pub(super) id: EntryId,
}

/// No entry has this number: a part is done to its end.
const PART_END: EntryId = EntryId(u64::MAX);

impl Position {
    /// Of an entry of a part, by number.
    #[inline]
    pub(super) fn of(part: &Part, id: EntryId) -> Position {
        Position { key: Vec::new(), backend: part.backend, base: part.base, id }
    }

    /// Of one of the server's own entries.
    pub(super) fn synthetic(at: usize) -> Position {
        Position { id: EntryId(at as u64 + 1), ..Position::default() }
    }

    /// The opposite of [`Position::synthetic`].
    pub(super) fn as_synthetic(&self) -> Option<usize> {
        usize::try_from(self.id.0.checked_sub(1)?).ok()
    }
}

/// A page asked for.
#[derive(Debug)]
pub(super) struct Page {
    /// Entries that it has room for.
    pub(super) size: u64,
    /// No page may follow: one more match is over the size limit.
    pub(super) is_last_allowed: bool,
    /// The client only wants to know how much there is, or gives the search up.
    pub(super) is_empty: bool,
    /// Everything up to here was sent.
    pub(super) start: Option<Position>,
    /// Entries on the pages before.
    pub(super) sent_before: u64,
    request: u64,
    key: CookieKey,
}

impl Page {
    /// Reads the request; `request` is [`CookieKey::request`] of it, `size_limit` what it says, `own` what the session
    /// may.
    ///
    /// # Errors
    /// When the cookie is none of this server's, or belongs to another search, or the session may not page.
    pub(super) fn new(
        asked: PagedResults<'_>,
        key: &CookieKey,
        request: u64,
        size_limit: u32,
        own: &SessionLimits,
    ) -> Result<Page, LdapResult> {
        let mut page = Page {
            size: 0,
            is_last_allowed: false,
            is_empty: asked.size == 0,
            start: None,
            sent_before: 0,
            request,
            key: key.clone(),
        };
        if !asked.cookie.is_empty() {
            let cookie =
                Cookie::decode(asked.cookie, key).ok_or_else(|| LdapResult::from(SearchRefusal::ForeignCookie))?;
            if cookie.request != request {
                return Err(SearchRefusal::CookieOfOtherSearch.into());
            }
            (page.start, page.sent_before) = (Some(cookie.position), cookie.sent);
        }
        let granted = own.for_page(u64::from(size_limit), u64::from(asked.size), page.sent_before)?;
        (page.size, page.is_last_allowed) = (granted.entries, granted.is_last_allowed);
        Ok(page)
    }

    /// What a page that is full means when none may follow.
    pub(super) fn checked(&self, ended: Result<(), Stop>) -> Result<(), Stop> {
        match ended {
            Err(Stop::PageFull) if self.is_last_allowed => {
                Err(Stop::size_limit(self.sent_before.saturating_add(self.size)))
            }
            ended => ended,
        }
    }

    /// The control of the response. `next` is the last place on the page if there are more, `estimate` the size of the
    /// whole result (0: unknown), `sent` the entries on this page.
    pub(super) fn response(&self, next: Option<&Position>, estimate: u64, sent: u64) -> ControlBuf {
        let cookie = next.map(|position| {
            let sent = self.sent_before.saturating_add(sent);
            Cookie { request: self.request, sent, position: position.clone() }.encode(&self.key)
        });
        let size = u32::try_from(estimate).unwrap_or(i32::MAX as u32).min(i32::MAX as u32);
        let value = PagedResults { size, cookie: cookie.as_deref().unwrap_or_default() }.encode();
        ControlBuf::new(control::PAGED_RESULTS, Some(value))
    }
}

/// A page being filled in the order of numbers.
#[derive(Debug)]
pub(super) struct PageProgress {
    start: Option<Position>,
    room: u64,
    is_last_allowed: bool,
    /// Where the page ends so far.
    last: Option<Position>,
    /// Candidates looked at since the page was full.
    looked_beyond: usize,
    has_more: bool,
}

impl PageProgress {
    pub(super) fn new(page: &Page) -> PageProgress {
        PageProgress {
            start: page.start.clone(),
            room: page.size,
            is_last_allowed: page.is_last_allowed,
            last: page.start.clone(),
            looked_beyond: 0,
            has_more: false,
        }
    }

    /// Whether the place is on an earlier page.
    pub(super) fn is_before(&self, position: &Position) -> bool {
        self.start.as_ref().is_some_and(|start| position <= start)
    }

    /// The last of the server's own entries on the pages before.
    pub(super) fn start_of_synthetic(&self) -> Option<usize> {
        self.start.as_ref().and_then(Position::as_synthetic)
    }

    /// The number after which to go on in `part`; none when it is done.
    pub(super) fn start_in(&self, part: &Part) -> Option<EntryId> {
        let Some(start) = &self.start else { return Some(EntryId::ROOT) };
        match (part.backend, part.base).cmp(&(start.backend, start.base)) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(start.id).filter(|id| *id != PART_END),
            std::cmp::Ordering::Greater => Some(EntryId::ROOT),
        }
    }

    /// Takes an entry on the page; `false` when it is full.
    pub(super) fn take(&mut self, position: Position) -> bool {
        self.has_more = self.room == 0;
        if self.has_more {
            return false;
        }
        self.room -= 1;
        self.last = Some(position);
        true
    }

    /// Everything in the part was sent, its references too.
    pub(super) fn finish(&mut self, part: &Part) {
        self.last = Some(Position::of(part, PART_END));
    }

    /// Whether the page is full, and so many candidates behind it were looked at without finding the next entry that
    /// the next page had better do it, though it may turn out to be empty.
    #[inline]
    pub(super) fn has_looked_enough(&mut self) -> bool {
        if self.room > 0 || self.is_last_allowed {
            return false;
        }
        self.looked_beyond += 1;
        self.has_more = self.looked_beyond > CANDIDATES_PER_LOOK;
        self.has_more
    }

    /// Where the next page begins, if there may be one.
    pub(super) fn next(&self) -> Option<&Position> {
        self.last.as_ref().filter(|_| self.has_more)
    }
}

/// What a cookie says.
#[derive(Debug, PartialEq, Eq)]
struct Cookie {
    request: u64,
    sent: u64,
    position: Position,
}

impl Cookie {
    fn encode(&self, key: &CookieKey) -> Vec<u8> {
        let Position { key: sort_key, backend, base, id } = &self.position;
        let mut bytes = vec![COOKIE_VERSION];
        for number in [self.request, self.sent, backend.0 as u64, base.0, id.0] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(sort_key);
        let checksum = key.checksum(&bytes);
        key.hide(&mut bytes, checksum);
        bytes.extend_from_slice(&checksum.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8], key: &CookieKey) -> Option<Cookie> {
        let (content, checksum) = bytes.split_last_chunk::<8>()?;
        let (mut content, checksum) = (content.to_vec(), u64::from_be_bytes(*checksum));
        key.hide(&mut content, checksum);
        if key.checksum(&content) != checksum {
            return None;
        }
        let mut rest = content.strip_prefix(&[COOKIE_VERSION])?;
        let mut number = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_be_bytes(*number))
        };
        let [request, sent, backend, base, id] = [number()?, number()?, number()?, number()?, number()?];
        let backend = BackendIndex(usize::try_from(backend).ok()?);
        let position = Position { key: rest.to_vec(), backend, base: EntryId(base), id: EntryId(id) };
        Some(Cookie { request, sent, position })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cookie_is_read_back_by_its_server_only_and_only_unchanged(
            request: u64, sent: u64, backend in 0usize..9, base: u64, id: u64,
            sort_key in prop::collection::vec(any::<u8>(), 0..40), at: prop::sample::Index, flip in 1u8..,
        ) {
            let key = CookieKey::default();
            let backend = BackendIndex(backend);
            let position = Position { key: sort_key, backend, base: EntryId(base), id: EntryId(id) };
            let cookie = Cookie { request, sent, position };
            let mut bytes = cookie.encode(&key);
            prop_assert_eq!(Cookie::decode(&bytes, &key), Some(cookie));
            prop_assert_eq!(Cookie::decode(&bytes, &CookieKey::default()), None);
            prop_assert_eq!(Cookie::decode(&bytes[..bytes.len() - 1], &key), None);
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert_eq!(Cookie::decode(&bytes, &key), None);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(Cookie::decode(&bytes, &CookieKey::default()), None);
        }
    }
}
