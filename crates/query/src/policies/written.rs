//! What an entry of the class `pwdPolicy` says (draft-behera-ldap-password-policy-11): over another policy, from which
//! comes all that it does not say.
//!
//! Knows the attributes; where the entry is, and for whom it holds, is for [`super::set`].

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use accounts::{LastLogin, PasswordPolicy, QualityCheck, ValidatorRule};
use schema::NormalizedDn;
use schema::syntax::subtree::SubtreeSpecification;

use super::configured::ConfiguredPolicies;
use crate::class_flags::ClassFlags;
use crate::computed::{Reach, reach_of};
use crate::entry::EntryView;
use crate::facts::Facts;

/// Draft, OpenDJ: seconds up to this; more could not be added to a time.
const SECONDS_MAX: u64 = 2_147_483_647;

/// Names of validators.
const VALIDATORS: &str = "ds-cfg-password-validator";

/// Most times of wrong passwords that are kept: they are in the entry.
const RECORDED_MAX: u32 = 1_000;

/// How often the time of the last login is written where a policy counts idle accounts and nothing says how.
const LOGIN_PRECISION: Duration = Duration::from_secs(86_400);

/// What such an entry says.
#[derive(Debug)]
pub struct Written {
    /// For which entries it holds, if it is a subentry; nobody when what it says of that is not valid.
    pub reach: Option<Reach>,
    /// The policy.
    pub policy: Arc<PasswordPolicy>,
    /// What is not valid in it, in words that follow its name: that part is as the default policy says.
    pub problems: Vec<String>,
}

/// From where comes what an entry does not say.
#[derive(Clone, Copy)]
pub enum Over<'o> {
    /// From the default policy; the validators that it names are in the configuration.
    Configured(&'o ConfiguredPolicies),
    /// It does not matter: it is only asked whether the entry is valid, without what other entries and the
    /// configuration say.
    Nothing,
}

/// Reads an entry of the class `pwdPolicy`, with its name and that normalized.
#[must_use]
pub fn written(facts: &Facts, entry: &EntryView<'_>, (dn, name): (&str, &NormalizedDn), over: Over<'_>) -> Written {
    let mut reading = Reading { facts, entry, problems: Vec::new() };
    let mut policy = match over {
        Over::Configured(configured) => reading.over(configured),
        Over::Nothing => reading.policy(&PasswordPolicy::default()),
    };
    dn.clone_into(&mut policy.dn);
    let reach = if facts.class_flags(entry.record.object_classes()).has(ClassFlags::SUBENTRY) {
        let point = name.parent().unwrap_or_default();
        reading.reach(&point).map_err(|problem| reading.problems.push(problem)).ok()
    } else {
        None
    };
    Written { reach, policy: Arc::new(policy), problems: reading.problems }
}

struct Reading<'r> {
    facts: &'r Facts,
    entry: &'r EntryView<'r>,
    problems: Vec<String>,
}

