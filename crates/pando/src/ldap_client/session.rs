//! One bound connection of a client tool: requests go out one at a time, answers come with their controls.

use std::ops::ControlFlow;

use clap::Args;
use ldap::client::ServerMessage;
use ldap::controls::{PasswordPolicyResponse, PolicyError, PolicyWarning};
use ldap::oids::control;
use ldap::{ControlBuf, LdapResult};
use outbound::Connection;
use zeroize::Zeroizing;

use super::options::{ConnectionOptions, bind};
use super::status;
use crate::failure::Failure;
use crate::output::outln;

/// Where the server is, who binds, and what is said about the bind.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub struct SessionOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    /// Use the authorization identity control: say who the bind made the connection
    #[arg(short = 'E', long = "reportAuthzID")]
    reports_identity: bool,
    /// Use the password policy request control: say what the bind tells about the password
    #[arg(long = "usePasswordPolicyControl")]
    reports_password_policy: bool,
}

/// See the module.
pub struct Session(Connection);

impl SessionOptions {
    /// Connects and binds; what the bind tells is printed as comments.
    pub fn open(&self) -> Result<Session, Failure> {
        let login = self.connection.login()?;
        let mut connection = self.connection.target()?.open()?;
        let mut controls = Vec::new();
        if self.reports_identity {
            controls.push(ControlBuf::new(control::AUTHORIZATION_IDENTITY_REQUEST, None));
        }
        if self.reports_password_policy {
            controls.push(ControlBuf::new(control::PASSWORD_POLICY, None));
        }
        if !login.is_anonymous() || !controls.is_empty() {
            bind(&mut connection, &login, controls, &mut |message| print_bind_controls(message))?;
        }
        Ok(Session(connection))
    }
}

impl Session {
    /// Sends the request that `write` makes for a message id; `each` gets all of its answer.
    pub fn ask(
        &mut self,
        write: impl FnOnce(i32, &mut Vec<u8>),
        each: &mut dyn FnMut(&ServerMessage<'_>) -> ControlFlow<()>,
    ) -> Result<LdapResult, Failure> {
        // Requests may hold passwords.
        let mut request = Zeroizing::new(Vec::new());
        write(self.0.next_id(), &mut request);
        self.0.ask_messages(&request, each).map_err(status::lost)
    }
}

fn print_bind_controls(message: &ServerMessage<'_>) {
    if let Some(identity) = message.controls.find(control::AUTHORIZATION_IDENTITY_RESPONSE) {
        let identity = String::from_utf8_lossy(identity.value.unwrap_or_default());
        outln!("# Bound with authorization ID {identity}");
    }
    let policy = message.controls.find(control::PASSWORD_POLICY);
    let Some(Ok(policy)) = policy.map(|it| PasswordPolicyResponse::decode(it.value)) else { return };
    match policy.error {
        Some(PolicyError::PasswordExpired) => outln!("# Your password has expired"),
        Some(PolicyError::AccountLocked) => outln!("# Your account has been locked"),
        Some(PolicyError::ChangeAfterReset) => {
            outln!("# You must change your password before any other operations will be allowed");
        }
        // The others are about new passwords.
        _ => {}
    }
    match policy.warning {
        Some(PolicyWarning::SecondsBeforeExpiration(seconds)) => {
            outln!("# Your password will expire in {}", time_text(seconds));
        }
        Some(PolicyWarning::GraceLeft(left)) => outln!("# You have {left} grace logins remaining"),
        None => {}
    }
}

/// `1 days, 2 hours, 0 minutes, 5 seconds`, as OpenDJ's tools write it, without leading noughts.
pub fn time_text(seconds: u32) -> String {
    let parts = [(seconds / 86400, "days"), (seconds / 3600 % 24, "hours"), (seconds / 60 % 60, "minutes")];
    let shown = parts.into_iter().skip_while(|(count, _)| *count == 0);
    shown
        .chain([(seconds % 60, "seconds")])
        .map(|(count, unit)| format!("{count} {unit}"))
        .collect::<Vec<_>>()
        .join(", ")
}
