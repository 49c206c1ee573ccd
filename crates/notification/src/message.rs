//! A message, as each of the ways to send it takes what it needs.

use lettre::Address;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who gets it by mail: addresses (RFC 5321 mailboxes).
    pub recipients: Vec<String>,
    /// Subject of a mail.
    pub subject: String,
    /// Body of a mail.
    pub body: String,
    /// The body is HTML.
    pub is_html: bool,
    /// What a program gets.
    pub json: serde_json::Value,
}

/// Why a text is no mail address; none: it is one.
#[must_use]
pub fn address_fault(text: &str) -> Option<String> {
    text.parse::<Address>().err().map(|error| format!("\"{text}\" is no mail address: {error}"))
}
