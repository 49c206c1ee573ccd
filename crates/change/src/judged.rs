//! What was judged before an update was proposed: which entries, and whether their content was looked at.
//!
//! Who may do what is decided where the asker is known. `apply` only makes sure that what is changed is what was
//! judged, so a proposal carries numbers of entries and their `entryCSN`; that takes no names of groups, no rules and
//! no clock. Knows no request and no right.
//!
//! ```text
//! which u8 (0 missing, 1 none needed, 2 an entry, 3 an entry and its new superior, 4 the parent of a new entry,
//!           5 an entry with what is below it) ·
//! of each entry:
//! number u64 · content u8 (0 not looked at, 1 looked at, without CSN, 2 with; 4 more where entries above count) ·
//! with 2: time µs u64, count u32, replica u16 · with 4: levels u8, digest 16 bytes ·
//! with which 5: the subtree, see [`judged_tree`](crate::judged_tree)                        (integers little-endian)
//! ```

use store::{EntryId, RecordView, StoreError, View};

use crate::csn::Csn;
use crate::judged_content::{ContentDigest, csn_of, digest_upwards};
use crate::judged_tree::JudgedTree;

/// Added to what is said of the content of an entry when entries above it count.
const WITH_ABOVE: u8 = 4;

/// What was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// No entry: the asker may do everything, or what it may do depends on no entry of the backend.
    Unneeded,
    /// The entry that is changed, renamed where it stands, or deleted.
    Entry(JudgedEntry),
    /// The entry that is moved, and what it moves below.
    Move {
        /// The entry.
        entry: JudgedEntry,
        /// What it moves below; [`JudgedEntry::NONE`] for the empty name.
        superior: JudgedEntry,
    },
    /// That there is no entry of the name, and what the new one will be below.
    New {
        /// Its parent; [`JudgedEntry::NONE`] for a base entry.
        parent: JudgedEntry,
    },
    /// The entry that is deleted with everything below it, and what of that is deleted next.
    Tree {
        /// The entry.
        entry: JudgedEntry,
        /// What is deleted next.
        tree: JudgedTree,
    },
    /// Nothing: a proposal of older versions of the program, where `apply` judged. It can be read, and is not applied.
    Missing,
}

/// An entry that was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedEntry {
    id: u64,
    content: JudgedContent,
    /// What entries above it contained, if that counted.
    above: Option<Above>,
}

/// The content of entries above one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Above {
    /// So many of them.
    levels: u8,
    digest: ContentDigest,
}

/// Whether the content of an entry mattered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JudgedContent {
    /// The decision holds whatever the entry contains.
    Any,
    /// It was made on what was imported without `entryCSN`.
    Unstamped,
    /// It was made on what the change of that `entryCSN` left.
    Of(Csn),
}

impl JudgedEntry {
    /// No entry: above a base entry there is none.
    pub const NONE: JudgedEntry = JudgedEntry { id: 0, content: JudgedContent::Any, above: None };

    /// An entry of which only the name and the place mattered.
    #[must_use]
    pub fn whatever_it_contains(id: EntryId) -> Self {
        Self { id: id.0, content: JudgedContent::Any, above: None }
    }

    /// An entry whose content mattered.
    #[must_use]
    pub fn as_it_is(id: EntryId, record: &RecordView<'_>) -> Self {
        let csn = csn_of(record.header());
        Self { id: id.0, content: csn.map_or(JudgedContent::Unstamped, JudgedContent::Of), above: None }
    }

    /// The same, where the content of so many entries above it mattered, too.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn with_above(self, record: &RecordView<'_>, view: &View<'_>, levels: u8) -> Result<Self, StoreError> {
        let above = match levels {
            0 => None,
            levels => Some(Above { levels, digest: digest_upwards(view, record.parent(), levels)? }),
        };
        Ok(Self { above, ..self })
    }

    /// Whether it counts what entries contain.
    #[must_use]
    pub fn depends_on_content(&self) -> bool {
        self.content != JudgedContent::Any || self.above.is_some()
    }

    /// Its number; [`EntryId::ROOT`] for none.
    #[must_use]
    pub fn id(&self) -> EntryId {
        EntryId(self.id)
    }

    /// Whether this is the entry that was judged, and unchanged if that matters; and those above it, if that does.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn is(&self, id: EntryId, record: &RecordView<'_>, view: &View<'_>) -> Result<bool, StoreError> {
        Ok(self.is_itself(id, record)
            && match self.above {
                None => true,
                Some(Above { levels, digest }) => digest_upwards(view, record.parent(), levels)? == digest,
            })
    }

    /// The same, but for the entries above it.
    pub(crate) fn is_itself(&self, id: EntryId, record: &RecordView<'_>) -> bool {
        self.id == id.0
            && match self.content {
                JudgedContent::Any => true,
                JudgedContent::Unstamped => csn_of(record.header()).is_none(),
                JudgedContent::Of(csn) => csn_of(record.header()) == Some(csn),
            }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        let with_above = if self.above.is_some() { WITH_ABOVE } else { 0 };
        match self.content {
            JudgedContent::Any => out.push(with_above),
            JudgedContent::Unstamped => out.push(1 + with_above),
            JudgedContent::Of(csn) => {
                out.push(2 + with_above);
                out.extend_from_slice(&csn.time_us.to_le_bytes());
                out.extend_from_slice(&csn.count.to_le_bytes());
                out.extend_from_slice(&csn.replica.to_le_bytes());
            }
        }
        if let Some(Above { levels, digest }) = &self.above {
            out.push(*levels);
            out.extend_from_slice(digest);
        }
    }

    fn decode(rest: &mut &[u8]) -> Option<Self> {
        let id = u64::from_le_bytes(take(rest)?);
        let [what] = take(rest)?;
        let has_above = what & WITH_ABOVE != 0;
        let content = match what & !WITH_ABOVE {
            0 => JudgedContent::Any,
            1 => JudgedContent::Unstamped,
            2 => JudgedContent::Of(Csn {
                time_us: u64::from_le_bytes(take(rest)?),
                count: u32::from_le_bytes(take(rest)?),
                replica: u16::from_le_bytes(take(rest)?),
            }),
            _ => return None,
        };
        let above = match has_above {
            true => Some(Above { levels: u8::from_le_bytes(take(rest)?), digest: take(rest)? }),
            false => None,
        };
        Some(Self { id, content, above })
    }
}

impl Judged {
    /// Appends the bytes of the layout above.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Judged::Missing => out.push(0),
            Judged::Unneeded => out.push(1),
            Judged::Entry(entry) => {
                out.push(2);
                entry.encode(out);
            }
            Judged::Move { entry, superior } => {
                out.push(3);
                entry.encode(out);
                superior.encode(out);
            }
            Judged::New { parent } => {
                out.push(4);
                parent.encode(out);
            }
            Judged::Tree { entry, tree } => {
                out.push(5);
                entry.encode(out);
                tree.encode(out);
            }
        }
    }

    /// Takes what [`Judged::encode`] wrote.
    pub(crate) fn decode(rest: &mut &[u8]) -> Option<Self> {
        Some(match take(rest)? {
            [0] => Judged::Missing,
            [1] => Judged::Unneeded,
            [2] => Judged::Entry(JudgedEntry::decode(rest)?),
            [3] => Judged::Move { entry: JudgedEntry::decode(rest)?, superior: JudgedEntry::decode(rest)? },
            [4] => Judged::New { parent: JudgedEntry::decode(rest)? },
            [5] => Judged::Tree { entry: JudgedEntry::decode(rest)?, tree: JudgedTree::decode(rest)? },
            _ => return None,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (array, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*array)
}
