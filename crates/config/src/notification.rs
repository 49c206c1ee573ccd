//! `[account-status-notification-handler.NAME]` and `[mail-server.NAME]`: the structs that the server reads.

use std::path::{Path, PathBuf};

use accounts::AccountEventKind;

use crate::object::{Judge, Object};
use crate::pass_through::is_server;
use crate::read::Get;

/// `[account-status-notification-handler.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationHandler {
    /// The table's name.
    pub name: String,
    /// `enabled`
    pub enabled: bool,
    /// `account-status-notification-type`; empty is all.
    pub kinds: Vec<AccountEventKind>,
    /// What its type adds.
    pub way: NotificationWay,
}

/// How somebody is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotificationWay {
    /// A line in the error log.
    ErrorLog,
    /// Mail.
    Mail(MailHandler),
    /// JSON to a web server.
    Webhook(WebhookHandler),
}

/// Type `smtp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailHandler {
    /// `mail-server`
    pub mail_server: String,
    /// `sender-address`
    pub sender: String,
    /// `email-address-attribute-type`
    pub address_attributes: Vec<String>,
    /// `recipient-address`
    pub recipients: Vec<String>,
    /// `send-message-without-end-user-address`
    pub without_user: bool,
    /// `send-email-as-html`
    pub is_html: bool,
    /// `message-subject`, as written.
    pub subjects: Vec<String>,
    /// `message-template-file`, as written.
    pub templates: Vec<String>,
}

/// Type `webhook`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookHandler {
    /// `url`
    pub url: String,
    /// `authorization-file`
    pub authorization_file: Option<PathBuf>,
    /// `trusted-certificate-file`
    pub trusted: Option<PathBuf>,
}

/// `[mail-server.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailServer {
    /// The table's name.
    pub name: String,
    /// `smtp-server`
    pub server: String,
    /// `smtp-security`
    pub security: String,
    /// `trusted-certificate-file`
    pub trusted: Option<PathBuf>,
    /// `smtp-user`
    pub user: Option<String>,
    /// `smtp-password-file`
    pub password_file: Option<PathBuf>,
}

const JUDGED: [(&str, Judge); 1] = [("smtp-server", is_server)];

/// Faults that no syntax shows, each with its place in the text.
pub(crate) fn faults(objects: &[Object]) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for object in objects.iter().filter(|object| object.class.name == "mail-server") {
        object.judge(&JUDGED, &mut faults);
        let is_set = |name: &str| object.settings.contains_key(name);
        if is_set("smtp-user") != is_set("smtp-password-file") {
            let text = "has one of smtp-user and smtp-password-file: set both or neither";
            faults.push((object.offset, format!("{} {text}", object.title())));
        }
    }
    faults
}

pub(crate) fn read_handler(object: &Object, instance: &Path) -> NotificationHandler {
    let get = Get { object, instance };
    let kinds = get.texts("account-status-notification-type");
    NotificationHandler {
        name: object.name.clone(),
        enabled: get.boolean("enabled"),
        kinds: kinds.iter().filter_map(|name| AccountEventKind::from_name(name)).collect(),
        way: match object.variant.type_name {
            "smtp" => NotificationWay::Mail(MailHandler {
                mail_server: get.text("mail-server"),
                sender: get.text("sender-address"),
                address_attributes: get.texts("email-address-attribute-type"),
                recipients: get.texts("recipient-address"),
                without_user: get.boolean("send-message-without-end-user-address"),
                is_html: get.boolean("send-email-as-html"),
                subjects: get.texts("message-subject"),
                templates: get.texts("message-template-file"),
            }),
            "webhook" => NotificationWay::Webhook(WebhookHandler {
                url: get.text("url"),
                authorization_file: get.optional_path("authorization-file"),
                trusted: get.optional_path("trusted-certificate-file"),
            }),
            _ => NotificationWay::ErrorLog,
        },
    }
}

pub(crate) fn read_mail_server(object: &Object, instance: &Path) -> MailServer {
    let get = Get { object, instance };
    MailServer {
        name: object.name.clone(),
        server: get.text("smtp-server"),
        security: get.text("smtp-security"),
        trusted: get.optional_path("trusted-certificate-file"),
        user: get.texts("smtp-user").pop(),
        password_file: get.optional_path("smtp-password-file"),
    }
}
