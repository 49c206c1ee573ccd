//! What a request needs of access control, each need with its answer.
//!
//! Values only, for tools and for the control that asks for an explanation.

use access::explanation::Explanation;
use access::{Privilege, Right};
use ldap::LdapResult;

/// How a request is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether everything that was asked for is granted: a search sends the entry with every attribute that it names.
    pub granted: bool,
    /// Who asks; empty for anonymous.
    pub asker: String,
    /// The entry that it is about, as it is stored, or as the request names it where there is none.
    pub dn: String,
    /// Whether there is such an entry.
    pub exists: bool,
    /// In the order in which they are decided.
    pub needs: Vec<Need>,
    /// What the client of a refused update is told.
    pub told: Option<LdapResult>,
}

/// One thing that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub what: What,
    /// Whether it is granted.
    pub granted: bool,
    /// Why, where instructions decided.
    pub explanation: Option<Explanation>,
}

/// What is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The entry shows: some attribute of it may be read, and it is not hidden as a whole.
    Shows {
        /// The entry.
        dn: String,
    },
    /// An index answers the filter, or the asker has the privilege `unindexed-search`.
    Unindexed {
        /// Where the search begins.
        base: String,
    },
    /// The filter matches the entry by what may be searched.
    Filter(FilterTruth),
    /// A right to an entry, to an attribute of it, or to write a value.
    Right {
        /// Which right.
        right: Right,
        /// The entry.
        dn: String,
        /// The attribute; none: the entry as such.
        attribute: Option<String>,
        /// The value that is written, if one is.
        value: Option<String>,
    },
    /// A privilege.
    Privilege(Privilege),
    /// The right to use a control.
    Control(String),
    /// The right to use an extended operation.
    Extended(String),
}

/// What a filter says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterTruth {
    /// It matches.
    Matches,
    /// It would match if every attribute of it could be searched.
    MatchesForOthers,
    /// It does not match, whoever asks.
    NoMatch,
}

impl Decision {
    /// The needs that were not granted.
    pub fn refused(&self) -> impl Iterator<Item = &Need> {
        self.needs.iter().filter(|need| !need.granted)
    }
}

/// The first thing that two decisions need and that is granted in one of them only. Whether it is asked for any value
/// or for one does not matter: who may write any value is not asked for each.
pub(crate) fn first_other<'n>(now: &'n [Need], then: &'n [Need]) -> Option<(&'n Need, &'n Need)> {
    now.iter().find_map(|need| {
        let other = then.iter().find(|other| other.what.without_value() == need.what.without_value())?;
        (other.granted != need.granted).then_some((need, other))
    })
}

impl What {
    fn without_value(&self) -> What {
        let mut what = self.clone();
        if let What::Right { value, .. } = &mut what {
            *value = None;
        }
        what
    }
}
