//! What each operation asks for (sections 5 and 11 of the reference of access control), with a double of the asker.

mod cases;
mod double;
