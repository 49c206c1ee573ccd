//! Why an access was granted or refused: every instruction that was looked at, and the one that decided.
//!
//! Values only; they are made by [`crate::EntryRights::explain`].

use std::ops::Range;

/// The answer to one question, with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether it was granted.
    pub granted: bool,
    /// What decided.
    pub reason: Reason,
    /// The instructions at the entry, above it and of the configuration, in this order.
    pub instructions: Vec<Considered>,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The asker has the privilege bypass-acl.
    BypassAcl,
    /// An instruction grants it, and none denies it: position in [`Explanation::instructions`].
    Allowed(usize),
    /// An instruction denies it.
    Denied(usize),
    /// No instruction is about this right to this entry or attribute (OpenDJ: no acis matched the resource).
    NothingApplies,
    /// Instructions are about it, and none grants it to the asker (OpenDJ: no acis matched the subject).
    NobodyGrants,
    /// Of an entry that does not show: instructions grant attributes, and each of these is denied.
    GrantsAreDenied,
}

/// One instruction that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// The entry that holds it; none: the configuration.
    pub holder: Option<String>,
    /// Its position among the values of the holder.
    pub position: usize,
    /// Its name (`acl "…"`); empty of one that is not valid.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What came of it.
    pub outcome: Outcome,
    /// Of one that denies: what is wrong with names in its rule. Filled in by whoever can look entries up.
    pub wrong_names: Vec<String>,
}

/// Where an instruction stands, for people: which of them, counted from 1, of which entry or of the configuration.
#[must_use]
pub fn place(holder: Option<&str>, number: usize) -> String {
    match holder {
        Some(holder) => format!("aci number {number} of \"{holder}\""),
        None => format!("global-aci number {number} of the configuration"),
    }
}

/// The name of an instruction (`acl "…"`) by its text; empty of one that is not valid.
#[must_use]
pub fn name_of(text: &str) -> String {
    aci::parse_as(text, aci::Reading::Import).map_or(String::new(), |parsed| parsed.aci.name)
}

/// What came of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It grants the right.
    Allows,
    /// It denies the right.
    Denies,
    /// It would grant it, but its rule is not true of the asker.
    AllowsOthers(Vec<FailedCondition>),
    /// It would deny it, but its rule is not true of the asker.
    DeniesOthers(Vec<FailedCondition>),
    /// It is about other entries, attributes, values or rights.
    IsAboutOther(TargetPart),
    /// It is not valid, so it denies everything in its scope.
    Invalid(String),
}

/// A condition that was not true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCondition {
    /// Where it stands in the text of the instruction.
    pub span: Range<usize>,
    /// Whether it could not be told (such conditions grant nothing, and deny).
    pub is_undefined: bool,
    /// What is wrong with names in it: no such entry, no group. Filled in by whoever can look entries up.
    pub wrong_names: Vec<String>,
}

/// The part of an instruction that says what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPart {
    /// `target`.
    Target,
    /// `targetscope`.
    Scope,
    /// `targetattr`, or that there is none.
    Attribute,
    /// `targetfilter`.
    Filter,
    /// `targattrfilters`.
    ValueFilter,
    /// `target_from` and `target_to`.
    Move,
    /// `targetcontrol` or `extop`: it is about no entry.
    ControlOrExtension,
    /// The rights that it lists.
    Right,
}
