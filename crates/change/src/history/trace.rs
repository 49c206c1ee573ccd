//! The trace of a proposal: what it changed, as bytes beside it in the log.
//!
//! What the proposal itself says (who, when, the request) is not written again. What is written depends on the state
//! before, which cannot be found out later.
//!
//! ```text
//! trace     version u8 · number of the first change u64 · changes u32 · change…            (fixed: little-endian)
//! change    length u32 · kind u8 · cause u8 [· connection · operation u32 · plugin] · part · entry · entryUUID 16 ·
//!           DN · attribute…
//! attribute description · flags u8 [· place in the request] · removed value… 0 · added value… 0
//! value     length + 1 · bytes                                     (all other numbers and lengths: varints)
//! ```
//! An empty DN is the one that the request names. The part is the place of the request in a transaction. Values that
//! the request adds as they are stand there only.

use store::varint::{put_counted, take_counted};
use store::{EntryId, varint};

use super::kind::{Cause, ChangeKind};

/// Version of the layout above.
const VERSION: u8 = 1;
/// Version, number, count.
const HEAD_BYTES: usize = 13;
/// Values that no request names (of whole entries that go, of whole attributes that are replaced) are kept up to so
/// many bytes a proposal. What a request names is bounded by the size of requests.
const REMOVED_BYTES_MAX: usize = 4 << 20;

const INCOMPLETE: u8 = 1;
const FROM_REQUEST: u8 = 2;

/// What is known of a change before its attributes.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What kind of change.
    pub kind: ChangeKind,
    /// What set it off.
    pub cause: Cause<'a>,
    /// Connection and operation that set it off, when they are not the proposal's.
    pub origin: Option<(u64, u32)>,
    /// Place in a transaction.
    pub part: usize,
    /// The entry.
    pub entry: EntryId,
    /// Its `entryUUID`.
    pub entry_uuid: [u8; 16],
    /// Empty when the request names it.
    pub dn: &'a str,
}

/// Writes the changes of one proposal, one after the other.
#[derive(Debug)]
pub struct TraceWriter<'b> {
    out: &'b mut Vec<u8>,
    tally: &'b mut TraceTally,
    /// Where the length of the change under way stands.
    length_at: usize,
}

/// What the traces of the parts of a proposal have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceTally {
    /// Changes so far.
    pub changes: u32,
    /// Bytes so far that count to [`REMOVED_BYTES_MAX`].
    removed_bytes: usize,
}

impl<'b> TraceWriter<'b> {
    /// Begins a change.
    pub fn begin(out: &'b mut Vec<u8>, tally: &'b mut TraceTally, subject: &Subject<'_>) -> Self {
        if out.is_empty() {
            out.push(VERSION);
            out.resize(HEAD_BYTES, 0);
        }
        let length_at = out.len();
        out.extend_from_slice(&[0; 4]);
        out.push(match subject.kind {
            ChangeKind::Add => 1,
            ChangeKind::Modify => 2,
            ChangeKind::Delete => 3,
            ChangeKind::ModifyDn => 4,
        });
        match subject.cause {
            Cause::Request => out.push(0),
            Cause::Plugin { name } => {
                let (connection, operation) = subject.origin.unwrap_or_default();
                out.push(1);
                varint::put(out, connection);
                out.extend_from_slice(&operation.to_le_bytes());
                put_counted(out, name.as_bytes());
            }
            Cause::AccountState => out.push(2),
        }
        varint::put(out, subject.part as u64);
        varint::put(out, subject.entry.0);
        out.extend_from_slice(&subject.entry_uuid);
        put_counted(out, subject.dn.as_bytes());
        tally.changes += 1;
        Self { out, tally, length_at }
    }

    /// Whether so many bytes of values that no request names are still kept; if so, they count.
    pub fn has_room(&mut self, bytes: usize) -> bool {
        let total = self.tally.removed_bytes.saturating_add(bytes);
        let has_room = total <= REMOVED_BYTES_MAX;
        if has_room {
            self.tally.removed_bytes = total;
        }
        has_room
    }

