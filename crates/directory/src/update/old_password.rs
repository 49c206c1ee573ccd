//! An old password that comes with a new one is a guess as in a bind: it is counted before it is compared, and a wrong
//! one is written.
//!
//! Knows cases and guesses; not the request.

use access::guesses::Guessed;
use accounts::MayGuess;

use super::context::UpdateContext;
use super::password_case::PasswordCase;
use crate::account::StateWrite;

impl UpdateContext<'_> {
    /// Whether an old password is right. `now` reads the case again: a failure may have been written, and its guess
    /// have gone, after the case was read.
    pub(super) fn is_old_password<E>(
        &self,
        case: &PasswordCase,
        old: &[u8],
        now: impl FnOnce() -> Result<Option<PasswordCase>, E>,
    ) -> Result<bool, E> {
        let may_guess = |others| case.account().may_guess(others);
        let (Some((place, entry_uuid)), MayGuess::Counted | MayGuess::NotNow) = (case.entry, may_guess(0)) else {
            return Ok(case.has_password(old));
        };
        let counted = self.guesses.count(Guessed::entry(place), |others| may_guess(others) != MayGuess::NotNow);
        let Some(guess) = counted else {
            // The same work as for a guess that is compared.
            case.has_password(old);
            return Ok(false);
        };
        let Some(case) = now()? else { return Ok(false) };
        let is_right = case.has_password(old);
        let may = case.account().may_guess(guess.before());
        if !is_right && may == MayGuess::Counted {
            let changes = case.account().after_wrong_password().into_iter().collect();
            self.states.write(StateWrite { place, entry_uuid, changes, guess: Some(guess), done: None });
        }
        Ok(is_right && may != MayGuess::NotNow)
    }
}
