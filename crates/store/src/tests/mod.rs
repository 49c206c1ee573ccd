//! The whole store against a model in memory, and cases that a random test rarely meets.

mod cases;
mod damaged_lists;
mod formats;
mod harness;
mod marks;
mod model;
mod order;
mod property;
mod waits;
