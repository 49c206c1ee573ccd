//! Schema definitions as RFC 4512 §4.1 writes them: the parsed form, before any name in it is looked up.
//!
//! It refuses to know whether a superior, a syntax or a rule exists: that is for the builder.

mod lexer;
mod parse;
mod print;
mod types;

pub use lexer::DefinitionError;
pub use types::{
    AttributeTypeDefinition, ClassKind, ContentRuleDefinition, Definition, DefinitionKind, Head,
    MatchingRuleDefinition, MatchingRuleUseDefinition, NameFormDefinition, ObjectClassDefinition,
    StructureRuleDefinition, SyntaxDefinition, Usage,
};

#[cfg(test)]
mod tests;
