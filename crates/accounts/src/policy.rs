//! A password policy: OpenDJ's properties, and those of the draft that OpenDJ lacks.

use std::sync::Arc;
use std::time::Duration;

use password::{Scheme, StoredScheme};

use crate::change::LockRules;
use crate::generator::PasswordGenerator;
use crate::moment::Moment;
use crate::pass_through::PassThrough;
use crate::second_factor::Window;
use crate::time_format::TimeFormat;
use crate::validate::{QualityCheck, ValidatorRule};

/// Rules for the passwords and the state of the accounts that it applies to. Counts of 0 and intervals of nothing are
/// "off", unless said otherwise. [`PasswordPolicy::default`] has OpenDJ's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// The policy's distinguished name, as `pwdPolicySubentry` shows it.
    pub dn: String,
    /// Attribute type with the passwords.
    pub password_attribute: String,
    /// How new passwords are stored: one value for each.
    pub default_schemes: Vec<Scheme>,
    /// Values of these schemes are stored anew, by the default schemes, after a successful bind with them.
    pub deprecated_schemes: Vec<StoredScheme>,
    /// Users may change their own password.
    pub allow_user_password_changes: bool,
    /// A user must give the current password to change it (`pwdSafeModify`).
    pub password_change_requires_current_password: bool,
    /// A new account must change its password before it may do anything else.
    pub force_change_on_add: bool,
    /// So must an account whose password was set by somebody else (`pwdMustChange`).
    pub force_change_on_reset: bool,
    /// Passwords that administrators set are not validated.
    pub skip_validation_for_administrators: bool,
    /// Passwords are accepted over encrypted connections only.
    pub require_secure_authentication: bool,
    /// Passwords are changed over encrypted connections only.
    pub require_secure_password_changes: bool,
    /// An entry may have several passwords.
    pub allow_multiple_password_values: bool,
    /// Users may store values that are encoded already.
    pub allow_pre_encoded_passwords: bool,
    /// A password must be this old before its user may change it (`pwdMinAge`).
    pub min_password_age: Duration,
    /// A password of this age has expired (`pwdMaxAge`).
    pub max_password_age: Duration,
    /// A password that was reset must be changed within this time, or the account is locked.
    pub max_password_reset_age: Duration,
    /// Users are warned this long before their password expires (`pwdExpireWarning`).
    pub password_expiration_warning_interval: Duration,
    /// A password expires even if its user was never warned; otherwise it expires one warning interval after the first
    /// warning.
    pub expire_passwords_without_warning: bool,
    /// Users whose password has expired may still change it, with the password modify operation.
    pub allow_expired_password_changes: bool,
    /// So many binds succeed with an expired password (`pwdGraceAuthNLimit`).
    pub grace_login_count: u32,
    /// For so long after expiry (`pwdGraceExpiry`); nothing: without end.
    pub grace_login_interval: Duration,
    /// So many wrong passwords lock an account (`pwdMaxFailure`, where `pwdLockout` is TRUE).
    pub lockout_failure_count: u32,
    /// A locked account is unlocked after this time (`pwdLockoutDuration`); nothing: by an administrator.
    pub lockout_duration: Duration,
    /// A wrong password counts for this long (`pwdFailureCountInterval`); nothing: until a right one.
    pub lockout_failure_expiration_interval: Duration,
    /// After a wrong password an account refuses binds for this long, twice as long after each further one
    /// (`pwdMinDelay`) …
    pub min_delay: Duration,
    /// … but never longer than this (`pwdMaxDelay`); less than `min_delay`: the delay does not grow.
    pub max_delay: Duration,
    /// So many times of wrong passwords are kept, if it is more than lock the account (`pwdMaxRecordedFailure`).
    pub recorded_failures: u32,
    /// Passwords set before this moment have expired since it.
    pub require_change_by_time: Option<Moment>,
    /// What is kept of the last successful bind.
    pub last_login: Option<LastLogin>,
    /// An account that was not used for this long is locked (`pwdMaxIdle`).
    pub idle_lockout_interval: Duration,
    /// What happens to a bind when the account's state cannot be written.
    pub state_update_failure: StateUpdateFailure,
    /// So many former passwords may not be used again (`pwdInHistory`).
    pub password_history_count: u32,
    /// Neither may those of the last so much time.
    pub password_history_duration: Duration,
    /// Rules for new passwords.
    pub validators: Vec<ValidatorRule>,
    /// Whether they are applied (`pwdCheckQuality`).
    pub quality_check: QualityCheck,
    /// Makes a password for who asks for a new one without saying which; none: one of letters and digits is made.
    pub generator: Option<PasswordGenerator>,
    /// Who is told what happens to the accounts: names of notification handlers.
    pub notification_handlers: Vec<String>,
    /// Binds with the right password are remembered for a short time, so that a slow hash is not made again.
    pub remember_verified_binds: bool,
    /// Who binds by password shows a one-time code.
    pub require_second_factor: bool,
    /// How far one-time codes may be away from what is expected.
    pub second_factor_window: Window,
    /// Another directory checks the passwords; none: they are stored here.
    pub pass_through: Option<Arc<PassThrough>>,
}

