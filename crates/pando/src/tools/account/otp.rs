//! `account otp`: the one-time codes that an account's binds show after the password.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use accounts::second_factor::secret_of_base32;
use clap::{Args, Subcommand, ValueEnum};
use ldap::oids::extended::SECOND_FACTOR;
use ldap::second_factor::{FactorAction, KnownToken, NewToken, SecondFactor, SecondFactorAnswer};
use zeroize::Zeroizing;

use crate::client::{self, Client};
use crate::failure::{Context, Failure, Outcome};
use crate::output::outln;
use crate::password_file::first_line;

use super::about_one::AboutOne;

/// For how long authenticators show a code.
const PERIOD_SECONDS: i64 = 30;

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token and print its secret, once; binds are asked for its codes when one was confirmed
    Enrol(Enrol),
    /// Show a code of a new token: from then on binds are asked for one
    Confirm(Confirm),
    /// Remove a token, or all
    Remove(Remove),
    /// Say which tokens there are
    Show(AboutOne),
}

#[derive(Debug, Args)]
struct Enrol {
    #[command(flatten)]
    about: AboutOne,
    /// What the user calls the token
    #[arg(long, default_value = "phone")]
    name: String,
    /// What counts its codes: the time or a button
    #[arg(long, default_value = "totp")]
    kind: Kind,
    /// Hash of its codes; many authenticators know SHA1 only
    #[arg(long, default_value = "SHA1", value_parser = ["SHA1", "SHA256", "SHA512"], ignore_case = true)]
    algorithm: String,
    /// Digits of a code, 6 to 8
    #[arg(long, default_value_t = 6)]
    digits: i64,
    /// Seconds for which a code of the time (--kind totp) is shown, 10 to 300; 30 if this is not given
    #[arg(long)]
    period: Option<i64>,
    /// Counter of the first code of a button (--kind hotp); 0 if this is not given
    #[arg(long)]
    counter: Option<i64>,
    /// File whose first line is the secret in base32, of a token that has one; otherwise the server makes it
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Totp,
    Hotp,
}

#[derive(Debug, Args)]
struct Confirm {
    #[command(flatten)]
    about: AboutOne,
    /// What the token shows now
    #[arg(value_name = "CODE")]
    code: String,
    /// What the user calls the token
    #[arg(long, default_value = "phone")]
    name: String,
}

#[derive(Debug, Args)]
struct Remove {
    #[command(flatten)]
    about: AboutOne,
    /// What the user calls the token
    #[arg(long, required_unless_present = "all")]
    name: Option<String>,
    /// Every token, those that cannot be read too
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    match &options.command {
        Command::Enrol(enrol) => run_enrol(directory, enrol)?,
        Command::Confirm(confirm) => {
            let Confirm { about, code, name } = confirm;
            let action = FactorAction::Confirm { name: name.clone(), code: Zeroizing::new(code.clone()) };
            ask(&mut about.connect(directory)?, &about.dn, action)?;
            outln!("Binds of {} are asked for a code of the token \"{name}\" after the password now.", about.dn);
        }
        Command::Remove(remove) => {
            let Remove { about, name, .. } = remove;
            let action = FactorAction::Remove { name: name.clone().unwrap_or_default() };
            ask(&mut about.connect(directory)?, &about.dn, action)?;
            match name {
                Some(name) => outln!("The token \"{name}\" of {} is removed.", about.dn),
                None => outln!("All tokens of {} are removed.", about.dn),
            }
        }
        Command::Show(about) => {
            let answer = list(&mut about.connect(directory)?, &about.dn)?;
            match lines(&answer, &about.dn) {
                lines if lines.is_empty() => {
                    outln!("{} has no token: its binds take the password alone.", about.dn);
                }
                lines => lines.iter().for_each(|line| outln!("{line}")),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_enrol(directory: &Path, enrol: &Enrol) -> Result<(), Failure> {
    let secret = match &enrol.secret_file {
        Some(file) => {
            let line = Zeroizing::new(first_line(file)?);
            Some(secret_of_base32(&line).ok_or_else(|| {
                Failure::new(format_args!("the first line of {} is no secret in base32", file.display()))
            })?)
        }
        None => None,
    };
    let (kind, period, counter) = match enrol.kind {
        Kind::Totp if enrol.counter.is_some() => {
            return Err(Failure::new("--counter is for --kind hotp: the time counts the codes of --kind totp"));
        }
        Kind::Hotp if enrol.period.is_some() => {
            return Err(Failure::new("--period is for --kind totp: the codes of a button (--kind hotp) have no time"));
        }
        Kind::Totp => ("TOTP", enrol.period.unwrap_or(PERIOD_SECONDS), 0),
        Kind::Hotp => ("HOTP", 0, enrol.counter.unwrap_or_default()),
    };
    let new = NewToken {
        name: enrol.name.clone(),
        kind: kind.to_owned(),
        algorithm: enrol.algorithm.clone(),
        digits: enrol.digits,
        period,
        counter,
        secret,
    };
    let about = &enrol.about;
    let answer = ask(&mut about.connect(directory)?, &about.dn, FactorAction::Enrol(new))?;
    let uri = answer.uri.unwrap_or_default();
    outln!("The token \"{}\" of {} is made. For the authenticator, shown this once:", enrol.name, about.dn);
    outln!("");
    outln!("  {}", uri.as_str());
    outln!("  secret: {}", secret_in(&uri));
    outln!("");
    outln!("Binds are asked for a code when one was confirmed:");
    outln!(
        "  pando account otp confirm {} CODE --name {}",
        super::show::quoted(&about.dn),
        super::show::quoted(&enrol.name)
    );
    Ok(())
}

/// The secret in an `otpauth` URI.
fn secret_in(uri: &str) -> &str {
    let after = uri.split_once("secret=").map_or("", |(_, after)| after);
    after.split('&').next().unwrap_or_default()
}

/// What is said of an account's tokens, a line for each; none where binds take the password alone.
pub fn lines_about(client: &mut Client, dn: &str) -> Result<Vec<String>, Failure> {
    Ok(lines(&list(client, dn)?, dn))
}

fn list(client: &mut Client, dn: &str) -> Result<SecondFactorAnswer, Failure> {
    ask(client, dn, FactorAction::List)
}

fn lines(answer: &SecondFactorAnswer, dn: &str) -> Vec<String> {
    if answer.is_required && answer.tokens.is_empty() {
        let command = format!("pando account otp enrol {}", super::show::quoted(dn));
        return vec![format!("required by the policy, and there is no token: no password is enough; run {command}")];
    }
    answer.tokens.iter().map(described).collect()
}

/// A token in words.
fn described(token: &KnownToken) -> String {
    let state = if token.is_active { "in use" } else { "not confirmed" };
    format!("{} ({}, {} digits, {state})", token.name, token.kind, token.digits)
}

fn ask(client: &mut Client, dn: &str, action: FactorAction) -> Result<SecondFactorAnswer, Failure> {
    let request = SecondFactor { user: dn.to_owned(), action }.encode();
    let answer = client.extended(SECOND_FACTOR, Some(&request), &mut |_| {})?;
    if !answer.result.is_success() {
        return Err(client::refusal(&format!("the account {dn}"), &answer.result));
    }
    SecondFactorAnswer::decode(answer.value.as_deref()).context("the server's answer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_found_in_the_uri() {
        assert_eq!(secret_in("otpauth://totp/x:ann?secret=GEZD&issuer=x"), "GEZD");
        assert_eq!(secret_in("otpauth://totp/x:ann?secret=GEZD"), "GEZD");
        assert_eq!(secret_in("nothing"), "");
    }
}
