//! The connections against servers of a few lines that answer as each test says.

mod connections;
mod pools;
mod saslauthd;
mod server;
