//! The log of this server: accepted proposals in the order in which they were applied, durable before they are
//! acknowledged. It knows proposals as opaque bytes, and does not decide their order ([`Order`](crate::Order) does).
//!
//! | file | what |
//! |---|---|
//! | `contract` | the log as its users see it |
//! | `file` | the log in segment files: appending, keeping and freeing segments |
//! | `recover` | opening it: which files hold what, and whether anything is missing |
//! | `segment` | reading one segment file |
//! | `frame` | how headers and batches are written |
//! | `damage` | distinguishing a damaged byte from a write that a crash cut short |
//! | `disk` | the few file operations it needs |

pub mod contract;
mod damage;
pub mod disk;
mod file;
pub mod frame;
mod recover;
mod segment;
#[cfg(test)]
pub mod sim;
mod slots;
#[cfg(test)]
mod tests;

pub use contract::{FrameRead, Log, LogHealth, LogHeld, LogPlace, LogSegment, PROPOSAL_BYTES_MAX};
pub use disk::{Disk, DiskFile, FolderDisk};
pub use file::FileLog;
pub use frame::{Batch, FrameBuffer, LogRecord};
pub use recover::{LogOptions, SEGMENT_BYTES, Salvaged, salvage};
