//! `apply`: proposals become changes, the same on every machine and at every replay.
//!
//! Nothing here reads a clock, a random number, the environment or the order of a hash map: whatever is undetermined
//! was decided when the proposal was made. Each operation checks the request and the schema before it writes; plugins
//! judge the written entry, and the store takes the writes of a refused proposal back.
//!
//! | file | what |
//! |---|---|
//! | `work` | one proposal being applied: finding entries, referrals, access |
//! | `add` `modify` `delete` `modify_dn` `modify_schema` | the operations (RFC 4511 §4.6–4.9) |
//! | `account_state` | what binds change in accounts |
//! | `base_dns` | names that other base DNs hold |
//! | `indexes` | another index set, and slices of building |
//! | `draft`, `value_set`, `large_edit` | the attributes that a request touches |
//! | `governed`, `definitions_cache` | attributes that come from elsewhere and cannot be written |
//! | `judge` | whether the schema allows what the entry becomes |
//! | `write` | from a draft to a record |
//! | `read_entry` | assertion, pre-read and post-read controls |
//! | `transaction` | several proposals in one (RFC 5805) |
//! | `rules`, `run` | what is in force, and applying proposals by it |
//! | `marks` | what a write means to rights |
//! | `change_notes` | what changes, for the history |
//! | `plugins` | what the configuration adds: references that follow, unique values, constraints |
//! | `error` | why a proposal has no effect: refused, or the data cannot be read |
//! | `outcome` | what is reported to the proposer |

mod account_state;
mod add;
mod base_dns;
mod change_notes;
mod class_cache;
mod definitions_cache;
mod delete;
mod disabling;
mod draft;
mod error;
mod governed;
mod indexes;
mod judge;
mod large_edit;
mod marks;
mod modify;
mod modify_dn;
mod modify_schema;
mod outcome;
mod password;
mod plugins;
mod rdn;
mod read_entry;
mod refresh;
mod rules;
mod run;
mod stamps;
mod stored_entry;
mod transaction;
mod value_set;
mod work;
mod write;

#[cfg(test)]
mod tests;

pub use base_dns::{BASE_DNS_KEY, base_dns_bytes};
pub use modify_schema::{SCHEMA_KEY, schema_text};
pub use outcome::{ReferenceReport, Report};
pub use plugins::dynamic::{ExpirySlice, expired};
pub use plugins::queue::Tally;
pub use plugins::{PLUGINS_KEY, ReferenceProbe, Standing, plugins_text, queue, standing};
pub use rules::{RULES_VERSION, UpdateRules};
pub use transaction::TransactionReport;
pub use value_set::normal_form;
