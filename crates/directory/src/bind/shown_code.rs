//! The code of an attempt to bind, before and after it is judged.

use access::guesses::Guess;
use accounts::StateChange;
use zeroize::Zeroizing;

/// What a client sent after the password.
pub(super) enum ShownCode {
    /// What may be a code.
    Sent {
        code: Zeroizing<Vec<u8>>,
        /// As many as it was taken for.
        digits: Option<u8>,
    },
    /// Nothing: whoever is asked has shown a code before.
    NotNeeded,
}

/// A code that was right and is to be used up.
pub(super) struct Spending {
    pub(super) change: StateChange,
    /// No other code of the token is right meanwhile.
    pub(super) held: Guess,
}
