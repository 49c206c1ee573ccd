//! What became of an entry, and what set it off.

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It was added.
    Add,
    /// Its attributes changed.
    Modify,
    /// It is gone.
    Delete,
    /// It was renamed or moved, with everything below it, which has no changes of its own.
    ModifyDn,
}

/// What set a change off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// The request itself.
    Request,
    /// A plugin, which followed another change.
    Plugin {
        /// Its name, as `modifiersName` has it.
        name: &'a str,
    },
    /// Binds of the account: nobody asked for it.
    AccountState,
}
