//! `[password-storage-scheme.NAME]`: what the objects set, as the numbers with which passwords are encoded, and the
//! scheme of imported passwords.
//!
//! Knows no password.

use std::path::{Path, PathBuf};

use password::{Argon2Parameters, Argon2Variant, CryptAlgorithm, Parameters, Scheme};

use crate::object::Object;
use crate::value::Value;

/// The class of these objects.
const CLASS: &str = "password-storage-scheme";
/// Kind of the plugin that says how imported passwords are stored; it judges no update.
pub(crate) const IMPORT_TYPE: &str = "password-policy-import";

/// How imports store clear passwords.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportedPasswords {
    /// `enabled`
    pub enabled: bool,
    /// `default-user-password-storage-scheme`; none is the default policy's.
    pub scheme: Option<Scheme>,
}

/// What the objects set; everything else has its default.
pub(crate) fn parameters(objects: &[Object]) -> Parameters {
    let mut parameters = Parameters::default();
    for object in of_class(objects) {
        // What an object says was judged by its syntax and by `faults`; a number that is not taken stays as it was.
        let _ = set(&mut parameters, object);
    }
    parameters
}

/// `key-file` of the schemes with encryption, each file once.
pub(crate) fn key_files(objects: &[Object], instance: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let encrypted = of_class(objects).filter(|object| object.variant.property("key-file").is_some());
    for value in encrypted.flat_map(|object| object.values("key-file")) {
        let file = instance.join(value.to_string());
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// What the plugin says; there is at most one.
pub(crate) fn imported_passwords(objects: &[Object]) -> ImportedPasswords {
    let Some(plugin) = objects.iter().find(|object| object.variant.type_name == IMPORT_TYPE) else {
        return ImportedPasswords::default();
    };
    let name = plugin.values("default-user-password-storage-scheme").first().map(ToString::to_string);
    ImportedPasswords {
        enabled: plugin.values("enabled") == [Value::Boolean(true)],
        scheme: name.and_then(|name| Scheme::from_name(&name)),
    }
}

/// Two objects for one scheme, numbers that do not go together.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for object in of_class(objects) {
        let type_name = object.variant.type_name;
        if seen.contains(&type_name) {
            let title = object.title();
            faults.push((object.offset, format!("{title} is a second object of type {type_name}: keep one of them")));
        }
        seen.push(type_name);
        if let Err(error) = set(&mut Parameters::default(), object) {
            faults.push((object.offset, format!("{}: {error}", object.title())));
        }
    }
    let imports = objects.iter().filter(|object| object.variant.type_name == IMPORT_TYPE);
    for object in imports.skip(1) {
        let title = object.title();
        faults.push((object.offset, format!("{title} is a second plugin of type {IMPORT_TYPE}: keep one of them")));
    }
    faults
}

fn of_class(objects: &[Object]) -> impl Iterator<Item = &Object> {
    objects.iter().filter(|object| object.class.name == CLASS)
}

