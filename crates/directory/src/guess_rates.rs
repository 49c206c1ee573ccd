//! Attacks on passwords, as binds and changes of passwords see them: whose guesses are refused, and which are noted.
//!
//! Knows names as clients send them; what is an attack is known by `access`.

use std::net::IpAddr;
use std::time::Instant;

use access::AttackEvent;
use access::guess_rates::{GuessLimits, GuessRates, Guesser};
use config::Config;
use ldap::LdapResult;
use schema::NormalizedDn;

use crate::bind::BindFailure;
use crate::directory::Directory;
use crate::in_force::InForce;
use crate::refusal::Refusal;
use crate::session::Session;

/// The limits that a configuration says.
pub(crate) fn guess_limits(config: &Config) -> GuessLimits {
    let global = &config.global;
    GuessLimits {
        per_address: global.wrong_passwords_per_address,
        per_name: global.wrong_passwords_per_name,
        refuses: global.refuse_password_attacks,
    }
}

/// What requests with passwords need of the rates.
#[derive(Clone, Copy)]
pub(crate) struct GuessWatch<'d> {
    pub(crate) rates: &'d GuessRates,
    pub(crate) in_force: &'d InForce,
}

impl GuessWatch<'_> {
    /// Refuses a guess of the password of who has that name, where too many wrong ones came. Nobody is refused who
    /// comes over a local socket.
    pub(crate) fn check(&self, session: &Session, name: &[u8]) -> Result<(), LdapResult> {
        if !self.rates.refuses() || session.local_peer.is_some() {
            return Ok(());
        }
        self.with_guesser(session.address, name, |guesser| match self.rates.wait(guesser, Instant::now()) {
            Some(wait) => Err(Refusal::TooManyWrongPasswords { seconds: wait.as_secs() + 1 }.into()),
            None => Ok(()),
        })
    }

    /// Notes a wrong password.
    pub(crate) fn note(&self, address: Option<IpAddr>, name: &[u8]) {
        self.with_guesser(address, name, |guesser| self.rates.wrong(guesser, Instant::now()));
    }

    fn with_guesser<R>(&self, address: Option<IpAddr>, name: &[u8], act: impl FnOnce(&Guesser<'_>) -> R) -> R {
        if name.is_empty() {
            return act(&Guesser { address, name: None });
        }
        let normal = NormalizedDn::parse(&self.in_force.schema(), name).ok();
        let same = normal.as_ref().map_or(name, |normal| normal.as_bytes());
        act(&Guesser { address, name: Some((same, &String::from_utf8_lossy(name))) })
    }
}

impl Directory {
    pub(crate) fn guess_watch(&self) -> GuessWatch<'_> {
        GuessWatch { rates: &self.guess_rates, in_force: &self.in_force }
    }

    /// Refuses a bind by that name, which is empty where it is not known yet, when too many wrong passwords came.
    ///
    /// # Errors
    /// The refusal.
    pub fn check_guess_rate(&self, session: &Session, name: &[u8]) -> Result<(), LdapResult> {
        self.guess_watch().check(session, name)
    }

    /// Notes how a bind failed that came from that address.
    pub fn note_failed_bind(&self, address: Option<IpAddr>, name: &[u8], failure: BindFailure) {
        if failure.proves_nobody() {
            self.guess_watch().note(address, name);
        }
    }

    /// The attacks that have begun and ended since the last time.
    #[must_use]
    pub fn attacks(&self) -> Vec<AttackEvent> {
        self.guess_rates.events(Instant::now())
    }
}
