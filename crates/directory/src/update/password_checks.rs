//! Whether a password may be set, and what follows: the rules of the policy in force, in OpenDJ's order.
//!
//! Knows the case of an account; not how the request came.

use accounts::{
    Account, EntryValues, HistoryRules, PasswordFault, PasswordPolicyResponse, PolicyError, QualityCheck, Surroundings,
    check_password, history_that_counts,
};
use change::password_change::{PasswordChange, ResetMark};
use ldap::LdapResult;
use query::facts::Facts;
use zeroize::Zeroizing;

use super::order::Ready;
use super::password_case::PasswordCase;
use super::review::Review;
use super::rights::Told;
use crate::bind::Wait;
use crate::breach_lists::tell_of_fault;
use crate::refusal::Refusal;

/// Why a password is not set.
pub(super) struct Refused {
    /// For the client.
    pub(super) result: LdapResult,
    /// For the password policy control.
    pub(super) error: Option<PolicyError>,
    /// Of a wrong password: the answer waits.
    pub(super) wait: Option<Box<Wait>>,
}

impl<R: Into<LdapResult>> From<R> for Refused {
    fn from(result: R) -> Refused {
        Refused { result: result.into(), error: None, wait: None }
    }
}

impl Refused {
    pub(super) fn new(refusal: Refusal, error: PolicyError) -> Refused {
        Refused { result: refusal.into(), error: Some(error), wait: None }
    }
}

/// A refusal as the asker is told, now or when it is time.
pub(super) fn tell<'m>(refused: Refused, review: &Option<Box<Review>>) -> Result<Ready<'m>, Box<Told>> {
    let Refused { result, error, wait } = refused;
    let code = result.code;
    let mut told = match review {
        Some(review) => review.tell(result),
        None => Told::open(result),
    };
    told.policy = error.filter(|_| told.result.code == code);
    let told = Box::new(told);
    match wait {
        Some(wait) => Ok(Ready::WrongPassword { told, wait }),
        None => Err(told),
    }
}

/// What follows from a password that is set.
pub(super) struct Follows {
    /// For the proposal.
    pub(super) change: PasswordChange,
    /// For the password policy control: the user must change it.
    pub(super) must_change: bool,
}

impl Follows {
    /// What the password policy control says of the update.
    pub(super) fn told(&self) -> PasswordPolicyResponse {
        PasswordPolicyResponse { warning: None, error: self.must_change.then_some(PolicyError::ChangeAfterReset) }
    }
}

/// The values that the rules compare with.
struct Values<'a> {
    case: &'a PasswordCase,
    facts: &'a Facts,
}

impl EntryValues for Values<'_> {
    fn each(&self, attribute: Option<&str>, take: &mut dyn FnMut(&[u8])) {
        let wanted = attribute.map(|name| self.facts.schema.attribute_type(name.as_bytes()).map(|it| it.index));
        let is_wanted = |index| wanted.is_none_or(|wanted| wanted == Some(index));
        self.case.values.iter().filter(|(index, _)| is_wanted(*index)).for_each(|(_, value)| take(value));
    }
}

