//! Instructions in the form in which they decide: names in their normal form, attributes by number, filters prepared.
//!
//! Holds for one schema. Knows no asker.

mod filter_test;
mod instruction;
mod name_pattern;
mod rule;
mod type_set;

pub(crate) use filter_test::{FilterTest, url_of_value};
pub(crate) use instruction::{Instruction, Permission, ValueTests};
pub(crate) use name_pattern::NamePattern;
pub(crate) use rule::{EntryTest, EntryTestKind, Rule, Test};
pub(crate) use type_set::{Kinds, TypeSet};
