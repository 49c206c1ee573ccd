//! Reads access logs of directory servers and says what happened in them.
//!
//! Knows the lines that Pando, OpenDJ, DSEE, 389 DS and slapd write. Knows nothing of servers, instances and terminals.
//!
//! | module | what |
//! |---|---|
//! | `input` | files, plain and compressed, as lines |
//! | `line` | a line, as a record |
//! | `analysis` | records, as figures in bounded memory: `tables`, `figures`, `detect`, `shape`, `suffix` |
//! | `summary` | figures, as rows that texts, JSON and pictures are made of; `findings` says what stands out |

pub mod analysis;
pub mod clock;
mod codes;
mod detect;
mod figures;
mod findings;
pub mod input;
pub mod line;
mod operation;
pub mod record;
pub mod sections;
pub mod settings;
mod shape;
mod suffix;
mod summarize;
pub mod summary;
mod tables;
pub mod words;
