//! One request being judged: what of it takes which right, privilege by privilege, attribute by attribute and value by
//! value (access before schema, and schema before values).
//!
//! Knows requests and entries; where entries are, and what the asker is told in the end, is for others.

use std::cell::Cell;
use std::ops::ControlFlow;

use access::{Privilege, Question, Right, WrittenValue};
use change::proposal::{Flags, Kind};
use ldap::{Change, Filter, ModifyDnRequest, ModifyOperation, ModifyRequest};
use query::class_flags::ClassFlags;
use query::entry::EntryView;
use query::error::shown;
use query::facts::Facts;
use query::filter::{Matcher, Node, Target, Truth};
use query::rights::{ReadRight, ReadRights};
use schema::{AttributeDescription, AttributeType, MatchContext, TypeIndex};
use store::StoreError;

use super::asker::Asker;
use super::denial::Denial;
use super::privileges::{lacking, privilege_to_write};
use super::refusal::Refusal;

/// See the module.
pub(super) struct Case<'c> {
    pub(super) facts: &'c Facts,
    pub(super) asker: &'c dyn Asker,
    pub(super) kind: Kind,
    pub(super) flags: Flags,
    /// Whether the entry is the asker's own.
    pub(super) is_own: bool,
    /// Whether a decision took the values that the entry has.
    pub(super) took_values: &'c Cell<bool>,
}

/// An attribute description of a request whose type is known.
struct Named<'c> {
    attribute: &'c AttributeType,
    /// As it is stored: primary name, options sorted.
    canonical: String,
}

