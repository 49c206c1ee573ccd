//! Reading `pando.toml` again while the server runs (SIGHUP, `pando reload`): what can change, changes; what cannot is named.
//!
//! A file with faults changes nothing. Knows the error log and the directory; how indexes change is the directory's business.

use config::Config;
use directory::Directory;
use runtime::log::error::{Category, ErrorLog, message_id};

use crate::{missing_groups, rebuild_request::RebuildRequest, reload_answer::ReloadAnswer, stalls::Stalls};

/// Takes the configuration as the file has it now, then the requests that tools left. Everything that happens is told in the error log.
pub(crate) fn reload(directory: &Directory, stalls: &Stalls, errors: &ErrorLog) {
    let instance = &directory.config().instance;
    let file = instance.config_file();
    // Read once: the answer is about the very text that was taken or refused.
    let text = Config::text_of(&file);
    let digest = text.as_ref().map_or(0, |text| ReloadAnswer::digest_of(text.as_bytes()));
    let refused = match text.and_then(|text| Config::parse(&text, &file)) {
        Ok(config) => reconfigure(directory, &config, stalls, errors),
        Err(faults) => {
            for fault in faults.to_string().lines() {
                errors.error(Category::Config, message_id::CONFIG_REFUSED, fault);
            }
            let message = "The configuration has faults and was not taken: the server goes on with the one before";
            errors.error(Category::Config, message_id::CONFIG_REFUSED, message);
            Some(faults.to_string())
        }
    };
    if let Err(error) = (ReloadAnswer { digest, refused }).leave(instance) {
        let message = format_args!("The tool that asked to reload cannot be answered ({error}): it waits in vain");
        errors.warning(Category::Config, message_id::OTHER, message);
    }
    match RebuildRequest::take(instance) {
        Ok(requests) => requests.iter().for_each(|request| rebuild(directory, request, errors)),
        Err(error) => errors.error(
            Category::Task,
            message_id::OTHER,
            format_args!("The requests to rebuild indexes cannot be read ({error}): ask again"),
        ),
    }
}

/// Gives back why it was refused.
fn reconfigure(directory: &Directory, config: &Config, stalls: &Stalls, errors: &ErrorLog) -> Option<String> {
    match directory.reconfigure(config) {
        Ok(done) => {
            stalls.set_threshold(config.global.stall_threshold);
            for sentence in &done.changed {
                errors.notice(Category::Config, message_id::CONFIG_TAKEN, sentence);
            }
            for property in &done.needs_restart {
                errors.warning(
                    Category::Config,
                    message_id::RESTART_NEEDED,
                    format_args!("{property} differs from what the server started with: restart it to take the change"),
                );
            }
            missing_groups::warn(directory, errors);
            errors.notice(Category::Config, message_id::CONFIG_TAKEN, "The configuration was read again");
            None
        }
        Err(error) => {
            let message =
                format_args!("The configuration was not taken, the server goes on with the one before: {error}");
            errors.error(Category::Config, message_id::CONFIG_REFUSED, message);
            Some(error.to_string())
        }
    }
}

fn rebuild(directory: &Directory, request: &RebuildRequest, errors: &ErrorLog) {
    match directory.rebuild_indexes(&request.backend, &request.which) {
        Ok(names) if names.is_empty() => {
            let message = format_args!("No index of the backend \"{}\" needs to be rebuilt", request.backend);
            errors.notice(Category::Task, message_id::INDEXES, message);
        }
        Ok(names) => {
            let names = names.join(", ");
            let message = format_args!("Asked to rebuild indexes of the backend \"{}\": {names}", request.backend);
            errors.notice(Category::Task, message_id::INDEXES, message);
        }
        Err(error) => {
            errors.error(Category::Task, message_id::INDEXES, format_args!("No index is rebuilt: {error}"));
        }
    }
}
