//! Doing it on the running server: in one transaction where it fits, otherwise one after the other.

use config::Config;
use directory::{TRANSACTION_BYTES_MAX, TRANSACTION_UPDATES_MAX};
use ldap::LdapResult;

use super::plan::Plan;
use crate::client::Client;
use crate::failure::Failure;
use crate::server_options::ServerOptions;

/// What was done.
pub struct Applied {
    /// All or nothing.
    pub in_transaction: bool,
    /// Requests that were done.
    pub done: usize,
    /// What ended it early.
    pub failure: Option<String>,
}

/// Does everything that the plan has.
pub fn apply(config: &Config, server: &ServerOptions, plan: &Plan) -> Result<Applied, Failure> {
    let mut client = Client::connect(config, server)?;
    let requests: Vec<_> = plan.requests().collect();
    let mut bytes = 0;
    for (_, request) in &requests {
        let mut message = Vec::new();
        ldap::client::change(&mut message, 1, request, &[]);
        bytes += message.len();
    }
    let in_transaction =
        plan.is_in_one_backend() && requests.len() <= TRANSACTION_UPDATES_MAX && bytes <= TRANSACTION_BYTES_MAX;
    let refused = |at: Option<usize>, result: &LdapResult| match at.and_then(|at| requests.get(at)) {
        Some((number, request)) => format!("undoing change {number} at \"{}\" was refused: {result}", request.dn),
        None => format!("the transaction was refused: {result}"),
    };
    if in_transaction {
        let outcome = client.change_all(requests.iter().map(|(_, request)| *request))?;
        let failure = outcome.err().map(|(at, result)| refused(at, &result));
        let done = if failure.is_none() { requests.len() } else { 0 };
        return Ok(Applied { in_transaction, done, failure });
    }
    for (at, (_, request)) in requests.iter().enumerate() {
        let result = client.change(request)?;
        if !result.is_success() {
            return Ok(Applied { in_transaction, done: at, failure: Some(refused(Some(at), &result)) });
        }
    }
    Ok(Applied { in_transaction, done: requests.len(), failure: None })
}
