//! `access test`: expected decisions, compared with those that the directory makes.

mod fault;
mod file;
mod run;

pub use run::{Options, run};
