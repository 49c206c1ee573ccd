//! Decisions of access control on a whole directory, case by case: the numbers are those of the list of tricky cases.

mod bed;
mod changes;
mod entries;
mod reading;
mod rules;
mod values;
