//! `[password-policy.NAME]`, with the validators and the generator that it names: from objects to what decides.
//!
//! Opens the files of validators. Knows no schema; what is decided by a policy is for `accounts`.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use accounts::second_factor::Window;
use accounts::{
    AttributeValueRule, BreachList, CharacterSet, CharacterSets, Dictionary, DictionaryRule, LastLogin, Moment,
    PasswordGenerator, PasswordPolicy, QualityRule, StateUpdateFailure, TimeFormat, ValidatorRule,
};
use durable::{FileStamp, ReadBound};
use password::{Scheme, StoredScheme};
use schema::rule::generalized_time_ms;

use crate::declarations::class;
use crate::dn::escaped;
use crate::object::Object;
use crate::pass_through;
use crate::read::Get;

/// The policy of users for whom nothing says another, unless `default-password-policy` names one.
pub(crate) const DEFAULT_PASSWORD_POLICY: &str = "Default Password Policy";

/// The policy of root users that name no other (OpenDJ).
pub(crate) const ROOT_PASSWORD_POLICY: &str = "Root Password Policy";

/// Larger dictionaries are refused: they are kept in memory.
const DICTIONARY_BYTES_MAX: u64 = 64 << 20;
/// A breach list is searched where it lies, however large.
const BREACH_LIST: ReadBound = ReadBound::file(u64::MAX);

/// The policies of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct Policies {
    pub default: Arc<PasswordPolicy>,
    pub others: Vec<Arc<PasswordPolicy>>,
    pub validators: Vec<PasswordValidator>,
}

/// A validator, which policies that are entries name, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordValidator {
    /// Its distinguished name.
    pub dn: String,
    /// None: it is not enabled.
    pub rule: Option<ValidatorRule>,
}

/// What is not valid, and where that stands.
type Fault = (usize, String);

