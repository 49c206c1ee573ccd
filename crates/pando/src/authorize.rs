//! Whether somebody who gives a name and a password may change the instance.
//!
//! A user who may write the instance's files needs no password. A password that is given must be right
//! all the same: a command that succeeds with a wrong one hides a mistake.

use config::Config;

use crate::client::Client;
use crate::failure::{Context, Failure};
use crate::instance;
use crate::server_options::ServerOptions;

/// Refuses another machine, a port at which the instance does not listen, and credentials that are not those of a root
/// user. A running server is asked; without one the configuration tells.
pub fn authorize(config: &Config, options: &ServerOptions, may_ask: bool) -> Result<(), Failure> {
    options.check_place(config)?;
    if !options.has_credentials() {
        return Ok(());
    }
    let (dn, password) = options.credentials(config, may_ask)?;
    let schema = instance::schema(config)?;
    match instance::running(&config.instance) {
        Some(process) => Client::of_administrator(&config.instance, process)?.bind(&dn, &password)?,
        None => {
            if !directory::is_root_password(config, &schema, &dn, password.as_bytes()).map_err(Failure::new)? {
                return Err(Client::wrong_credentials(&dn));
            }
        }
    }
    match directory::is_root_user(config, &schema, &dn).context("the root users")? {
        true => Ok(()),
        false => Err(Failure::new(format_args!("{dn} is not a root user: only root users may use this tool"))),
    }
}
