//! What is said of one instruction by itself.

use aci::{
    Aci, AttributeTarget, BindRule, ConditionTest, Effect, Permission, Remark, Right, Rights, Span, TargetPart,
    Targets, UserDn,
};
use ldap::FilterBuf;
use query::facts::Facts;
use schema::instruction::check_target;
use schema::syntax::oid::{DN, NAME_AND_OPTIONAL_UID};

use super::anonymous::{Asker, Truth, admitting_negation, truth};
use super::attributes::Attributes;
use super::finding::{Finding, Issue};
use super::instruction::{Read, range};
use super::never_true::{is_always_true, never_true};
use crate::profiles::Profile;

/// Rights on attributes.
const OF_ATTRIBUTES: [Right; 4] = [Right::Read, Right::Search, Right::Compare, Right::Write];

/// Rights by which attributes are seen.
const SEEING: [Right; 3] = [Right::Read, Right::Search, Right::Compare];

/// Attributes whose values are access control, and what they are called in messages.
const CONTROLLING: [&str; 2] = ["aci", "ds-privilege-name"];

/// Looks at one instruction. `has_secrets`: passwords may be among what it is about.
pub(super) fn look(facts: &Facts, read: &Read<'_>, has_secrets: bool, out: &mut Vec<Finding>) {
    let mut looker = Looker { facts, at: read.at, has_secrets, out };
    match &read.parsed {
        Err(error) => {
            looker.say(Some(Span::new(error.position, error.position + 1)), Issue::Invalid(error.to_string()))
        }
        Ok(aci) => {
            for warning in &read.warnings {
                let issue = match &warning.remark {
                    Remark::MixedOperators => Issue::MixedOperators,
                    other => Issue::Remarked(other.clone()),
                };
                looker.say(Some(warning.span), issue);
            }
            if let Some(target) = &aci.targets.target
                && check_target(&facts.schema, &read.holder(), aci).is_err()
            {
                looker.say(Some(target.span), Issue::ForeignTarget);
            }
            if !is_written_by_setup(read) {
                looker.names(aci);
            }
            aci.permissions.iter().for_each(|permission| looker.permission(aci, permission));
        }
    }
}

struct Looker<'l> {
    facts: &'l Facts,
    at: usize,
    has_secrets: bool,
    out: &'l mut Vec<Finding>,
}

