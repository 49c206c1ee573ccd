//! What follows from a new password, as a proposal carries it: decided by the policy in force when the update was made.
//!
//! ```text
//! time u64 · flags u8 (1 pwdReset is set, 2 pwdReset goes, 4 by somebody else than the user, 8 a deadline is met) ·
//! history count u32 · history duration u64 · the deadline u64, if one is met
//!                                                        (integers little-endian, times in milliseconds)
//! ```

use std::time::Duration;

use accounts::{HistoryRules, Moment};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordChange {
    /// When, by the clock of accounts: what `pwdChangedTime` becomes.
    pub at: Moment,
    /// What becomes of `pwdReset`.
    pub reset: ResetMark,
    /// Somebody else than its user sets it: sessions end, and a lock that an administrator set goes, too.
    pub is_reset: bool,
    /// Which of the passwords that go are kept.
    pub history: HistoryRules,
    /// The deadline (`require-change-by-time`) that the change meets.
    pub met_deadline: Option<Moment>,
}

/// What becomes of `pwdReset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetMark {
    /// It stays.
    Stays,
    /// The password must be changed.
    Set,
    /// It was changed.
    Goes,
}

const RESET_SET: u8 = 1;
const RESET_GOES: u8 = 2;
const IS_RESET: u8 = 4;
const MEETS_DEADLINE: u8 = 8;

impl PasswordChange {
    /// The bytes of a proposal's part.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let reset = match self.reset {
            ResetMark::Stays => 0,
            ResetMark::Set => RESET_SET,
            ResetMark::Goes => RESET_GOES,
        };
        let is_reset = if self.is_reset { IS_RESET } else { 0 };
        let meets = if self.met_deadline.is_some() { MEETS_DEADLINE } else { 0 };
        let duration = u64::try_from(self.history.duration.as_millis()).unwrap_or(u64::MAX);
        let mut out = Vec::with_capacity(29);
        out.extend_from_slice(&self.at.0.to_le_bytes());
        out.push(reset | is_reset | meets);
        out.extend_from_slice(&self.history.count.to_le_bytes());
        out.extend_from_slice(&duration.to_le_bytes());
        if let Some(deadline) = self.met_deadline {
            out.extend_from_slice(&deadline.0.to_le_bytes());
        }
        out
    }

    /// Reads [`PasswordChange::encode`]; `None` when it is not that.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<PasswordChange> {
        let (at, bytes) = bytes.split_first_chunk()?;
        let (&[flags], bytes) = bytes.split_first_chunk()?;
        let (count, bytes) = bytes.split_first_chunk()?;
        let (duration, bytes) = bytes.split_first_chunk()?;
        let (met_deadline, bytes) = match flags & MEETS_DEADLINE {
            0 => (None, bytes),
            _ => bytes.split_first_chunk().map(|(at, rest)| (Some(Moment(u64::from_le_bytes(*at))), rest))?,
        };
        let reset = match flags & (RESET_SET | RESET_GOES) {
            0 => ResetMark::Stays,
            RESET_SET => ResetMark::Set,
            RESET_GOES => ResetMark::Goes,
            _ => return None,
        };
        let known = RESET_SET | RESET_GOES | IS_RESET | MEETS_DEADLINE;
        (bytes.is_empty() && flags & !known == 0).then_some(PasswordChange {
            at: Moment(u64::from_le_bytes(*at)),
            reset,
            is_reset: flags & IS_RESET != 0,
            history: HistoryRules {
                count: u32::from_le_bytes(*count),
                duration: Duration::from_millis(u64::from_le_bytes(*duration)),
            },
            met_deadline,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for reset in [ResetMark::Stays, ResetMark::Set, ResetMark::Goes] {
            for (is_reset, met_deadline) in [(false, None), (true, Some(Moment(9)))] {
                let history = HistoryRules { count: 3, duration: Duration::from_secs(5) };
                let change = PasswordChange { at: Moment(7), reset, is_reset, history, met_deadline };
                let bytes = change.encode();
                assert_eq!(PasswordChange::decode(&bytes), Some(change));
                assert!((0..bytes.len()).all(|end| PasswordChange::decode(&bytes[..end]).is_none()));
                assert_eq!(PasswordChange::decode(&[&bytes[..], &[0]].concat()), None);
            }
        }
        assert_eq!(PasswordChange::decode(&[3; 21]), None);
    }
}
