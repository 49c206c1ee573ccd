//! What a person would have to find by reading: found while the log is read.

pub mod clean_ups;
pub mod guesses;
pub mod replays;
pub mod stalls;
