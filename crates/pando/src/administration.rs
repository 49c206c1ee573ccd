//! What tools ask of the server that runs on their instance, over the socket that it has for administrators.
//!
//! No password is needed: the server knows from the system whose process it is.

use config::Instance;
use ldap::ResultCode;
use ldap::administration::{JobProgress, RebuildIndexes, ReloadResponse, decode_name_list};
use ldap::oids::extended;

use crate::client::{self, Client};
use crate::failure::{Context, Failure};
use crate::instance::running;

/// A server that has read its configuration again.
pub struct Reloaded {
    /// Its process.
    pub process: u32,
    /// What became of the configuration; or why the server did not take it.
    pub verdict: Result<ReloadResponse, String>,
}

/// Has the server read its configuration again, if one runs, and waits for what it says.
pub fn reload(instance: &Instance) -> Result<Option<Reloaded>, Failure> {
    let Some(process) = running(instance) else { return Ok(None) };
    let answer =
        Client::of_administrator(instance, process)?.extended(extended::RELOAD_CONFIGURATION, None, &mut |_| {})?;
    let verdict = match answer.result.code {
        ResultCode::SUCCESS => {
            Ok(ReloadResponse::decode(answer.value.as_deref()).context("the server's answer to a reload")?)
        }
        ResultCode::UNWILLING_TO_PERFORM => Err(answer.result.message),
        _ => return Err(client::refusal("reload", &answer.result)),
    };
    Ok(Some(Reloaded { process, verdict }))
}

/// Has the server (`process`) build indexes anew; gives their names. `report` is told how far it is, if the request is
/// to wait.
pub fn rebuild(
    instance: &Instance,
    process: u32,
    request: &RebuildIndexes,
    report: &mut dyn FnMut(&JobProgress),
) -> Result<Vec<String>, Failure> {
    let value = request.encode();
    let answer = Client::of_administrator(instance, process)?.extended(
        extended::REBUILD_INDEXES,
        Some(&value),
        &mut |value| {
            // A report that cannot be read is left out; the result is what counts.
            if let Ok(progress) = JobProgress::decode(value) {
                report(&progress);
            }
        },
    )?;
    match answer.result.code {
        ResultCode::SUCCESS => decode_name_list(answer.value.as_deref()).context("the server's answer to a rebuild"),
        _ => Err(Failure::new(answer.result.message)),
    }
}
