//! The rights that an instruction grants or refuses.

/// One right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Right {
    /// See an attribute; use a control or an extended operation.
    Read,
    /// Use an attribute in a filter.
    Search,
    /// Compare an attribute.
    Compare,
    /// Change the values of an attribute.
    Write,
    /// Add one's own name to an attribute, and take it away.
    SelfWrite,
    /// Add an entry.
    Add,
    /// Delete an entry.
    Delete,
    /// Move an entry below this one.
    Import,
    /// Move this entry elsewhere.
    Export,
    /// Act as this user.
    Proxy,
    /// Move an entry, in the words of 389 Directory Server.
    ModDn,
}

impl Right {
    /// Every right, in the order in which they are written.
    pub const ALL: [Right; 11] = [
        Right::Read,
        Right::Search,
        Right::Compare,
        Right::Write,
        Right::SelfWrite,
        Right::Add,
        Right::Delete,
        Right::Import,
        Right::Export,
        Right::Proxy,
        Right::ModDn,
    ];

    /// The word for it in an instruction.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Search => "search",
            Right::Compare => "compare",
            Right::Write => "write",
            Right::SelfWrite => "selfwrite",
            Right::Add => "add",
            Right::Delete => "delete",
            Right::Import => "import",
            Right::Export => "export",
            Right::Proxy => "proxy",
            Right::ModDn => "moddn",
        }
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(u16);

impl Rights {
    /// No right.
    pub const NONE: Rights = Rights(0);

    /// What the word `all` means: every right but `proxy`, `import`, `export` and `moddn`.
    pub const ALL: Rights = Rights::NONE
        .with(Right::Read)
        .with(Right::Search)
        .with(Right::Compare)
        .with(Right::Write)
        .with(Right::SelfWrite)
        .with(Right::Add)
        .with(Right::Delete);

    /// These and `right`.
    #[must_use]
    pub const fn with(self, right: Right) -> Rights {
        Rights(self.0 | 1 << right as u8)
    }

    /// Those of both.
    #[must_use]
    pub const fn union(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn intersection(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Whether `right` is one of them.
    #[must_use]
    pub const fn contains(self, right: Right) -> bool {
        self.0 & 1 << right as u8 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One bit for each right, bit `right as u8`.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The rights, in the order of [`Right::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.contains(*right))
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<T: IntoIterator<Item = Right>>(rights: T) -> Rights {
        rights.into_iter().fold(Rights::NONE, Rights::with)
    }
}
