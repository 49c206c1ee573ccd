//! LDAP as it is written: messages, filters, distinguished names, URLs, controls, extended operations and LDIF.
//!
//! Types and codecs only. Everything that can be borrowed from the bytes it came in is; every size that input decides
//! has a bound. Nothing here knows a schema, a socket or a store: an attribute description is bytes, a name is text.

pub mod administration;
pub mod client;
pub mod controls;
mod decode_error;
pub mod dn;
pub mod encode;
pub mod extended;
pub mod filter;
pub mod ldif;
mod limits;
mod made;
pub mod message;
pub mod oids;
pub mod password_policy_state;
pub mod refusals;
mod result;
pub mod second_factor;
pub mod transaction;
pub mod url;

pub use controls::{Control, ControlBuf, Controls};
pub use dn::{Ava, Dn, DnError, Rdn};
pub use filter::{Assertion, ExtensibleMatch, Filter, FilterBuf, FilterNode, Position, Substrings};
pub use made::{MadeSearch, MadeUpdate};
pub use message::{
    AddRequest, Attribute, Attributes, Authentication, BindRequest, Change, Changes, CompareRequest, DecodeError,
    DerefAliases, EntryRequest, EntryUpdate, ExtendedFault, Message, MessageError, ModifyDnRequest, ModifyOperation,
    ModifyRequest, NotExecutable, Operation, Scope, SearchRequest, Strings, Update, Values,
};
pub use result::{LdapResult, ResultCode};
pub use url::{LdapUrl, UrlError, UrlExtension, UrlScheme};
