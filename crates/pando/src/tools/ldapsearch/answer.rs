//! Prints what a search gives: entries as LDIF, and what controls say of them as comments.

use std::io::{self, Write};

use ldap::ResultCode;
use ldap::client::controls::{EntryChange, VlvResponse, decode_sort_response};
use ldap::client::{Response, SearchEntry, ServerMessage};
use ldap::controls::{AccountUsability, NotAvailable, UnlockedWhen};
use ldap::ldif::{put_comment, put_line};
use ldap::oids::control;

use crate::ldap_client::status::code_text;
use crate::ldap_client::time_text;
use crate::output::Output;

/// So much is gathered before it is written.
const GATHERED_BYTES: usize = 64 << 10;

/// See the module.
pub struct Printer {
    text: Vec<u8>,
    wrap: Option<usize>,
    /// Somebody watches: each entry is shown when it comes.
    is_live: bool,
    count: u64,
    has_failed: bool,
}

impl Printer {
    /// Lines are folded at that many columns.
    pub fn new(wrap: Option<usize>, is_live: bool) -> Printer {
        Printer { text: Vec::new(), wrap, is_live, count: 0, has_failed: false }
    }

    /// How many entries came.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether something could not be written.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Prints a message.
    pub fn take(&mut self, message: &ServerMessage<'_>) -> io::Result<()> {
        match &message.op {
            Response::SearchEntry(entry) => {
                self.count += 1;
                self.put_comments(message);
                self.put_entry(entry);
            }
            Response::SearchReference(urls) => {
                for url in urls.iter() {
                    self.comment(&format!("Search result reference:  {}", String::from_utf8_lossy(url)));
                }
                self.text.push(b'\n');
            }
            _ => self.put_comments(message),
        }
        if self.is_live || message.op.result().is_some() || self.text.len() >= GATHERED_BYTES {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = Output.write_all(&self.text).and_then(|()| Output.flush());
        self.text.clear();
        self.has_failed |= written.is_err();
        written
    }

    fn comment(&mut self, text: &str) {
        put_comment(&mut self.text, text, self.wrap);
    }

    fn put_entry(&mut self, entry: &SearchEntry<'_>) {
        put_line(&mut self.text, b"dn", entry.dn, self.wrap);
        for attribute in entry.attributes.iter() {
            if attribute.values.is_empty() {
                put_line(&mut self.text, attribute.description, b"", self.wrap);
            }
            for value in attribute.values.iter() {
                put_line(&mut self.text, attribute.description, value, self.wrap);
            }
        }
        self.text.push(b'\n');
    }

    /// What the controls of an entry, or of the end, say; those that cannot be read say nothing.
    fn put_comments(&mut self, message: &ServerMessage<'_>) {
        for one in message.controls.iter() {
            if one.oid == control::ENTRY_CHANGE_NOTIFICATION.as_bytes() {
                self.put_change(one.value);
            } else if one.oid == control::ACCOUNT_USABILITY.as_bytes() {
                self.put_usability(one.value);
            } else if one.oid == control::SORT_RESPONSE.as_bytes() {
                self.put_sort(one.value);
            } else if one.oid == control::VLV_RESPONSE.as_bytes() {
                self.put_list(one.value);
            }
        }
    }

    fn put_change(&mut self, value: Option<&[u8]>) {
        let Ok(change) = EntryChange::decode(value) else { return };
        let kind = match change.change_type {
            1 => "add",
            2 => "delete",
            4 => "modify",
            _ => "modifyDN",
        };
        self.comment(&format!("Persistent search change type:  {kind}"));
        if let Some(dn) = change.previous_dn {
            self.comment(&format!("Persistent search previous entry DN:  {}", String::from_utf8_lossy(dn)));
        }
        if let Some(number) = change.change_number {
            self.comment(&format!("Persistent search change number:  {number}"));
        }
    }

    fn put_usability(&mut self, value: Option<&[u8]>) {
        let Ok(usability) = AccountUsability::decode(value) else { return };
        self.comment("Account Usability Response Control");
        let lines = match usability {
            AccountUsability::Available { seconds_before_expiration } => {
                let until = seconds_before_expiration.map(time_text);
                let until = until.map(|time| format!("Time until password expiration:  {time}"));
                [Some("The account is usable".to_owned()), until].into_iter().flatten().collect()
            }
            AccountUsability::NotAvailable(reasons) => reasons_text(&reasons),
        };
        lines.iter().for_each(|line| self.comment(&format!("  {line}")));
    }

    fn put_sort(&mut self, value: Option<&[u8]>) {
        let Ok((code, attribute)) = decode_sort_response(value) else { return };
        if code != ResultCode::SUCCESS {
            let attribute = String::from_utf8_lossy(attribute.unwrap_or_default());
            self.comment(&format!("The entries are not sorted:  {} {attribute}", code_text(code)));
        }
    }

    fn put_list(&mut self, value: Option<&[u8]>) {
        let Ok(list) = VlvResponse::decode(value) else { return };
        self.comment(&format!("VLV Target Offset:  {}", list.position));
        self.comment(&format!("VLV Content Count:  {}", list.content_count));
        if list.code != ResultCode::SUCCESS {
            self.comment(&format!("VLV Result Code:  {}", code_text(list.code)));
        }
    }
}

fn reasons_text(reasons: &NotAvailable) -> Vec<String> {
    let mut lines = vec!["The account is not usable".to_owned()];
    let mut say = |is_so: bool, text: &str| {
        if is_so {
            lines.push(text.to_owned());
        }
    };
    say(reasons.is_inactive, "The account has been deactivated");
    say(reasons.is_reset, "The password has been reset");
    say(reasons.is_expired, "The password has expired");
    if let Some(left) = reasons.grace_left {
        lines.push(format!("Number of grace logins remaining:  {left}"));
    }
    match reasons.lock {
        Some(UnlockedWhen::InSeconds(seconds)) => {
            lines.push(format!("The account is locked; time until it is unlocked:  {}", time_text(seconds)));
        }
        Some(UnlockedWhen::ByAdministrator) => lines.push("The account is locked".to_owned()),
        None => {}
    }
    lines
}