    /// Begins an attribute: `request` is its place in the add request, if values come from there.
    pub fn attribute(&mut self, description: &str, is_complete: bool, request: Option<usize>) {
        put_counted(self.out, description.as_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        self.out.push(flag(!is_complete, INCOMPLETE) | flag(request.is_some(), FROM_REQUEST));
        if let Some(place) = request {
            varint::put(self.out, place as u64);
        }
    }

    /// A value of the list under way.
    pub fn value(&mut self, value: &[u8]) {
        varint::put(self.out, value.len() as u64 + 1);
        self.out.extend_from_slice(value);
    }

    /// Ends a list of values: those removed, then those added.
    pub fn end_values(&mut self) {
        self.out.push(0);
    }

    /// Takes back an attribute that was begun at [`TraceWriter::mark`].
    pub fn take_back(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    /// Where the trace ends now.
    pub fn mark(&self) -> usize {
        self.out.len()
    }

    /// Ends the change.
    pub fn end(self) {
        let length = u32::try_from(self.out.len() - self.length_at - 4).unwrap_or(u32::MAX);
        if let Some(place) = self.out.get_mut(self.length_at..).and_then(<[u8]>::first_chunk_mut::<4>) {
            *place = length.to_le_bytes();
        }
    }
}

/// Writes the number of the first change of a finished trace.
pub fn set_number(trace: &mut [u8], number: u64, changes: u32) {
    if let Some(head) = trace.first_chunk_mut::<HEAD_BYTES>() {
        head[1..9].copy_from_slice(&number.to_le_bytes());
        head[9..].copy_from_slice(&changes.to_le_bytes());
    }
}

/// Number of the first change and how many there are; `None` when there is no trace, or none that this program knows.
pub fn numbers(trace: &[u8]) -> Option<(u64, u32)> {
    let (&version, rest) = trace.split_first()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let (count, _) = rest.split_first_chunk::<4>()?;
    let (number, count) = (u64::from_le_bytes(*number), u32::from_le_bytes(*count));
    (version == VERSION && count > 0).then_some((number, count))
}

/// Where the first change begins.
pub const FIRST_CHANGE: usize = HEAD_BYTES;

/// Where the change after the one at `at` begins.
pub(super) fn after(trace: &[u8], at: usize) -> Option<usize> {
    let (length, rest) = trace.get(at..)?.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    rest.get(..length).map(|_| at + 4 + length)
}

/// A change as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    pub(super) kind: ChangeKind,
    pub(super) cause: Cause<'a>,
    pub(super) origin: Option<(u64, u32)>,
    pub(super) part: usize,
    pub(super) entry: EntryId,
    pub(super) entry_uuid: [u8; 16],
    pub(super) dn: &'a [u8],
    pub(super) attributes: &'a [u8],
}

impl<'a> Body<'a> {
    /// The change that begins at `at`.
    pub(super) fn decode(trace: &'a [u8], at: usize) -> Option<Self> {
        let mut rest = trace.get(at + 4..after(trace, at)?)?;
        let [kind, cause] = *varint::take_bytes(&mut rest, 2)?.first_chunk()?;
        let kind = match kind {
            1 => ChangeKind::Add,
            2 => ChangeKind::Modify,
            3 => ChangeKind::Delete,
            4 => ChangeKind::ModifyDn,
            _ => return None,
        };
        let (cause, origin) = match cause {
            0 => (Cause::Request, None),
            1 => {
                let connection = varint::take(&mut rest)?;
                let operation = u32::from_le_bytes(*varint::take_bytes(&mut rest, 4)?.first_chunk()?);
                let name = std::str::from_utf8(take_counted(&mut rest)?).ok()?;
                (Cause::Plugin { name }, Some((connection, operation)))
            }
            2 => (Cause::AccountState, None),
            _ => return None,
        };
        let part = usize::try_from(varint::take(&mut rest)?).ok()?;
        let entry = EntryId(varint::take(&mut rest)?);
        let entry_uuid = *varint::take_bytes(&mut rest, 16)?.first_chunk()?;
        let dn = take_counted(&mut rest)?;
        Some(Self { kind, cause, origin, part, entry, entry_uuid, dn, attributes: rest })
    }
}

/// An attribute as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute<'a> {
    pub(super) description: &'a str,
    pub(super) is_complete: bool,
    /// Place in the add request of what was added first.
    pub(super) request: Option<usize>,
    pub(super) removed: &'a [u8],
    pub(super) added: &'a [u8],
}

impl<'a> Attribute<'a> {
    pub(super) fn decode(rest: &mut &'a [u8]) -> Option<Self> {
        let description = std::str::from_utf8(take_counted(rest)?).ok()?;
        let (flags, after) = rest.split_first()?;
        *rest = after;
        let request = match flags & FROM_REQUEST {
            0 => None,
            _ => Some(usize::try_from(varint::take(rest)?).ok()?),
        };
        let (removed, added) = (take_list(rest)?, take_list(rest)?);
        Some(Self { description, is_complete: flags & INCOMPLETE == 0, request, removed, added })
    }
}

