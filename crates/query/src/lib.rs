//! What entries match and what they show: filters, the planner, groups, computed attributes, and the way into an
//! answer.
//!
//! Works on one moment of the stores. Refuses to know who asks (it asks [`rights::ReadRights`] whether an attribute may
//! be read) and that anything ever changes.

pub mod account_state;
pub mod account_types;
pub mod answers;
pub mod asker_rights;
pub mod backend;
pub mod base;
pub mod circle;
pub mod class_flags;
pub mod class_ids;
pub mod computed;
pub mod configured;
pub mod configured_names;
pub mod defined_attributes;
pub mod definition_types;
pub mod dynamic_entry;
pub mod encode;
pub mod entry;
pub mod entry_place;
pub mod error;
pub mod facts;
pub mod filter;
pub mod group_types;
pub mod groups;
pub mod id_set;
mod index_secret;
pub mod instance_secret;
pub mod json;
pub mod locate;
pub mod monitor_entry;
pub mod notices;
pub mod own_limit_types;
pub mod own_names;
pub mod parent_names;
pub mod plan;
pub mod policies;
pub mod read_moment;
pub mod referral;
pub mod rights;
pub mod synthetic;
pub mod virtual_attributes;
pub mod virtual_values;
