//! `ldappasswordmodify`: changes a password with the password modify extended operation (RFC 3062), with the options
//! of OpenDJ's tool.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ldap::client::{self, Response, ServerMessage};
use ldap::extended::{PasswordModify, decode_generated_password};
use ldap::oids;
use zeroize::Zeroizing;

use crate::failure::Outcome;
use crate::ldap_client::{ControlOptions, SessionOptions, status};
use crate::output::outln;
use crate::password_file::given_or_first_line;

const EXAMPLE: &str = "\
Example: a new password, which the server makes, for somebody who has forgotten theirs
  pando ldappasswordmodify -p 1389 -D 'cn=Directory Manager' -w secret12 \
-a dn:uid=user.1,ou=People,dc=example,dc=com";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE, next_help_heading = "Password")]
pub struct Options {
    /// Whose password is changed: dn:NAME or u:USER [default: that of who binds]
    #[arg(short = 'a', long = "authzID", value_name = "AUTHZID")]
    user: Option<String>,
    /// New password [default: the server makes one, which is printed]
    #[arg(short = 'n', long = "newPassword", value_name = "PASSWORD")]
    new: Option<String>,
    /// File whose first line is the new password
    #[arg(short = 'F', long = "newPasswordFile", value_name = "FILE", conflicts_with = "new")]
    new_file: Option<PathBuf>,
    /// Current password of the user
    #[arg(short = 'c', long = "currentPassword", value_name = "PASSWORD")]
    current: Option<String>,
    /// File whose first line is the current password
    #[arg(short = 'C', long = "currentPasswordFile", value_name = "FILE", conflicts_with = "current")]
    current_file: Option<PathBuf>,
    #[command(flatten)]
    control: ControlOptions,
    #[command(flatten)]
    session: SessionOptions,
}

pub fn run(options: &Options) -> Outcome {
    status::of_client(change(options))
}

fn change(options: &Options) -> Outcome {
    let new = given_or_first_line(options.new.as_deref(), options.new_file.as_deref())?;
    let current = given_or_first_line(options.current.as_deref(), options.current_file.as_deref())?;
    let mut session = options.session.open()?;
    let request = PasswordModify {
        user_identity: options.user.as_deref().map(str::as_bytes),
        old_password: current.as_ref().map(|text| text.as_bytes()),
        new_password: new.as_ref().map(|text| text.as_bytes()),
    };
    let value = Zeroizing::new(request.encode());
    let controls = &options.control.controls;
    let write = |id, out: &mut Vec<u8>| {
        client::extended(out, id, oids::extended::PASSWORD_MODIFY, Some(&value), controls);
    };
    let mut made = None;
    let mut take = |message: &ServerMessage<'_>| {
        if let Response::Extended { value, .. } = message.op {
            made = decode_generated_password(value).ok().flatten().map(|it| String::from_utf8_lossy(it).into_owned());
        }
        ControlFlow::Continue(())
    };
    let result = session.ask(write, &mut take)?;
    if !result.is_success() {
        return Ok(ExitCode::from(status::refused("password modify operation", &result)));
    }
    outln!("The LDAP password modify operation was successful");
    if let Some(made) = made {
        outln!("Generated Password:  {made}");
    }
    Ok(ExitCode::SUCCESS)
}
