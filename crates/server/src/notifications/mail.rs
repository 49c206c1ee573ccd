//! The mail of one handler: who gets it, what it says.

use std::path::Path;

use accounts::{AccountEvent, AccountEventKind};
use config::{MailHandler, MailServer};
use durable::ReadBound;
use notification::{Mailer, MailerSettings, Message, Protection, address_fault};
use outbound::Server;

use super::json::json;
use super::secret_file::first_line;
use super::template::{Attributes, Template};

/// Largest template.
const TEMPLATE: ReadBound = ReadBound::file(1 << 20);

/// What a handler of type `smtp` says to whom.
pub(super) struct MailTexts {
    address_attributes: Vec<String>,
    recipients: Vec<String>,
    without_user: bool,
    is_html: bool,
    subjects: Vec<(AccountEventKind, String)>,
    templates: Vec<(AccountEventKind, Template)>,
}

impl MailTexts {
    /// Reads the templates.
    pub(super) fn new(handler: &MailHandler, instance: &Path) -> Result<MailTexts, String> {
        if let Some(fault) = handler.recipients.iter().find_map(|address| address_fault(address)) {
            return Err(format!("recipient-address: {fault}"));
        }
        if handler.address_attributes.is_empty() && handler.recipients.is_empty() {
            return Err("nobody gets its mail: set email-address-attribute-type or recipient-address".to_owned());
        }
        let subjects = handler.subjects.iter().map(|text| of_kind("message-subject", text));
        let subjects = subjects.map(|it| it.map(|(kind, subject)| (kind, subject.to_owned())));
        let templates = handler.templates.iter().map(|text| {
            let (kind, file) = of_kind("message-template-file", text)?;
            let path = instance.join(file);
            let text = TEMPLATE.text(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let template = Template::parse(&text).map_err(|fault| format!("{}: {fault}", path.display()))?;
            Ok((kind, template))
        });
        Ok(MailTexts {
            address_attributes: handler.address_attributes.clone(),
            recipients: handler.recipients.clone(),
            without_user: handler.without_user,
            is_html: handler.is_html,
            subjects: subjects.collect::<Result<_, String>>()?,
            templates: templates.collect::<Result<_, String>>()?,
        })
    }

    /// The attributes of the account's entry that are needed.
    pub(super) fn attributes(&self) -> impl Iterator<Item = &str> {
        let shown = self.templates.iter().flat_map(|(_, template)| template.attributes());
        self.address_attributes.iter().map(String::as_str).chain(shown)
    }

    /// The mail about an event; none when nobody gets it.
    pub(super) fn message(&self, event: &AccountEvent, entry: &dyn Attributes) -> Option<Message> {
        let addresses = self.address_attributes.iter().map(|name| entry.first(name)).filter(|it| !it.is_empty());
        let mut recipients: Vec<String> = addresses.filter(|address| address_fault(address).is_none()).collect();
        if recipients.is_empty() && !self.without_user {
            return None;
        }
        recipients.extend(self.recipients.iter().cloned());
        recipients.dedup();
        if recipients.is_empty() {
            return None;
        }
        let subject = self.subjects.iter().find(|(kind, _)| *kind == event.kind).map(|(_, subject)| subject.clone());
        let template = self.templates.iter().find(|(kind, _)| *kind == event.kind).map(|(_, template)| template);
        let body = match template {
            Some(template) => template.text(event, entry, self.is_html),
            None => format!("{}\n\nAccount: {}\n", event.message, event.dn),
        };
        Some(Message {
            recipients,
            subject: subject.unwrap_or_else(|| event.message.clone()),
            body,
            // What is said where no template says it is no HTML.
            is_html: self.is_html && template.is_some(),
            json: json(event),
        })
    }
}

/// `KIND:TEXT`
fn of_kind<'t>(property: &str, text: &'t str) -> Result<(AccountEventKind, &'t str), String> {
    let (kind, rest) = text
        .split_once(':')
        .ok_or_else(|| format!("{property}: \"{text}\" must be KIND:TEXT, such as password-expiring:…"))?;
    let known = AccountEventKind::from_name(kind.trim());
    let kind = known.ok_or_else(|| {
        let names = AccountEventKind::ALL_NAMES.join(", ");
        format!("{property}: \"{kind}\" is no notification type: known are {names}")
    })?;
    Ok((kind, rest.trim()))
}

/// The way to a mail server.
pub(super) fn mailer(server: &MailServer, sender: &str) -> Result<Mailer, String> {
    let place: Server = server.server.parse().map_err(|error| format!("smtp-server: {error}"))?;
    let login = match (&server.user, &server.password_file) {
        (None, None) => None,
        (Some(user), Some(file)) => Some((user.clone(), first_line(file)?)),
        _ => return Err("smtp-user and smtp-password-file belong together: set both or neither".to_owned()),
    };
    let settings = MailerSettings {
        host: place.host,
        port: place.port,
        protection: match server.security.as_str() {
            "tls" => Protection::Tls,
            "start-tls" => Protection::StartTls,
            _ => Protection::Plain,
        },
        trusted: server.trusted.clone(),
        login,
        sender: sender.to_owned(),
    };
    Mailer::new(&settings).map_err(|error| error.to_string())
}
