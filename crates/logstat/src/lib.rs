//! Reads access logs of directory servers and says what happened in them.
//!
//! Knows the lines that Pando, OpenDJ, DSEE, 389 DS and slapd write, and nothing of servers, connections and files.

pub mod clock;
pub mod line;
pub mod record;
pub mod words;