/// Reads all policies.
///
/// # Errors
/// All faults that no single property shows.
pub(crate) fn policies(objects: &[Object], instance: &Path) -> Result<Policies, Vec<Fault>> {
    let of = |class: &'static str| objects.iter().filter(move |object| object.class.name == class);
    let mut faults = Vec::new();
    let mut rules = BTreeMap::new();
    for object in of("password-validator") {
        match rule(&Get { object, instance }) {
            Ok(rule) => drop(rules.insert(object.name.as_str(), rule)),
            Err(fault) => faults.push(fault),
        }
    }
    let mut generators = BTreeMap::new();
    for object in of("password-generator") {
        let get = Get { object, instance };
        match PasswordGenerator::parse(&get.texts("password-character-set"), &get.text("password-format")) {
            Ok(generator) => drop(generators.insert(object.name.as_str(), (get.boolean("enabled"), generator))),
            Err(error) => faults.push((object.offset_of("password-format"), format!("{}: {error}", object.title()))),
        }
    }
    let mut all = Vec::new();
    for object in of("password-policy") {
        let get = Get { object, instance };
        if object.variant.type_name == pass_through::TYPE {
            all.push((object.name.as_str(), Arc::new(passed_on(&get, &object.name))));
            continue;
        }
        let mut policy = policy(&get, &object.name, &mut faults);
        let validators = get.texts("password-validator");
        policy.validators = validators.iter().filter_map(|name| rules.get(name.as_str()).cloned().flatten()).collect();
        let generator = generators.get(get.text("password-generator").as_str());
        policy.generator = generator.filter(|(enabled, _)| *enabled).map(|(_, generator)| generator.clone());
        all.push((object.name.as_str(), Arc::new(policy)));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let named = of("global").next().and_then(|object| Get { object, instance }.one("default-password-policy"));
    let name = named.map_or_else(|| DEFAULT_PASSWORD_POLICY.to_owned(), |name| name.to_string());
    let at = all.iter().position(|(known, _)| *known == name);
    let default = at.map_or_else(|| Arc::new(shipped(instance)), |at| all.remove(at).1);
    let mut others: Vec<_> = all.into_iter().map(|(_, policy)| policy).collect();
    let root_dn = dn_of(ROOT_PASSWORD_POLICY);
    if !std::iter::once(&default).chain(&others).any(|policy| policy.dn.eq_ignore_ascii_case(&root_dn)) {
        others.push(Arc::new(shipped_for_root_users(instance)));
    }
    let validator = |(name, rule): (&str, _)| {
        let dn = format!("cn={},cn=Password Validators,cn=config", escaped(name));
        PasswordValidator { dn, rule }
    };
    Ok(Policies { default, others, validators: rules.into_iter().map(validator).collect() })
}

/// A policy whose passwords another directory checks. What is about passwords here is off.
fn passed_on(get: &Get<'_>, name: &str) -> PasswordPolicy {
    PasswordPolicy {
        dn: dn_of(name),
        allow_user_password_changes: false,
        remember_verified_binds: false,
        require_second_factor: get.boolean("require-second-factor"),
        second_factor_window: second_factor_window(get),
        pass_through: Some(Arc::new(pass_through::pass_through(get))),
        ..PasswordPolicy::default()
    }
}

fn second_factor_window(get: &Get<'_>) -> Window {
    Window { steps: count(get, "second-factor-window"), presses: count(get, "second-factor-look-ahead") }
}

fn count(get: &Get<'_>, name: &str) -> u32 {
    u32::try_from(get.number(name)).unwrap_or(u32::MAX)
}

/// The name of a policy's entry.
pub(crate) fn dn_of(name: &str) -> String {
    format!("cn={},cn=Password Policies,cn=config", escaped(name))
}

/// The default policy where the file has none: all defaults.
fn shipped(instance: &Path) -> PasswordPolicy {
    let class = class("password-policy");
    let object = class.and_then(|class| Some(Object::with_defaults(class, class.variants.first()?, "")));
    object
        .map(|object| policy(&Get { object: &object, instance }, DEFAULT_PASSWORD_POLICY, &mut Vec::new()))
        .unwrap_or_default()
}

/// The policy of root users where the file has none: OpenDJ's. It locks nobody, so that no stranger keeps a root user
/// out.
fn shipped_for_root_users(instance: &Path) -> PasswordPolicy {
    PasswordPolicy {
        dn: dn_of(ROOT_PASSWORD_POLICY),
        password_change_requires_current_password: true,
        state_update_failure: StateUpdateFailure::Ignore,
        ..shipped(instance)
    }
}

impl Policies {
    /// That of a root user: the one that is named, or that of all root users.
    pub(crate) fn of_root_user(&self, user: &Object) -> Arc<PasswordPolicy> {
        let dn = dn_of(&policy_of_root_user(user));
        let all = || std::iter::once(&self.default).chain(&self.others);
        let found = all().find(|policy| policy.dn == dn);
        // Names of objects do not differ in case alone.
        let found = found.or_else(|| all().find(|policy| policy.dn.eq_ignore_ascii_case(&dn)));
        Arc::clone(found.unwrap_or(&self.default))
    }
}

fn policy_of_root_user(user: &Object) -> String {
    user.values("password-policy").pop().map_or_else(|| ROOT_PASSWORD_POLICY.to_owned(), |name| name.to_string())
}

/// Whoever manages the server has a password that is stored here.
pub(crate) fn faults_of_root_users(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for user in objects.iter().filter(|object| object.class.name == "root-dn-user") {
        let name = policy_of_root_user(user);
        let is_passed_on = objects.iter().any(|it| {
            it.class.name == "password-policy"
                && it.variant.type_name == pass_through::TYPE
                && it.name.eq_ignore_ascii_case(&name)
        });
        if is_passed_on {
            let text = "cannot have a password policy of type ldap-pass-through: root users log in when no other \
                        server answers";
            faults.push((user.offset_of("password-policy"), format!("{} {text}", user.title())));
        }
    }
    faults
}

/// The default policy is one of passwords that are stored here: what other policies do not say comes from it.
pub(crate) fn fault_of_default(objects: &[Object]) -> Option<(usize, String)> {
    let global = objects.iter().find(|object| object.class.name == "global");
    let named = global.and_then(|object| Some((object, object.values("default-password-policy").pop()?.to_string())));
    let name = named.as_ref().map_or(DEFAULT_PASSWORD_POLICY, |(_, name)| name.as_str());
    let default = objects.iter().find(|it| {
        it.class.name == "password-policy" && it.variant.type_name == pass_through::TYPE && it.name == name
    })?;
    let offset = named.as_ref().map_or(default.offset, |(global, _)| global.offset_of("default-password-policy"));
    let text = "is the default password policy and cannot have the type ldap-pass-through: name it in the entries \
                that it is for (ds-pwp-password-policy-dn)";
    Some((offset, format!("{} {text}", default.title())))
}

fn policy(get: &Get<'_>, name: &str, faults: &mut Vec<Fault>) -> PasswordPolicy {
    // The declaration takes names of schemes only.
    let schemes = |name: &str| get.texts(name).iter().filter_map(|scheme| Scheme::from_name(scheme)).collect();
    let count = |name: &str| count(get, name);
    let policy = PasswordPolicy {
        dn: dn_of(name),
        password_attribute: get.text("password-attribute"),
        default_schemes: schemes("default-password-storage-scheme"),
        deprecated_schemes: get
            .texts("deprecated-password-storage-scheme")
            .iter()
            .filter_map(|scheme| StoredScheme::from_name(scheme))
            .collect(),
        remember_verified_binds: get.boolean("remember-verified-binds"),
        require_second_factor: get.boolean("require-second-factor"),
        second_factor_window: second_factor_window(get),
        allow_user_password_changes: get.boolean("allow-user-password-changes"),
        password_change_requires_current_password: get.boolean("password-change-requires-current-password"),
        skip_validation_for_administrators: get.boolean("skip-validation-for-administrators"),
        allow_pre_encoded_passwords: get.boolean("allow-pre-encoded-passwords"),
        allow_multiple_password_values: get.boolean("allow-multiple-password-values"),
        require_secure_password_changes: get.boolean("require-secure-password-changes"),
        min_password_age: get.duration("min-password-age"),
        password_history_count: count("password-history-count"),
        password_history_duration: get.duration("password-history-duration"),
        require_secure_authentication: get.boolean("require-secure-authentication"),
        force_change_on_add: get.boolean("force-change-on-add"),
        force_change_on_reset: get.boolean("force-change-on-reset"),
        allow_expired_password_changes: get.boolean("allow-expired-password-changes"),
        notification_handlers: get.texts("account-status-notification-handler"),
        max_password_age: get.duration("max-password-age"),
        max_password_reset_age: get.duration("max-password-reset-age"),
        password_expiration_warning_interval: get.duration("password-expiration-warning-interval"),
        expire_passwords_without_warning: get.boolean("expire-passwords-without-warning"),
        grace_login_count: count("grace-login-count"),
        grace_login_interval: get.duration("grace-login-interval"),
        lockout_failure_count: count("lockout-failure-count"),
        lockout_duration: get.duration("lockout-duration"),
        lockout_failure_expiration_interval: get.duration("lockout-failure-expiration-interval"),
        min_delay: get.duration("failure-delay"),
        max_delay: get.duration("failure-delay-max"),
        require_change_by_time: deadline(get, faults),
        last_login: last_login(get, faults),
        idle_lockout_interval: get.duration("idle-lockout-interval"),
        state_update_failure: match get.text("state-update-failure-policy").as_str() {
            "ignore" => StateUpdateFailure::Ignore,
            "proactive" => StateUpdateFailure::Proactive,
            _ => StateUpdateFailure::Reactive,
        },
        ..PasswordPolicy::default()
    };
    check_together(get, &policy, faults);
    policy
}

/// What contradicts itself: OpenDJ's rules, and those of its own properties.
fn check_together(get: &Get<'_>, policy: &PasswordPolicy, faults: &mut Vec<Fault>) {
    let object = get.object;
    let mut fault = |property: &str, text: &str| {
        faults.push((object.offset_of(property), format!("{} {text}", object.title())));
    };
    let warning = policy.password_expiration_warning_interval;
    if !policy.max_password_age.is_zero() {
        if warning.is_zero() && !policy.expire_passwords_without_warning {
            let text = "never warns (password-expiration-warning-interval is 0), but lets no password expire without \
                        a warning: set expire-passwords-without-warning or an interval";
            fault("password-expiration-warning-interval", text);
        }
        if policy.min_password_age + warning >= policy.max_password_age {
            let text = "has a max-password-age that is not more than min-password-age and \
                        password-expiration-warning-interval together: passwords could not be changed in time";
            fault("max-password-age", text);
        }
    }
    if !policy.idle_lockout_interval.is_zero() && policy.last_login.is_none() {
        let text = "locks idle accounts (idle-lockout-interval), but does not keep when they were used: set \
                    last-login-time-attribute";
        fault("idle-lockout-interval", text);
    }
    let is_new = |old: &StoredScheme| policy.default_schemes.iter().any(|new| StoredScheme::New(*new) == *old);
    if policy.deprecated_schemes.iter().any(is_new) {
        let text = "stores new passwords by a scheme that it calls deprecated: take it out of one of the lists";
        fault("deprecated-password-storage-scheme", text);
    }
    if !policy.max_delay.is_zero() && policy.min_delay.is_zero() {
        let text =
            "has a failure-delay-max, but no failure-delay that could grow to it: set failure-delay, or remove it";
        fault("failure-delay-max", text);
    } else if !policy.max_delay.is_zero() && policy.max_delay < policy.min_delay {
        fault("failure-delay-max", "has a failure-delay-max that is shorter than its failure-delay");
    }
    if !policy.grace_login_interval.is_zero() && policy.grace_login_count == 0 {
        let text = "has a grace-login-interval, but allows no grace login: set grace-login-count, or remove it";
        fault("grace-login-interval", text);
    }
}

fn deadline(get: &Get<'_>, faults: &mut Vec<Fault>) -> Option<Moment> {
    const NAME: &str = "require-change-by-time";
    let text = get.one(NAME)?.to_string();
    let time = generalized_time_ms(text.as_bytes()).and_then(|ms| u64::try_from(ms).ok());
    if time.is_none() {
        let message = format!("\"{NAME}\" is \"{text}\"; it must be a generalized time such as 20270101000000Z");
        faults.push((get.object.offset_of(NAME), message));
    }
    time.map(Moment)
}

fn last_login(get: &Get<'_>, faults: &mut Vec<Fault>) -> Option<LastLogin> {
    const ATTRIBUTE: &str = "last-login-time-attribute";
    let mut formats = |name: &str| -> Vec<TimeFormat> {
        let mut read = |pattern: String| {
            let fault = |error| (get.object.offset_of(name), format!("\"{name}\" is \"{pattern}\": {error}"));
            TimeFormat::parse(&pattern).map_err(|error| faults.push(fault(error))).ok()
        };
        get.texts(name).into_iter().filter_map(&mut read).collect()
    };
    let format = formats("last-login-time-format").into_iter().next();
    let previous_formats = formats("previous-last-login-time-format");
    let Some(attribute) = get.one(ATTRIBUTE) else {
        if format.is_some() || !previous_formats.is_empty() {
            let message = format!("{} has a format for the last login, but no {ATTRIBUTE}", get.object.title());
            faults.push((get.object.offset_of("last-login-time-format"), message));
        }
        return None;
    };
    let (idle, precision) = (get.duration("idle-lockout-interval"), get.duration("last-login-time-precision"));
    let precision = if idle.is_zero() { precision } else { precision.min(idle / 10).max(Duration::ZERO) };
    Some(LastLogin { attribute: attribute.to_string(), format, previous_formats, precision })
}

/// The rule of a validator; none if it is not enabled.
fn rule(get: &Get<'_>) -> Result<Option<ValidatorRule>, Fault> {
    let count = |name: &str| u32::try_from(get.number(name)).unwrap_or(u32::MAX);
    let rule = match get.object.variant.type_name {
        "character-set" => ValidatorRule::CharacterSets(character_sets(get)?),
        "repeated-characters" => ValidatorRule::RepeatedCharacters {
            max_run: count("max-consecutive-length"),
            case_sensitive: get.boolean("case-sensitive-validation"),
        },
        "unique-characters" => ValidatorRule::UniqueCharacters {
            min: count("min-unique-characters"),
            case_sensitive: get.boolean("case-sensitive-validation"),
        },
        "similarity-based" => ValidatorRule::Similarity { min_difference: count("min-password-difference") },
        "attribute-value" => ValidatorRule::AttributeValue(AttributeValueRule {
            attributes: get.texts("match-attribute"),
            check_substrings: get.boolean("check-substrings"),
            min_substring_length: count("min-substring-length"),
            test_reversed: get.boolean("test-reversed-password"),
        }),
        "dictionary" => ValidatorRule::Dictionary(DictionaryRule {
            words: opened(get, "dictionary-file", |path| dictionary(path, get.boolean("case-sensitive-validation")))?,
            test_reversed: get.boolean("test-reversed-password"),
            check_substrings: get.boolean("check-substrings"),
            min_substring_length: count("min-substring-length"),
        }),
        "breached-passwords" => ValidatorRule::Breached(opened(get, "breach-list-file", breach_list)?),
        "quality" => ValidatorRule::Quality(QualityRule {
            min_digits: count("min-digits"),
            min_letters: count("min-letters"),
            min_upper: count("min-upper"),
            min_lower: count("min-lower"),
            min_specials: count("min-specials"),
            min_beyond_ascii: count("min-beyond-ascii"),
            min_classes: count("min-classes"),
            max_repeats: count("max-repeats"),
            max_class_run: count("max-class-run"),
            max_sequence: count("max-sequence"),
            max_repeated_part: count("max-repeated-part"),
            no_palindrome: get.boolean("no-palindrome"),
        }),
        _ => {
            let (min, max) = (count("min-password-length"), count("max-password-length"));
            if max > 0 && max < min {
                let message = format!("{} allows no length from {min} to {max}", get.object.title());
                return Err((get.object.offset_of("max-password-length"), message));
            }
            ValidatorRule::Length { min, max }
        }
    };
    Ok(get.boolean("enabled").then_some(rule))
}

fn character_sets(get: &Get<'_>) -> Result<CharacterSets, Fault> {
    let mut sets = Vec::new();
    for (name, parse) in [
        ("character-set", CharacterSet::of_characters as fn(&str) -> Result<CharacterSet, _>),
        ("character-set-ranges", CharacterSet::of_ranges),
    ] {
        for text in get.texts(name) {
            let set = parse(&text).map_err(|error| (get.object.offset_of(name), format!("\"{name}\": {error}")))?;
            sets.push(set);
        }
    }
    const MIN: &str = "min-character-sets";
    let min_character_sets = get.one(MIN).map(|_| u32::try_from(get.number(MIN)).unwrap_or(u32::MAX));
    if let Some(min) = min_character_sets.filter(|min| usize::try_from(*min).is_ok_and(|min| min > sets.len())) {
        let (title, count) = (get.object.title(), sets.len());
        let text = format!(
            "{title} wants characters of {min} sets (min-character-sets), but the number of its sets is {count}"
        );
        return Err((get.object.offset_of(MIN), format!("{text}: lower it, or add sets")));
    }
    Ok(CharacterSets { sets, allow_unclassified: get.boolean("allow-unclassified-characters"), min_character_sets })
}

fn opened<T>(get: &Get<'_>, name: &str, open: impl FnOnce(PathBuf) -> io::Result<T>) -> Result<Arc<T>, Fault> {
    let path = get.path(name);
    let fault = |error| (get.object.offset_of(name), format!("\"{name}\" is not usable: {}: {error}", path.display()));
    open(path.clone()).map(Arc::new).map_err(fault)
}

fn dictionary(path: PathBuf, case_sensitive: bool) -> io::Result<Dictionary> {
    let file = ReadBound::file(DICTIONARY_BYTES_MAX).open(&path)?;
    Dictionary::read(BufReader::new(file.take(DICTIONARY_BYTES_MAX)), case_sensitive)
}

fn breach_list(path: PathBuf) -> io::Result<BreachList> {
    let (stamp, file) = (FileStamp::of(&path), BREACH_LIST.open(&path)?);
    let bytes = file.metadata()?.len();
    BreachList::open(&path.to_string_lossy(), Arc::new(file), bytes, stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn root_users_have_a_policy_of_their_own_that_locks_nobody() {
        const USER: &str = "[root-dn-user.a]\nalternate-bind-dn = \"cn=a\"\npassword = \"secret12\"\n";
        let parse = |text: &str| Config::parse(&format!("{USER}{text}"), Path::new("/instance/pando.toml"));
        let policy = |text: &str| parse(text).unwrap().root_users[0].policy.clone();
        let shipped = policy("[password-policy.\"Default Password Policy\"]\nlockout-failure-count = 3\n");
        assert_eq!(shipped.dn, "cn=Root Password Policy,cn=Password Policies,cn=config");
        assert_eq!(shipped.lockout_failure_count, 0);
        assert!(shipped.password_change_requires_current_password);
        assert_eq!(shipped.state_update_failure, StateUpdateFailure::Ignore);
        assert!(parse("").unwrap().other_policies.contains(&shipped), "entries may name it, too");
        let own = policy("[password-policy.\"root password policy\"]\nlockout-failure-count = 3\n");
        assert_eq!(own.lockout_failure_count, 3);
        let named = policy("password-policy = \"p\"\n[password-policy.p]\nlockout-failure-count = 4\n");
        assert_eq!(named.lockout_failure_count, 4);
        let elsewhere = "[password-policy.p]\ntype = \"ldap-pass-through\"\nmapping-policy = \"unmapped\"\n\
                         primary-remote-ldap-server = \"ldap.example.com:389\"\n";
        let told = parse(&format!("password-policy = \"p\"\n{elsewhere}")).unwrap_err().to_string();
        assert!(told.contains("[root-dn-user.a] cannot have a password policy of type ldap-pass-through"), "{told}");
    }

    #[test]
    fn lists_of_words_and_hashes_are_regular_files() {
        for (kind, property) in [("dictionary", "dictionary-file"), ("breached-passwords", "breach-list-file")] {
            let text = format!("[password-validator.v]\ntype = \"{kind}\"\n{property} = \"/dev/zero\"\n");
            let told = Config::parse(&text, Path::new("/instance/pando.toml")).unwrap_err().to_string();
            assert!(told.contains("/dev/zero: it is a device: name a regular file"), "{told}");
        }
    }
}