/// How the time of the last successful bind is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastLogin {
    /// Attribute type (`ds-pwp-last-login-time`, `pwdLastSuccess`).
    pub attribute: String,
    /// How the time is written, as in Java's `SimpleDateFormat`; none: as a GeneralizedTime.
    pub format: Option<TimeFormat>,
    /// Formats that were used before and are still read.
    pub previous_formats: Vec<TimeFormat>,
    /// A newer time is written only when the stored one is older than this.
    pub precision: Duration,
}

/// What happens to a bind when the account's state cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StateUpdateFailure {
    /// It goes on.
    Ignore,
    /// It fails.
    #[default]
    Reactive,
    /// It fails before the password is compared, while nothing can be written.
    Proactive,
}

impl PasswordPolicy {
    /// The scheme by which new passwords are stored, the first if there are several.
    #[must_use]
    pub fn new_scheme(&self) -> Scheme {
        self.default_schemes.first().copied().unwrap_or(Scheme::SaltedSha512)
    }

    /// What is said of wrong passwords.
    #[must_use]
    pub fn lock_rules(&self) -> LockRules {
        LockRules {
            count: self.lockout_failure_count,
            duration: self.lockout_duration,
            expiration: self.lockout_failure_expiration_interval,
            min_delay: self.min_delay,
            max_delay: self.max_delay,
            recorded: self.recorded_failures,
        }
    }
}

impl LastLogin {
    /// A time as it is written.
    #[must_use]
    pub fn write(&self, time: Moment) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        match &self.format {
            Some(format) => format.write(time, &mut out),
            None => TimeFormat::generalized().write(time, &mut out),
        }
        out
    }
}

const DAY: Duration = Duration::from_secs(86_400);

impl Default for PasswordPolicy {
    fn default() -> PasswordPolicy {
        PasswordPolicy {
            dn: "cn=Default Password Policy,cn=Password Policies,cn=config".to_owned(),
            password_attribute: "userPassword".to_owned(),
            default_schemes: vec![Scheme::SaltedSha512],
            deprecated_schemes: Vec::new(),
            allow_user_password_changes: true,
            password_change_requires_current_password: false,
            force_change_on_add: false,
            force_change_on_reset: false,
            skip_validation_for_administrators: false,
            require_secure_authentication: false,
            require_secure_password_changes: false,
            allow_multiple_password_values: false,
            allow_pre_encoded_passwords: false,
            min_password_age: Duration::ZERO,
            max_password_age: Duration::ZERO,
            max_password_reset_age: Duration::ZERO,
            password_expiration_warning_interval: 5 * DAY,
            expire_passwords_without_warning: false,
            allow_expired_password_changes: false,
            grace_login_count: 0,
            grace_login_interval: Duration::ZERO,
            lockout_failure_count: 0,
            lockout_duration: Duration::ZERO,
            lockout_failure_expiration_interval: Duration::ZERO,
            min_delay: Duration::ZERO,
            max_delay: Duration::ZERO,
            recorded_failures: 0,
            require_change_by_time: None,
            last_login: None,
            idle_lockout_interval: Duration::ZERO,
            state_update_failure: StateUpdateFailure::default(),
            password_history_count: 0,
            password_history_duration: Duration::ZERO,
            validators: Vec::new(),
            quality_check: QualityCheck::default(),
            generator: None,
            notification_handlers: Vec::new(),
            remember_verified_binds: true,
            require_second_factor: false,
            second_factor_window: Window::default(),
            pass_through: None,
        }
    }
}
