//! Tells people and programs what happens to accounts, as `[account-status-notification-handler.*]` says.
//!
//! Events come from binds and changes, which must not wait: they go through a bounded queue to a thread, which reads
//! what is needed of the entry and hands each message to its handler's queue.

mod changes;
mod expiry_warnings;
mod follow;
mod json;
mod mail;
mod refusals;
mod secret_file;
mod template;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use accounts::{AccountEvent, AccountEventKind, BindRefusal};
use arc_swap::ArcSwap;
use config::{Config, NotificationHandler, NotificationWay, WebhookHandler};
use directory::Directory;
use notification::{Message, Outbox, QUEUE_MAX, SendFault, Webhook, WebhookSettings};
use runtime::log::error::ErrorLog;

pub(crate) use self::expiry_warnings::ExpiryWarnings;
pub(crate) use self::follow::Follower;
use self::json::json;
use self::mail::{MailTexts, mailer};
use self::refusals::ToldLately;
use self::secret_file::first_line;
use self::template::Attributes;
use crate::messages;

/// A message that is not sent is tried again after these.
const PAUSES: &[Duration] = &[Duration::from_secs(2), Duration::from_secs(30), Duration::from_secs(300)];

/// See the module.
pub(crate) struct Notifications {
    handlers: Arc<ArcSwap<Handlers>>,
    errors: ErrorLog,
    queue: SyncSender<AccountEvent>,
    dropped: AtomicU64,
    told: ToldLately,
    directory: Weak<Directory>,
}

/// What is taken of a configuration.
#[derive(PartialEq, Eq)]
struct SettingsOfHandlers {
    handlers: Vec<NotificationHandler>,
    mail_servers: Vec<config::MailServer>,
    expiry_warning_time: Option<(u8, u8)>,
}

/// The handlers of a configuration.
struct Handlers {
    /// What they were made of.
    settings: SettingsOfHandlers,
    handlers: Vec<Handler>,
}

struct Handler {
    name: String,
    kinds: Vec<AccountEventKind>,
    way: Way,
}

enum Way {
    ErrorLog,
    Mail(Box<MailTexts>, Outbox),
    Webhook(Outbox),
}

/// Attributes of an entry, read once for all handlers.
struct EntryAttributes(Vec<(String, Vec<Vec<u8>>)>);

impl Attributes for EntryAttributes {
    fn first(&self, name: &str) -> String {
        let own = self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let value = own.and_then(|(_, values)| values.first());
        value.map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
    }
}

impl Notifications {
    /// Begins to tell.
    ///
    /// # Errors
    /// When a handler's settings cannot work, or a thread cannot be started.
    pub(crate) fn start(directory: &Arc<Directory>, errors: ErrorLog) -> Result<Arc<Notifications>, String> {
        let handlers = Handlers::new(directory.config(), &errors)?;
        let handlers = Arc::new(ArcSwap::from_pointee(handlers));
        let (queue, events) = sync_channel(QUEUE_MAX);
        let weak = Arc::downgrade(directory);
        let (own, directory, log) = (Arc::clone(&handlers), Weak::clone(&weak), errors.clone());
        std::thread::Builder::new()
            .name("account events".to_owned())
            .spawn(move || tell(&events, &own, &directory, &log))
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(Notifications {
            handlers,
            errors,
            queue,
            dropped: AtomicU64::new(0),
            told: ToldLately::default(),
            directory: weak,
        }))
    }

    /// Takes another configuration; whether it has other handlers.
    ///
    /// # Errors
    /// When a handler's settings cannot work; those before stay.
    pub(crate) fn set(&self, config: &Config) -> Result<bool, String> {
        if self.handlers.load().settings == settings(config) {
            return Ok(false);
        }
        self.handlers.store(Arc::new(Handlers::new(config, &self.errors)?));
        Ok(true)
    }

    /// Whether there is anybody to tell.
    fn has_handlers(&self) -> bool {
        !self.handlers.load().handlers.is_empty()
    }

    /// When, in a day, users are looked for who are to be told that their password will expire.
    fn expiry_warning_time(&self) -> Option<(u8, u8)> {
        self.handlers.load().settings.expiry_warning_time
    }

    /// Whether one of the handlers of a policy tells of events of that kind.
    fn tells(&self, kind: AccountEventKind, of_policy: &[String]) -> bool {
        let handlers = self.handlers.load();
        handlers.handlers.iter().any(|handler| handler.is_of(kind, of_policy))
    }

    /// A bind with the right password was refused.
    pub(crate) fn refused(&self, dn: &str, refusal: BindRefusal) {
        let Some((kind, message)) = refusals::said(refusal) else { return };
        if !self.has_handlers() || !self.told.is_new(dn, kind, Instant::now()) {
            return;
        }
        let Some(directory) = self.directory.upgrade() else { return };
        let Some(policy) = directory.password_policy_of(dn) else { return };
        self.happened(AccountEvent {
            kind,
            dn: dn.to_owned(),
            at: directory.account_clock().now(),
            message: message.to_owned(),
            properties: Vec::new(),
            handlers: policy.notification_handlers.clone(),
        });
    }

    /// Something happened to an account. Does not wait.
    fn happened(&self, event: AccountEvent) {
        if let Err(TrySendError::Full(event)) = self.queue.try_send(event) {
            let before = self.dropped.fetch_add(1, Ordering::Relaxed);
            // Who drops thousands should not write thousands of lines about it.
            if before.is_power_of_two() || before == 0 {
                let text = format_args!(
                    "{} notifications of accounts were dropped because too many wait, the last about {}",
                    before + 1,
                    event.dn
                );
                self.errors.report(messages::NOTIFICATION_FAILED, text);
            }
        }
    }
}

