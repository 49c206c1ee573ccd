//! `[account-status-notification-handler.NAME]` and `[mail-server.NAME]`: who is told what happens to accounts, and
//! how.

use accounts::AccountEventKind;

use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;

const fn live(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).live(Applier::Notifications)
}

static KINDS: [&str; 12] = AccountEventKind::ALL_NAMES;

/// What all handlers share.
macro_rules! handler_properties {
    ($($more:expr),* $(,)?) => {
        &[
            live("enabled", "NotificationHandler.enabled", Syntax::Boolean, "Whether anybody is told.")
                .default(&["true"]),
            live(
                "account-status-notification-type",
                "NotificationHandler.kinds",
                Syntax::Choice(&KINDS),
                "Of what is told.",
            )
            .absent("Of everything.")
            .multi(),
            $($more,)*
        ]
    };
}

pub(super) static NOTIFICATION_HANDLER: Class = Class {
    name: "account-status-notification-handler",
    named_by: Some("the handler's name, which password policies refer to"),
    variants: &[
        Variant { type_name: "error-log", help: "A line in the error log.", properties: handler_properties![] },
        Variant {
            type_name: "smtp",
            help: "Mail to the user or to others.",
            properties: handler_properties![
                live("mail-server", "MailHandler.mail_server", Syntax::Reference("mail-server"), "Who takes the mail."),
                live(
                    "sender-address",
                    "MailHandler.sender",
                    Syntax::Text,
                    "Who the mail is from, such as \"Directory <directory@example.com>\".",
                ),
                live(
                    "email-address-attribute-type",
                    "MailHandler.address_attributes",
                    Syntax::AttributeType,
                    "Attributes of the user's entry with the user's addresses.",
                )
                .absent("Users get no mail, only the recipient-address.")
                .multi(),
                live("recipient-address", "MailHandler.recipients", Syntax::Text, "Addresses that get each mail, too.")
                    .absent("Only users get mail.")
                    .multi(),
                live(
                    "send-message-without-end-user-address",
                    "MailHandler.without_user",
                    Syntax::Boolean,
                    "Mail about a user who has no address is sent to the recipient-address.",
                )
                .default(&["true"]),
                live("send-email-as-html", "MailHandler.is_html", Syntax::Boolean, "Templates are HTML.")
                    .default(&["false"]),
                live(
                    "message-subject",
                    "MailHandler.subjects",
                    Syntax::Text,
                    "Subject of the mail of one kind, as KIND:SUBJECT, such as \"password-expiring:Your password \
                     expires\".",
                )
                .absent("The subject says what happened.")
                .multi(),
                live(
                    "message-template-file",
                    "MailHandler.templates",
                    Syntax::Text,
                    "File with the body of the mail of one kind, as KIND:FILE. In it %%notification-type%%, \
                     %%notification-message%%, %%notification-user-dn%%, %%notification-user-attr:NAME%% and \
                     %%notification-property:NAME%% are replaced. A relative file starts at the instance directory.",
                )
                .absent("The body says what happened.")
                .multi(),
            ],
        },
        Variant {
            type_name: "webhook",
            help: "A POST of JSON to a web server.",
            properties: handler_properties![
                live("url", "WebhookHandler.url", Syntax::Text, "Where to: https://HOST/PATH."),
                live(
                    "authorization-file",
                    "WebhookHandler.authorization_file",
                    Syntax::Path,
                    "File whose first line is sent as the header Authorization, such as \"Bearer TOKEN\"; needs https.",
                )
                .absent("No such header is sent."),
                live(
                    "trusted-certificate-file",
                    "WebhookHandler.trusted",
                    Syntax::Path,
                    "PEM file with the certificates that the web server's is signed by.",
                )
                .absent("Those that this machine trusts."),
            ],
        },
    ],
    children: &[],
    help: "Who is told what happens to accounts.",
};

pub(super) static MAIL_SERVER: Class = Class {
    name: "mail-server",
    named_by: Some("the mail server's name"),
    variants: &[Variant {
        type_name: "",
        help: "",
        properties: &[
            live("smtp-server", "MailServer.server", Syntax::Text, "Host and port of the mail server: HOST:PORT."),
            live(
                "smtp-security",
                "MailServer.security",
                Syntax::Choice(&["none", "start-tls", "tls"]),
                "How the way to it is protected. A server that does not do what is asked for here gets no mail.",
            )
            .default(&["none"]),
            live(
                "trusted-certificate-file",
                "MailServer.trusted",
                Syntax::Path,
                "PEM file with the certificate that the mail server's is signed by.",
            )
            .absent("Those that this machine trusts."),
            live("smtp-user", "MailServer.user", Syntax::Text, "Name for the mail server; needs start-tls or tls.")
                .absent("The server asks for none."),
            live(
                "smtp-password-file",
                "MailServer.password_file",
                Syntax::Path,
                "File whose first line is the password of that name.",
            )
            .absent("The server asks for none."),
        ],
    }],
    children: &[],
    help: "Who takes mail from this server.",
};
