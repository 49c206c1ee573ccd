//! Sample data from templates: OpenDJ's template language, read whole and checked before the first entry is made.
//!
//! The same template, seed and constants give the same entries. Knows no LDAP server and no schema: a template that
//! asks for nonsense gets it.

mod error;
mod generate;
mod lexer;
mod random;
mod resource;
mod tag;
mod template;
#[cfg(test)]
mod tests;
mod value_form;
mod write;

pub use error::TemplateError;
pub use generate::{Entry, Generator};
pub use random::Random;
pub use resource::Resources;
pub use template::TemplateFile;
pub use value_form::ValueForm;
pub use write::LdifWriter;

/// The example template that `makeldif` uses when it is given none.
pub const EXAMPLE_TEMPLATE: &str = include_str!("../../data/example.template");
