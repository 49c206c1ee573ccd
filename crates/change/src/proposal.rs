//! A proposal: an update with everything undetermined decided, as the log keeps it and `apply` reads it.
//!
//! Self-contained and serialisable: replayed after a crash, on another machine or years later it says the same. Knows
//! no entry and no schema. The layout is fixed by [`VERSION`]; a reader refuses a version that it does not know rather
//! than guess. Version 1 had nothing of what was judged: `apply` judged. Version 2 had nothing of what follows from a
//! new password.
//!
//! ```text
//! version u8 · kind u8 · flags u16 · time µs u64 · CSN count u32 · CSN replica u16 · entryUUID 16 bytes ·
//! connection u64 · operation u32 · authority u8 · authority's entry u64 ·
//! of all but root users: what was judged (see [`judged`](crate::judged)) ·
//! then, each with a u32 length: authority's DN · assertion · pre-read · post-read · operation bytes ·
//! what follows from a new password (see [`PasswordChange`](crate::password_change::PasswordChange))
//!                                                                                         (integers little-endian)
//! ```

use crate::csn::Csn;
use crate::judged::Judged;

/// Version of the layout above.
pub const VERSION: u8 = 3;
/// The versions before, which are still read: logs keep history.
const VERSION_UNJUDGED: u8 = 1;
const VERSION_WITHOUT_PASSWORD: u8 = 2;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident = $byte:literal,)*) => {
        /// Which operation a proposal carries.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[doc = $doc])* $name,)*
        }

        impl Kind {
            fn to_byte(self) -> u8 {
                match self {
                    $(Kind::$name => $byte,)*
                }
            }

            fn from_byte(byte: u8) -> Option<Kind> {
                match byte {
                    $($byte => Some(Kind::$name),)*
                    _ => None,
                }
            }
        }
    };
}

// Each with the byte that stands for it in the layout above. A byte is never given to another operation.
kinds! {
    /// RFC 4511 §4.7.
    Add = 1,
    /// RFC 4511 §4.6.
    Modify = 2,
    /// RFC 4511 §4.8.
    Delete = 3,
    /// RFC 4511 §4.9.
    ModifyDn = 4,
    /// RFC 3062, already turned into a modify request of `userPassword`.
    PasswordModify = 5,
    /// A modify request of `cn=schema`, already turned into the text of the whole user schema that comes of it.
    ModifySchema = 6,
    /// A change of the backend's indexes, or a slice of building them: the server's own.
    Indexes = 7,
    /// RFC 5805: the operation bytes are proposals, one after the other.
    Transaction = 8,
    /// The plugins of the configuration as text, to be in force from now on.
    ConfigurePlugins = 16,
    /// References to names that are no longer what they were: the next ones.
    CleanReferences = 17,
    /// RFC 2589, already turned into a modify request of `entryExpireTimestamp`.
    Refresh = 18,
    /// Dynamic entries whose time is over go: some of them.
    ExpireEntries = 19,
    /// The base DNs that lie below the backend's, to be in force from now on.
    BaseDns = 20,
    /// What binds change in the state of accounts.
    AccountState = 21,
}

/// Settings of the request that change what `apply` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(u16);

/// Who stands behind the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority<'a> {
    /// Nobody authenticated: rights that everybody has were judged before.
    Anonymous {
        /// What was judged: `apply` changes nothing else.
        judged: Judged,
    },
    /// A root user of the configuration.
    Root {
        /// Its name.
        dn: &'a str,
    },
    /// A user with an entry, whose rights were judged before.
    User {
        /// The entry's name when the update was made.
        dn: &'a str,
        /// The entry's id, when it is in the backend that the update goes to; 0 when it is elsewhere or gone.
        entry: u64,
        /// What was judged: `apply` changes nothing else.
        judged: Judged,
    },
}

