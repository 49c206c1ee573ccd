//! Sort orders, views of sorted lists and persistent searches as OpenDJ's options write them.

use ldap::ControlBuf;
use ldap::client::controls;
use ldap::controls::{PersistentSearch, SortKey, VlvRequest, VlvTarget};

/// A key of a sort order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    attribute: String,
    rule: Option<String>,
    is_descending: bool,
}

/// Keys in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortOrder(Vec<Key>);

/// `sn,-cn,uid:2.5.13.3`: a minus sorts from the largest, behind a colon stands an ordering rule.
pub fn parse_order(text: &str) -> Result<SortOrder, String> {
    let keys = text.split(',').map(|part| {
        let part = part.trim();
        let (is_descending, part) = match part.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, part.strip_prefix('+').unwrap_or(part)),
        };
        let (attribute, rule) = part.split_once(':').map_or((part, None), |(name, rule)| (name, Some(rule)));
        if attribute.is_empty() || rule.is_some_and(str::is_empty) {
            return Err("a sort order is a list of attributes, for example sn,-givenName".to_owned());
        }
        Ok(Key { attribute: attribute.to_owned(), rule: rule.map(str::to_owned), is_descending })
    });
    keys.collect::<Result<_, _>>().map(SortOrder)
}

impl SortOrder {
    /// The control that asks for it.
    pub fn control(&self) -> ControlBuf {
        let keys = self.0.iter().map(|key| SortKey {
            attribute: key.attribute.as_bytes(),
            ordering_rule: key.rule.as_deref().map(str::as_bytes),
            reverse: key.is_descending,
        });
        controls::sort_request(&keys.collect::<Vec<_>>())
    }
}

/// A part of a sorted list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListView {
    before: u32,
    after: u32,
    target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Offset { offset: u32, count: u32 },
    Value(String),
}

/// `before:after:index:count` or `before:after:value`
pub fn parse_view(text: &str) -> Result<ListView, String> {
    let form = || "it must be BEFORE:AFTER:INDEX:COUNT or BEFORE:AFTER:VALUE, for example 0:9:1:0".to_owned();
    let number = |text: &str| text.parse::<u32>().ok();
    let mut parts = text.splitn(3, ':');
    let (before, after) = (parts.next().and_then(number), parts.next().and_then(number));
    let (Some(before), Some(after), Some(target)) = (before, after, parts.next()) else { return Err(form()) };
    let offset = target.split_once(':').and_then(|(offset, count)| Some((number(offset)?, number(count)?)));
    let target = match offset {
        Some((offset, count)) => Target::Offset { offset, count },
        None if target.is_empty() => return Err(form()),
        None => Target::Value(target.to_owned()),
    };
    Ok(ListView { before, after, target })
}

impl ListView {
    /// The control that asks for it.
    pub fn control(&self) -> ControlBuf {
        let target = match &self.target {
            Target::Offset { offset, count } => VlvTarget::Offset { offset: *offset, content_count: *count },
            Target::Value(value) => VlvTarget::Assertion(value.as_bytes()),
        };
        let (before, after) = (self.before, self.after);
        controls::vlv_request(&VlvRequest { before, after, target, context: None }).critical()
    }
}

/// `ps[:changetype[:changesonly[:entrychgcontrols]]]`; without more all kinds of changes, only changes, with controls.
pub fn parse_persistent(text: &str) -> Result<PersistentSearch, String> {
    let mut parts = text.split(':');
    if !parts.next().is_some_and(|word| word.eq_ignore_ascii_case("ps")) {
        return Err("a persistent search begins with ps, for example ps:add,delete".to_owned());
    }
    let change_types = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "any" => 1 | 2 | 4 | 8,
        words => words.split(',').try_fold(0, |all, word| {
            Ok::<_, String>(
                all | match word.trim() {
                    "add" => 1,
                    "delete" | "del" => 2,
                    "modify" | "mod" => 4,
                    "modifydn" | "moddn" | "modrdn" => 8,
                    "any" => 1 | 2 | 4 | 8,
                    _ => return Err(format!("\"{word}\" is no kind of change: add, delete, modify, modifydn or any")),
                },
            )
        })?,
    };
    let mut flag = |what: &str| match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        word => Err(format!("\"{word}\" is not true or false: {what}")),
    };
    let changes_only = flag("whether only changes are returned")?;
    let return_controls = flag("whether entry change notification controls are returned")?;
    match parts.next() {
        None => Ok(PersistentSearch { change_types, changes_only, return_controls }),
        Some(more) => Err(format!("\"{more}\" is more than ps:CHANGETYPE:CHANGESONLY:ENTRYCHGCONTROLS")),
    }
}
