//! A complete schema: immutable, shared, and asked by name, OID or number.

mod built_in;
mod elements;
mod options;

pub use elements::Schema;
pub(crate) use elements::Source;
pub use options::SchemaOptions;

#[cfg(test)]
mod tests;
