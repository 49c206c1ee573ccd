//! Tools that work on LDIF files alone, with the options of OpenDJ's tools of these names.
//!
//! | file | what |
//! |---|---|
//! | `ldifsearch`, `ldifdiff`, `ldifmodify` | the tools |
//! | `source` | files and standard input that are read |
//! | `described` | what attribute descriptions mean, and normal forms of values |
//! | `sorted` | the entries of a source in the order of their names, sorted in bounded memory |
//!
//! Knows the schema; no server, and no instance but for the schema that it may have.

mod described;
pub mod ldifdiff;
pub mod ldifmodify;
pub mod ldifsearch;
mod sorted;
mod source;