/// The bytes of a list of values, without the 0 at its end.
fn take_list<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (list, mut after) = (*rest, *rest);
    loop {
        let here = after.len();
        match varint::take(&mut after)? {
            0 => {
                *rest = after;
                return list.get(..list.len() - here);
            }
            length => varint::take_bytes(&mut after, usize::try_from(length - 1).ok()?)?,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// Description, whether all values are there, place in the request, values that went and that came.
    type Coded = (String, bool, Option<usize>, Vec<Vec<u8>>, Vec<Vec<u8>>);

    #[derive(Clone, Debug)]
    struct Written {
        kind: ChangeKind,
        plugin: Option<(String, u64, u32)>,
        part: usize,
        entry: u64,
        entry_uuid: [u8; 16],
        dn: String,
        attributes: Vec<Coded>,
    }

    fn written() -> impl Strategy<Value = Written> {
        use ChangeKind::{Add, Delete, Modify, ModifyDn};
        let kind = prop::sample::select(vec![Add, Modify, Delete, ModifyDn]);
        let values = || vec(vec(any::<u8>(), 0..200), 0..4);
        let attribute = ("[a-z;]{0,9}", any::<bool>(), prop::option::of(0..1_000usize), values(), values());
        let plugin = prop::option::of(("\\PC{0,9}", any::<u64>(), any::<u32>()));
        let head = (kind, plugin, 0..70_000usize, any::<u64>(), any::<[u8; 16]>(), "\\PC{0,9}");
        (head, vec(attribute, 0..4)).prop_map(|((kind, plugin, part, entry, entry_uuid, dn), attributes)| Written {
            kind,
            plugin,
            part,
            entry,
            entry_uuid,
            dn,
            attributes,
        })
    }

    fn trace_of(all: &[Written], number: u64) -> Vec<u8> {
        let (mut out, mut tally) = (Vec::new(), TraceTally::default());
        for one in all {
            let cause = one.plugin.as_ref().map_or(Cause::Request, |(name, ..)| Cause::Plugin { name });
            let origin = one.plugin.as_ref().map(|(_, connection, operation)| (*connection, *operation));
            let (kind, part, entry, entry_uuid) = (one.kind, one.part, EntryId(one.entry), one.entry_uuid);
            let subject = Subject { kind, cause, origin, part, entry, entry_uuid, dn: &one.dn };
            let mut writer = TraceWriter::begin(&mut out, &mut tally, &subject);
            for (description, is_complete, request, removed, added) in &one.attributes {
                writer.attribute(description, *is_complete, *request);
                for list in [removed, added] {
                    list.iter().for_each(|value| writer.value(value));
                    writer.end_values();
                }
            }
            writer.end();
        }
        set_number(&mut out, number, tally.changes);
        out
    }

    /// The list as the layout above has it.
    fn list(values: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        for value in values {
            varint::put(&mut out, value.len() as u64 + 1);
            out.extend_from_slice(value);
        }
        out
    }

    /// Reads whatever there is; ends, as every change takes at least four bytes.
    fn read_all(trace: &[u8]) -> usize {
        let (mut at, mut count) = (FIRST_CHANGE, 0);
        while let Some(next) = after(trace, at) {
            assert!(next >= at + 4);
            if let Some(body) = Body::decode(trace, at) {
                let mut rest = body.attributes;
                while !rest.is_empty() && Attribute::decode(&mut rest).is_some() {}
                count += 1;
            }
            at = next;
        }
        count
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in vec(written(), 1..4), number: u64) {
            let trace = trace_of(&all, number);
            prop_assert_eq!(numbers(&trace), Some((number, all.len() as u32)));
            let mut at = FIRST_CHANGE;
            for one in &all {
                let body = Body::decode(&trace, at).unwrap();
                prop_assert_eq!((body.kind, body.part, body.entry), (one.kind, one.part, EntryId(one.entry)));
                prop_assert_eq!((body.entry_uuid, body.dn), (one.entry_uuid, one.dn.as_bytes()));
                let origin = one.plugin.as_ref().map(|(_, connection, operation)| (*connection, *operation));
                prop_assert_eq!(body.origin, origin);
                let cause = one.plugin.as_ref().map_or(Cause::Request, |(name, ..)| Cause::Plugin { name });
                prop_assert_eq!(body.cause, cause);
                let mut rest = body.attributes;
                for (description, is_complete, request, removed, added) in &one.attributes {
                    let read = Attribute::decode(&mut rest).unwrap();
                    let expected = (description.as_str(), *is_complete, *request);
                    prop_assert_eq!((read.description, read.is_complete, read.request), expected);
                    prop_assert_eq!((read.removed, read.added), (&list(removed)[..], &list(added)[..]));
                }
                prop_assert!(rest.is_empty());
                at = after(&trace, at).unwrap();
            }
            prop_assert_eq!((at, after(&trace, at)), (trace.len(), None));
        }

        #[test]
        fn damaged_bytes_never_panic(
            all in vec(written(), 1..4),
            places in vec((any::<Index>(), any::<u8>()), 0..4),
            cut: Index,
            noise in vec(any::<u8>(), 0..60),
        ) {
            let mut trace = trace_of(&all, 1);
            trace.truncate(cut.index(trace.len()) + 1);
            for (place, byte) in places {
                let place = place.index(trace.len());
                trace[place] = byte;
            }
            prop_assert!(read_all(&trace) <= trace.len() / 4);
            trace.extend_from_slice(&noise);
            read_all(&trace);
            read_all(&noise);
            let _ = (numbers(&trace), numbers(&noise));
        }
    }
}
