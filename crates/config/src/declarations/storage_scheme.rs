//! `[password-storage-scheme.NAME]`: what new passwords cost in each scheme, and where the keys of encrypted ones are.

use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;

/// Rounds of a new value; more would be refused when the value is verified.
const ROUNDS_MAX: i64 = 10_000_000;

const PBKDF2: Property = property(
    "pbkdf2-iterations",
    "Config.password_parameters",
    Syntax::Integer { min: 1, max: ROUNDS_MAX },
    "Rounds of a new value; those that are stored keep theirs. 10,000 are what OpenDJ takes, OWASP advises 600,000 \
     with SHA-256.",
)
.default(&["10000"])
.live(Applier::PasswordStorage);

const SCRAM: Property = property(
    "scram-iterations",
    "Config.password_parameters",
    Syntax::Integer { min: password::SCRAM_ITERATIONS_MIN as i64, max: ROUNDS_MAX },
    "Rounds of a new value; clients that log in by SCRAM compute as many.",
)
.default(&["10000"])
.live(Applier::PasswordStorage);

const KEY_FILE: Property = property(
    "key-file",
    "Config.password_key_files",
    Syntax::Path,
    "File with the keys of passwords that OpenDJ encrypted, one a line: KEY-ID TRANSFORMATION KEY (docs/passwords.md). \
     Such passwords are verified and never written.",
)
.absent("Encrypted passwords match nothing.");

const ARGON2: &[Property] = &[
    property(
        "argon2-memory",
        "Config.password_parameters",
        Syntax::Integer { min: 1024, max: 256 << 10 },
        "Memory that a new value takes, in KiB. The server keeps as much for each core. OWASP advises 19456 or more.",
    )
    .default(&["19456"])
    .live(Applier::PasswordStorage),
    property(
        "argon2-iterations",
        "Config.password_parameters",
        Syntax::Integer { min: 1, max: 30 },
        "Passes over that memory. Memory times passes is at most 4194304.",
    )
    .default(&["2"])
    .live(Applier::PasswordStorage),
    property(
        "argon2-parallelism",
        "Config.password_parameters",
        Syntax::Integer { min: 1, max: 16 },
        "Lanes of that memory; one thread computes them all.",
    )
    .default(&["1"])
    .live(Applier::PasswordStorage),
    property(
        "argon2-variant",
        "Config.password_parameters",
        Syntax::Choice(&["ARGON2_ID", "ARGON2_I", "ARGON2_D"]),
        "Which of Argon2's ways through the memory.",
    )
    .default(&["ARGON2_ID"])
    .live(Applier::PasswordStorage),
];

const BCRYPT: &[Property] = &[property(
    "bcrypt-cost",
    "Config.password_parameters",
    Syntax::Integer { min: *password::BCRYPT_COSTS.start() as i64, max: *password::BCRYPT_COSTS.end() as i64 },
    "Cost of a new value: one more takes twice the time.",
)
.default(&["12"])
.live(Applier::PasswordStorage)];

const CRYPT: &[Property] = &[property(
    "crypt-password-storage-encryption-algorithm",
    "Config.password_parameters",
    Syntax::Choice(&["md5", "sha256", "sha512"]),
    "The form of a new value. The old DES form (unix) is not written.",
)
.default(&["sha512"])
.live(Applier::PasswordStorage)];

/// A scheme whose values are encrypted.
const fn encrypted(type_name: &'static str, help: &'static str) -> Variant {
    Variant { type_name, help, properties: &[KEY_FILE] }
}

pub(super) static PASSWORD_STORAGE_SCHEME: Class = Class {
    name: "password-storage-scheme",
    named_by: Some("a name of your choice"),
    variants: &[
        Variant { type_name: "argon2", help: "New values of the scheme Argon2.", properties: ARGON2 },
        Variant { type_name: "bcrypt", help: "New values of the scheme Bcrypt.", properties: BCRYPT },
        Variant { type_name: "crypt", help: "New values of the scheme CRYPT.", properties: CRYPT },
        Variant { type_name: "pbkdf2", help: "New values of the scheme PBKDF2.", properties: &[PBKDF2] },
        Variant {
            type_name: "pbkdf2-hmac-sha256",
            help: "New values of the scheme PBKDF2-HMAC-SHA256.",
            properties: &[PBKDF2],
        },
        Variant {
            type_name: "pbkdf2-hmac-sha512",
            help: "New values of the scheme PBKDF2-HMAC-SHA512.",
            properties: &[PBKDF2],
        },
        Variant { type_name: "scram-sha1", help: "New values of the scheme SCRAM-SHA-1.", properties: &[SCRAM] },
        Variant { type_name: "scram-sha256", help: "New values of the scheme SCRAM-SHA-256.", properties: &[SCRAM] },
        Variant { type_name: "scram-sha512", help: "New values of the scheme SCRAM-SHA-512.", properties: &[SCRAM] },
        encrypted("aes", "Values that OpenDJ encrypted with AES."),
        encrypted("triple-des", "Values that OpenDJ encrypted with 3DES."),
        encrypted("blowfish", "Values that OpenDJ encrypted with Blowfish."),
        encrypted("rc4", "Values that OpenDJ encrypted with RC4."),
    ],
    children: &[],
    help: "What new passwords cost in a scheme. Only schemes with something to set have an object, each at most one; \
           all schemes can be used without.",
};