/// Whether the handlers of a configuration could work.
///
/// # Errors
/// Why not.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    // The threads of its queues end with it.
    Handlers::new(config, &ErrorLog::silent()).map(drop)
}

fn settings(config: &Config) -> SettingsOfHandlers {
    SettingsOfHandlers {
        handlers: config.notification_handlers.clone(),
        mail_servers: config.mail_servers.clone(),
        expiry_warning_time: config.global.expiry_warning_time,
    }
}

impl Handlers {
    fn new(config: &Config, errors: &ErrorLog) -> Result<Handlers, String> {
        let enabled = config.notification_handlers.iter().filter(|handler| handler.enabled);
        let made = enabled.map(|handler| {
            Handler::new(handler, config, errors)
                .map_err(|fault| format!("account-status-notification-handler \"{}\": {fault}", handler.name))
        });
        Ok(Handlers { settings: settings(config), handlers: made.collect::<Result<_, _>>()? })
    }
}

impl Handler {
    fn new(handler: &NotificationHandler, config: &Config, errors: &ErrorLog) -> Result<Handler, String> {
        let (name, log) = (handler.name.clone(), errors.clone());
        let report = move |message: &Message, fault: &SendFault| {
            let what = &message.json["type"];
            let text = format_args!("The notification {what} by the handler \"{name}\" was not sent: {fault}");
            log.report(messages::NOTIFICATION_FAILED, text);
        };
        let started = |outbox: std::io::Result<Outbox>| outbox.map_err(|error| error.to_string());
        let way = match &handler.way {
            NotificationWay::ErrorLog => Way::ErrorLog,
            NotificationWay::Mail(mail) => {
                let server = config.mail_servers.iter().find(|server| server.name == mail.mail_server);
                let server = server.ok_or_else(|| format!("there is no mail-server \"{}\"", mail.mail_server))?;
                let texts = MailTexts::new(mail, config.instance.directory())?;
                let outbox = Outbox::start("mail", mailer(server, &mail.sender)?, PAUSES, report);
                Way::Mail(Box::new(texts), started(outbox)?)
            }
            NotificationWay::Webhook(webhook) => {
                Way::Webhook(started(Outbox::start("webhook", sender(webhook)?, PAUSES, report))?)
            }
        };
        Ok(Handler { name: handler.name.clone(), kinds: handler.kinds.clone(), way })
    }

    fn is_told(&self, event: &AccountEvent) -> bool {
        self.is_of(event.kind, &event.handlers)
    }

    fn is_of(&self, kind: AccountEventKind, of_policy: &[String]) -> bool {
        of_policy.contains(&self.name) && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }

    fn tell(&self, event: &AccountEvent, entry: &EntryAttributes, errors: &ErrorLog) {
        match &self.way {
            Way::ErrorLog => {
                let text = format_args!("{}: {} ({})", event.kind.name(), event.message, event.dn);
                errors.report(messages::ACCOUNT_EVENT, text);
            }
            Way::Mail(texts, outbox) => {
                if let Some(message) = texts.message(event, entry) {
                    outbox.offer(message);
                }
            }
            Way::Webhook(outbox) => {
                let (recipients, subject, body) = (Vec::new(), String::new(), String::new());
                outbox.offer(Message { recipients, subject, body, is_html: false, json: json(event) });
            }
        }
    }
}

fn sender(webhook: &WebhookHandler) -> Result<Webhook, String> {
    let settings = WebhookSettings {
        url: webhook.url.clone(),
        authorization: webhook.authorization_file.as_deref().map(first_line).transpose()?,
        trusted: webhook.trusted.clone(),
    };
    Webhook::new(&settings).map_err(|error| error.to_string())
}

/// The thread: ends with the server.
fn tell(events: &Receiver<AccountEvent>, handlers: &ArcSwap<Handlers>, directory: &Weak<Directory>, errors: &ErrorLog) {
    while let Ok(event) = events.recv() {
        let Some(directory) = directory.upgrade() else { return };
        let handlers = handlers.load_full();
        let told: Vec<&Handler> = handlers.handlers.iter().filter(|handler| handler.is_told(&event)).collect();
        let wanted =
            told.iter().filter_map(|handler| if let Way::Mail(texts, _) = &handler.way { Some(texts) } else { None });
        let mut names: Vec<&str> = wanted.flat_map(|texts| texts.attributes()).collect();
        names.sort_unstable();
        names.dedup();
        let entry = if names.is_empty() { Vec::new() } else { directory.attributes_of(&event.dn, &names) };
        let entry = EntryAttributes(entry);
        told.iter().for_each(|handler| handler.tell(&event, &entry, errors));
    }
}
