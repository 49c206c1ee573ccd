//! Reading `pando.toml` again while the server runs (SIGHUP, `pando reload`): what can change, changes; what cannot is
//! named.
//!
//! A file with which a server would not start changes nothing. Knows the error log and the directory; how indexes
//! change is the directory's business.

use std::sync::Arc;

use config::{Applier, Config};
use directory::{Directory, Reconfigured};
use ldap::administration::ReloadResponse;
use runtime::log::error::ErrorLog;

use crate::changed_by::ChangedBy;
use crate::configuration_record::ConfigurationRecord;
use crate::connection_rules::ConnectionRules;
use crate::log::LogSettings;
use crate::log::publishers::Publishers;
use crate::notifications::Notifications;
use crate::password_servers::{self, PasswordServers};
use crate::stalls::Stalls;
use crate::start_check::{Beside, check_start};
use crate::{kerberos, messages, missing_groups};

/// What takes a part of the configuration outside of the directory.
pub(crate) struct LiveParts {
    pub(crate) stalls: Arc<Stalls>,
    pub(crate) connection_rules: Arc<ConnectionRules>,
    pub(crate) notifications: Arc<Notifications>,
    pub(crate) password_servers: Arc<PasswordServers>,
    pub(crate) record: ConfigurationRecord,
    pub(crate) logs: Arc<Publishers>,
}

/// Takes the configuration as the file has it now; `Err` says why it was not taken. Everything that happens is told in
/// the error log.
pub(crate) fn reload(
    directory: &Arc<Directory>,
    parts: &LiveParts,
    errors: &ErrorLog,
    by: &ChangedBy,
) -> Result<ReloadResponse, String> {
    let before = directory.taken();
    let taken = read(directory, errors).and_then(|config| take(directory, &config, parts, errors));
    if taken.is_ok() {
        parts.record.changed(&before, &directory.taken(), by, errors);
    }
    if let Err(reason) = &taken {
        for line in reason.lines() {
            errors.report(messages::CONFIG_FAULT, line);
        }
        let message = "The configuration was not taken: the server goes on with the one before";
        errors.report(messages::CONFIG_REFUSED, message);
    }
    taken
}

/// The configuration of the file, in which no password is in the clear any more.
fn read(directory: &Directory, errors: &ErrorLog) -> Result<Config, String> {
    let file = directory.config().instance.config_file();
    // A file with faults is named so first.
    Config::load(&file).map_err(|faults| faults.to_string())?;
    let hashed = directory::hash_root_passwords_in_file(&file).map_err(|error| error.to_string())?;
    if !hashed.is_empty() {
        let message = format_args!("The clear passwords of {} are hashed in {}", hashed.join(", "), file.display());
        errors.report(messages::CONFIG_CHANGED, message);
    }
    Config::load(&file).map_err(|faults| faults.to_string())
}

/// Takes a configuration with which a server would start, too; says in the error log what changed and what takes a
/// restart.
fn take(
    directory: &Arc<Directory>,
    config: &Config,
    parts: &LiveParts,
    errors: &ErrorLog,
) -> Result<ReloadResponse, String> {
    check_start(config, &Beside::ThisProcess(directory.config())).map_err(|error| error.to_string())?;
    let done = apply(directory, config, parts)?;
    directory.set_taken(config.clone());
    for sentence in &done.changed {
        errors.report(messages::CONFIG_CHANGED, sentence);
    }
    for what in &done.at_restart {
        errors.report(messages::RESTART_NEEDED, what);
    }
    missing_groups::warn(directory, errors);
    errors.report(messages::CONFIG_READ, "The configuration was read again");
    let at_restart = done.at_restart.iter().map(ToString::to_string).collect();
    Ok(ReloadResponse { changed: done.changed, at_restart })
}

