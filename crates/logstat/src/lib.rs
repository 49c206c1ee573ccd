//! Reads access logs of directory servers and says what happened in them.
//!
//! Knows the lines that Pando, OpenDJ, DSEE, 389 DS and slapd write. Knows nothing of servers, instances and terminals.
//!
//! | module | what |
//! |---|---|
//! | `input` | files, plain and compressed, as lines |
//! | `line` | a line, as a record |
//! | `analysis` | records, as figures in bounded memory: `tables`, `figures`, `detect`, `shape`, `suffix` |
//! | `summary` | figures, as rows; `findings` says what stands out |
//! | `sections`, `page` | rows as tables, and as a page with pictures (`chart`) |

pub mod analysis;
mod chart;
pub mod clock;
mod codes;
mod detect;
mod figures;
mod findings;
pub mod input;
pub mod line;
mod operation;
pub mod page;
pub mod record;
pub mod sections;
pub mod settings;
mod shape;
mod suffix;
mod summarize;
pub mod summary;
mod tables;
#[cfg(test)]
mod tests;
pub mod words;
