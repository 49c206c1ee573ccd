//! Operations against a real store in a temporary folder, case by case; then random sequences against the [`model`].

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod base_dns;
mod bed;
mod constraints;
mod dynamic_entries;
mod empty_base_dn;
mod history;
mod history_damage;
mod index_changes;
mod instructions;
mod judgements;
mod marks;
mod model;
mod operations;
mod random;
mod random_references;
mod read_errors;
mod references;
mod results;
mod set_expressions;
mod undo;
