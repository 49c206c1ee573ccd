//! A token: one value of the attribute `ds-pwp-one-time-password-token` of its user's entry.
//!
//! ```text
//! {TOTP}id=phone;state=active;algorithm=SHA1;digits=6;period=30;next=59682341;secret=BASE64
//! {HOTP}id=card;state=pending;algorithm=SHA1;digits=6;next=0;secret=BASE64
//! ```
//!
//! `next` is the first counter or time step whose code is good: all before are used up. A pending token is not asked
//! for until its user has shown one code of it.

use std::fmt;

use aws_lc_rs::aead::NONCE_LEN;
use data_encoding::BASE64;
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::algorithm::{Algorithm, one_time_code};
use super::seal::SEALED_BYTES_MAX;
use crate::moment::Moment;

/// Fewest digits of a code.
pub const DIGITS_MIN: u8 = 6;
/// Most digits of a code.
pub const DIGITS_MAX: u8 = 8;
/// Longest name of a token, in bytes.
const ID_BYTES_MAX: usize = 64;
/// Time steps of a token, in seconds.
const PERIODS: std::ops::RangeInclusive<u32> = 10..=300;

/// What counts the codes of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The time.
    Totp {
        /// Seconds of a step.
        period_seconds: u32,
    },
    /// A button.
    Hotp,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What its user calls it; unique in the entry.
    pub id: String,
    /// What counts its codes.
    pub kind: Kind,
    /// Whether its user has shown that it works.
    pub is_active: bool,
    /// Its hash.
    pub algorithm: Algorithm,
    /// Digits of a code.
    pub digits: u8,
    /// The first counter or time step whose code is good.
    pub next: u64,
    /// Its secret, sealed.
    pub sealed: Vec<u8>,
}

/// Which token of an account is meant: the random beginning of its sealed secret, which no other has. Another token
/// that is given the same name is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenKey(pub [u8; TokenKey::BYTES]);

impl TokenKey {
    /// How long one is.
    pub const BYTES: usize = NONCE_LEN;
}

/// Most time steps of a window: each one more lets a guess be right more often.
pub const WINDOW_STEPS_MAX: u32 = 10;
/// Most presses of a button of a window.
pub const WINDOW_PRESSES_MAX: u32 = 100;

/// How far codes may be away from what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Time steps before and after the present one.
    pub steps: u32,
    /// Presses of the button that led to no login.
    pub presses: u32,
}

impl Window {
    /// The most codes that a token of whatever kind is compared with.
    #[must_use]
    pub fn codes_max(self) -> u64 {
        (2 * u64::from(self.steps)).max(u64::from(self.presses)).saturating_add(1)
    }
}

/// Why a text is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It does not begin with the kind.
    #[error("a token begins with {{TOTP}} or {{HOTP}}")]
    Kind,
    /// A part is missing, unknown or there twice.
    #[error("a token has each of id, state, algorithm, digits, next and secret once, {{TOTP}} period too")]
    Parts,
    /// A part has no good value.
    #[error("{part}, not \"{value}\"")]
    Value {
        /// Which part.
        part: TokenPart,
        /// Its value.
        value: String,
    },
}

/// A part of a token, with what is valid for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenPart {
    /// What its user calls it.
    #[error(
        "its name has 1 to {ID_BYTES_MAX} bytes: letters, digits, hyphens, dots, underscores, and spaces between these"
    )]
    Name,
    /// What counts its codes.
    #[error("its kind is TOTP or HOTP")]
    Kind,
    /// Whether it is in use.
    #[error("its state is active or pending")]
    State,
    /// Its hash.
    #[error("its algorithm is SHA1, SHA256 or SHA512")]
    Algorithm,
    /// How many digits a code has.
    #[error("its codes have {DIGITS_MIN} to {DIGITS_MAX} digits")]
    Digits,
    /// For how long a code is shown.
    #[error("it shows a code for {} to {} seconds", PERIODS.start(), PERIODS.end())]
    Period,
    /// The same, where no time counts.
    #[error("the button's codes have no time: its period is 0")]
    NoPeriod,
    /// The first counter whose code is good.
    #[error("its counter is a number that is not below 0")]
    Counter,
    /// The same, where the time counts.
    #[error("the time counts its codes: its counter is 0")]
    NoCounter,
    /// The sealed secret.
    #[error("its secret is sealed and written in base64")]
    Secret,
}

impl Default for Window {
    fn default() -> Window {
        Window { steps: 1, presses: 10 }
    }
}

impl Token {
    /// What tells it apart from others.
    #[must_use]
    pub fn key(&self) -> TokenKey {
        TokenKey(self.sealed.first_chunk().copied().unwrap_or_default())
    }

