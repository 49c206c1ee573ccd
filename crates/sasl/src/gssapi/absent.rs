//! What stands for the exchange in a program without Kerberos: nothing that could be made.

use std::convert::Infallible;

use super::exchange::{GssFault, Next};

/// Whether this program has Kerberos.
pub const IS_BUILT: bool = false;

/// An exchange; there is none.
#[derive(Debug)]
pub struct Acceptor(Infallible);

impl Acceptor {
    /// Begins an exchange.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: Option<&str>, _: bool) -> Result<Acceptor, GssFault> {
        Err(GssFault::NotBuilt)
    }

    /// Takes the client's next message.
    ///
    /// # Errors
    /// Never: there is no exchange.
    pub fn step(&mut self, _: &[u8], _: Option<&[u8]>) -> Result<Next, GssFault> {
        match self.0 {}
    }
}
