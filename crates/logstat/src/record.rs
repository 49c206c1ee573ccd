//! What one line of an access log says, whichever server wrote it.
//!
//! Knows no format. Texts are borrowed from the line unless the format had to be undone (escapes of JSON and CSV).

use std::borrow::Cow;

/// Bytes of a line.
pub type Text<'l> = Cow<'l, [u8]>;

/// No bytes.
pub const EMPTY: Text<'static> = Cow::Borrowed(b"");

/// A point in time, with the zone that the log writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub unix_ns: i64,
    /// What the log's clock is ahead of UTC.
    pub offset_seconds: i32,
}

impl Moment {
    /// Whole seconds since 1970.
    #[must_use]
    pub fn unix_seconds(self) -> i64 {
        self.unix_ns.div_euclid(1_000_000_000)
    }

    /// So much earlier.
    #[must_use]
    pub fn before(self, ns: u64) -> Self {
        Self { unix_ns: self.unix_ns.saturating_sub_unsigned(ns), ..self }
    }
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the operations of LDAP")]
pub enum Kind {
    Search,
    Bind,
    Unbind,
    Compare,
    Modify,
    Add,
    Delete,
    ModifyDn,
    Extended,
    Abandon,
    /// A result whose request is not in the log, and that does not say what it answers.
    Unknown,
}

impl Kind {
    /// All, in the order of reports.
    pub const ALL: [Kind; 11] = [
        Kind::Search,
        Kind::Bind,
        Kind::Modify,
        Kind::Add,
        Kind::Delete,
        Kind::ModifyDn,
        Kind::Compare,
        Kind::Extended,
        Kind::Abandon,
        Kind::Unbind,
        Kind::Unknown,
    ];

    /// As the logs of DSEE and 389 DS have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Search => "SRCH",
            Kind::Bind => "BIND",
            Kind::Unbind => "UNBIND",
            Kind::Compare => "CMP",
            Kind::Modify => "MOD",
            Kind::Add => "ADD",
            Kind::Delete => "DEL",
            Kind::ModifyDn => "MODRDN",
            Kind::Extended => "EXT",
            Kind::Abandon => "ABANDON",
            Kind::Unknown => "(unknown)",
        }
    }

    /// Its place in a table with one row for each.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether it changes entries.
    #[must_use]
    pub fn is_update(self) -> bool {
        matches!(self, Kind::Modify | Kind::Add | Kind::Delete | Kind::ModifyDn)
    }

    /// By the tag of the response.
    #[must_use]
    pub(crate) fn of_tag(tag: u64) -> Kind {
        match tag {
            97 => Kind::Bind,
            101 => Kind::Search,
            103 => Kind::Modify,
            105 => Kind::Add,
            107 => Kind::Delete,
            109 => Kind::ModifyDn,
            111 => Kind::Compare,
            120 => Kind::Extended,
            _ => Kind::Unknown,
        }
    }
}

/// Which operation a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ids {
    /// Number of the connection.
    pub connection: u64,
    /// Number of the operation on it; none for lines about the connection.
    pub operation: Option<u64>,
    /// The client's message id; 0 where the log has none.
    pub message: i64,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'l> {
    /// The operation.
    pub kind: Kind,
    /// The entry, the base of a search, the name of a bind.
    pub dn: Text<'l>,
    /// Of a search.
    pub filter: Text<'l>,
    /// Of a search, as it is written.
    pub scope: Text<'l>,
    /// OID of an extended operation, attribute of a comparison.
    pub detail: Text<'l>,
    /// The server did it by itself, because of another operation.
    pub is_internal: bool,
}

impl Request<'_> {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, dn: EMPTY, filter: EMPTY, scope: EMPTY, detail: EMPTY, is_internal: false }
    }
}

/// Letters of `notes=`: bit 0 is A.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notes(pub u32);

impl Notes {
    /// Of `U,F`.
    #[must_use]
    pub(crate) fn parse(text: &[u8]) -> Notes {
        let letters = text.iter().filter(|letter| letter.is_ascii_uppercase());
        Notes(letters.fold(0, |bits, letter| bits | 1 << (letter - b'A')))
    }

    /// Whether a letter is among them.
    #[must_use]
    pub fn has(self, letter: u8) -> bool {
        letter.is_ascii_uppercase() && self.0 & (1 << (letter - b'A')) != 0
    }

    /// The letters.
    pub fn letters(self) -> impl DoubleEndedIterator<Item = char> {
        (b'A'..=b'Z').filter(move |letter| self.has(*letter)).map(char::from)
    }
}

/// How long an operation took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Etime {
    /// In nanoseconds.
    pub ns: u64,
    /// Digits behind the point that the log has, of seconds.
    pub digits: u8,
}

/// Where the time of an operation went, as far as its own line says, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// Waiting for its turn.
    pub queue: Option<u64>,
    /// Being worked on.
    pub work: Option<u64>,
    /// Waiting for the disk.
    pub sync: Option<u64>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome<'l> {
    /// What was answered, where the line says so.
    pub kind: Option<Kind>,
    /// LDAP result code.
    pub code: i64,
    /// Time taken.
    pub etime: Option<Etime>,
    /// Parts of it.
    pub phases: Phases,
    /// Entries returned.
    pub entries: Option<u64>,
    /// No index answered it, or not all of it.
    pub is_unindexed: bool,
    /// Flags.
    pub notes: Notes,
    /// Change sequence number of an update.
    pub csn: Text<'l>,
    /// Who was authenticated, or tried to.
    pub dn: Text<'l>,
}

impl Outcome<'_> {
    pub(crate) fn of(kind: Option<Kind>) -> Self {
        Self {
            kind,
            code: 0,
            etime: None,
            phases: Phases::default(),
            entries: None,
            is_unindexed: false,
            notes: Notes::default(),
            csn: EMPTY,
            dn: EMPTY,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one at a time, on the stack; boxing would allocate for every line")]
pub enum Event<'l> {
    /// A client connected.
    Connect {
        /// Its address, without the port.
        client: Text<'l>,
        /// `LDAP`, `LDAPS`, …
        protocol: Text<'l>,
    },
    /// A request was read.
    Request(Request<'l>),
    /// A request was answered.
    Result(Outcome<'l>),
    /// A request and its answer, in one line.
    Whole(Request<'l>, Outcome<'l>),
    /// A connection is being closed, or is closed; the code or reason says why.
    Closed {
        /// `U1`, `Client Unbind`; empty where the line has none.
        code: Text<'l>,
    },
    /// slapd: an attribute of the search at hand has no index.
    NotIndexed {
        /// The attribute.
        attribute: Text<'l>,
        /// `equality`, `substring`, …
        index: &'static str,
    },
    /// The server could not write so many lines.
    Dropped(u64),
    /// A line of the log that no figure needs.
    Other,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'l> {
    /// When; none where the time is written in a way that is not known.
    pub time: Option<Moment>,
    /// Whose.
    pub ids: Ids,
    /// What.
    pub event: Event<'l>,
}
