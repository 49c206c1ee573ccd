//! `[password-policy.NAME]`, `[password-validator.NAME]`, `[password-generator.NAME]`: rules for passwords, and for the
//! accounts that have them.

use super::pass_through::LDAP_PASS_THROUGH;
use super::second_factor::{REQUIRE_SECOND_FACTOR, SECOND_FACTOR_LOOK_AHEAD, SECOND_FACTOR_WINDOW};
use super::shared::{COUNT, PASSWORD_SCHEMES, POSITIVE, STORED_SCHEMES};
use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;
use crate::units::Unit;

/// OpenDJ's longest: 68 years.
const SECONDS: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: 2_147_483_647_000 };

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::PasswordPolicies)
}

pub(super) static PASSWORD_POLICY: Class = Class {
    name: "password-policy",
    named_by: Some("the policy's name"),
    variants: &[
        Variant {
            type_name: "password-policy",
            help: "The passwords are stored here. This type need not be written.",
            properties: &[
                live(
                    "password-attribute",
                    "PasswordPolicy.password_attribute",
                    Syntax::Choice(&["userPassword", "2.5.4.35"]),
                    "Where passwords are. There is one place only; keys for SCRAM are values of it, too.",
                )
                .default(&["userPassword"]),
                live(
                    "default-password-storage-scheme",
                    "PasswordPolicy.default_schemes",
                    Syntax::Choice(&PASSWORD_SCHEMES),
                    "How new passwords are stored: one value for each scheme. import-ldif stores clear ones by the \
             first.",
                )
                .default(&["Salted SHA-512"])
                .multi(),
                live(
                    "deprecated-password-storage-scheme",
                    "PasswordPolicy.deprecated_schemes",
                    Syntax::Choice(&STORED_SCHEMES),
                    "Values of these schemes are stored anew, by the default schemes, after a bind with the right \
             password: at most 20 a second, which no bind waits for.",
                )
                .absent("Stored values stay as they are.")
                .multi(),
                live(
                    "remember-verified-binds",
                    "PasswordPolicy.remember_verified_binds",
                    Syntax::Boolean,
                    "A right password whose check is slow is remembered for five minutes at most, in memory and in a \
             form that cannot be read; whatever the policy says is still applied to each bind.",
                )
                .default(&["true"]),
                REQUIRE_SECOND_FACTOR,
                SECOND_FACTOR_WINDOW,
                SECOND_FACTOR_LOOK_AHEAD,
                live(
                    "account-status-notification-handler",
                    "PasswordPolicy.notification_handlers",
                    Syntax::Reference("account-status-notification-handler"),
                    "Who is told what happens to the accounts. What happened is read from the history of changes \
                 ([changelog]): where none is kept, nothing is told.",
                )
                .absent("Nobody is told.")
                .multi(),
                live(
                    "password-validator",
                    "PasswordPolicy.validators",
                    Syntax::Reference("password-validator"),
                    "Rules that new passwords have to obey.",
                )
                .absent("Any password is good enough.")
                .multi(),
                live(
                    "password-generator",
                    "PasswordPolicy.generator",
                    Syntax::Reference("password-generator"),
                    "Makes a password for who asks for a new one without saying which.",
                )
                .absent("One of letters and digits is made."),
                live(
                    "allow-user-password-changes",
                    "PasswordPolicy.allow_user_password_changes",
                    Syntax::Boolean,
                    "Users may change their own password.",
                )
                .default(&["true"]),
                live(
                    "password-change-requires-current-password",
                    "PasswordPolicy.password_change_requires_current_password",
                    Syntax::Boolean,
                    "Users have to give their current password to change it.",
                )
                .default(&["false"]),
                live(
                    "skip-validation-for-administrators",
                    "PasswordPolicy.skip_validation_for_administrators",
                    Syntax::Boolean,
                    "Passwords that are set for somebody else are not validated.",
                )
                .default(&["false"]),
                live(
                    "allow-pre-encoded-passwords",
                    "PasswordPolicy.allow_pre_encoded_passwords",
                    Syntax::Boolean,
                    "Clients may store a value that is already encoded; import-ldif always may.",
                )
                .default(&["false"]),
                live(
                    "allow-multiple-password-values",
                    "PasswordPolicy.allow_multiple_password_values",
                    Syntax::Boolean,
                    "An entry may have several passwords.",
                )
                .default(&["false"]),
                live(
                    "require-secure-password-changes",
                    "PasswordPolicy.require_secure_password_changes",
                    Syntax::Boolean,
                    "Passwords are changed over encrypted connections only.",
                )
                .default(&["false"]),
                live(
                    "min-password-age",
                    "PasswordPolicy.min_password_age",
                    SECONDS,
                    "A password must be this old before its user may change it; 0: any.",
                )
                .default(&["0 s"]),
                live(
                    "password-history-count",
                    "PasswordPolicy.password_history_count",
                    COUNT,
                    "So many former passwords may not be used again.",
                )
                .default(&["0"]),
                live(
                    "password-history-duration",
                    "PasswordPolicy.password_history_duration",
                    SECONDS,
                    "Neither may those that were in use within this time.",
                )
                .default(&["0 s"]),
                live(
                    "require-secure-authentication",
                    "PasswordPolicy.require_secure_authentication",
                    Syntax::Boolean,
                    "Passwords are taken over encrypted connections only. If the default policy says so, others are \
                 refused with confidentialityRequired before the password is looked at; if another policy does, as \
                 wrong ones.",
                )
                .default(&["false"]),
                live(
                    "force-change-on-add",
                    "PasswordPolicy.force_change_on_add",
                    Syntax::Boolean,
                    "Users whose entry is new have to change their password before they can do anything else.",
                )
                .default(&["false"]),
                live(
                    "force-change-on-reset",
                    "PasswordPolicy.force_change_on_reset",
                    Syntax::Boolean,
                    "So do users whose password was set by somebody else.",
                )
                .default(&["false"]),
                live(
                    "max-password-age",
                    "PasswordPolicy.max_password_age",
                    SECONDS,
                    "Passwords of this age have expired; 0: they never do.",
                )
                .default(&["0 s"]),
                live(
                    "max-password-reset-age",
                    "PasswordPolicy.max_password_reset_age",
                    SECONDS,
                    "A password that was set by somebody else has to be changed within this time, or the account is \
             locked; 0: any.",
                )
                .default(&["0 s"]),
                live(
                    "password-expiration-warning-interval",
                    "PasswordPolicy.password_expiration_warning_interval",
                    SECONDS,
                    "Users are warned this long before their password expires.",
                )
                .default(&["5 d"]),
                live(
                    "expire-passwords-without-warning",
                    "PasswordPolicy.expire_passwords_without_warning",
                    Syntax::Boolean,
                    "A password expires even if its user was never warned. Otherwise it expires one warning interval \
             after the first warning.",
                )
                .default(&["false"]),
                live(
                    "allow-expired-password-changes",
                    "PasswordPolicy.allow_expired_password_changes",
                    Syntax::Boolean,
                    "Who has an expired password may still change it, with the password modify operation.",
                )
                .default(&["false"]),
                live(
                    "grace-login-count",
                    "PasswordPolicy.grace_login_count",
                    COUNT,
                    "So many binds succeed with an expired password.",
                )
                .default(&["0"]),
                live(
                    "grace-login-interval",
                    "PasswordPolicy.grace_login_interval",
                    SECONDS,
                    "For so long after it expired (pwdGraceExpiry); 0: without end.",
                )
                .default(&["0 s"]),
                live(
                    "lockout-failure-count",
                    "PasswordPolicy.lockout_failure_count",
                    COUNT,
                    "So many wrong passwords lock an account; 0: none do.",
                )
                .default(&["0"]),
                live(
                    "lockout-duration",
                    "PasswordPolicy.lockout_duration",
                    SECONDS,
                    "A locked account is unlocked after this time; 0: by an administrator.",
                )
                .default(&["0 s"]),
                live(
                    "lockout-failure-expiration-interval",
                    "PasswordPolicy.lockout_failure_expiration_interval",
                    SECONDS,
                    "A wrong password counts for this long; 0: until a right one.",
                )
                .default(&["0 s"]),
                live(
                    "failure-delay",
                    "PasswordPolicy.min_delay",
                    SECONDS,
                    "After a wrong password an account refuses binds for this long, twice as long after each further \
             one (pwdMinDelay).",
                )
                .default(&["0 s"]),
                live(
                    "failure-delay-max",
                    "PasswordPolicy.max_delay",
                    SECONDS,
                    "The longest such delay (pwdMaxDelay); 0: the delay does not grow.",
                )
                .default(&["0 s"]),
                live(
                    "require-change-by-time",
                    "PasswordPolicy.require_change_by_time",
                    Syntax::Text,
                    "Passwords that are not changed by this time (such as 20270101000000Z) expire then.",
                )
                .absent("There is no such time."),
                live(
                    "last-login-time-attribute",
                    "LastLogin.attribute",
                    Syntax::AttributeType,
                    "Where the time of a user's last bind is kept: ds-pwp-last-login-time or pwdLastSuccess.",
                )
                .absent("It is not kept."),
                live(
                    "last-login-time-format",
                    "LastLogin.format",
                    Syntax::Text,
                    "How that time is written: letters of Java's SimpleDateFormat, in UTC, such as yyyyMMdd or \
             yyyyMMddHHmmss'Z'.",
                )
                .absent("As yyyyMMddHHmmss.SSS'Z'."),
                live(
                    "previous-last-login-time-format",
                    "LastLogin.previous_formats",
                    Syntax::Text,
                    "Formats that were used before, and are still read.",
                )
                .absent("None.")
                .multi(),
                live(
                    "last-login-time-precision",
                    "LastLogin.precision",
                    SECONDS,
                    "The time is written only when the kept one is older than this. With an idle-lockout-interval it \
             is a tenth of that at most.",
                )
                .default(&["1 d"]),
                live(
                    "idle-lockout-interval",
                    "PasswordPolicy.idle_lockout_interval",
                    SECONDS,
                    "Accounts that were not used for this long are locked; 0: none. It needs \
             last-login-time-attribute.",
                )
                .default(&["0 s"]),
                live(
                    "state-update-failure-policy",
                    "PasswordPolicy.state_update_failure",
                    Syntax::Choice(&["reactive", "ignore", "proactive"]),
                    "What happens to a bind when the account's state cannot be written: it fails (reactive), goes on \
             (ignore), or fails before the password is compared while nothing can be written (proactive).",
                )
                .default(&["reactive"]),
            ],
        },
        LDAP_PASS_THROUGH,
    ],
    children: &[],
    help: "Rules for passwords, and for the accounts that have them. A policy is chosen by default-password-policy, by \
           the attribute ds-pwp-password-policy-dn of an entry (cn=NAME,cn=Password Policies,cn=config), stored or \
           given; entries of the class pwdPolicy are policies too.",
};

