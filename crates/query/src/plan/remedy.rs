//! What an operator can do so that an index answers a search, as a value and as the command line that does it.
//!
//! Knows configuration words and index sets; not why it is advised.

use schema::{AttributeType, MatchingRule, Schema};
use store::index::{BackendIndexes, IndexKind, IndexSet};

use crate::json::JsonWriter;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The backend's name.
    pub backend: Box<str>,
    /// The attribute type's name.
    pub attribute: Box<str>,
    /// What to do for its index.
    pub step: Step,
}

/// What kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedIndex {
    /// One that the attribute's own matching rules are enough for.
    Kind(IndexKind),
    /// The extensible one of this matching rule.
    Rule(&'static str),
}

impl WantedIndex {
    /// The value of `index-type`.
    #[must_use]
    pub fn index_type(self) -> &'static str {
        match self {
            WantedIndex::Kind(kind) => kind.name(),
            WantedIndex::Rule(_) => IndexKind::Extensible.name(),
        }
    }

    /// What makes it, by `verb` of `dsconfig`.
    fn options(self, verb: &str) -> String {
        let kind = format!("{verb} index-type:{}", self.index_type());
        match self {
            WantedIndex::Kind(_) => kind,
            WantedIndex::Rule(rule) => format!("{kind} {verb} index-extensible-matching-rule:{rule}"),
        }
    }

    fn is_there(self, schema: &Schema, attribute: &AttributeType, indexes: &IndexSet) -> bool {
        let of_rule = |rule: Option<&MatchingRule>| rule.and_then(|rule| indexes.equality(attribute.index, rule));
        let windows = |rule: Option<&MatchingRule>| rule.and_then(|rule| indexes.substring(attribute.index, rule));
        match self {
            WantedIndex::Kind(IndexKind::Equality) => of_rule(attribute.equality).is_some(),
            WantedIndex::Kind(IndexKind::Ordering) => of_rule(attribute.ordering).is_some(),
            WantedIndex::Kind(IndexKind::Approximate) => of_rule(attribute.approximate).is_some(),
            WantedIndex::Kind(IndexKind::Substring) => windows(attribute.substring).is_some(),
            WantedIndex::Kind(IndexKind::Presence) => indexes.presence(attribute.index).is_some(),
            // Never advised: the kind alone does not say which rule.
            WantedIndex::Kind(IndexKind::Extensible) => false,
            WantedIndex::Rule(name) => {
                let rule = schema.matching_rule(name.as_bytes());
                of_rule(rule).is_some() || windows(rule).is_some()
            }
        }
    }
}

/// What to do for the index of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Index it: it has no index yet.
    Create(WantedIndex),
    /// Add this kind to those it has.
    Add(WantedIndex),
    /// Raise its `index-entry-limit` to this.
    EntryLimit(u64),
    /// Build it, in the backend that holds this base DN.
    Rebuild {
        /// A base DN of the backend.
        base_dn: Box<str>,
    },
}

impl Remedy {
    /// The command line.
    #[must_use]
    pub fn command(&self) -> String {
        let (backend, attribute) = (quoted(&self.backend), quoted(&self.attribute));
        let of = format!("--backend-name {backend} --index-name {attribute}");
        match &self.step {
            Step::Create(wanted) => format!("dsconfig create-backend-index {of} {}", wanted.options("--set")),
            Step::Add(wanted) => format!("dsconfig set-backend-index-prop {of} {}", wanted.options("--add")),
            Step::EntryLimit(limit) => format!("dsconfig set-backend-index-prop {of} --set index-entry-limit:{limit}"),
            Step::Rebuild { base_dn } => format!("rebuild-index --baseDN {} --index {attribute}", quoted(base_dn)),
        }
    }

    /// Whether it was done: such an index is there, such a limit holds, the index is built.
    #[must_use]
    pub fn is_followed(&self, schema: &Schema, live: &BackendIndexes) -> bool {
        let indexes = live.set();
        let Some(attribute) = schema.attribute_type(self.attribute.as_bytes()) else { return true };
        let mut own = indexes.of_attribute(attribute.index);
        match &self.step {
            Step::Create(wanted) | Step::Add(wanted) => wanted.is_there(schema, attribute, indexes),
            Step::EntryLimit(limit) => {
                own.all(|index| index.entry_limit == 0 || u64::from(index.entry_limit) >= *limit)
            }
            Step::Rebuild { .. } => own.all(|index| live.is_trusted(index.id)),
        }
    }

    /// Appends it as one object; [`advice`](super::advice) says which members.
    pub fn write(&self, json: &mut JsonWriter) {
        json.object(|json| {
            json.key("attribute").text(&self.attribute);
            match &self.step {
                Step::Create(wanted) | Step::Add(wanted) => {
                    json.key("indexType").text(wanted.index_type());
                    if let WantedIndex::Rule(rule) = wanted {
                        json.key("matchingRule").text(rule);
                    }
                }
                Step::EntryLimit(limit) => json.key("indexEntryLimit").number(*limit),
                Step::Rebuild { .. } => json.key("rebuild").truth(true),
            }
            json.key("command").text(&self.command());
        });
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(attribute: &str, step: Step) -> String {
        Remedy { backend: "userRoot".into(), attribute: attribute.into(), step }.command()
    }

    #[test]
    fn commands_are_what_a_shell_takes() {
        assert_eq!(
            command("mail", Step::Create(WantedIndex::Kind(IndexKind::Substring))),
            "dsconfig create-backend-index --backend-name userRoot --index-name mail --set index-type:substring"
        );
        assert_eq!(
            command("mail", Step::Add(WantedIndex::Kind(IndexKind::Presence))),
            "dsconfig set-backend-index-prop --backend-name userRoot --index-name mail --add index-type:presence"
        );
        assert_eq!(
            command("mail", Step::Create(WantedIndex::Rule("caseExactMatch"))),
            "dsconfig create-backend-index --backend-name userRoot --index-name mail --set index-type:extensible \
             --set index-extensible-matching-rule:caseExactMatch"
        );
        assert_eq!(
            command("it's", Step::Rebuild { base_dn: "dc=example,dc=com".into() }),
            "rebuild-index --baseDN 'dc=example,dc=com' --index 'it'\\''s'"
        );
    }
}