fn set(parameters: &mut Parameters, object: &Object) -> Result<(), String> {
    let number = |name: &str| match object.values(name).first() {
        Some(Value::Integer(number)) => u32::try_from(*number).unwrap_or(u32::MAX),
        _ => 0,
    };
    let text = |name: &str| object.values(name).first().map(ToString::to_string).unwrap_or_default();
    let iterated = match object.variant.type_name {
        "pbkdf2" => Scheme::Pbkdf2,
        "pbkdf2-hmac-sha256" => Scheme::Pbkdf2HmacSha256,
        "pbkdf2-hmac-sha512" => Scheme::Pbkdf2HmacSha512,
        "scram-sha1" => Scheme::ScramSha1,
        "scram-sha256" => Scheme::ScramSha256,
        "scram-sha512" => Scheme::ScramSha512,
        "bcrypt" => return parameters.set_bcrypt_cost(number("bcrypt-cost")).map_err(|error| error.to_string()),
        "crypt" => {
            parameters.set_crypt(match text("crypt-password-storage-encryption-algorithm").as_str() {
                "md5" => CryptAlgorithm::Md5,
                "sha256" => CryptAlgorithm::Sha256,
                _ => CryptAlgorithm::Sha512,
            });
            return Ok(());
        }
        "argon2" => {
            let variant = match text("argon2-variant").as_str() {
                "ARGON2_I" => Argon2Variant::I,
                "ARGON2_D" => Argon2Variant::D,
                _ => Argon2Variant::Id,
            };
            let (memory, passes) = (number("argon2-memory"), number("argon2-iterations"));
            let argon2 = Argon2Parameters::new(variant, memory, passes, number("argon2-parallelism"));
            parameters.set_argon2(argon2.map_err(|error| error.to_string())?);
            return Ok(());
        }
        // Those with encryption have no parameters.
        _ => return Ok(()),
    };
    let name =
        if object.variant.property("pbkdf2-iterations").is_some() { "pbkdf2-iterations" } else { "scram-iterations" };
    parameters.set_iterations(iterated, number(name)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Config;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/instance/pando.toml")).map_err(|errors| errors.to_string())
    }

    #[test]
    fn what_is_set_is_what_passwords_are_encoded_with() {
        let config = parse(
            r#"
            [password-storage-scheme.Argon2]
            type = "argon2"
            argon2-memory = 32768
            argon2-iterations = 3
            argon2-variant = "ARGON2_D"
            [password-storage-scheme."PBKDF2-HMAC-SHA512"]
            type = "pbkdf2-hmac-sha512"
            pbkdf2-iterations = 210000
            [password-storage-scheme."SCRAM-SHA-256"]
            type = "scram-sha256"
            scram-iterations = 4096
            [password-storage-scheme.Bcrypt]
            type = "bcrypt"
            bcrypt-cost = 10
            [password-storage-scheme.CRYPT]
            type = "crypt"
            crypt-password-storage-encryption-algorithm = "sha256"
            [password-storage-scheme.AES]
            type = "aes"
            key-file = "keys/passwords"
            [password-storage-scheme.3DES]
            type = "triple-des"
            key-file = "keys/passwords"
            [plugin."Password Policy Import"]
            type = "password-policy-import"
            default-user-password-storage-scheme = "Salted SHA-1"
            "#,
        )
        .unwrap();
        let parameters = config.password_parameters;
        assert_eq!(parameters.argon2(), Argon2Parameters::new(Argon2Variant::D, 32768, 3, 1).unwrap());
        assert_eq!(parameters.iterations(Scheme::Pbkdf2HmacSha512), 210_000);
        assert_eq!(parameters.iterations(Scheme::Pbkdf2HmacSha256), 10_000);
        assert_eq!(parameters.iterations(Scheme::ScramSha256), 4096);
        assert_eq!((parameters.bcrypt_cost(), parameters.crypt()), (10, CryptAlgorithm::Sha256));
        assert_eq!(config.password_key_files, [Path::new("/instance/keys/passwords")]);
        assert_eq!(config.import_scheme(), Scheme::SaltedSha1);
        assert!(config.plugins.is_empty() && config.plugins_text.is_empty(), "it judges no update");
        assert_eq!(parse("").unwrap().password_parameters, Parameters::default());
    }

    #[test]
    fn imports_go_by_the_default_policy_unless_told_otherwise() {
        let policy = "[password-policy.\"Default Password Policy\"]\ndefault-password-storage-scheme = \"Bcrypt\"\n";
        assert_eq!(parse(policy).unwrap().import_scheme(), Scheme::Bcrypt);
        let plugin = "[plugin.i]\ntype = \"password-policy-import\"\nenabled = false\n\
                      default-user-password-storage-scheme = \"Clear\"\n";
        assert_eq!(parse(&format!("{policy}{plugin}")).unwrap().import_scheme(), Scheme::Bcrypt);
    }
}