/// What all validators share.
macro_rules! validator_properties {
    ($($more:expr),* $(,)?) => {
        &[
            live(
                "enabled",
                "PasswordPolicy.validators",
                Syntax::Boolean,
                "Whether the rule is applied by the policies that name it.",
            )
            .default(&["true"]),
            $($more,)*
        ]
    };
}

pub(super) static PASSWORD_VALIDATOR: Class = Class {
    name: "password-validator",
    named_by: Some("the validator's name"),
    variants: &[
        Variant {
            type_name: "length-based",
            help: "How many characters a password has.",
            properties: validator_properties![
                live("min-password-length", "Length.min", COUNT, "At least so many; 0: no minimum.",).default(&["6"]),
                live("max-password-length", "Length.max", COUNT, "At most so many; 0: no maximum.",).default(&["0"]),
            ],
        },
        Variant {
            type_name: "character-set",
            help: "Which characters it has.",
            properties: validator_properties![
                live(
                    "character-set",
                    "CharacterSets.sets",
                    Syntax::Text,
                    "How many characters of a set are needed, and the set, such as 1:0123456789; 0: they are \
             optional.",
                )
                .absent("Ranges say it.")
                .multi(),
                live(
                    "character-set-ranges",
                    "CharacterSets.sets",
                    Syntax::Text,
                    "The same with ranges, such as 2:a-zA-Z.",
                )
                .absent("Sets say it.")
                .multi(),
                live(
                    "allow-unclassified-characters",
                    "CharacterSets.allow_unclassified",
                    Syntax::Boolean,
                    "Characters of no set are allowed.",
                )
                .default(&["true"]),
                live(
                    "min-character-sets",
                    "CharacterSets.min_character_sets",
                    COUNT,
                    "So many sets must be used, optional ones counted.",
                )
                .absent("All that are needed, and one optional one if there are any."),
            ],
        },
        Variant {
            type_name: "repeated-characters",
            help: "How often a character stands in a row.",
            properties: validator_properties![
                live(
                    "max-consecutive-length",
                    "RepeatedCharacters.max_run",
                    COUNT,
                    "At most so often; 0: without end.",
                )
                .default(&["2"]),
                live(
                    "case-sensitive-validation",
                    "RepeatedCharacters.case_sensitive",
                    Syntax::Boolean,
                    "Upper and lower case are different characters.",
                )
                .default(&["false"]),
            ],
        },
        Variant {
            type_name: "unique-characters",
            help: "How many different characters it has.",
            properties: validator_properties![
                live("min-unique-characters", "UniqueCharacters.min", COUNT, "At least so many; 0: no minimum.",)
                    .default(&["5"]),
                live(
                    "case-sensitive-validation",
                    "UniqueCharacters.case_sensitive",
                    Syntax::Boolean,
                    "Upper and lower case are different characters.",
                )
                .default(&["false"]),
            ],
        },
        Variant {
            type_name: "similarity-based",
            help: "How much differs from the current password, where a client sends that.",
            properties: validator_properties![
                live(
                    "min-password-difference",
                    "Similarity.min_difference",
                    COUNT,
                    "So many characters have to be changed, added or removed; 0: none.",
                )
                .default(&["3"]),
            ],
        },
        Variant {
            type_name: "attribute-value",
            help: "It is no value of its own entry.",
            properties: validator_properties![
                live(
                    "match-attribute",
                    "AttributeValueRule.attributes",
                    Syntax::AttributeType,
                    "The attributes that are looked at.",
                )
                .absent("All user attributes.")
                .multi(),
                live(
                    "check-substrings",
                    "AttributeValueRule.check_substrings",
                    Syntax::Boolean,
                    "Parts of the password are looked for, too.",
                )
                .default(&["true"]),
                live(
                    "min-substring-length",
                    "AttributeValueRule.min_substring_length",
                    POSITIVE,
                    "The shortest such part.",
                )
                .default(&["5"]),
                live(
                    "test-reversed-password",
                    "AttributeValueRule.test_reversed",
                    Syntax::Boolean,
                    "The password written backwards is looked for, too.",
                )
                .default(&["true"]),
            ],
        },
        Variant {
            type_name: "dictionary",
            help: "It is no word of a file.",
            properties: validator_properties![
                live(
                    "dictionary-file",
                    "DictionaryRule.words",
                    Syntax::Path,
                    "The words, one a line, in at most 64 MiB. It is read when the configuration is.",
                ),
                live(
                    "case-sensitive-validation",
                    "Dictionary.case_sensitive",
                    Syntax::Boolean,
                    "Upper and lower case are different characters.",
                )
                .default(&["false"]),
                live(
                    "test-reversed-password",
                    "DictionaryRule.test_reversed",
                    Syntax::Boolean,
                    "The password written backwards is looked for, too.",
                )
                .default(&["true"]),
                live(
                    "check-substrings",
                    "DictionaryRule.check_substrings",
                    Syntax::Boolean,
                    "Parts of the password are looked for, too.",
                )
                .default(&["true"]),
                live(
                    "min-substring-length",
                    "DictionaryRule.min_substring_length",
                    POSITIVE,
                    "The shortest such part.",
                )
                .default(&["5"]),
            ],
        },
        Variant {
            type_name: "breached-passwords",
            help: "It did not become known elsewhere.",
            properties: validator_properties![live(
                "breach-list-file",
                "BreachList.name",
                Syntax::Path,
                "SHA-1 hashes of such passwords in hexadecimal, sorted, one a line, whole or their first digits; \
             what follows a colon does not count. The file is searched where it is.",
            ),],
        },
        Variant {
            type_name: "quality",
            help: "What 389 Directory Server asks of passwords beside these.",
            properties: validator_properties![
                live("min-digits", "QualityRule.min_digits", COUNT, "So many digits (passwordMinDigits).",)
                    .default(&["0"]),
                live("min-letters", "QualityRule.min_letters", COUNT, "So many letters (passwordMinAlphas).",)
                    .default(&["0"]),
                live("min-upper", "QualityRule.min_upper", COUNT, "So many upper case letters (passwordMinUppers).",)
                    .default(&["0"]),
                live("min-lower", "QualityRule.min_lower", COUNT, "So many lower case letters (passwordMinLowers).",)
                    .default(&["0"]),
                live(
                    "min-specials",
                    "QualityRule.min_specials",
                    COUNT,
                    "So many ASCII characters that are neither letters nor digits (passwordMinSpecials).",
                )
                .default(&["0"]),
                live(
                    "min-beyond-ascii",
                    "QualityRule.min_beyond_ascii",
                    COUNT,
                    "So many characters beyond ASCII (passwordMin8bit).",
                )
                .default(&["0"]),
                live(
                    "min-classes",
                    "QualityRule.min_classes",
                    Syntax::Integer { min: 0, max: 5 },
                    "So many of: digits, upper case, lower case, specials, characters beyond ASCII \
             (passwordMinCategories).",
                )
                .default(&["0"]),
                live(
                    "max-repeats",
                    "QualityRule.max_repeats",
                    COUNT,
                    "A character may stand so often in a row (passwordMaxRepeats); 0: without end.",
                )
                .default(&["0"]),
                live(
                    "max-class-run",
                    "QualityRule.max_class_run",
                    COUNT,
                    "So many characters of one class may stand in a row (passwordMaxClassChars); 0: without end.",
                )
                .default(&["0"]),
                live(
                    "max-sequence",
                    "QualityRule.max_sequence",
                    COUNT,
                    "So many characters of a sequence such as abc or 321 may stand in a row (passwordMaxSequence); 0: \
             without end.",
                )
                .default(&["0"]),
                live(
                    "max-repeated-part",
                    "QualityRule.max_repeated_part",
                    COUNT,
                    "Parts of so many characters may be there twice (passwordMaxSeqSets); 0: of any length.",
                )
                .default(&["0"]),
                live(
                    "no-palindrome",
                    "QualityRule.no_palindrome",
                    Syntax::Boolean,
                    "The password read backwards is another one (passwordPalindrome).",
                )
                .default(&["false"]),
            ],
        },
    ],
    children: &[],
    help: "A rule that new passwords have to obey, for the policies that name it. Lengths count characters (code \
           points).",
};

pub(super) static PASSWORD_GENERATOR: Class = Class {
    name: "password-generator",
    named_by: Some("the generator's name"),
    variants: &[Variant {
        type_name: "random",
        help: "Random characters of some sets.",
        properties: &[
            live("enabled", "PasswordPolicy.generator", Syntax::Boolean, "Whether the policies that name it use it.")
                .default(&["true"]),
            live(
                "password-character-set",
                "PasswordGenerator.parts",
                Syntax::Text,
                "A name and the characters of a set, such as numeric:23456789.",
            )
            .default(&["alpha:abcdefghijkmnopqrstuvwxyz", "numeric:23456789"])
            .multi(),
            live(
                "password-format",
                "PasswordGenerator.parts",
                Syntax::Text,
                "Which sets follow each other, with how many characters of each.",
            )
            .default(&["alpha:3,numeric:2,alpha:3"]),
        ],
    }],
    children: &[],
    help: "Makes passwords, for the policies that name it. What it makes obeys their validators.",
};