impl PasswordCase {
    pub(super) fn account(&self) -> Account<'_> {
        Account { policy: &self.policy, state: &self.state, now: self.now }
    }

    /// Whether the account is locked for who is its user.
    pub(super) fn check_not_locked(&self) -> Result<(), Refused> {
        let account = self.account();
        let is_locked =
            account.lock().is_some() || account.delay().is_some() || account.is_idle() || account.is_reset_too_old();
        match self.is_self && is_locked {
            true => Err(Refused::new(Refusal::AccountLocked, PolicyError::AccountLocked)),
            false => Ok(()),
        }
    }

    /// Whether a user may change the own password at all.
    pub(super) fn check_users_may(&self) -> Result<(), Refused> {
        if self.is_self && !self.policy.allow_user_password_changes {
            return Err(Refused::new(Refusal::UserPasswordsOff, PolicyError::PasswordModNotAllowed));
        }
        Ok(())
    }

    /// Whether the connection is good enough for passwords.
    pub(super) fn check_secure(&self) -> Result<(), Refused> {
        if self.policy.require_secure_password_changes && !self.is_secure {
            return Err(Refused::new(Refusal::InsecureChange, PolicyError::PasswordModNotAllowed));
        }
        Ok(())
    }

    /// Whether the password is old enough to be changed by its user. One that was reset always is.
    pub(super) fn check_age(&self) -> Result<(), Refused> {
        let account = self.account();
        let changeable = account.password_changed().after(self.policy.min_password_age);
        let is_exempt = !self.is_self || self.policy.min_password_age.is_zero() || account.must_change();
        if is_exempt || changeable < self.now {
            return Ok(());
        }
        let seconds = changeable.since(self.now).as_secs() + 1;
        Err(Refused::new(Refusal::PasswordTooYoung { seconds }, PolicyError::PasswordTooYoung))
    }

    /// Whether a value that is encoded already may be stored.
    pub(super) fn check_encoded(&self) -> Result<(), Refused> {
        let is_refused = self.policy.quality_check == QualityCheck::Always
            || !(self.may_pre_encode || self.policy.allow_pre_encoded_passwords);
        match is_refused {
            true => Err(Refused::new(Refusal::EncodedPassword, PolicyError::InsufficientPasswordQuality)),
            false => Ok(()),
        }
    }

    fn skips_validation(&self) -> bool {
        !self.is_self && self.policy.skip_validation_for_administrators
    }

    /// Whether a new password obeys the rules. `known` are current ones that the client sent. How long it takes to look
    /// at one grows with its length, so what could not be stored is refused before.
    pub(super) fn check_rules(&self, facts: &Facts, clear: &[u8], known: &[&[u8]]) -> Result<(), Refused> {
        if clear.len() > password::PASSWORD_BYTES_MAX {
            let problem = password::EncodeError::Length.to_string();
            return Err(Refused::new(Refusal::PasswordNotStored { problem }, PolicyError::PasswordTooLong));
        }
        if self.skips_validation() {
            return Ok(());
        }
        self.validate(facts, clear, known).map_err(|fault| {
            let error = fault.policy_error();
            Refused::new(Refusal::PasswordRules { problem: fault.to_string() }, error)
        })
    }

    fn validate(&self, facts: &Facts, clear: &[u8], known: &[&[u8]]) -> Result<(), PasswordFault> {
        if self.policy.quality_check == QualityCheck::Never {
            return Ok(());
        }
        let values = Values { case: self, facts };
        check_password(&self.policy.validators, clear, &Surroundings { known, entry: &values })
            .inspect_err(|fault| tell_of_fault(&self.notices, fault))
    }

    /// Whether a new password was not used before.
    pub(super) fn check_history(&self, clear: &[u8]) -> Result<(), Refused> {
        let rules = self.policy.history_rules();
        if self.skips_validation() || !rules.keep_any() {
            return Ok(());
        }
        let former = history_that_counts(rules, &self.history, self.now);
        let mut all = self.stored.iter().chain(former.into_iter().map(|value| &value.stored));
        match all.any(|stored| password::verify(stored, clear)) {
            true => Err(Refused::new(Refusal::UsedBefore, PolicyError::PasswordInHistory)),
            false => Ok(()),
        }
    }

    /// Whether setting a clear password takes long.
    pub(super) fn is_slow_to_set(&self) -> bool {
        let looks_back = self.policy.history_rules() != HistoryRules::default();
        self.policy.default_schemes.iter().any(|scheme| scheme.is_slow())
            || (looks_back
                && (self.is_slow_to_compare() || self.history.iter().any(|it| password::is_slow(&it.stored))))
    }

    /// Whether comparing a password with the stored ones takes long.
    pub(super) fn is_slow_to_compare(&self) -> bool {
        self.stored.iter().any(|stored| password::is_slow(stored))
    }

    /// The stored forms of a clear password: one for each scheme of the policy.
    pub(super) fn encode(&self, clear: &[u8]) -> Result<Vec<Vec<u8>>, LdapResult> {
        let encode = |scheme: &password::Scheme| {
            password::encode_random(*scheme, &self.parameters, clear).map_err(|error| match error {
                password::EncodeError::NoRandomness => Refusal::NoPasswordMade { problem: error.to_string() }.into(),
                password::EncodeError::Length => Refusal::PasswordNotStored { problem: error.to_string() }.into(),
            })
        };
        self.policy.default_schemes.iter().map(encode).collect()
    }

    /// A password that the server makes, by the policy's generator, and that obeys the rules.
    pub(super) fn generate(&self, facts: &Facts) -> Result<Zeroizing<Vec<u8>>, LdapResult> {
        let failed = |problem: String| LdapResult::from(Refusal::NoPasswordMade { problem });
        let accept = |made: &str| self.validate(facts, made.as_bytes(), &[]);
        match &self.policy.generator {
            Some(generator) => {
                let made = generator.generate(&mut |bytes| getrandom::fill(bytes).is_ok(), accept);
                made.map(|made| Zeroizing::new(made.into_bytes())).map_err(|error| failed(error.to_string()))
            }
            None => {
                let mut tries = 0..GENERATE_TRIES;
                loop {
                    let made = Zeroizing::new(password::generate().map_err(|error| failed(error.to_string()))?);
                    match (accept(&String::from_utf8_lossy(&made)), tries.next()) {
                        (Ok(()), _) => return Ok(made),
                        (Err(_), Some(_)) => {}
                        (Err(fault), None) => {
                            let remedy = "give the policy a password-generator whose format obeys its validators";
                            return Err(failed(format!("{remedy}. Of the last try: {fault}")));
                        }
                    }
                }
            }
        }
    }

    /// What follows from a new password of an account that is there.
    pub(super) fn follows(&self) -> Follows {
        let must_change = !self.is_self && self.policy.force_change_on_reset && self.policy.allow_user_password_changes;
        self.change(must_change)
    }

    /// What follows from the password of a new account.
    pub(super) fn follows_of_new(&self) -> Follows {
        self.change(self.policy.force_change_on_add && self.policy.allow_user_password_changes)
    }

    fn change(&self, must_change: bool) -> Follows {
        let change = PasswordChange {
            at: self.now,
            reset: if must_change { ResetMark::Set } else { ResetMark::Goes },
            is_reset: !self.is_self,
            history: self.policy.history_rules(),
            met_deadline: self.policy.require_change_by_time,
        };
        Follows { change, must_change }
    }
}

/// Passwords that are made before the rules are said to refuse all of them.
const GENERATE_TRIES: usize = 16;
