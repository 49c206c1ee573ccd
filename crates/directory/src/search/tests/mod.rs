//! Searches through the whole path: plan, run, decode.

mod access;
mod advice;
pub(crate) mod by_mark;
mod cases;
mod dereference;
mod exact;
mod explain;
pub(crate) mod fixture;
mod kinds;
mod limits;
mod pages;
mod presentation;
mod random;
mod renewed;
mod writer;
