//! The form of a search's result: sorted, in pages, a window of a list.

use ldap::{ControlBuf, LdapResult};

use super::list_view::ListView;
use super::paged::Page;
use super::sort::Sorting;

/// The form of one search's result.
#[derive(Debug, Default)]
pub(super) struct Arrangement {
    /// Nothing is searched: this is the answer.
    pub(super) refusal: Option<LdapResult>,
    pub(super) page: Option<Page>,
    pub(super) order: Option<Sorting>,
    pub(super) list_view: Option<ListView>,
    /// Controls of the response that are known before anything is searched.
    pub(super) controls: Vec<ControlBuf>,
}

impl Arrangement {
    /// Whether another order than the natural one is asked for.
    pub(super) fn is_ordered(&self) -> bool {
        self.order.is_some() || self.list_view.is_some()
    }
}
