//! BER as LDAP uses it (RFC 4511 §5.1): definite lengths, tags of one byte.
//!
//! [`frame`] finds message borders, [`Reader`] walks elements over a borrowed slice, [`Writer`] appends them to a
//! buffer. Nothing here allocates for an element, recurses, or knows what any element means.

mod frame;
mod reader;
mod writer;

pub use frame::{Frame, FrameError, frame};
pub use reader::{Error, Reader, integer_value};
pub use writer::{Mark, Writer, element_size, length_size, put_header};

/// An identifier octet: class, primitive or constructed, number.
pub type Tag = u8;

/// BOOLEAN
pub const BOOLEAN: Tag = 0x01;
/// INTEGER
pub const INTEGER: Tag = 0x02;
/// OCTET STRING
pub const OCTET_STRING: Tag = 0x04;
/// ENUMERATED
pub const ENUMERATED: Tag = 0x0a;
/// SEQUENCE, SEQUENCE OF
pub const SEQUENCE: Tag = 0x30;
/// SET, SET OF
pub const SET: Tag = 0x31;

#[cfg(test)]
mod tests;
