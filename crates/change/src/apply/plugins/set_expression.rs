//! What a set expression gives for an entry that was just written (OpenLDAP: `constraint_attribute … set`).
//!
//! The entries that it names are looked up in the entry's own backend, as the proposal leaves them. How many values and
//! entries one expression may meet is bounded: beyond it the update is refused, the same on every machine.
//!
//! Values of attributes that ignore case, and names of entries, are compared without regard to case and to how many
//! spaces there are.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use config::{SetExpression, SetOperator};
use ldap::LdapUrl;
use schema::prep::{Case, prepare};
use schema::syntax::oid;
use schema::{NormalizedDn, Schema};
use store::{EntryId, RecordView, View};

use super::configured::ValueSource;
use crate::apply::draft::stored_type;
use crate::apply::error::ApplyError;
use crate::apply::work::Work;
use crate::refusal::Refusal;
use query::locate::locate;

/// Entries that one expression looks at.
const ENTRIES_MAX: usize = 10_000;
/// Texts that one expression makes, those in between too.
const TEXTS_MAX: usize = 20_000;
/// Bytes of them.
const BYTES_MAX: usize = 16 << 20;

/// An expression, and the entry that is judged.
pub(super) struct Evaluation<'e, 'w, 't> {
    work: &'e Work<'w, 't>,
    judged: EntryId,
    name: &'e str,
    entries: usize,
    texts: usize,
    bytes: usize,
}

/// One text of a set.
#[derive(Clone, Debug)]
struct Member {
    text: Vec<u8>,
    /// Without regard to case and number of spaces.
    folded: Vec<u8>,
    ignores_case: bool,
}

impl Member {
    fn new(text: Vec<u8>, ignores_case: bool) -> Self {
        let mut folded = Vec::with_capacity(text.len());
        if prepare(&text, Case::Ignore, &mut folded).is_err() {
            folded.clone_from(&text);
        }
        Self { text, folded, ignores_case }
    }

    fn is(&self, other: &Self) -> bool {
        if self.ignores_case || other.ignores_case { self.folded == other.folded } else { self.text == other.text }
    }
}

/// Texts, each once, in the order in which they came.
#[derive(Default)]
struct Set {
    members: Vec<Member>,
    /// Equal ones have the same folded text.
    by_folded: BTreeMap<Vec<u8>, Vec<usize>>,
}

impl Set {
    fn of(member: Member) -> Self {
        let mut set = Self::default();
        set.add(member);
        set
    }

    fn has(&self, member: &Member) -> bool {
        let places = self.by_folded.get(&member.folded).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|at| self.members.get(*at)).any(|known| known.is(member))
    }

    fn add(&mut self, member: Member) {
        if !self.has(&member) {
            self.by_folded.entry(member.folded.clone()).or_default().push(self.members.len());
            self.members.push(member);
        }
    }
}

/// Whether an expression gives something for the entry of that name.
///
/// What URLs find of the entry itself does not count: it would allow itself what it has.
pub(super) fn gives_something(
    work: &Work<'_, '_>,
    expression: &SetExpression,
    judged: EntryId,
) -> Result<bool, ApplyError> {
    let name = &work.view().dn_of(judged)?.unwrap_or_default();
    let mut evaluation = Evaluation { work, judged, name, entries: 0, texts: 0, bytes: 0 };
    Ok(!evaluation.set(expression)?.members.is_empty())
}

