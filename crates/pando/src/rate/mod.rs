//! Load for a server, and what it answers in how long: the engine of the tools that measure rates.
//!
//! Knows connections, rates and figures; what is asked is for each tool to say ([`Workload`]). Generators, columns and
//! options are those of OpenDJ's tools.

mod connection;
mod engine;
mod figures;
mod generator;
mod report;
mod template;
#[cfg(test)]
mod tests;

pub use engine::{Plan, Workload, run};
pub use generator::{Generator, GeneratorError};
pub use report::{Form, Report};
pub use template::Template;