impl Case<'_> {
    /// A modify request of an entry.
    pub(super) fn modify(&self, target: &EntryView<'_>, request: &ModifyRequest<'_>) -> Result<(), Denial> {
        if self.kind == Kind::Refresh {
            return self.refresh(target);
        }
        let mut unknown = None;
        let mut changes = Vec::new();
        for change in request.changes.iter() {
            match self.named(change.attribute.description) {
                Some(named) => {
                    self.check_writable(named.attribute)?;
                    changes.push((named, change));
                }
                None => unknown = unknown.or(Some(change.attribute.description)),
            }
        }
        for (named, _) in &changes {
            self.check_privilege(named.attribute.index)?;
        }
        let is_class = |change: &&Change<'_>| self.is_class(change.attribute.description);
        let new_classes = changes.iter().map(|(_, change)| change).filter(is_class);
        self.check_subentry(target, new_classes.flat_map(|change| change.attribute.values.iter()))?;
        for (named, change) in &changes {
            if !self.may_change(target, named, change)? {
                let attribute = named.attribute.name().to_owned();
                return Err(Refusal::MayNotWrite { attribute, dn: name_of(target) }.into());
            }
        }
        unknown.map_or(Ok(()), |name| Err(undefined(name)))
    }

    /// An entry that is to be added: `new` as it will be. `names` are its attributes as the client wrote them.
    pub(super) fn add<'n>(
        &self,
        new: &EntryView<'_>,
        names: impl Iterator<Item = &'n [u8]> + Clone,
    ) -> Result<(), Denial> {
        let known = names.clone().filter_map(|name| self.named(name));
        for named in known {
            self.check_writable(named.attribute)?;
            // A password of the entry's own is no reset.
            if let Some(privilege) = privilege_to_write(self.facts, named.attribute.index, true) {
                self.check_has(named.attribute.index, privilege)?;
            }
        }
        self.check_subentry(new, std::iter::empty())?;
        if !self.asker.may(new, Question::entry(Right::Add))? {
            return Err(Refusal::MayNotAdd { dn: name_of(new) }.into());
        }
        let mut names = names;
        names.find(|name| self.named(name).is_none()).map_or(Ok(()), |name| Err(undefined(name)))
    }

    /// A delete of one entry.
    pub(super) fn delete(&self, target: &EntryView<'_>) -> Result<(), Denial> {
        self.check_subentry(target, std::iter::empty())?;
        match self.asker.may(target, Question::entry(Right::Delete))? {
            true => Ok(()),
            false => Err(Refusal::MayNotDelete { dn: name_of(target) }.into()),
        }
    }

    /// The new name of an entry: the values of the new RDN are written, and those of the old one that go.
    pub(super) fn rename(&self, target: &EntryView<'_>, request: &ModifyDnRequest<'_>) -> Result<(), Denial> {
        let text = std::str::from_utf8(request.new_rdn).map_err(|error| invalid(request.new_rdn, error))?;
        let new = ldap::Rdn::parse(text).map_err(|error| invalid(request.new_rdn, error))?;
        let dn = name_of(target);
        let old = ldap::Dn::parse(&dn).ok();
        let old = old.as_ref().and_then(ldap::Dn::rdn).filter(|_| request.delete_old_rdn);
        let type_of = |ava: &ldap::Ava<'_>| self.facts.schema.attribute_type(ava.attribute.as_bytes());
        let comes = new.avas().iter().filter_map(|ava| Some((type_of(ava)?, WrittenValue::Added(&ava.value))));
        let goes = old.iter().flat_map(|old| old.avas()).filter_map(|ava| Some((type_of(ava)?, &*ava.value)));
        let stays = |attribute: &AttributeType, value: &[u8]| {
            let normal = |value: &[u8]| change::apply::normal_form(attribute.equality, &self.facts.schema, value);
            let mut same = new.avas().iter().filter(|ava| type_of(ava).is_some_and(|it| it.index == attribute.index));
            same.any(|ava| normal(&ava.value) == normal(value))
        };
        let goes = goes.filter(|(attribute, value)| !stays(attribute, value));
        let goes = goes.map(|(attribute, value)| (attribute, WrittenValue::Deleted(value)));
        let written: Vec<_> = comes.chain(goes).collect();
        for (attribute, _) in &written {
            self.check_writable(attribute)?;
        }
        for (attribute, _) in &written {
            self.check_privilege(attribute.index)?;
        }
        self.check_subentry(target, std::iter::empty())?;
        for (attribute, value) in written {
            let every = Question::value(attribute.index, WrittenValue::Every);
            if !self.asker.may(target, every)? && !self.asker.may(target, Question::value(attribute.index, value))? {
                return Err(Refusal::MayNotRename { dn, attribute: attribute.name().to_owned() }.into());
            }
        }
        let unknown = new.avas().iter().find(|ava| type_of(ava).is_none());
        unknown.map_or(Ok(()), |ava| Err(undefined(ava.attribute.as_bytes())))
    }

    /// An assertion about an entry, evaluated as the asker may: it tells nothing of what the asker may not search.
    pub(super) fn assertion(
        &self,
        entry: &EntryView<'_>,
        filter: &Filter<'_>,
        rights: &dyn ReadRights,
        now_unix_seconds: i64,
    ) -> Result<(), Denial> {
        let matcher = self.check_assertion_rights(entry, filter, now_unix_seconds)?;
        self.took_values.set(true);
        match matcher.matches_one(self.facts, entry, ReadRight::Search, rights)? {
            Truth::True => Ok(()),
            Truth::False | Truth::Undefined => Err(Refusal::AssertionFailed.into()),
        }
    }

    /// Whether the asker may search every attribute that an assertion names; gives the assertion prepared.
    pub(super) fn check_assertion_rights(
        &self,
        entry: &EntryView<'_>,
        filter: &Filter<'_>,
        now_unix_seconds: i64,
    ) -> Result<Matcher, Denial> {
        let mut matcher = Matcher::default();
        matcher.compile(self.facts, filter, MatchContext { now_unix_seconds });
        for node in matcher.nodes() {
            let Node::Item(item) = node else { continue };
            let (Target::Type(attribute) | Target::Tagged(attribute, _) | Target::Virtual(attribute, _)) = item.target
            else {
                continue;
            };
            if !self.asker.may(entry, Question::attribute(Right::Search, attribute))? {
                let known = self.facts.schema.attribute_by_index(attribute);
                let attribute = known.map(AttributeType::name).unwrap_or_default().to_owned();
                return Err(Refusal::MayNotAssert { attribute }.into());
            }
        }
        Ok(matcher)
    }

    /// RFC 2589 says nothing of rights; as in OpenLDAP, it takes writing `entryTtl`.
    fn refresh(&self, target: &EntryView<'_>) -> Result<(), Denial> {
        let lifetime = self.facts.schema.attribute_type(b"entryTtl");
        let may = match lifetime {
            Some(lifetime) => self.asker.may(target, Question::attribute(Right::Write, lifetime.index))?,
            None => false,
        };
        if may {
            return Ok(());
        }
        Err(Refusal::MayNotWrite { attribute: "entryTtl".to_owned(), dn: name_of(target) }.into())
    }

    fn named(&self, description: &[u8]) -> Option<Named<'_>> {
        let schema = &self.facts.schema;
        // Without options, as nearly all are, there is nothing to parse.
        if let Some(attribute) = schema.attribute_type(description) {
            return Some(Named { attribute, canonical: attribute.name().to_owned() });
        }
        let parsed = AttributeDescription::parse(schema, description).ok()?;
        let attribute = schema.attribute_by_index(parsed.attribute?)?;
        Some(Named { attribute, canonical: parsed.canonical(schema) })
    }

    fn is_class(&self, description: &[u8]) -> bool {
        self.facts.schema.attribute_type(description).is_some_and(|it| Some(it.index) == self.facts.object_class)
    }

    /// Attributes that only the server writes are no matter of rights.
    fn check_writable(&self, attribute: &AttributeType) -> Result<(), Denial> {
        let is_servers = self.facts.is_virtual(attribute.index)
            || (attribute.is_no_user_modification() && !self.flags.has(Flags::RELAX));
        match is_servers {
            true => Err(change::Refusal::ServerMaintained { attribute: attribute.name().to_owned() }.into()),
            false => Ok(()),
        }
    }

    fn check_privilege(&self, attribute: TypeIndex) -> Result<(), Denial> {
        match privilege_to_write(self.facts, attribute, self.is_own) {
            Some(privilege) => self.check_has(attribute, privilege),
            None => Ok(()),
        }
    }

    fn check_has(&self, attribute: TypeIndex, privilege: Privilege) -> Result<(), Denial> {
        match self.asker.has(privilege) {
            true => Ok(()),
            false => Err(lacking(&self.facts.schema, attribute, privilege).into()),
        }
    }

    /// Subentries say what holds for other entries, so that they take a privilege; `new_classes` are those that the
    /// entry gets.
    fn check_subentry<'v>(
        &self,
        entry: &EntryView<'_>,
        new_classes: impl Iterator<Item = &'v [u8]>,
    ) -> Result<(), Denial> {
        let is_subentry = self.facts.class_flags(entry.record.object_classes()).has(ClassFlags::SUBENTRY)
            || self.facts.flags_of_classes(new_classes).has(ClassFlags::SUBENTRY);
        match is_subentry && !self.asker.has(Privilege::SubentryWrite) {
            true => Err(Refusal::WriteSubentry.into()),
            false => Ok(()),
        }
    }

    /// Whether the asker may make one change: of any values, or of just these.
    fn may_change(&self, target: &EntryView<'_>, named: &Named<'_>, change: &Change<'_>) -> Result<bool, StoreError> {
        let attribute = named.attribute.index;
        if self.asker.may(target, Question::value(attribute, WrittenValue::Every))? {
            return Ok(true);
        }
        let mut asked = false;
        let mut may = |value: WrittenValue<'_>| {
            asked = true;
            self.asker.may(target, Question::value(attribute, value))
        };
        let values = || change.attribute.values.iter();
        let is_allowed = match change.operation {
            ModifyOperation::Add => all(values().map(WrittenValue::Added), &mut may)?,
            ModifyOperation::Delete if !change.attribute.values.is_empty() => {
                all(values().map(WrittenValue::Deleted), &mut may)?
            }
            ModifyOperation::Delete => {
                self.each_stored(target, named, &mut |value| may(WrittenValue::Deleted(value)))?
            }
            ModifyOperation::Replace => {
                all(values().map(WrittenValue::Added), &mut may)?
                    && self.each_stored(target, named, &mut |value| may(WrittenValue::Deleted(value)))?
            }
            ModifyOperation::Increment => {
                let by = values().next().and_then(integer);
                self.each_stored(target, named, &mut |value| {
                    let sum = by.zip(integer(value)).and_then(|(by, old)| old.checked_add(by));
                    let comes = sum.map(|sum| sum.to_string());
                    let comes = comes.as_ref().map_or(Ok(true), |sum| may(WrittenValue::Added(sum.as_bytes())))?;
                    Ok(comes && may(WrittenValue::Deleted(value))?)
                })?
            }
        };
        if asked {
            return Ok(is_allowed);
        }
        // There is no value to ask about: the right to write some value is enough to be told so.
        self.asker.may(target, Question::attribute(Right::Write, attribute))
    }

    /// Asks about each value that an entry has of an attribute.
    fn each_stored(
        &self,
        target: &EntryView<'_>,
        named: &Named<'_>,
        may: &mut dyn FnMut(&[u8]) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        self.took_values.set(true);
        let Some(desc) = target.record.tables().description_id(&named.canonical) else { return Ok(true) };
        let mut scratch = Vec::new();
        let stored = target.record.attribute(desc, &mut scratch);
        let mut answer = Ok(true);
        let mut ask = |value: &[u8]| {
            answer = may(value);
            if matches!(answer, Ok(true)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match stored.map(|stored| stored.content) {
            None => {}
            Some(store::Content::Inline(values)) => {
                let _ = values.iter().try_for_each(&mut ask);
            }
            Some(store::Content::Large(_)) => target.source.large_values(target.id, desc, &mut ask)?,
        }
        answer
    }
}

fn all<'v>(
    mut values: impl Iterator<Item = WrittenValue<'v>>,
    may: &mut impl FnMut(WrittenValue<'_>) -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    values.try_fold(true, |so_far, value| Ok(so_far && may(value)?))
}

/// As `apply` reads numbers.
fn integer(value: &[u8]) -> Option<i128> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The name of an entry as text.
pub(super) fn name_of(entry: &EntryView<'_>) -> String {
    let mut dn = Vec::with_capacity(entry.dn.len());
    entry.dn.put(&mut dn);
    String::from_utf8_lossy(&dn).into_owned()
}

fn undefined(name: &[u8]) -> Denial {
    change::Refusal::UndefinedAttribute { attribute: shown(name) }.into()
}

fn invalid(rdn: &[u8], problem: impl std::fmt::Display) -> query::error::Refusal {
    query::error::Refusal::invalid_dn(rdn, problem)
}