impl Evaluation<'_, '_, '_> {
    /// The depth of an expression was bounded when it was read.
    fn set(&mut self, expression: &SetExpression) -> Result<Set, ApplyError> {
        match expression {
            SetExpression::This => Ok(Set::of(name_member(&self.work.facts.schema, self.name))),
            SetExpression::User => {
                let dn = self.work.proposal.authority.dn();
                // Nobody authenticated: as in OpenLDAP, there is no user.
                if dn.is_empty() {
                    return Ok(Set::default());
                }
                Ok(Set::of(name_member(&self.work.facts.schema, dn)))
            }
            SetExpression::Literal(text) => Ok(Set::of(Member::new(text.clone().into_bytes(), false))),
            SetExpression::Values { of, attribute, is_closure } => {
                let of = self.set(of)?;
                self.values(&of, attribute, *is_closure)
            }
            SetExpression::Above { of, levels } => {
                let mut above = Set::default();
                for member in self.set(of)?.members {
                    above.add(self.above(&member, *levels));
                }
                Ok(above)
            }
            SetExpression::Ancestors(of) => {
                let mut all = Set::default();
                for member in self.set(of)?.members {
                    let depth = parsed(&member).map_or(0, |dn| dn.rdns().len());
                    for levels in 0..=depth {
                        let above = self.above(&member, levels);
                        self.spend(&above.text)?;
                        all.add(above);
                    }
                }
                Ok(all)
            }
            SetExpression::Join { by, left, right } => {
                let (left, right) = (self.set(left)?, self.set(right)?);
                self.join(*by, left, right)
            }
        }
    }

    fn join(&mut self, by: SetOperator, left: Set, right: Set) -> Result<Set, ApplyError> {
        let mut all = Set::default();
        match by {
            SetOperator::And => left.members.into_iter().filter(|it| right.has(it)).for_each(|it| all.add(it)),
            SetOperator::Or => left.members.into_iter().chain(right.members).for_each(|it| all.add(it)),
            SetOperator::Concatenate => {
                for first in &left.members {
                    for second in &right.members {
                        let text = [first.text.as_slice(), &second.text].concat();
                        self.spend(&text)?;
                        all.add(Member::new(text, first.ignores_case || second.ignores_case));
                    }
                }
            }
        }
        Ok(all)
    }

    /// The values of an attribute of the entries that are named; with `is_closure`, of those that these name in turn,
    /// too.
    fn values(&mut self, of: &Set, attribute: &str, is_closure: bool) -> Result<Set, ApplyError> {
        let mut found = Set::default();
        for member in &of.members {
            self.gather(member, attribute, &mut found)?;
        }
        let mut at = 0;
        while is_closure && let Some(member) = found.members.get(at).cloned() {
            self.gather(&member, attribute, &mut found)?;
            at += 1;
        }
        Ok(found)
    }

    /// Adds the values of the entry that a text names, or of the entries that it finds as a URL.
    fn gather(&mut self, named: &Member, attribute: &str, found: &mut Set) -> Result<(), ApplyError> {
        let work = self.work;
        let view = work.view();
        let Ok(text) = std::str::from_utf8(&named.text) else { return Ok(()) };
        if text.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("ldap:///")) {
            let Some(source) = LdapUrl::parse(text).ok().and_then(|url| ValueSource::of_url(&work.facts, text, &url))
            else {
                return Ok(());
            };
            let Some(base) = source.base_entry(work, &view)? else { return Ok(()) };
            let mut outcome = Ok(());
            source.walk(&view, base, &mut |id, counts| {
                outcome = self.look_at_one().and_then(|()| {
                    match counts && id != self.judged && source.matches(work, &view, id)? {
                        true => self.take(&view, id, attribute, found),
                        false => Ok(()),
                    }
                });
                if outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            return outcome;
        }
        let Ok(name) = NormalizedDn::parse(&work.facts.schema, &named.text) else { return Ok(()) };
        let Some(suffix) = work.rules.suffix_of(&name).filter(|_| !name.is_root()) else { return Ok(()) };
        self.look_at_one()?;
        match locate(&view, &suffix.normalized, name.as_bytes())?.found() {
            Some(id) => self.take(&view, id, attribute, found),
            None => Ok(()),
        }
    }

    /// Adds the values of one attribute of one entry.
    fn take(&mut self, view: &View<'_>, id: EntryId, attribute: &str, found: &mut Set) -> Result<(), ApplyError> {
        let schema = &self.work.facts.schema;
        if attribute.eq_ignore_ascii_case("entryDN") {
            let dn = view.dn_of(id)?.unwrap_or_default();
            self.spend(dn.as_bytes())?;
            found.add(name_member(schema, &dn));
            return Ok(());
        }
        let Some(known) = schema.attribute_type(attribute.as_bytes()) else { return Ok(()) };
        let is_name = known.syntax.oid() == oid::DN;
        let ignores_case = known.equality.is_some_and(|rule| rule.name().starts_with("caseIgnore"));
        let Some(stored) = view.entry(id)? else { return Ok(()) };
        let record = stored.view()?;
        let mut taken = Ok(());
        each_value(view, id, &record, schema, known.index, &mut |value| {
            taken = self.spend(value);
            let member = match std::str::from_utf8(value) {
                Ok(dn) if is_name => name_member(schema, dn),
                _ => Member::new(value.to_vec(), ignores_case),
            };
            found.add(member);
            if taken.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        taken
    }

    /// The name so many RDNs above; the root's above that.
    fn above(&self, member: &Member, levels: usize) -> Member {
        let Some(dn) = parsed(member) else { return member.clone() };
        let rdns: Vec<String> = dn.rdns().iter().skip(levels).map(ToString::to_string).collect();
        Member::new(rdns.join(",").into_bytes(), true)
    }

    fn look_at_one(&mut self) -> Result<(), ApplyError> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(too_much(&format!("looks at more than {ENTRIES_MAX} entries")));
        }
        Ok(())
    }

    fn spend(&mut self, text: &[u8]) -> Result<(), ApplyError> {
        self.texts += 1;
        self.bytes += text.len();
        if self.texts > TEXTS_MAX || self.bytes > BYTES_MAX {
            let mib = BYTES_MAX >> 20;
            return Err(too_much(&format!("gives more than {TEXTS_MAX} values, or {mib} MiB of them")));
        }
        Ok(())
    }
}

