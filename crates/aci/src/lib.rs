//! Access control instructions as they are written: the language of Sun Directory Server, OpenDJ and 389 Directory
//! Server, as types.
//!
//! Nothing here knows a schema, an entry or an asker: attribute types are names, entries are distinguished names in
//! their string form, filters are in the form in which a search request holds them. What an instruction decides is for
//! the crate `access`.

mod bind_rule;
mod client;
mod display;
mod dn_pattern;
mod error;
mod instruction;
mod limits;
mod parse;
mod right;
mod span;
mod warning;

pub use bind_rule::{
    AuthMethod, BindRule, Comparison, Condition, ConditionTest, DAYS, Days, GroupDn, LEVEL_MAX, Levels, MINUTES_MAX,
    SSF_MAX, UserAttr, UserAttrKind, UserDn,
};
pub use client::{DnsPattern, IpRange};
pub use dn_pattern::{AttributePattern, AvaPattern, DnPattern, DnText, RdnPattern, ValuePattern};
pub use error::{AciError, AciFault};
pub use instruction::{
    Aci, AttributeTarget, Effect, OidTarget, Permission, Spanned, TargetPart, TargetScope, Targets, ValueFilter,
    ValueFilters,
};
pub use limits::{BYTES_MAX, DEPTH_MAX};
pub use parse::{Parsed, Reading, parse, parse_as};
pub use right::{Right, Rights};
pub use span::Span;
pub use warning::{Remark, Warning};
