//! Checking a code: with every token of the account that is in use, so that the time does not tell which one is meant,
//! nor whether the secret of one opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use accounts::Moment;
use accounts::second_factor::{Algorithm, Kind, SealError, SealKey, TokenKey, Tokens, Window, one_time_code};
use query::entry_place::EntryPlace;
use query::instance_secret::SecretError;
use query::notices::{NoticeKind, Notices};

use super::key_file::KeyFile;
use super::wrong_codes::{Allowed, WrongCodes};

/// See the module.
pub(crate) struct SecondFactors {
    key: KeyFile,
    wrong: WrongCodes,
    notices: Arc<Notices>,
}

/// The tokens of an account, and what is needed to check a code.
#[derive(Clone, Copy)]
pub(crate) struct AccountTokens<'a> {
    pub(crate) tokens: &'a Tokens,
    pub(crate) entry_uuid: &'a [u8; 16],
    pub(crate) dn: &'a str,
    pub(crate) window: Window,
    pub(crate) now: Moment,
}

impl SecondFactors {
    /// With the key of that file.
    pub(crate) fn new(key_file: PathBuf, notices: &Arc<Notices>) -> SecondFactors {
        SecondFactors { key: KeyFile::open(key_file), wrong: WrongCodes::default(), notices: Arc::clone(notices) }
    }

    /// The token that a code is of, and the first counter or time step that is good after it.
    pub(crate) fn check(&self, of: AccountTokens<'_>, code: &[u8]) -> Option<(TokenKey, u64)> {
        let (found, fault) = self.check_once(of, code);
        match fault {
            None => found,
            Some(_) if self.key.look_again() => self.check(of, code),
            Some(fault) => {
                self.tell_of_key(of.dn, fault);
                found
            }
        }
    }

    fn check_once(&self, of: AccountTokens<'_>, code: &[u8]) -> (Option<(TokenKey, u64)>, Option<SealError>) {
        let key = self.key.key();
        let (mut found, mut fault) = (None, None);
        for token in of.tokens.active() {
            let opened = match &key {
                Some(key) => key.open(&token.sealed, of.entry_uuid, &token.id),
                None => Err(SealError::Foreign),
            };
            match opened {
                Ok(secret) => {
                    let next = token.check(&secret, code, of.now, of.window);
                    found = found.or(next.map(|next| (token.key(), next)));
                    let compared = match token.kind {
                        Kind::Totp { .. } => 2 * u64::from(of.window.steps) + 1,
                        Kind::Hotp => u64::from(of.window.presses) + 1,
                    };
                    make_codes(of.window.codes_max().saturating_sub(compared));
                }
                Err(error) => fault = Some(error),
            }
        }
        (found, fault)
    }

    /// The work of checking a code, where none is asked for: who fails to bind does not learn whether one is.
    pub(crate) fn pretend(&self, window: Window) {
        if !self.key.is_there() {
            return;
        }
        make_codes(window.codes_max());
    }

    /// Counts a code that came with the right password, before it is looked at; whether it may be right.
    pub(crate) fn may_try(&self, place: EntryPlace, dn: &str) -> bool {
        match self.wrong.count(place, Instant::now()) {
            Allowed::Yes => true,
            Allowed::Last => {
                self.tell(&format!(
                    "Somebody who knows the password of \"{dn}\" has shown ten one-time codes, none of them right so \
                     far: if the next are wrong too, no code of the account is right for a quarter of an hour"
                ));
                true
            }
            Allowed::No => false,
        }
    }

    /// A code was right.
    pub(crate) fn forget_wrong(&self, place: EntryPlace) {
        self.wrong.forget(place);
    }

    /// The key that seals secrets; made when there is none.
    pub(crate) fn key_or_make(&self) -> Result<Arc<SealKey>, SecretError> {
        let was_there = self.key.is_there();
        let key = self.key.key_or_make()?;
        if !was_there {
            let path = self.key.path().display();
            self.tell(&format!(
                "The key of second factors {path} was made: keep a copy of it, without it no account with a one-time \
                 code can bind"
            ));
        }
        Ok(key)
    }

    fn tell_of_key(&self, dn: &str, fault: SealError) {
        let path = self.key.path().display();
        let why = if self.key.is_there() {
            format!("does not open the secrets of its tokens ({fault}): put the key back that they were made with")
        } else {
            "is not there, or holds no key: put it back from a copy".to_owned()
        };
        let sentence = format!("\"{dn}\" cannot bind with a one-time code, because {path} {why}");
        self.notices.warn_once_of(NoticeKind::SecondFactor, sentence);
    }

    fn tell(&self, sentence: &str) {
        self.notices.warn(NoticeKind::SecondFactor, sentence);
    }
}

/// The work of so many codes, of which nothing comes: how many are compared tells of which kind a token is.
fn make_codes(count: u64) {
    let secret = [0u8; 20];
    let code = |step| one_time_code(Algorithm::Sha1, std::hint::black_box(&secret), step, 6);
    std::hint::black_box((0..count).fold(0u32, |all, step| all ^ code(step)));
}