fn too_much(what: &str) -> ApplyError {
    Refusal::SetTooCostly { what: what.to_owned() }.into()
}

fn parsed(member: &Member) -> Option<ldap::Dn<'_>> {
    ldap::Dn::parse(std::str::from_utf8(&member.text).ok()?).ok()
}

/// A name, its attributes called by their first names.
fn name_member(schema: &Schema, dn: &str) -> Member {
    let Ok(parsed) = ldap::Dn::parse(dn) else { return Member::new(dn.into(), true) };
    let mut text = String::with_capacity(dn.len());
    for rdn in parsed.rdns() {
        if !text.is_empty() {
            text.push(',');
        }
        for (at, ava) in rdn.avas().iter().enumerate() {
            let known = schema.attribute_type(ava.attribute.as_bytes());
            let name = known.map_or(ava.attribute, |known| known.name());
            text.push_str(if at > 0 { "+" } else { "" });
            text.push_str(name);
            text.push('=');
            // Writing into a text does not fail.
            let _ = ldap::dn::write_escaped(&mut text, &ava.value);
        }
    }
    Member::new(text.into_bytes(), true)
}

/// Calls `each` with the values of exactly that attribute, whatever its options, until it says stop.
fn each_value(
    view: &View<'_>,
    id: EntryId,
    record: &RecordView<'_>,
    schema: &Schema,
    attribute: schema::TypeIndex,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), ApplyError> {
    let tables = record.tables();
    let is_own = |desc| stored_type(schema, tables, desc).is_some_and(|own| own.index == attribute);
    let entry = query::entry::EntryView { id, record: *record, dn: query::entry::DnParts::default(), source: view };
    if is_own(store::DescId::OBJECT_CLASS) {
        let _ = record.object_classes().iter().try_for_each(each);
        return Ok(());
    }
    Ok(entry.each_value(record.attributes().filter(|stored| is_own(stored.desc)), each)?)
}
