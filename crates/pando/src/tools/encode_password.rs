//! `encode-password`: a password in its stored form, or a comparison with one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use durable::ReadBound;
use password::{KeyRing, Parameters, Scheme};
use zeroize::Zeroizing;

use crate::failure::{Context, Failure, Outcome};
use crate::output::outln;
use crate::password_file::first_line;
use crate::terminal;

/// Largest file with keys.
const KEYS: ReadBound = ReadBound::stream(1 << 20);
/// Exit statuses of `--useCompareResultCode`: the LDAP results compareFalse and compareTrue.
const COMPARE_FALSE: u8 = 5;
const COMPARE_TRUE: u8 = 6;

#[derive(Debug, Args)]
pub struct Options {
    /// List the storage schemes
    #[arg(short = 'l', long = "listSchemes", exclusive = true)]
    list: bool,
    /// Scheme for the encoded password: a name or prefix of the list
    #[arg(short = 's', long = "storageScheme", value_name = "SCHEME")]
    scheme: Option<String>,
    /// The clear password; other users of the machine can see it; -f and -i are safer
    #[arg(short = 'c', long = "clearPassword", value_name = "PASSWORD")]
    #[arg(conflicts_with_all = ["clear_file", "clear_input"])]
    clear: Option<String>,
    /// File with the clear password in its first line
    #[arg(short = 'f', long = "clearPasswordFile", value_name = "FILE", conflicts_with = "clear_input")]
    clear_file: Option<PathBuf>,
    /// Read the clear password from standard input
    #[arg(short = 'i', long = "clearPasswordFromStdin")]
    clear_input: bool,
    /// Encoded password to compare the clear one with
    #[arg(short = 'e', long = "encodedPassword", value_name = "PASSWORD")]
    #[arg(conflicts_with_all = ["scheme", "encoded_file"])]
    encoded: Option<String>,
    /// File with the encoded password in its first line
    #[arg(short = 'E', long = "encodedPasswordFile", value_name = "FILE", conflicts_with = "scheme")]
    encoded_file: Option<PathBuf>,
    /// File with the keys of passwords that OpenDJ encrypted ({AES}, {3DES}, {BLOWFISH}, {RC4})
    #[arg(long = "symmetricKeyFile", value_name = "FILE", conflicts_with = "scheme")]
    key_file: Option<PathBuf>,
    /// End with status 6 if the passwords match, 5 if not
    #[arg(short = 'r', long = "useCompareResultCode")]
    compare_status: bool,
}

pub fn run(options: &Options) -> Outcome {
    if options.list {
        for scheme in Scheme::all() {
            outln!("{:20} {{{}}}", scheme.config_name(), scheme.prefix());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let encoded = match (&options.encoded, &options.encoded_file) {
        (Some(encoded), _) => Some(encoded.clone()),
        (None, Some(file)) => Some(first_line(file)?),
        (None, None) => None,
    };
    match (encoded, &options.scheme) {
        (Some(encoded), _) => compare(options, &encoded),
        (None, Some(scheme)) => encode(options, scheme),
        (None, None) => {
            Err(Failure::new("say how to encode with -s SCHEME (-l lists them), or what to compare with -e PASSWORD"))
        }
    }
}

fn encode(options: &Options, scheme: &str) -> Outcome {
    let scheme = scheme_of(scheme)?;
    let clear = clear(options)?;
    let encoded = password::encode_random(scheme, &Parameters::default(), clear.as_bytes());
    let encoded = encoded.context("cannot encode the password")?;
    outln!("Encoded Password:  \"{}\"", String::from_utf8_lossy(&encoded));
    Ok(ExitCode::SUCCESS)
}

fn compare(options: &Options, encoded: &str) -> Outcome {
    if !password::is_encoded(encoded.as_bytes()) {
        return Err(Failure::new(
            "the password to compare with is not encoded: it must begin with a scheme such as {SSHA512}",
        ));
    }
    if let Some(file) = &options.key_file {
        let text = Zeroizing::new(KEYS.text(file).context(file.display())?);
        password::set_keys(KeyRing::read(&text).context(file.display())?);
    }
    if let Some(why) = password::unverifiable(encoded.as_bytes()) {
        return Err(Failure::new(format_args!("no password matches the encoded one: {why}")));
    }
    let matches = password::verify(encoded.as_bytes(), clear(options)?.as_bytes());
    outln!("The provided clear-text and encoded passwords {}", if matches { "match" } else { "do not match" });
    Ok(match (options.compare_status, matches) {
        (true, true) => ExitCode::from(COMPARE_TRUE),
        (true, false) => ExitCode::from(COMPARE_FALSE),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::FAILURE,
    })
}

fn clear(options: &Options) -> Result<String, Failure> {
    match (&options.clear, &options.clear_file) {
        (Some(clear), _) => Ok(clear.clone()),
        (None, Some(file)) => first_line(file),
        (None, None) if options.clear_input || terminal::is_interactive() => terminal::ask_password("Password"),
        (None, None) => Err(Failure::new("give the clear password with -c, -f FILE or -i (standard input)")),
    }
}

/// The scheme of that name or prefix.
pub fn scheme_of(name: &str) -> Result<Scheme, Failure> {
    Scheme::from_name(name).ok_or_else(|| {
        Failure::new(format_args!("there is no storage scheme \"{name}\": pando encode-password -l lists them"))
    })
}

#[cfg(test)]
mod tests {
    use config::{Syntax, class};
    use password::StoredScheme;

    use super::*;

    /// The configuration lists the schemes, because it knows no directory.
    #[test]
    fn the_configuration_allows_every_scheme_and_no_other() {
        let names = |property: &str| {
            let property = class("password-policy").unwrap().variants[0].property(property).unwrap();
            let Syntax::Choice(names) = property.syntax else { panic!("{property:?}") };
            names.to_vec()
        };
        let new: Vec<&str> = Scheme::all().map(Scheme::config_name).collect();
        assert_eq!(names("default-password-storage-scheme"), new);
        let stored: Vec<&str> = StoredScheme::all().map(StoredScheme::config_name).collect();
        assert_eq!(names("deprecated-password-storage-scheme"), stored);
    }
}
