//! Who is in which group: `isMemberOf` and `memberOf`, filters on them, the in-chain rule, and members that are not
//! listed.
//!
//! Nothing is stored for it. The equality indexes of `member` and `uniqueMember` are the reverse index: from a name to
//! the groups that list it. Nested groups are followed from there by entry number; dynamic and virtual static groups
//! are few and looked at one by one. All of it is read at one moment, so it is right immediately after any update or
//! rename.
//!
//! Membership is: a static group has the entries that it lists, and the members of listed entries that are static,
//! dynamic or virtual static groups; a dynamic group has the entries that one of its URLs describes, but not the
//! members of those; a virtual static group has the members of its target. In a circle of groups everybody is a member
//! of all of them, the groups included. Groups of every backend count for entries of any.
//!
//! For whoever computes attributes: [`GroupsAt::values`], [`GroupsAt::contains`], [`GroupsAt::candidates`]. It knows
//! nothing of who asks.

mod dynamic;
mod expand;
mod graph;
mod members;
mod membership;
mod moment;
mod pair;
mod service;

pub use expand::{Expanded, MemberPlan};
pub use graph::CHAIN_MAX;
pub use moment::{GroupsAt, GroupsMoment, ImageNumber};
pub use pair::GroupPair;
pub use service::{GroupOptions, GroupService, Members};