/// Has every part of the server apply what is declared live.
fn apply(directory: &Arc<Directory>, config: &Config, parts: &LiveParts) -> Result<Reconfigured, String> {
    let servers = password_servers::check(config)?;
    let logs = LogSettings::from_config(config).map_err(|error| error.to_string())?;
    let mut done = directory.reconfigure(config).map_err(|error| error.to_string())?;
    kerberos::set(config)?;
    if parts.password_servers.set(servers) {
        done.applied.insert(Applier::PasswordServers);
        done.changed.push("The servers that check passwords changed".to_owned());
    }
    if parts.connection_rules.set(config) {
        done.applied.insert(Applier::Connections);
        done.changed.push("The clients that may connect or the encryption that is required changed".to_owned());
    }
    if parts.notifications.set(config)? {
        done.applied.insert(Applier::Notifications);
        done.changed.push("The notification handlers or mail servers changed".to_owned());
    }
    // Of what can fail, all is tried before anything is changed, and files are opened last.
    let opened = parts.logs.set(&logs, &directory.schema()).map_err(|error| error.to_string())?;
    if parts.logs.set_audits(&logs.audit, directory).map_err(|error| error.to_string())? || opened {
        done.applied.insert(Applier::Logs);
        done.changed.push("The logs changed".to_owned());
    }
    if parts.stalls.set_threshold(config.global.stall_threshold) {
        done.applied.insert(Applier::StallReports);
        done.changed.push("The threshold of stall reports changed".to_owned());
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use config::Effect;
    use config::variations::variations;
    use directory::{Identity, Session, Submitted, UpdateRequest};
    use ldap::{Controls, MadeUpdate, Update};
    use std::sync::mpsc;

    use super::*;

    /// The entry that a proposed-aci-file is about.
    fn add_base_entry(directory: &Directory) {
        let attributes = [(&b"objectClass"[..], [&b"domain"[..]]), (b"dc", [b"example"])];
        let made = MadeUpdate::add(b"dc=example,dc=com", attributes);
        let update = Update::Entry(made.update().unwrap());
        let root = Session::of(Identity::Root { dn: "cn=Directory Manager".into() }, 1);
        let (sender, results) = mpsc::channel();
        let controls = Controls::default();
        let request = UpdateRequest { update: &update, controls: &controls, operation: 1, message_id: 1 };
        let submitted = directory.submit(&root, request, Box::new(move |done| sender.send(done.result).unwrap()));
        assert!(matches!(submitted, Submitted::Queued));
        assert!(results.recv().unwrap().is_success());
    }

    /// A handler of Kerberos is refused by a program without it.
    fn is_built(variant: &config::Variant) -> bool {
        variant.type_name != "gssapi" || cfg!(feature = "gssapi")
    }

    /// Nothing can be declared live and be ignored: a running server that gets another value says that the part that
    /// the declaration names had something to apply.
    #[test]
    fn every_property_that_is_declared_live_is_applied_live() {
        let folder = tempfile::tempdir().unwrap();
        let config = |text: &str| Config::parse(text, &folder.path().join("pando.toml")).unwrap();
        let live: Vec<_> =
            variations().into_iter().filter(|it| it.property.is_live() && is_built(it.variant)).collect();
        let directory = Arc::new(Directory::open(&config(&live[0].before)).unwrap());
        add_base_entry(&directory);
        for name in ["one", "two"] {
            let change =
                "dn: dc=example,dc=com\nchangetype: modify\nadd: aci\naci: (targetattr=\"*\")(version 3.0; acl";
            let text = format!("{change} \"{name}\"; allow (read) userdn=\"ldap:///all\";)\n");
            std::fs::write(folder.path().join(name), text).unwrap();
            let keys = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
            std::fs::write(folder.path().join(format!("{name}.jwks")), keys).unwrap();
        }
        std::fs::create_dir(folder.path().join("keys")).unwrap();
        for name in ["one.secret", "two.secret"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        for name in ["one.pem", "two.pem", "keys/one.crt", "keys/two.crt"] {
            let certified = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            std::fs::write(folder.path().join(name), certified.cert.pem()).unwrap();
        }
        let parts = LiveParts {
            stalls: Arc::new(Stalls::new(ErrorLog::stderr(), None)),
            connection_rules: Arc::default(),
            notifications: Notifications::start(&directory, ErrorLog::stderr()).unwrap(),
            password_servers: Arc::new(
                PasswordServers::start(password_servers::check(directory.config()).unwrap(), ErrorLog::stderr())
                    .unwrap(),
            ),
            record: ConfigurationRecord::default(),
            logs: Arc::new(Publishers::new()),
        };
        let mut appliers = std::collections::BTreeSet::new();
        for variation in live {
            let title =
                format!("[{}] {} {}", variation.class.name, variation.variant.type_name, variation.property.name);
            let take = |text: &str| {
                apply(&directory, &config(text), &parts).unwrap_or_else(|error| panic!("{title}: {error}\n{text}"))
            };
            take(&variation.before);
            let done = take(&variation.after);
            let Effect::Live(applier) = variation.property.effect else { panic!("{title}") };
            let mut expected = std::collections::BTreeSet::from([applier]);
            if variation.property.name == "require-secure-authentication" {
                expected.insert(Applier::Connections);
            }
            assert_eq!(done.applied, expected, "{title}");
            assert_eq!(take(&variation.after).applied, [].into(), "{title}: nothing is left to apply");
            appliers.insert(applier);
        }
        assert_eq!(appliers.len(), 17);
        directory.close().unwrap();
    }
}
