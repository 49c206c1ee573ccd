//! The whole store against a model in memory, and the cases that a random test would meet too seldom.

mod cases;
mod harness;
mod model;
mod order;
mod property;
mod waits;
