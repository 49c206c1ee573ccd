//! Messages to people and programs: mail over SMTP, JSON by a POST to a web server. They wait in a bounded queue for a
//! thread that sends them, so that nobody waits for a mail server.
//!
//! Knows no directory: what a message says, and who gets it, is for who makes it.

mod mail;
mod message;
mod outbox;
mod trusted;
mod webhook;

#[cfg(test)]
mod tests;

pub use mail::{Mailer, MailerError, MailerSettings, Protection};
pub use message::{Message, address_fault};
pub use outbox::{Counts, Outbox, QUEUE_MAX, SendFault, Sender};
pub use webhook::{Webhook, WebhookError, WebhookSettings};