    /// The counter that follows the one whose code was given; none when the code is wrong or used up. All codes of the
    /// window are compared, so that the time does not tell which one it was.
    #[must_use]
    pub fn check(&self, secret: &[u8], code: &[u8], now: Moment, window: Window) -> Option<u64> {
        let given = self.number(code)?;
        let (first, last) = match self.kind {
            Kind::Totp { period_seconds } => {
                let step = now.0 / 1_000 / u64::from(period_seconds.max(1));
                let steps = u64::from(window.steps);
                (step.saturating_sub(steps).max(self.next), step.saturating_add(steps))
            }
            Kind::Hotp => (self.next, self.next.saturating_add(u64::from(window.presses))),
        };
        let mut following = 0u64;
        for counter in first..=last {
            let code = one_time_code(self.algorithm, secret, counter, self.digits);
            following.conditional_assign(&counter.saturating_add(1), code.ct_eq(&given));
        }
        (following > 0).then_some(following)
    }

    /// The code in the text, when it has as many digits as the token's codes.
    fn number(&self, code: &[u8]) -> Option<u32> {
        let is_code = code.len() == usize::from(self.digits) && code.iter().all(u8::is_ascii_digit);
        let number = || code.iter().fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0'));
        is_code.then(number)
    }

    /// What a person may call a token: letters, digits, spaces, hyphens, dots and underscores.
    #[must_use]
    pub fn is_id(id: &str) -> bool {
        let is_known = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '.' | '_');
        !id.is_empty() && id.len() <= ID_BYTES_MAX && id.trim() == id && id.chars().all(is_known)
    }

    /// Whether codes can have so many digits.
    #[must_use]
    pub fn are_digits(digits: u8) -> bool {
        (DIGITS_MIN..=DIGITS_MAX).contains(&digits)
    }

    /// Whether a step can last so long.
    #[must_use]
    pub fn is_period(seconds: u32) -> bool {
        PERIODS.contains(&seconds)
    }

    /// Reads a value of the attribute.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let (is_totp, rest) = match (text.strip_prefix("{TOTP}"), text.strip_prefix("{HOTP}")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(TokenError::Kind),
        };
        let mut parts = Parts::default();
        for part in rest.split(';') {
            let (name, value) = part.split_once('=').ok_or(TokenError::Parts)?;
            parts.put(name, value)?;
        }
        let period = parts.period;
        let (kind, counts_right) = match is_totp {
            true => (Kind::Totp { period_seconds: period.unwrap_or_default() }, period.is_some()),
            false => (Kind::Hotp, period.is_none()),
        };
        match (parts.id, parts.is_active, parts.algorithm, parts.digits, parts.next, parts.sealed) {
            (Some(id), Some(is_active), Some(algorithm), Some(digits), Some(next), Some(sealed)) if counts_right => {
                Ok(Token { id, kind, is_active, algorithm, digits, next, sealed })
            }
            _ => Err(TokenError::Parts),
        }
    }
}

/// The parts of a token that were read so far.
#[derive(Default)]
struct Parts {
    id: Option<String>,
    is_active: Option<bool>,
    algorithm: Option<Algorithm>,
    digits: Option<u8>,
    period: Option<u32>,
    next: Option<u64>,
    sealed: Option<Vec<u8>>,
}

impl Parts {
    fn put(&mut self, name: &str, value: &str) -> Result<(), TokenError> {
        match name {
            "id" => once(&mut self.id, TokenPart::Name, value, |it| Token::is_id(it).then(|| it.to_owned())),
            "state" => once(&mut self.is_active, TokenPart::State, value, |it| match it {
                "active" => Some(true),
                "pending" => Some(false),
                _ => None,
            }),
            "algorithm" => once(&mut self.algorithm, TokenPart::Algorithm, value, Algorithm::from_name),
            "digits" => once(&mut self.digits, TokenPart::Digits, value, |it| {
                it.parse().ok().filter(|it| Token::are_digits(*it))
            }),
            "period" => once(&mut self.period, TokenPart::Period, value, |it| {
                it.parse().ok().filter(|it| Token::is_period(*it))
            }),
            "next" => once(&mut self.next, TokenPart::Counter, value, |it| it.parse().ok()),
            "secret" => once(&mut self.sealed, TokenPart::Secret, value, |it| {
                let sealed = BASE64.decode(it.as_bytes()).ok()?;
                (!sealed.is_empty() && sealed.len() <= SEALED_BYTES_MAX).then_some(sealed)
            }),
            _ => Err(TokenError::Parts),
        }
    }
}

fn once<T>(
    place: &mut Option<T>,
    part: TokenPart,
    value: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<(), TokenError> {
    if place.is_some() {
        return Err(TokenError::Parts);
    }
    *place = Some(read(value).ok_or_else(|| TokenError::Value { part, value: value.to_owned() })?);
    Ok(())
}

impl fmt::Display for Token {
    /// The value of the attribute.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Totp { .. } => "{TOTP}",
            Kind::Hotp => "{HOTP}",
        };
        let state = if self.is_active { "active" } else { "pending" };
        let (algorithm, digits) = (self.algorithm.name(), self.digits);
        write!(f, "{kind}id={};state={state};algorithm={algorithm};digits={digits}", self.id)?;
        if let Kind::Totp { period_seconds } = self.kind {
            write!(f, ";period={period_seconds}")?;
        }
        write!(f, ";next={};secret={}", self.next, BASE64.encode(&self.sealed))
    }
}
