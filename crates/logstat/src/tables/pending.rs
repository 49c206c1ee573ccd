//! Requests that were not answered yet, matched by connection, operation and message id; a bounded number of them.

use std::collections::{HashMap, VecDeque};

use crate::operation::Operation;
use crate::record::{Ids, Kind, Moment};

/// Most requests that wait at once; of more, the oldest count as never answered.
const REQUESTS_MAX: usize = 32_768;

const DN_BYTES_MAX: usize = 512;
const FILTER_BYTES_MAX: usize = 1024;

/// A request that waits.
#[derive(Debug)]
pub struct Waiting {
    ids: Ids,
    asked: Option<Moment>,
    kind: Kind,
    is_internal: bool,
    /// DN, then filter.
    text: Vec<u8>,
    dn_bytes: usize,
}

impl Waiting {
    /// What was asked for.
    #[must_use]
    pub fn operation(&self) -> Operation<'_> {
        let (dn, filter) = self.text.split_at_checked(self.dn_bytes).unwrap_or_default();
        Operation { ids: self.ids, asked: self.asked, kind: self.kind, dn, filter, is_internal: self.is_internal }
    }
}

/// The requests.
#[derive(Debug, Default)]
pub struct Pending {
    waiting: HashMap<Ids, Waiting>,
    /// As they came; most are answered by now.
    order: VecDeque<Ids>,
    /// Buffers for the texts of the next ones.
    spare: Vec<Vec<u8>>,
}

impl Pending {
    /// Keeps a request. Gives what has to go for it: the same ids asked for before, or the oldest of too many.
    pub fn put(&mut self, operation: &Operation<'_>) -> Option<Waiting> {
        let ids = operation.ids;
        let mut text = self.spare.pop().unwrap_or_default();
        let dn = cut(operation.dn, DN_BYTES_MAX);
        text.extend_from_slice(dn);
        text.extend_from_slice(cut(operation.filter, FILTER_BYTES_MAX));
        let Operation { asked, kind, is_internal, .. } = *operation;
        let waiting = Waiting { ids, asked, kind, is_internal, text, dn_bytes: dn.len() };
        let before = self.waiting.insert(ids, waiting);
        self.order.push_back(ids);
        if self.order.len() > 4 * REQUESTS_MAX {
            let waiting = &self.waiting;
            self.order.retain(|ids| waiting.contains_key(ids));
        }
        before.or_else(|| if self.waiting.len() > REQUESTS_MAX { self.oldest() } else { None })
    }

    /// The request that is answered.
    pub fn take(&mut self, ids: &Ids) -> Option<Waiting> {
        self.waiting.remove(ids)
    }

    /// Gives back what was taken, so that its buffer is used again.
    pub fn reuse(&mut self, waiting: Waiting) {
        if self.spare.len() < REQUESTS_MAX {
            let mut text = waiting.text;
            text.clear();
            self.spare.push(text);
        }
    }

    /// The one that waits longest; none when no one waits.
    pub fn oldest(&mut self) -> Option<Waiting> {
        loop {
            let ids = self.order.pop_front()?;
            if let Some(waiting) = self.waiting.remove(&ids) {
                return Some(waiting);
            }
        }
    }
}

fn cut(text: &[u8], bytes: usize) -> &[u8] {
    text.get(..bytes).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(connection: u64, operation: u64) -> Ids {
        Ids { connection, operation: Some(operation), message: 0 }
    }

    #[test]
    fn answers_find_their_requests_and_the_oldest_go_first() {
        let mut pending = Pending::default();
        let search = Operation { dn: b"o=x", filter: b"(a=b)", ..Operation::unknown(ids(1, 1), Kind::Search) };
        assert!(pending.put(&search).is_none());
        let found = pending.take(&ids(1, 1)).unwrap();
        assert_eq!((found.operation().dn, found.operation().filter), (&b"o=x"[..], &b"(a=b)"[..]));
        pending.reuse(found);
        assert!(pending.take(&ids(1, 1)).is_none());
        for number in 0..200_000 {
            if let Some(gone) = pending.put(&Operation::unknown(ids(2, number), Kind::Modify)) {
                assert_eq!(gone.operation().ids.operation, Some(number - REQUESTS_MAX as u64));
                pending.reuse(gone);
            }
            assert!(pending.waiting.len() <= REQUESTS_MAX && pending.order.len() <= 4 * REQUESTS_MAX + 1);
        }
        assert!(pending.put(&Operation::unknown(ids(2, 199_999), Kind::Add)).is_some(), "the same once more");
    }
}
