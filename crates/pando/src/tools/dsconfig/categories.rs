//! The subcommands by what they are about, as the help of OpenDJ's tool groups them.
//!
//! Knows classes by name; a new one is in the core until it is named here.

use clap::{Args, Command};
use config::Component;

use crate::output::{out, outln};

/// What subcommands are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    All,
    CoreServer,
    Database,
    Logging,
    Replication,
    Security,
    ServiceDiscovery,
    UserManagement,
}

/// Which subcommands are listed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Lists of the subcommands")]
pub struct Lists {
    /// All subcommands
    #[arg(long = "help-all")]
    all: bool,
    /// Those about connection handlers, plugins, limits and the server as a whole
    #[arg(long = "help-core-server")]
    core_server: bool,
    /// Those about backends and their indexes
    #[arg(long = "help-database")]
    database: bool,
    /// Those about logs
    #[arg(long = "help-logging")]
    logging: bool,
    /// Those about replication: there are none yet
    #[arg(long = "help-replication", hide = true)]
    replication: bool,
    /// Those about access control, keys, certificates and SASL
    #[arg(long = "help-security")]
    security: bool,
    /// Those about finding other servers: there are none yet
    #[arg(long = "help-service-discovery", hide = true)]
    service_discovery: bool,
    /// Those about passwords and accounts
    #[arg(long = "help-user-management")]
    user_management: bool,
}

impl Lists {
    /// The list that was asked for.
    pub fn asked(&self) -> Option<Category> {
        let asked = [
            (self.all, Category::All),
            (self.core_server, Category::CoreServer),
            (self.database, Category::Database),
            (self.logging, Category::Logging),
            (self.replication, Category::Replication),
            (self.security, Category::Security),
            (self.service_discovery, Category::ServiceDiscovery),
            (self.user_management, Category::UserManagement),
        ];
        asked.into_iter().find(|(is_asked, _)| *is_asked).map(|(_, category)| category)
    }
}

/// What a component is about; its class, or the class it is in, says so.
fn categories(component: &Component) -> &'static [Category] {
    match component.classes().first().map_or("", |class| class.name) {
        "backend" | "changelog" => &[Category::Database],
        "log-publisher" | "log-rotation-policy" | "log-retention-policy" => &[Category::Logging],
        "access-control-handler"
        | "root-dn"
        | "key-manager-provider"
        | "trust-manager-provider"
        | "sasl-mechanism-handler" => &[Category::Security],
        "identity-mapper" | "certificate-mapper" => &[Category::Security, Category::UserManagement],
        "password-policy"
        | "password-validator"
        | "password-generator"
        | "password-storage-scheme"
        | "account-status-notification-handler"
        | "root-dn-user" => &[Category::UserManagement],
        _ => &[Category::CoreServer],
    }
}

/// Prints the subcommands of a category; `component_of` says what a subcommand is about.
pub fn print<'c>(
    category: Category,
    subcommands: impl Iterator<Item = &'c Command>,
    component_of: impl Fn(&str) -> Option<&'static Component>,
) {
    let belongs = |name: &str| match component_of(name) {
        Some(component) => category == Category::All || categories(component).contains(&category),
        // The one that is about no component.
        None => category == Category::All,
    };
    let mut found: Vec<&Command> = subcommands.filter(|subcommand| belongs(subcommand.get_name())).collect();
    found.sort_by_key(|subcommand| subcommand.get_name());
    if found.is_empty() {
        outln!("There are no subcommands of this kind.");
        return;
    }
    outln!("Usage: pando dsconfig SUBCOMMAND [OPTIONS]\n\nAvailable subcommands:");
    for subcommand in found {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        out!("\n{}\n    {about}\n", subcommand.get_name());
    }
    outln!("\n`pando dsconfig SUBCOMMAND --help` shows the options of a subcommand.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_are_named_here_are_declared() {
        let about = |name: &str| {
            let all = Component::all();
            categories(all.iter().find(|component| component.name() == name).unwrap()).to_vec()
        };
        assert_eq!(about("backend-vlv-index"), [Category::Database]);
        assert_eq!(about("log-rotation-policy"), [Category::Logging]);
        assert_eq!(about("certificate-mapper"), [Category::Security, Category::UserManagement]);
        assert_eq!(about("access-control-handler"), [Category::Security]);
        assert_eq!(about("password-policy"), [Category::UserManagement]);
        assert_eq!(about("plugin"), [Category::CoreServer]);
    }
}
