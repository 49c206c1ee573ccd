//! What a judgement comes to.

use std::sync::Arc;

use ldap::LdapResult;
use query::error::store_failure;
use schema::TypeIndex;
use store::StoreError;

use super::disclosure::{Disclosure, Told};
use change::judged::Judged;

/// An update may be made of what was judged, and its results may be told in this way.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) judged: Judged,
    pub(crate) disclosure: Disclosure,
    /// What the asker may read of the entry as it was, for a pre-read control.
    pub(crate) readable_before: Readable,
    /// The assertion control was evaluated: it is not to be evaluated again.
    pub(crate) is_asserted: bool,
}

/// What of an entry may be read: nothing of one that does not show, else these types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readable(pub(crate) Option<Arc<[TypeIndex]>>);

/// Why a judgement ends without a verdict.
#[derive(Debug)]
pub(crate) enum End {
    /// The asker is refused.
    Refused(Box<Told>),
    /// There is so much to look at that it takes a pool's thread.
    TakesLong,
}

impl From<Told> for End {
    fn from(told: Told) -> Self {
        End::Refused(Box::new(told))
    }
}

impl From<LdapResult> for End {
    fn from(result: LdapResult) -> Self {
        Told::open(result).into()
    }
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        store_failure(&error).into()
    }
}
