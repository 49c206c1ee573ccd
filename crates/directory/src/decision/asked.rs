//! The requests that can be asked about.

use access::Right;
use ldap::{EntryRequest, Filter, Scope};

/// See the module. Nothing of it is done.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a, 'f> {
    /// A search that comes to the entry.
    Search {
        /// The entry.
        dn: &'a str,
        /// Where the search begins and how far it goes; none: the whole suffix.
        within: Option<(&'a str, Scope)>,
        /// The filter; none is `(objectClass=*)`.
        filter: Option<&'a Filter<'f>>,
        /// The attributes that are to be sent, as a request lists them.
        attributes: &'a [String],
    },
    /// A compare.
    Compare {
        /// The entry.
        dn: &'a str,
        /// The attribute.
        attribute: &'a str,
    },
    /// One right, to the entry as such or to an attribute.
    Right {
        /// The entry.
        dn: &'a str,
        /// Which right.
        right: Right,
        /// The attribute; none: the entry as such.
        attribute: Option<&'a str>,
    },
    /// An update.
    Update(&'a EntryRequest<'a>),
    /// To use a control in a request about an entry.
    Control {
        /// The control.
        oid: &'a str,
        /// The entry.
        dn: &'a str,
    },
    /// To use an extended operation.
    Extended {
        /// The operation.
        oid: &'a str,
    },
}