/// One update, decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// Which operation.
    pub kind: Kind,
    /// Settings.
    pub flags: Flags,
    /// When; also what `entryCSN` becomes.
    pub csn: Csn,
    /// `entryUUID` of an added entry.
    pub entry_uuid: [u8; 16],
    /// Connection number, for the log's reader.
    pub connection: u64,
    /// Operation number on that connection, for the log's reader.
    pub operation: u32,
    /// Who.
    pub authority: Authority<'a>,
    /// The filter of an assertion control (RFC 4528), in BER; empty for none.
    pub assertion: &'a [u8],
    /// The attribute selection of a pre-read control (RFC 4527), in BER; empty for none.
    pub pre_read: &'a [u8],
    /// The attribute selection of a post-read control (RFC 4527), in BER; empty for none.
    pub post_read: &'a [u8],
    /// The request's `protocolOp`, in BER, clear passwords already hashed.
    pub operation_bytes: &'a [u8],
    /// What follows from a new password in the request; empty: its time alone.
    pub password: &'a [u8],
}

/// Why bytes are no proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposalError {
    /// The bytes end early or go on after the end.
    #[error("the proposal is cut short or damaged")]
    Malformed,
    /// Written by a version of the program that this one does not know.
    #[error("the proposal has layout version {0}; this program reads version {VERSION}")]
    Version(u8),
}

impl Flags {
    /// Referral objects are treated as ordinary entries (RFC 3296).
    pub const MANAGE_DSA_IT: Flags = Flags(1);
    /// Say what would happen, and do nothing.
    pub const NO_OP: Flags = Flags(2);
    /// Root may write what only the server writes.
    pub const RELAX: Flags = Flags(4);
    /// Adding what is there and deleting what is not are no errors.
    pub const PERMISSIVE_MODIFY: Flags = Flags(8);
    /// A delete takes the entries below with it.
    pub const SUBTREE_DELETE: Flags = Flags(16);

    /// Whether all of `other` is set.
    #[must_use]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets `other` too.
    pub fn set(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl<'a> Authority<'a> {
    /// The name; empty for no one.
    #[must_use]
    pub fn dn(&self) -> &'a str {
        match self {
            Authority::Anonymous { .. } => "",
            Authority::Root { dn } | Authority::User { dn, .. } => dn,
        }
    }

    /// What was judged: nothing has to be of a root user.
    #[must_use]
    pub fn judged(&self) -> Judged {
        match *self {
            Authority::Root { .. } => Judged::Unneeded,
            Authority::Anonymous { judged } | Authority::User { judged, .. } => judged,
        }
    }

    /// The same when what is below a judged entry has been compared.
    pub(crate) fn without_tree(self) -> Self {
        let judged = match self.judged() {
            Judged::Tree { entry, .. } => Judged::Entry(entry),
            judged => judged,
        };
        match self {
            Authority::Root { .. } => self,
            Authority::Anonymous { .. } => Authority::Anonymous { judged },
            Authority::User { dn, entry, .. } => Authority::User { dn, entry, judged },
        }
    }

    /// Whether it is a root user.
    #[must_use]
    pub fn is_root(&self) -> bool {
        matches!(self, Authority::Root { .. })
    }
}

impl<'a> Proposal<'a> {
    /// The bytes for the log.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let parts = [
            self.authority.dn().as_bytes(),
            self.assertion,
            self.pre_read,
            self.post_read,
            self.operation_bytes,
            self.password,
        ];
        let mut out = Vec::with_capacity(112 + parts.iter().map(|part| part.len() + 4).sum::<usize>());
        out.push(VERSION);
        out.push(self.kind.to_byte());
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        out.extend_from_slice(&self.csn.time_us.to_le_bytes());
        out.extend_from_slice(&self.csn.count.to_le_bytes());
        out.extend_from_slice(&self.csn.replica.to_le_bytes());
        out.extend_from_slice(&self.entry_uuid);
        out.extend_from_slice(&self.connection.to_le_bytes());
        out.extend_from_slice(&self.operation.to_le_bytes());
        let (authority, entry) = match self.authority {
            Authority::Anonymous { .. } => (0, 0),
            Authority::Root { .. } => (1, 0),
            Authority::User { entry, .. } => (2, entry),
        };
        out.push(authority);
        out.extend_from_slice(&entry.to_le_bytes());
        if !self.authority.is_root() {
            self.authority.judged().encode(&mut out);
        }
        for part in parts {
            // A request is some MiB at most (max-request-size), so that its length fits.
            out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            out.extend_from_slice(part);
        }
        out
    }

    /// Reads what [`Proposal::encode`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged or of an unknown version.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ProposalError> {
        match bytes.first() {
            Some(&(VERSION | VERSION_UNJUDGED | VERSION_WITHOUT_PASSWORD)) => {}
            Some(&version) => return Err(ProposalError::Version(version)),
            None => return Err(ProposalError::Malformed),
        }
        let version = bytes.first().copied().unwrap_or_default();
        let mut input = Input(bytes.get(1..).unwrap_or_default());
        Self::decode_fields(&mut input, version).filter(|_| input.0.is_empty()).ok_or(ProposalError::Malformed)
    }

    fn decode_fields(input: &mut Input<'a>, version: u8) -> Option<Self> {
        let kind = Kind::from_byte(input.byte()?)?;
        let flags = Flags(u16::from_le_bytes(*input.array()?));
        let csn = Csn {
            time_us: u64::from_le_bytes(*input.array()?),
            count: u32::from_le_bytes(*input.array()?),
            replica: u16::from_le_bytes(*input.array()?),
        };
        let entry_uuid = *input.array()?;
        let connection = u64::from_le_bytes(*input.array()?);
        let operation = u32::from_le_bytes(*input.array()?);
        let authority = input.byte()?;
        let entry = u64::from_le_bytes(*input.array()?);
        let judged = match authority {
            0 | 2 if version != VERSION_UNJUDGED => Judged::decode(&mut input.0)?,
            _ => Judged::Missing,
        };
        let dn = std::str::from_utf8(input.part()?).ok()?;
        let authority = match authority {
            0 => Authority::Anonymous { judged },
            1 => Authority::Root { dn },
            2 => Authority::User { dn, entry, judged },
            _ => return None,
        };
        Some(Self {
            kind,
            flags,
            csn,
            entry_uuid,
            connection,
            operation,
            authority,
            assertion: input.part()?,
            pre_read: input.part()?,
            post_read: input.part()?,
            operation_bytes: input.part()?,
            password: if version == VERSION { input.part()? } else { &[] },
        })
    }
}

