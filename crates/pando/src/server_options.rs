//! Where a server is and who asks it: the options that OpenDJ's tools share, with its names.
//!
//! The tools work on the instance's files and talk to the server of the same machine. Another machine is refused, and
//! so is a port at which the instance does not listen: nobody should believe that another server was changed.

use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;

use clap::Args;
use config::{Config, LdapHandler, ListenAddress};

use crate::failure::{Context, Failure};
use crate::password_file::first_line;
use crate::terminal;

/// Where the server is, and who asks.
#[derive(Debug, Args)]
pub struct ServerOptions {
    /// Host of the server: this machine, for all tools but dsconfig
    #[arg(short = 'h', long = "hostname", value_name = "HOST", global = true)]
    host: Option<String>,
    /// Port of the server
    #[arg(short = 'p', long = "port", value_name = "PORT", global = true)]
    port: Option<u16>,
    /// User to bind as [default: the local administrator; with a password, the first root user of the instance]
    #[arg(short = 'D', long = "bindDN", alias = "bindDn", value_name = "DN", global = true)]
    bind_dn: Option<String>,
    /// Password of the user; "-" asks for it
    #[arg(short = 'w', long = "bindPassword", value_name = "PASSWORD", global = true)]
    password: Option<String>,
    /// File whose first line is the password
    #[arg(short = 'j', long = "bindPasswordFile", value_name = "FILE", conflicts_with = "password", global = true)]
    password_file: Option<PathBuf>,
    /// Trust any certificate of the server; none is checked where the connection does not leave the machine
    #[arg(short = 'X', long = "trustAll", global = true)]
    trust_all: bool,
}

impl ServerOptions {
    /// Whether anything is given that has to be right.
    pub fn is_given(&self) -> bool {
        self.host.is_some() || self.port.is_some() || self.has_credentials()
    }

    /// Whether a name or a password is given.
    pub fn has_credentials(&self) -> bool {
        self.bind_dn.is_some() || self.password.is_some() || self.password_file.is_some()
    }

    /// The host and the port, as far as they are given.
    pub fn place(&self) -> (Option<&str>, Option<u16>) {
        (self.host.as_deref(), self.port)
    }

    /// Whether a user is named.
    pub fn names_user(&self) -> bool {
        self.bind_dn.is_some()
    }

    /// Whether any certificate of the server will do.
    pub fn trusts_all(&self) -> bool {
        self.trust_all
    }

    /// Refuses a host that is not this machine and a port at which the instance does not listen.
    pub fn check_place(&self, config: &Config) -> Result<(), Failure> {
        if !self.is_here()? {
            let host = self.host.as_deref().unwrap_or_default();
            return Err(Failure::new(format_args!(
                "{host} is not this machine, and this tool works on an instance of the machine where it runs: \
                 run it there, or leave --hostname out"
            )));
        }
        self.check_port(config)
    }

    /// Whether the host, if one is given, is this machine.
    pub fn is_here(&self) -> Result<bool, Failure> {
        self.host.as_deref().map_or(Ok(true), is_this_machine)
    }

    /// Refuses a port at which the instance does not listen.
    pub fn check_port(&self, config: &Config) -> Result<(), Failure> {
        let listens: Vec<(u16, &LdapHandler)> =
            config.handlers.iter().filter(|own| own.enabled).flat_map(ports_of).collect();
        match self.port {
            Some(port) if !listens.iter().any(|(own, _)| *own == port) => {
                let protocol = |handler: &LdapHandler| if handler.use_ssl { "LDAPS" } else { "LDAP" };
                let known: Vec<String> =
                    listens.iter().map(|(own, handler)| format!("{own} ({})", protocol(handler))).collect();
                let known = if known.is_empty() { "no port".to_owned() } else { known.join(", ") };
                Err(Failure::new(format_args!(
                    "no connection handler of {} listens on port {port}: it has {known}",
                    config.instance.directory().display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// The name and the password, asked for where that is possible and wanted (`may_ask`).
    pub fn credentials(&self, config: &Config, may_ask: bool) -> Result<(String, String), Failure> {
        let root = config.root_users.first().and_then(|user| user.bind_dns.first());
        let dn = self.bind_dn.as_ref().or(root);
        let dn = dn.ok_or_else(|| Failure::new("the configuration has no root user: say who asks with --bindDN"))?;
        Ok((dn.clone(), self.password_of(dn, may_ask)?))
    }

    /// The name and the password, of `default` if nobody is named.
    pub fn credentials_or(&self, default: &str, may_ask: bool) -> Result<(String, String), Failure> {
        let dn = self.bind_dn.as_deref().unwrap_or(default);
        Ok((dn.to_owned(), self.password_of(dn, may_ask)?))
    }

    fn password_of(&self, dn: &str, may_ask: bool) -> Result<String, Failure> {
        Ok(match (&self.password, &self.password_file) {
            (Some(password), _) if password != "-" => password.clone(),
            (_, Some(file)) => first_line(file)?,
            _ if may_ask && terminal::is_interactive() => terminal::ask_password(&format!("Password of {dn}"))?,
            _ => return Err(Failure::new(format_args!("give the password of {dn} with --bindPasswordFile"))),
        })
    }
}

fn ports_of(handler: &LdapHandler) -> impl Iterator<Item = (u16, &LdapHandler)> {
    handler.listen.iter().filter_map(move |listen| match listen {
        ListenAddress::Tcp(address) => Some((address.port(), handler)),
        ListenAddress::Local(_) => None,
    })
}

/// Whether a name or address is one of this machine.
fn is_this_machine(host: &str) -> Result<bool, Failure> {
    let own_name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if host.eq_ignore_ascii_case("localhost") || host.eq_ignore_ascii_case(own_name.trim()) {
        return Ok(true);
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (bare, 0).to_socket_addrs().context(format_args!("the host \"{host}\" is not known"))?;
    Ok(addresses.map(|address| address.ip()).any(is_own_address))
}

/// Only an address of this machine can be bound; binding a datagram socket sends nothing.
fn is_own_address(address: IpAddr) -> bool {
    !address.is_unspecified() && !address.is_multicast() && UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_told_from_this_one() {
        for (host, is_own) in [("localhost", true), ("127.0.0.1", true), ("LOCALHOST", true), ("192.0.2.1", false)] {
            assert_eq!(is_this_machine(host).unwrap(), is_own, "{host}");
        }
    }
}