impl Reading<'_> {
    fn over(&mut self, configured: &ConfiguredPolicies) -> PasswordPolicy {
        match self.validators(configured) {
            None => self.policy(configured.default_policy()),
            // Those that it names hold instead of those of the default policy; lengths that it says come to them.
            Some(validators) => {
                let default = PasswordPolicy::clone(configured.default_policy());
                self.policy(&PasswordPolicy { validators, ..default })
            }
        }
    }

    /// The rules that the entry names (OpenDJ's class `pwdValidatorPolicy`); none if it names none.
    fn validators(&mut self, configured: &ConfiguredPolicies) -> Option<Vec<ValidatorRule>> {
        let names = self.values(VALIDATORS);
        let mut rules = Vec::new();
        for value in &names {
            let name = NormalizedDn::parse(&self.facts.schema, value).ok();
            match name.and_then(|name| configured.validator(&name)) {
                Some(rule) => rules.extend(rule.clone()),
                None => {
                    let value = String::from_utf8_lossy(value);
                    self.problems.push(format!(
                        "names in {VALIDATORS} \"{value}\", which is no password validator of the configuration"
                    ));
                }
            }
        }
        (!names.is_empty()).then_some(rules)
    }

    fn policy(&mut self, over: &PasswordPolicy) -> PasswordPolicy {
        self.check_attribute();
        let mut it = over.clone();
        self.seconds("pwdMinAge", &mut it.min_password_age);
        self.seconds("pwdMaxAge", &mut it.max_password_age);
        self.seconds("pwdExpireWarning", &mut it.password_expiration_warning_interval);
        self.count("pwdInHistory", &mut it.password_history_count);
        self.count("pwdGraceAuthNLimit", &mut it.grace_login_count);
        self.seconds("pwdGraceExpiry", &mut it.grace_login_interval);
        self.count("pwdMaxFailure", &mut it.lockout_failure_count);
        self.seconds("pwdLockoutDuration", &mut it.lockout_duration);
        self.seconds("pwdFailureCountInterval", &mut it.lockout_failure_expiration_interval);
        self.seconds("pwdMinDelay", &mut it.min_delay);
        self.seconds("pwdMaxDelay", &mut it.max_delay);
        self.boolean("pwdMustChange", &mut it.force_change_on_reset);
        self.boolean("pwdAllowUserChange", &mut it.allow_user_password_changes);
        self.boolean("pwdSafeModify", &mut it.password_change_requires_current_password);
        // As in OpenDJ, a policy that does not say so locks; slapd's says so, or it locks nobody.
        let mut locks = true;
        self.boolean("pwdLockout", &mut locks);
        if !locks {
            it.lockout_failure_count = 0;
        }
        self.count("pwdMaxRecordedFailure", &mut it.recorded_failures);
        it.recorded_failures = it.recorded_failures.min(RECORDED_MAX);
        self.quality(&mut it);
        self.check_together();
        let mut idle = Duration::ZERO;
        self.seconds("pwdMaxIdle", &mut idle);
        if !idle.is_zero() {
            it.idle_lockout_interval = idle;
            let precision = LOGIN_PRECISION.min(idle / 10);
            match &mut it.last_login {
                Some(login) => login.precision = login.precision.min(precision),
                none => {
                    *none = Some(LastLogin {
                        attribute: "pwdLastSuccess".to_owned(),
                        format: None,
                        previous_formats: Vec::new(),
                        precision,
                    })
                }
            }
        }
        it
    }

    /// `pwdCheckQuality`, and the lengths that are checked.
    fn quality(&mut self, it: &mut PasswordPolicy) {
        match self.number("pwdCheckQuality") {
            None => {}
            Some(0) => it.quality_check = QualityCheck::Never,
            Some(1) => it.quality_check = QualityCheck::WhereClear,
            Some(2) => it.quality_check = QualityCheck::Always,
            Some(other) => self.problems.push(format!("has in pwdCheckQuality {other}, which is not 0, 1 or 2")),
        }
        let (mut min, mut max) = (0, 0);
        self.count("pwdMinLength", &mut min);
        self.count("pwdMaxLength", &mut max);
        if (min, max) != (0, 0) {
            it.validators.push(ValidatorRule::Length { min, max });
        }
        if max > 0 && max < min {
            self.problems.push(format!("has a pwdMaxLength of {max}, which is less than its pwdMinLength of {min}"));
        }
    }

    /// What contradicts itself.
    fn check_together(&mut self) {
        let [max_age, min_age, warning, failures, recorded, min_delay, max_delay] = [
            "pwdMaxAge",
            "pwdMinAge",
            "pwdExpireWarning",
            "pwdMaxFailure",
            "pwdMaxRecordedFailure",
            "pwdMinDelay",
            "pwdMaxDelay",
        ]
        .map(|name| self.value(name).and_then(|value| std::str::from_utf8(&value).ok()?.trim().parse::<u64>().ok()))
        .map(Option::unwrap_or_default);
        if max_age > 0 && min_age + warning >= max_age {
            self.problems.push(format!(
                "has a pwdMaxAge of {max_age}, which is not more than pwdMinAge and pwdExpireWarning together: \
                 passwords could not be changed in time"
            ));
        }
        if recorded > u64::from(RECORDED_MAX) {
            self.problems
                .push(format!("has a pwdMaxRecordedFailure of {recorded}: more than {RECORDED_MAX} are not kept"));
        }
        if recorded > 0 && recorded < failures {
            self.problems.push(format!(
                "has a pwdMaxRecordedFailure of {recorded}, with which pwdMaxFailure of {failures} is never reached"
            ));
        }
        if max_delay > 0 && max_delay < min_delay {
            self.problems.push(format!("has a pwdMaxDelay of {max_delay}, which is less than its pwdMinDelay"));
        }
    }

    /// Passwords are kept in `userPassword`.
    fn check_attribute(&mut self) {
        let Some(value) = self.value("pwdAttribute") else { return };
        let known = self.facts.schema.attribute_type(value.trim_ascii()).map(|it| it.index);
        if known.is_none() || known != self.facts.user_password {
            let value = String::from_utf8_lossy(&value);
            self.problems.push(format!("names in pwdAttribute \"{value}\", but passwords are kept in userPassword"));
        }
    }

    fn reach(&self, point: &NormalizedDn) -> Result<Reach, String> {
        let text = self.value("subtreeSpecification").ok_or("has no subtreeSpecification")?;
        let text = std::str::from_utf8(&text).map_err(|_| "has a subtreeSpecification that is not UTF-8")?;
        let specification = SubtreeSpecification::parse(text)
            .map_err(|problem| format!("has a subtreeSpecification that is none: {problem}"))?;
        reach_of(self.facts, point, &specification)
    }

    fn seconds(&mut self, attribute: &str, to: &mut Duration) {
        if let Some(seconds) = self.number(attribute) {
            *to = Duration::from_secs(seconds);
        }
    }

    fn count(&mut self, attribute: &str, to: &mut u32) {
        if let Some(count) = self.number(attribute).and_then(|count| u32::try_from(count).ok()) {
            *to = count;
        }
    }

    fn number(&mut self, attribute: &str) -> Option<u64> {
        let value = self.value(attribute)?;
        let text = String::from_utf8_lossy(&value);
        let number = text.trim().parse().ok().filter(|number| *number <= SECONDS_MAX);
        if number.is_none() {
            self.problems.push(format!("has in {attribute} \"{text}\", which is not a number from 0 to {SECONDS_MAX}"));
        }
        number
    }

    fn boolean(&mut self, attribute: &str, to: &mut bool) {
        let Some(value) = self.value(attribute) else { return };
        match value.to_ascii_uppercase().as_slice() {
            b"TRUE" => *to = true,
            b"FALSE" => *to = false,
            _ => {
                let text = String::from_utf8_lossy(&value);
                self.problems.push(format!("has in {attribute} \"{text}\", which is neither TRUE nor FALSE"));
            }
        }
    }

    /// The only value of an attribute, or its first.
    fn value(&self, attribute: &str) -> Option<Vec<u8>> {
        let mut first = None;
        self.each_value(attribute, &mut |value| {
            first = Some(value.to_vec());
            ControlFlow::Break(())
        });
        first
    }

    fn values(&self, attribute: &str) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        self.each_value(attribute, &mut |value| {
            all.push(value.to_vec());
            ControlFlow::Continue(())
        });
        all
    }

    fn each_value(&self, attribute: &str, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) {
        let Some(known) = self.facts.schema.attribute_type(attribute.as_bytes()) else { return };
        let record = self.entry.record;
        let descs = record.tables().by_type(known.index.0);
        let stored = record.attributes().filter(|stored| descs.contains(&stored.desc));
        // What cannot be read shows where the entry is read for its own sake.
        let _ = self.entry.each_value(stored, take);
    }
}