/// What is left to read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(array)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(*self.array()?) as usize;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use store::{EntryId, NoTypes, RecordBuilder, Tables};

    use super::*;
    use crate::judged::JudgedEntry;

    const ANN: &str = "uid=ann,dc=example,dc=com";

    fn sample(operation_bytes: &[u8]) -> Proposal<'_> {
        let mut flags = Flags::default();
        flags.set(Flags::NO_OP);
        flags.set(Flags::RELAX);
        Proposal {
            kind: Kind::Modify,
            flags,
            csn: Csn { time_us: 1_795_256_100_123_456, count: 3, replica: 7 },
            entry_uuid: [9; 16],
            connection: 12,
            operation: 4,
            authority: Authority::User { dn: ANN, entry: 77, judged: Judged::Unneeded },
            assertion: b"a",
            pre_read: b"",
            post_read: b"post",
            operation_bytes,
            password: b"follows",
        }
    }

    /// A record whose last change has that CSN, if it has one.
    fn record(csn: Option<Csn>) -> Vec<u8> {
        let mut tables = Tables::new(std::sync::Arc::new(NoTypes));
        let mut builder = RecordBuilder::new(EntryId(1), b"uid=ann");
        if let Some(csn) = csn {
            let mut text = Vec::new();
            csn.write(&mut text);
            builder.push(store::DescId::ENTRY_CSN, [text.as_slice()], &mut tables).unwrap();
        }
        builder.finish().unwrap()
    }

    /// An entry whose content did not count, but that of two entries above it; and a subtree of at most 128 entries.
    fn with_above_and_tree() -> Judged {
        let parts: [&[u8]; 6] = [&[5], &7u64.to_le_bytes(), &[4, 2], &[9; 16], &[128, 0, 0, 0, 1], &[8; 16]];
        let bytes = parts.concat();
        let mut rest = &bytes[..];
        let judged = Judged::decode(&mut rest).unwrap();
        assert!(rest.is_empty() && matches!(judged, Judged::Tree { entry, .. } if entry.depends_on_content()));
        judged
    }

    fn judgements() -> Vec<Judged> {
        let tables = Tables::new(std::sync::Arc::new(NoTypes));
        let csn = Csn { time_us: 1_795_256_100_000_001, count: 5, replica: 2 };
        let entries = [Some(csn), None].map(|csn| {
            let bytes = record(csn);
            JudgedEntry::as_it_is(EntryId(8), &store::RecordView::parse(&bytes, &tables).unwrap())
        });
        let plain = JudgedEntry::whatever_it_contains(EntryId(9));
        let [stamped, unstamped] = entries;
        vec![
            Judged::Missing,
            Judged::Unneeded,
            Judged::Entry(stamped),
            Judged::Entry(plain),
            Judged::Move { entry: unstamped, superior: plain },
            Judged::Move { entry: stamped, superior: JudgedEntry::NONE },
            Judged::New { parent: unstamped },
            with_above_and_tree(),
        ]
    }

    #[test]
    fn comes_back_as_it_was() {
        let proposal = sample(b"operation");
        assert_eq!(Proposal::decode(&proposal.encode()), Ok(proposal));
        assert!(proposal.flags.has(Flags::NO_OP) && !proposal.flags.has(Flags::SUBTREE_DELETE));
        let judged = judgements();
        let users = judged.iter().map(|judged| Authority::User { dn: ANN, entry: 77, judged: *judged });
        let anonymous = judged.iter().map(|judged| Authority::Anonymous { judged: *judged });
        for authority in users.chain(anonymous).chain([Authority::Root { dn: "cn=Directory Manager" }]) {
            let proposal = Proposal { authority, ..sample(b"") };
            assert_eq!(Proposal::decode(&proposal.encode()), Ok(proposal));
        }
    }

    #[test]
    fn a_judged_entry_is_known_by_number_and_content() {
        let tables = Tables::new(std::sync::Arc::new(NoTypes));
        let csns = [None, Some(1), Some(2)].map(|at| at.map(|time_us| Csn { time_us, ..Csn::default() }));
        let records = csns.map(record);
        let views = records.each_ref().map(|bytes| store::RecordView::parse(bytes, &tables).unwrap());
        for (at, view) in views.iter().enumerate() {
            let judged = JudgedEntry::as_it_is(EntryId(3), view);
            for (other, now) in views.iter().enumerate() {
                assert_eq!(judged.is_itself(EntryId(3), now), at == other);
                assert!(!judged.is_itself(EntryId(4), now));
                assert!(JudgedEntry::whatever_it_contains(EntryId(3)).is_itself(EntryId(3), now));
            }
        }
    }

    #[test]
    fn a_proposal_of_version_1_is_read_as_one_that_nobody_judged() {
        let judged = Judged::Missing;
        for authority in [Authority::User { dn: ANN, entry: 77, judged }, Authority::Anonymous { judged }] {
            let proposal = Proposal { authority, password: b"", ..sample(b"x") };
            let mut bytes = proposal.encode();
            bytes[0] = VERSION_UNJUDGED;
            bytes.truncate(bytes.len() - 4);
            // version, kind, flags, CSN, entryUUID, connection, operation, authority, its entry
            let at = 1 + 1 + 2 + 14 + 16 + 8 + 4 + 1 + 8;
            assert_eq!(bytes.remove(at), 0);
            assert_eq!(Proposal::decode(&bytes), Ok(proposal));
        }
    }

    #[test]
    fn a_proposal_of_version_2_is_read_as_one_from_which_nothing_follows() {
        let proposal = Proposal { password: b"", ..sample(b"x") };
        let mut bytes = proposal.encode();
        bytes[0] = VERSION_WITHOUT_PASSWORD;
        bytes.truncate(bytes.len() - 4);
        assert_eq!(Proposal::decode(&bytes), Ok(proposal));
    }

    #[test]
    fn every_cut_and_every_other_version_is_refused() {
        for judged in judgements() {
            let authority = Authority::User { dn: ANN, entry: 77, judged };
            let bytes = Proposal { authority, ..sample(b"operation") }.encode();
            for end in 0..bytes.len() {
                assert_eq!(Proposal::decode(&bytes[..end]), Err(ProposalError::Malformed));
            }
            let mut longer = bytes.clone();
            longer.push(0);
            assert_eq!(Proposal::decode(&longer), Err(ProposalError::Malformed));
            let mut newer = bytes;
            newer[0] = VERSION + 1;
            assert_eq!(Proposal::decode(&newer), Err(ProposalError::Version(VERSION + 1)));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() { *first = VERSION; }
            let _ = Proposal::decode(&bytes);
        }
    }
}
