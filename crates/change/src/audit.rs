//! Changes as the audit log shows them: LDIF change records that lead from the directory before to the one after.
//!
//! What a client could not ask for stands in comments, so that a record can be given to `ldapmodify` as it is:
//! attributes that only the server writes, and values that are not to be read by everybody who reads the file. A change
//! of nothing else is a comment as a whole. Knows no file.

use std::sync::Arc;

use ldap::ldif::{put_comment, put_line};
use ldap::oids::control;
use schema::TypeIndex;

use crate::history::{AttributeChange, Cause, Change, ChangeKind};
use crate::undo::{Upkeep, upkeep};
use query::facts::Facts;

/// What stands for a value that is not shown.
const OBSCURED: &[u8] = b"********";

/// The word before a change's number in the first line of its record.
pub const CHANGE_NUMBER: &str = "changenumber=";

/// How changes are written.
pub struct AuditFormat {
    facts: Arc<Facts>,
    obscured: Vec<TypeIndex>,
}

impl AuditFormat {
    /// Hides the values of those attributes and of their subtypes. Names that the schema does not know hide nothing.
    #[must_use]
    pub fn new(facts: Arc<Facts>, obscured: &[String]) -> Self {
        let type_of = |name: &String| facts.schema.attribute_type(name.as_bytes()).map(|attribute| attribute.index);
        let obscured = obscured.iter().filter_map(type_of).collect();
        Self { facts, obscured }
    }

    /// Appends the record of a change: comments, the record, a blank line.
    pub fn put(&self, out: &mut Vec<u8>, change: &Change<'_>) {
        put_comment(out, &headline(change), None);
        let mut lines = Lines { out: Vec::new(), comments: Vec::new(), has_record: change.kind != ChangeKind::Modify };
        match change.kind {
            ChangeKind::Add => {
                lines.line(b"changetype", b"add");
                change.attributes().for_each(|attribute| self.put_attribute(&mut lines, &attribute));
            }
            ChangeKind::Modify => {
                if change.cause != Cause::Request {
                    // A server that follows the change before by itself has done this already.
                    let control = format!("{} false", control::PERMISSIVE_MODIFY);
                    lines.line(b"control", control.as_bytes());
                }
                lines.line(b"changetype", b"modify");
                change.attributes().for_each(|attribute| self.put_modification(&mut lines, &attribute));
            }
            ChangeKind::Delete => lines.line(b"changetype", b"delete"),
            ChangeKind::ModifyDn => put_rename(&mut lines, change),
        }
        out.extend_from_slice(&lines.comments);
        let mut record = Vec::with_capacity(lines.out.len() + change.dn.len() + 8);
        put_line(&mut record, b"dn", change.dn.as_bytes(), None);
        record.extend_from_slice(&lines.out);
        if lines.has_record {
            out.extend_from_slice(&record);
        } else {
            commented(out, &record);
        }
        out.push(b'\n');
    }

    fn is_obscured(&self, description: &str) -> bool {
        let attribute = self.facts.schema.type_of_description(description.as_bytes());
        attribute.is_some_and(|attribute| {
            self.facts.is_hidden(attribute.index) || self.obscured.iter().any(|hidden| attribute.is_subtype_of(*hidden))
        })
    }

    /// One attribute of an added entry.
    fn put_attribute(&self, lines: &mut Lines, attribute: &AttributeChange<'_>) {
        let description = attribute.description.as_bytes();
        let is_obscured = self.is_obscured(attribute.description);
        let is_record = !is_obscured && upkeep(&self.facts, attribute.description) == Upkeep::Client;
        for value in attribute.added() {
            let value = if is_obscured { OBSCURED } else { value };
            if is_record { lines.line(description, value) } else { lines.comment(description, value) }
        }
    }

    fn put_modification(&self, lines: &mut Lines, attribute: &AttributeChange<'_>) {
        let keeper = upkeep(&self.facts, attribute.description);
        if keeper == Upkeep::Server {
            return;
        }
        let is_obscured = self.is_obscured(attribute.description);
        let is_record = !is_obscured && keeper == Upkeep::Client;
        lines.has_record |= is_record;
        let description = attribute.description.as_bytes();
        let mut modification = |word: &[u8], values: &mut dyn Iterator<Item = &[u8]>| {
            let mut part = Vec::new();
            put_line(&mut part, word, description, None);
            for value in values {
                put_line(&mut part, description, if is_obscured { OBSCURED } else { value }, None);
            }
            part.extend_from_slice(b"-\n");
            if is_record { lines.out.extend_from_slice(&part) } else { commented(&mut lines.comments, &part) }
        };
        // Values that went and were too many to be kept were all that there were.
        if !attribute.is_complete {
            return modification(b"replace", &mut attribute.added());
        }
        if attribute.removed().next().is_some() {
            modification(b"delete", &mut attribute.removed());
        }
        if attribute.added().next().is_some() {
            modification(b"add", &mut attribute.added());
        }
    }
}

/// A record under way.
struct Lines {
    out: Vec<u8>,
    comments: Vec<u8>,
    has_record: bool,
}

impl Lines {
    fn line(&mut self, description: &[u8], value: &[u8]) {
        put_line(&mut self.out, description, value, None);
    }

    fn comment(&mut self, description: &[u8], value: &[u8]) {
        let mut line = Vec::new();
        put_line(&mut line, description, value, None);
        commented(&mut self.comments, &line);
    }
}

/// Appends lines as comments. What LDIF writes has no line breaks but its own.
fn commented(out: &mut Vec<u8>, lines: &[u8]) {
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(b"# ");
        out.extend_from_slice(line);
    }
}

fn put_rename(lines: &mut Lines, change: &Change<'_>) {
    lines.line(b"changetype", b"modrdn");
    let Some(rename) = &change.rename else { return };
    lines.line(b"newrdn", rename.new_rdn.as_bytes());
    lines.line(b"deleteoldrdn", if rename.delete_old_rdn { b"1" } else { b"0" });
    if let Some(superior) = rename.new_superior {
        lines.line(b"newsuperior", superior.as_bytes());
    }
}

/// When, by whom, why. The number stands before what users can choose, so that no name can pass for it.
fn headline(change: &Change<'_>) -> String {
    let (mut time, mut csn) = (Vec::new(), Vec::new());
    change.csn.write_iso(&mut time);
    change.csn.write(&mut csn);
    let (connection, operation) = match change.connection {
        0 => (-1, -1),
        connection => (i64::try_from(connection).unwrap_or(i64::MAX), i64::from(change.operation)),
    };
    let cause = match change.cause {
        Cause::Request => "request",
        Cause::Plugin { name } => name,
        Cause::AccountState => "bind",
    };
    format!(
        "{}; conn={connection}; op={operation}; csn={}; {CHANGE_NUMBER}{}; user={}; cause={cause}",
        String::from_utf8_lossy(&time),
        String::from_utf8_lossy(&csn),
        change.number,
        change.authority.dn(),
    )
}
