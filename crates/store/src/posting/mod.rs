//! How posting lists (key → ascending entry ids) lie on disk: [`key`], packed [`block`] rows, and the [`container`]s of
//! long lists. It knows neither LMDB nor the overlay.
//!
//! A list is *inline* in its block while its delta varints need at most [`INLINE_BYTES_MAX`]; beyond that the block
//! keeps a stub (exact count, list number) and the ids live in `chunks`, one container per 8,192 ids.

pub mod block;
pub mod container;
pub mod key;
pub mod list;

pub use block::{BlockIter, BlockView, BlockWriter, ROW_BYTES_MAX};
pub use container::{Container, ContainerBuf, chunk_key, chunk_of, low_of};
pub use key::IndexKey;
pub use list::{INLINE_BYTES_MAX, InlineList, List, encode_inline};

/// The stored bytes have a form that no version of this program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("damaged {0}")]
pub struct Damaged(pub &'static str);
