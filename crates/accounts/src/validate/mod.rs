//! Rules for new passwords: what they are, and whether a password obeys them.

mod breach_list;
mod character_sets;
mod check;
mod dictionary;
mod fault;
mod quality;
mod rule;
mod text;

#[cfg(test)]
mod tests;

pub use breach_list::{BreachList, ReadAt};
pub use character_sets::{CharacterSet, CharacterSetError, CharacterSets};
pub use check::{EntryValues, NoEntry, Surroundings, check_password};
pub use dictionary::{Dictionary, DictionaryRule};
pub use fault::PasswordFault;
pub use quality::QualityRule;
pub use rule::{AttributeValueRule, QualityCheck, ValidatorRule};
