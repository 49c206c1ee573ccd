//! Searches through the whole path: plan, run, decode.

mod cases;
mod fixture;
mod random;
