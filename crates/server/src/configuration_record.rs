//! What is kept of each change of the configuration: a record in the audit logs, and the whole text in the history.
//!
//! Knows configurations and who changed them; how they are changed is known elsewhere.

use std::sync::Arc;

use config::mapping::{attribute_of, naming_attribute, object_classes, shown_value};
use config::{Config, ConfigHistory, Difference, Fate, ValueDifference, differences};
use directory::Directory;
use ldap::ldif::{put_comment, put_line};
use runtime::log::error::ErrorLog;

use crate::changed_by::ChangedBy;
use crate::log::publishers::Publishers;
use crate::messages;

/// See the module.
#[derive(Default)]
pub(crate) struct ConfigurationRecord {
    logs: Option<Arc<Publishers>>,
    history: Option<ConfigHistory>,
}

impl ConfigurationRecord {
    pub(crate) fn new(logs: Arc<Publishers>, directory: &Directory) -> Self {
        let history = Some(ConfigHistory::new(directory.config().instance.config_history()));
        Self { logs: Some(logs), history }
    }

    /// The server starts: the file may have been edited since it ran.
    pub(crate) fn started(&self, config: &Config, errors: &ErrorLog) {
        let kept = self.history.as_ref().and_then(|history| {
            let newest = history.versions().ok()?.pop()?;
            let (_, text) = history.read(newest.number).ok()??;
            Config::parse(&text, &config.instance.config_file()).ok()
        });
        let by = ChangedBy { who: "the file as it was found".to_owned(), door: "start" };
        match kept {
            Some(before) => self.changed(&before, config, &by, errors),
            None => self.keep(config, &by, &now(), errors),
        }
    }

    /// The server has taken another configuration.
    pub(crate) fn changed(&self, before: &Config, after: &Config, by: &ChangedBy, errors: &ErrorLog) {
        let at = now();
        self.keep(after, by, &at, errors);
        let found = differences(before, after);
        if found.is_empty() {
            return;
        }
        let mut record = Vec::new();
        put_comment(&mut record, &format!("{at}; configuration; {}; {}", by.door, by.who), None);
        found.iter().for_each(|difference| put(&mut record, difference));
        let audits = self.logs.iter().flat_map(|logs| logs.audit_records());
        audits.for_each(|audit| audit.append(&record));
    }

    fn keep(&self, config: &Config, by: &ChangedBy, at: &str, errors: &ErrorLog) {
        let Some(history) = &self.history else { return };
        let file = config.instance.config_file();
        let kept = Config::text_of(&file)
            .map_err(|error| error.to_string())
            .and_then(|text| history.keep(at, by.door, &by.who, &text).map_err(|error| error.to_string()));
        if let Err(error) = kept {
            let message = format_args!("The configuration is in force, and not kept in config-history: {error}");
            errors.report(messages::CONFIG_NOT_KEPT, message);
        }
    }
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// An LDIF change record; what was there before stands in comments.
fn put(out: &mut Vec<u8>, difference: &Difference) {
    let Difference { dn, class, variant, fate, values, .. } = difference;
    let attribute = |value: &ValueDifference| attribute_of(class, variant, value.property);
    for value in values.iter().filter(|_| *fate != Fate::Added) {
        let before: Vec<String> = value.before.iter().map(|text| shown_value(value.property, text)).collect();
        put_comment(out, &format!("before: {}: {}", attribute(value), before.join(", ")), None);
    }
    put_line(out, b"dn", dn.as_bytes(), None);
    let change = match fate {
        Fate::Added => "add",
        Fate::Changed => "modify",
        Fate::Removed => "delete",
    };
    put_line(out, b"changetype", change.as_bytes(), None);
    if *fate == Fate::Added {
        for class in object_classes(class, variant) {
            put_line(out, b"objectClass", class.as_bytes(), None);
        }
        let name = ldap::Dn::parse(dn).ok().and_then(|dn| Some(dn.rdn()?.avas().first()?.value.to_vec()));
        put_line(out, naming_attribute(class).as_bytes(), &name.unwrap_or_default(), None);
    }
    for value in values.iter().filter(|_| *fate != Fate::Removed) {
        let name = attribute(value);
        if *fate == Fate::Changed {
            put_line(out, b"replace", name.as_bytes(), None);
        }
        for text in &value.after {
            put_line(out, name.as_bytes(), shown_value(value.property, text).as_bytes(), None);
        }
        if *fate == Fate::Changed {
            out.extend_from_slice(b"-\n");
        }
    }
    out.push(b'\n');
}
