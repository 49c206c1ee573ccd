//! Load for a server, and what it answers in how long: the engine of the tools that measure rates.
//!
//! Knows connections, rates and figures; what is asked is for each tool to say ([`Workload`]). Generators, columns and
//! options are those of OpenDJ's tools.

mod connection;
mod engine;
mod figures;
mod generator;
mod histogram_file;
mod plan;
mod report;
mod request;
mod template;
#[cfg(test)]
mod tests;
mod timer;
mod transport;
mod values;
mod worker;
mod workload;

pub use connection::Access;
pub use engine::{Observer, Times, run};
pub use figures::Figures;
pub use generator::{Generator, GeneratorError};
pub use histogram_file::HistogramFile;
pub use plan::{Keeping, Plan};
pub use report::{Extra, Form, Report};
pub use request::RequestTemplate;
pub use template::{Template, VALUES_MAX};
pub use values::Values;
pub use workload::{Answer, Asker, Then, Workload};
