//! The tokens of one account.

use super::token::{Token, TokenKey};

/// The tokens of one account; by default none.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tokens {
    all: Vec<Token>,
    /// Values that are no tokens: the account has a second factor, and nobody can show it.
    damaged: Vec<Vec<u8>>,
    /// Binds take a code, whether there is a token or not.
    is_required: bool,
}

impl Tokens {
    /// Most tokens that an account may have.
    pub const MAX: usize = 8;

    /// Takes in a value of the attribute.
    pub fn add_value(&mut self, value: &[u8]) {
        match std::str::from_utf8(value).ok().and_then(|text| Token::parse(text).ok()) {
            Some(token) => self.all.push(token),
            None => self.damaged.push(value.to_vec()),
        }
    }

    /// The values of the attribute.
    pub fn values(&self) -> impl Iterator<Item = Vec<u8>> {
        let written = self.all.iter().map(|token| token.to_string().into_bytes());
        written.chain(self.damaged.iter().cloned())
    }

    /// How many values are no tokens.
    #[must_use]
    pub fn damaged(&self) -> usize {
        self.damaged.len()
    }

    /// All that can be read.
    #[must_use]
    pub fn all(&self) -> &[Token] {
        &self.all
    }

    /// The token of that name.
    #[must_use]
    pub fn named(&self, id: &str) -> Option<&Token> {
        self.all.iter().find(|token| token.id == id)
    }

    /// From now on a bind takes a code. While no token is in use, those count that were never used: whoever shows the
    /// first code puts one in use by that.
    pub fn require(&mut self) {
        self.is_required = true;
    }

    /// Those that a bind may show a code of.
    pub fn active(&self) -> impl Iterator<Item = &Token> {
        let all_count = self.is_required && !self.all.iter().any(|token| token.is_active);
        self.all.iter().filter(move |token| token.is_active || all_count)
    }

    /// Whether no code can be right, because there is no token.
    #[must_use]
    pub fn are_missing(&self) -> bool {
        self.damaged.is_empty() && self.active().next().is_none()
    }

    /// Whether a bind takes a code.
    #[must_use]
    pub fn are_asked_for(&self) -> bool {
        self.is_required || !self.are_missing()
    }

    /// How many digits a code has: those of all tokens of an account have as many. None: no code is asked for, or none
    /// can be right.
    #[must_use]
    pub fn digits(&self) -> Option<u8> {
        self.active().next().map(|token| token.digits)
    }

    /// A code of a token was shown: it and all before it are used up, and the token is in use. Whether that is new.
    pub fn spend(&mut self, key: TokenKey, next: u64) -> bool {
        let Some(token) = self.all.iter_mut().find(|token| token.key() == key) else { return false };
        let is_other = !token.is_active || token.next < next;
        (token.is_active, token.next) = (true, token.next.max(next));
        is_other
    }

    /// Adds a token; one of the same name that was never in use goes. Whether that is done: not if there is one in
    /// use, or too many are there.
    pub fn put(&mut self, new: &Token) -> bool {
        if self.all.iter().any(|token| token.id == new.id && token.is_active) {
            return false;
        }
        let others = self.all.iter().filter(|token| token.id != new.id).count();
        if others >= Tokens::MAX {
            return false;
        }
        self.all.retain(|token| token.id != new.id);
        self.all.push(new.clone());
        true
    }

    /// Removes a token. Whether it was there.
    pub fn remove(&mut self, key: TokenKey) -> bool {
        let before = self.all.len();
        self.all.retain(|token| token.key() != key);
        before != self.all.len()
    }

    /// Removes all, those that cannot be read too. Whether there was one.
    pub fn clear(&mut self) -> bool {
        let had = !self.damaged.is_empty() || !self.all.is_empty();
        *self = Tokens::default();
        had
    }
}
