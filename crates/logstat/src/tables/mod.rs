//! What is kept while a log is read, each in bounded memory.

pub mod connections;
pub mod frequent;
pub mod longest;
pub mod minutes;
pub mod pending;
