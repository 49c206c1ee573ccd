//! Which account a command is about, and who asks.

use std::path::Path;

use clap::Args;

use crate::client::Client;
use crate::failure::Failure;
use crate::instance;
use crate::server_options::ServerOptions;

#[derive(Debug, Args)]
pub struct AboutOne {
    /// The account's name
    #[arg(value_name = "DN")]
    pub dn: String,
    #[command(flatten)]
    server: ServerOptions,
}

impl AboutOne {
    /// Connects to the server of the instance.
    pub fn connect(&self, directory: &Path) -> Result<Client, Failure> {
        Client::connect(&instance::open(directory)?, &self.server)
    }
}