impl Looker<'_> {
    fn say(&mut self, span: Option<Span>, issue: Issue) {
        self.out.push(Finding { instruction: self.at, span: span.and_then(range), issue });
    }

    fn permission(&mut self, aci: &Aci, permission: &Permission) {
        let targets = &aci.targets;
        if let Some(span) = never_true(&permission.rule) {
            self.say(Some(span), Issue::NeverTrue);
        }
        for condition in permission.rule.conditions().into_iter().filter(|it| is_always_true(it)) {
            self.say(Some(condition.span), Issue::AlwaysTrue);
        }
        self.useless_rights(aci, permission);
        if permission.effect == Effect::Deny {
            self.hiding(targets, permission);
            return;
        }
        if targets.controls.is_some() || targets.extended_operations.is_some() {
            self.negation(permission);
            return;
        }
        let is_admitted_by_negation = self.negation(permission);
        if !is_admitted_by_negation {
            self.breadth(aci, permission);
        }
        self.secrets(aci, permission);
        match &targets.attributes {
            None => self.no_attributes(aci, permission),
            Some(part) if part.negated && !has_wildcard(part) => self.say(Some(part.span), Issue::AllButListed),
            Some(_) => {}
        }
        self.writing(aci, permission);
    }

    /// Rights that what the instruction is about does not take.
    fn useless_rights(&mut self, aci: &Aci, permission: &Permission) {
        let targets = &aci.targets;
        let rights = permission.rights;
        let is_all = rights.intersection(Rights::ALL) == Rights::ALL;
        if targets.controls.is_some() || targets.extended_operations.is_some() {
            let others: Rights = rights.iter().filter(|right| *right != Right::Read).collect();
            if !others.is_empty() && !is_all {
                self.say(Some(permission.span), Issue::RightsOfNoControl(others));
            }
        } else if let Some(part) = &targets.attributes {
            let is_of_entries = |right: Right| !OF_ATTRIBUTES.contains(&right) && right != Right::SelfWrite;
            if !rights.is_empty() && rights.iter().all(is_of_entries) {
                self.say(Some(part.span), Issue::AttributesWithoutEffect(rights));
            }
        }
    }

    /// Whether a negation lets anonymous clients in.
    fn negation(&mut self, permission: &Permission) -> bool {
        let found = admitting_negation(&permission.rule);
        if let Some(span) = found {
            self.say(Some(span), Issue::NegationAdmitsAnonymous);
        }
        found.is_some()
    }

    fn breadth(&mut self, aci: &Aci, permission: &Permission) {
        let is_for_anyone = truth(&permission.rule, Asker::Anonymous) == Truth::True;
        let attributes = Attributes::of(self.facts, &aci.targets);
        // Without targetattr, rights on attributes grant nothing.
        let on_attributes: Rights = OF_ATTRIBUTES.into_iter().chain([Right::SelfWrite]).collect();
        let in_force = permission.rights.iter().filter(|it| attributes.is_some() || !on_attributes.contains(*it));
        let writing: Rights = in_force.filter(|right| !SEEING.contains(right)).collect();
        if is_for_anyone && !writing.is_empty() {
            self.say(Some(permission.span), Issue::AnyoneMayWrite(writing));
        }
    }

    /// Who sees passwords of others.
    fn secrets(&mut self, aci: &Aci, permission: &Permission) {
        let (attributes, span) = (Attributes::of(self.facts, &aci.targets), Some(permission.span));
        let rights = permission.rights.intersection(SEEING.into_iter().collect());
        let Some(attribute) = attributes.and_then(|it| it.secret()).filter(|_| !rights.is_empty() && self.has_secrets)
        else {
            return;
        };
        if truth(&permission.rule, Asker::Anonymous) == Truth::True {
            self.say(span, Issue::AnyoneSeesSecrets { rights, attribute });
        } else if truth(&permission.rule, Asker::AnyUser) == Truth::True {
            self.say(span, Issue::UsersSeeSecrets { rights, attribute });
        } else if !is_for_owners(&permission.rule) {
            self.say(span, Issue::OthersSeeSecrets { rights, attribute });
        }
    }

    /// A deny that is about whole entries, where attributes may be meant.
    fn hiding(&mut self, targets: &Targets, permission: &Permission) {
        let is_of_entries = targets.attributes.is_none()
            && targets.value_filters.is_none()
            && targets.controls.is_none()
            && targets.extended_operations.is_none();
        if is_of_entries && permission.rights.contains(Right::Read) {
            self.say(Some(permission.span), Issue::HidesEntries);
        }
    }

    fn no_attributes(&mut self, aci: &Aci, permission: &Permission) {
        let by_value = aci.targets.value_filters.is_some();
        let without = OF_ATTRIBUTES.into_iter().filter(|right| permission.rights.contains(*right));
        let without: Rights = without.filter(|right| !(by_value && *right == Right::Write)).collect();
        if !without.is_empty() {
            self.say(Some(permission.span), Issue::NoAttributes(without));
        }
    }

    fn writing(&mut self, aci: &Aci, permission: &Permission) {
        let Some(attributes) = Attributes::of(self.facts, &aci.targets) else { return };
        let span = aci.targets.attributes.as_ref().map(|part| part.span);
        let schema = &self.facts.schema;
        if permission.rights.contains(Right::Write) {
            for name in CONTROLLING {
                if schema.attribute_type(name.as_bytes()).is_some_and(|it| attributes.contain(it)) {
                    self.say(span, Issue::WritesAccessControl(name));
                }
            }
        }
        // The word "all" is not meant for selfwrite.
        let is_all = permission.rights.intersection(Rights::ALL) == Rights::ALL;
        if permission.rights.contains(Right::SelfWrite) && !is_all && span.is_some() {
            let is_no_name = |name: &&str| {
                let known = schema.attribute_type(name.as_bytes());
                known.is_some_and(|it| ![DN, NAME_AND_OPTIONAL_UID].contains(&it.syntax.oid()))
            };
            for name in attributes.names().filter(is_no_name).map(str::to_owned).collect::<Vec<_>>() {
                self.say(span, Issue::SelfWriteOfNoName(name));
            }
        }
    }

    /// Attributes that the schema does not have.
    fn names(&mut self, aci: &Aci) {
        let targets = &aci.targets;
        if let Some(attributes) = Attributes::of(self.facts, targets) {
            let names = attributes.names().map(str::to_owned).collect();
            self.unknown(targets.attributes.as_ref().map(|part| part.span), names);
        }
        if let Some(part) = &targets.filter {
            self.unknown(Some(part.span), filter_names(&part.value));
        }
        if let Some(part) = &targets.value_filters {
            let lists = part.value.add.iter().chain(&part.value.delete);
            self.unknown(Some(part.span), lists.map(|it| it.attribute.clone()).collect());
        }
        for condition in aci.permissions.iter().flat_map(|permission| permission.rule.conditions()) {
            let names = match &condition.test {
                ConditionTest::UserAttr(it) => vec![it.attribute.clone()],
                ConditionTest::UserDn(users) => {
                    let urls = users.iter().filter_map(|user| match user {
                        UserDn::Url(url) => url.filter.as_ref(),
                        _ => None,
                    });
                    urls.flat_map(filter_names).collect()
                }
                _ => Vec::new(),
            };
            self.unknown(Some(condition.span), names);
        }
    }

    fn unknown(&mut self, span: Option<Span>, mut names: Vec<String>) {
        names.sort_unstable();
        names.dedup();
        for name in names {
            if self.facts.schema.attribute_type(name.as_bytes()).is_none() {
                self.say(span, Issue::UnknownAttribute(name));
            }
        }
    }
}

/// Whether a rule is true of nobody but the user whose entry it is.
fn is_for_owners(rule: &BindRule) -> bool {
    match rule {
        BindRule::And(rules) => rules.iter().any(is_for_owners),
        BindRule::Or(rules) => rules.iter().all(is_for_owners),
        BindRule::Not(_) => false,
        BindRule::Test(condition) => match &condition.test {
            ConditionTest::UserDn(users) => !condition.negated && users.iter().all(|it| *it == UserDn::OneSelf),
            _ => false,
        },
    }
}

/// The profiles name attributes of schema files that an instance may get later.
fn is_written_by_setup(read: &Read<'_>) -> bool {
    let profiles = [Profile::Closed, Profile::Addressbook, Profile::PosixLogins, Profile::OpendjCompatible];
    let texts = |profile: Profile| profile.acis().into_iter().any(|own| own.text == read.held.text);
    read.held.holder.is_none() && profiles.into_iter().any(texts)
}

fn has_wildcard(part: &TargetPart<Vec<AttributeTarget>>) -> bool {
    part.value.iter().any(|target| !matches!(target, AttributeTarget::Named(_)))
}

/// The attribute types that a filter names.
fn filter_names(filter: &FilterBuf) -> Vec<String> {
    let parsed = filter.filter();
    let names = parsed.nodes().iter().filter_map(ldap::FilterNode::attribute);
    let names = names.map(|name| name.split(|byte| *byte == b';').next().unwrap_or_default());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
