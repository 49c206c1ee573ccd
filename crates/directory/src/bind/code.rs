//! The one-time code that follows the password in the bind of an account with a second factor.
//!
//! Password and code are judged together: whichever is wrong, the answer and the work are the same. A code that was
//! right is used up before the client hears of it, and while that is being written it is not right a second time.

use access::guesses::{Guess, Guessed};
use accounts::StateChange;
use accounts::second_factor::{TokenKey, Window};
use query::entry_place::EntryPlace;
use store::StoreError;
use zeroize::Zeroizing;

use super::claimed::{Claimed, Found, Who};
use super::context::BindContext;
use super::done::BindFailure;
use super::shown_code::{ShownCode, Spending};
use super::step::Attempt;
use crate::account::StateWrite;
use crate::second_factor::AccountTokens;

/// The password in what a client sent; what follows it is kept with the attempt, if the account has a second factor.
pub(super) fn take_code<'c>(attempt: &mut Attempt, sent: &'c [u8]) -> &'c [u8] {
    let tokens = &attempt.claimed.state.tokens;
    if !tokens.are_asked_for() {
        return sent;
    }
    let digits = tokens.digits();
    let at = sent.len().checked_sub(usize::from(digits.unwrap_or_default())).unwrap_or(sent.len());
    let (password, code) = sent.split_at(at);
    attempt.code = Some(Box::new(ShownCode::Sent { code: Zeroizing::new(code.to_vec()), digits }));
    password
}

impl BindContext<'_> {
    /// Judges the code of an attempt beside its password: with what has to be used up, if it is right and there is a
    /// code at all.
    pub(super) fn judge_code(&self, attempt: &mut Attempt, is_right: bool) -> Result<Option<Spending>, BindFailure> {
        let shown = attempt.code.take();
        let tokens = &attempt.claimed.state.tokens;
        let is_needed = !matches!(shown.as_deref(), Some(ShownCode::NotNeeded));
        if !is_needed || (!tokens.are_asked_for() && shown.is_none()) {
            if is_right {
                return Ok(None);
            }
            self.second_factors.pretend(attempt.claimed.policy.second_factor_window);
            return Err(BindFailure::WrongPassword);
        }
        if tokens.are_missing() {
            self.second_factors.pretend(attempt.claimed.policy.second_factor_window);
            return Err(if is_right { BindFailure::NoSecondFactor } else { BindFailure::WrongPassword });
        }
        // The tokens may have changed while the password was compared; other mechanisms show no code.
        let code = match shown.as_deref() {
            Some(ShownCode::Sent { code, digits }) if tokens.are_asked_for() && tokens.digits() == *digits => {
                Some(code)
            }
            _ => None,
        };
        let Who::Entry(found) = &attempt.claimed.who else { return Err(BindFailure::WrongPassword) };
        let (place, entry_uuid) = (found.place, found.entry_uuid);
        let may_be = is_right && code.is_some() && self.second_factors.may_try(place, found.bound.identity.dn());
        let code = code.map(|code| code.as_slice()).unwrap_or_default();
        let checked = self.second_factors.check(tokens_of(&attempt.claimed, found), code);
        match checked {
            _ if !is_right => Err(BindFailure::WrongPassword),
            Some((token, next)) if may_be => {
                let spending = self.spend(attempt, (place, entry_uuid), (token, next));
                let spending = spending.ok().flatten().ok_or(BindFailure::WrongCode)?;
                self.second_factors.forget_wrong(place);
                Ok(Some(spending))
            }
            _ => Err(BindFailure::WrongCode),
        }
    }

    /// Holds a token, and looks whether its code was used up since the account was read.
    fn spend(
        &self,
        attempt: &mut Attempt,
        (place, entry_uuid): (EntryPlace, [u8; 16]),
        (token, next): (TokenKey, u64),
    ) -> Result<Option<Spending>, StoreError> {
        let whose = Guessed::Code(place.backend.0, place.id.0);
        let Some(held) = self.guesses.count(whose, |others| others == 0) else { return Ok(None) };
        let Some(claimed) = self.renewed(&attempt.claimed)? else { return Ok(Some(spending(token, next, held))) };
        let is_same = |found: &Found| found.entry_uuid == entry_uuid;
        let is_still = matches!(&claimed.who, Who::Entry(found) if is_same(found))
            && claimed.passwords == attempt.claimed.passwords
            && claimed.state.tokens.active().any(|known| known.key() == token && known.next < next);
        attempt.claimed = claimed;
        Ok(is_still.then(|| spending(token, next, held)))
    }

    /// Has a code used up without anybody waiting for it: it was right, and the bind is refused.
    pub(super) fn spend_unanswered(&self, who: &Who, spending: Option<Spending>) {
        if let Some(Spending { change, held }) = spending {
            let of = who.state_of();
            self.states.write(StateWrite { of, changes: vec![change], guess: Some(held), done: None });
        }
    }
}

fn spending(token: TokenKey, next: u64, held: Guess) -> Spending {
    Spending { change: StateChange::SpendCode { token, next }, held }
}

fn tokens_of<'a>(claimed: &'a Claimed, found: &'a Found) -> AccountTokens<'a> {
    let window: Window = claimed.policy.second_factor_window;
    AccountTokens {
        tokens: &claimed.state.tokens,
        entry_uuid: &found.entry_uuid,
        dn: found.bound.identity.dn(),
        window,
        now: claimed.now,
    }
}
