//! A piece of the text and its place, and lists of such pieces.

use crate::error::AciError;

/// A piece of the text.
#[derive(Clone, Copy)]
pub(super) struct Item<'t> {
    pub(super) text: &'t str,
    /// Where it begins.
    pub(super) at: usize,
}

impl<'t> Item<'t> {
    /// Without white space at both ends.
    pub(super) fn trimmed(self) -> Item<'t> {
        let text = self.text.trim_ascii_start();
        Item { text: text.trim_ascii_end(), at: self.at + self.text.len() - text.len() }
    }

    /// From byte `from` to before byte `to` of this.
    pub(super) fn part(self, from: usize, to: usize) -> Item<'t> {
        Item { text: &self.text[from..to], at: self.at + from }
    }

    /// What follows `prefix`, in upper or lower case.
    pub(super) fn after(self, prefix: &str) -> Option<Item<'t>> {
        let start = self.text.get(..prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then(|| self.part(prefix.len(), self.text.len()))
    }

    /// Before and after the first `separator`.
    pub(super) fn split_once(self, separator: &str) -> Option<(Item<'t>, Item<'t>)> {
        let at = self.text.find(separator)?;
        Some((self.part(0, at), self.part(at + separator.len(), self.text.len())))
    }

    /// Whether it is `word`, in upper or lower case.
    pub(super) fn is(self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Its pieces between `separator`, without white space around them; none may be empty.
    pub(super) fn list<T>(
        self,
        separator: &'static str,
        mut each: impl FnMut(Item<'t>) -> Result<T, AciError>,
    ) -> Result<Vec<T>, AciError> {
        let mut found = Vec::new();
        let mut at = self.at;
        for piece in self.text.split(separator) {
            let item = Item { text: piece, at }.trimmed();
            if item.text.is_empty() {
                let expected = format!("a value on both sides of {separator:?}");
                return Err(AciError::unexpected(at, "nothing".to_owned(), expected));
            }
            found.push(each(item)?);
            at += piece.len() + separator.len();
        }
        Ok(found)
    }
}
