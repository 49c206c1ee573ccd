//! One request judged at one moment: first whether its entries exist and show, then privileges, then instructions;
//! schema and values are for `apply`. With it goes how results may be told.
//!
//! Knows entries and requests; what a change takes is said by `case`.

use std::cell::Cell;

use access::{EntryRights, Privilege};
use change::Refusal as ApplyRefusal;
use change::judged::{Judged, JudgedEntry};
use change::judged_tree::{JudgedTree, SLICE_ENTRIES, doomed};
use change::proposal::{Flags, Kind};
use ldap::{AddRequest, EntryRequest, Filter, LdapResult, ModifyDnRequest, ResultCode};
use query::backend::Backend;
use query::entry::EntryView;
use query::error::{invalid_dn, shown};
use schema::NormalizedDn;
use store::{EntryId, StoreError};

use super::case::Case;
use super::denial::Denial;
use super::disclosure::{Disclosure, LogNote, Told};
use super::matter::Matter;
use super::new_entry::new_entry;
use super::refusal::Refusal;
use super::scene::{Held, Scene, Way};
use super::verdict::{End, Readable, Verdict};

/// See the module.
pub(super) struct Sitting<'s, 'r, 'm> {
    pub(super) matter: Matter<'r, 'r>,
    pub(super) backend: &'s Backend,
    pub(super) scene: Scene<'s>,
    pub(super) rights: &'s EntryRights<'m>,
    /// The asker's entry, if it is in this backend.
    pub(super) own: Option<EntryId>,
    pub(super) own_dn: &'s str,
    pub(super) now_unix_seconds: i64,
    pub(super) took_values: Cell<bool>,
}

impl<'s> Sitting<'s, '_, '_> {
    /// The verdict.
    pub(super) fn decide(&self) -> Result<Verdict, End> {
        match self.matter.request {
            EntryRequest::Add(request) => self.add(request),
            _ => self.change(),
        }
    }

    /// Of an entry that is there.
    fn change(&self) -> Result<Verdict, End> {
        let dn = self.matter.request.entry();
        let (name, way) = self.way(dn)?;
        // Of others' passwords nothing else is told to whoever may not reset any.
        let is_password = self.matter.kind == Kind::PasswordModify;
        if is_password && !self.is_own_name(&name) && !self.scene.asker.has(Privilege::PasswordReset) {
            return Err(Told::from(Refusal::ResetPassword).into());
        }
        let missing = || Ok::<_, StoreError>(LdapResult::from(self.scene.missing(dn, &way)?));
        if !self.matter.flags.has(Flags::MANAGE_DSA_IT) {
            self.scene.check_referral(dn, &way).map_err(|denial| Disclosure::Open.tell_denial(denial))?;
        }
        let Some(held) = way.entry() else { return Err(missing()?.into()) };
        let shows = self.scene.shows(held)?;
        let disclosure = match shows {
            true => Disclosure::Open,
            false => Disclosure::HiddenEntry(Box::new(missing()?)),
        };
        let told = |denial: Denial| End::from(disclosure.tell_denial(denial));
        let case = self.case(self.own == Some(held.id));
        let entry = held.view()?;
        let mut superior = None;
        match self.matter.request {
            EntryRequest::Modify(request) => case.modify(&entry, request).map_err(told)?,
            EntryRequest::ModifyDn(request) => {
                case.rename(&entry, request).map_err(told)?;
                superior = self.superior(held, request).map_err(told)?;
                self.check_name_free(held, superior.as_ref(), request).map_err(told)?;
            }
            EntryRequest::Delete(_) => {
                case.delete(&entry).map_err(told)?;
                match self.matter.flags.has(Flags::SUBTREE_DELETE) {
                    true if self.matter.tree.is_begun => self.check_next(&case, held, &disclosure)?,
                    true => self.check_below(&case, held, &disclosure)?,
                    false => {}
                }
            }
            EntryRequest::Add(_) => {}
        }
        let is_asserted = self.assertion(&case, &entry).map_err(told)?;
        let readable_before = match self.matter.wants_pre_read {
            true => self.scene.readable(held)?,
            false => Readable::default(),
        };
        let judged = match (self.matter.request, &superior) {
            (EntryRequest::ModifyDn(ModifyDnRequest { new_superior: Some(_), .. }), None) => {
                Judged::Move { entry: self.judged(&entry)?, superior: JudgedEntry::NONE }
            }
            (_, Some(superior)) => {
                Judged::Move { entry: self.judged(&entry)?, superior: self.judged(&superior.view()?)? }
            }
            (EntryRequest::Delete(_), None) if self.matter.flags.has(Flags::SUBTREE_DELETE) => {
                let (entries, above) = (self.matter.tree.entries, self.rights.looked_above());
                let tree = JudgedTree::new(&self.scene.view, held.id, entries, above)?;
                Judged::Tree { entry: self.judged(&entry)?, tree }
            }
            (_, None) => Judged::Entry(self.judged(&entry)?),
        };
        let disclosure = match (disclosure, superior) {
            (Disclosure::Open, Some(superior)) if !self.scene.shows(&superior)? => {
                let refused = Refusal::MayNotMove { dn: shown(dn), superior: shown(superior.dn.as_bytes()) };
                Disclosure::HiddenParent(Box::new(refused.into()))
            }
            (disclosure, _) => disclosure,
        };
        Ok(Verdict { judged, disclosure, readable_before, is_asserted })
    }

    /// Of an entry that is to be.
    fn add(&self, request: &AddRequest<'_>) -> Result<Verdict, End> {
        let dn = request.entry;
        let (name, way) = self.way(dn)?;
        let nowhere = || {
            Ok::<_, StoreError>(match self.scene.missing(dn, &way)? {
                query::error::Refusal::NoSuchEntry { dn, matched } => ApplyRefusal::NoParent { dn, matched }.into(),
                _ => LdapResult::from(Refusal::MayNotAdd { dn: shown(dn) }),
            })
        };
        if !self.matter.flags.has(Flags::MANAGE_DSA_IT)
            && let Err(denial) = self.scene.check_referral(dn, &way)
        {
            // A referral object that does not show is a parent that is missing.
            let told = Disclosure::Open.tell_denial(denial);
            let is_missing = told.result.code == ResultCode::NO_SUCH_OBJECT;
            return Err(if is_missing { nowhere()?.into() } else { told.into() });
        }
        let existing = way.entry();
        let parent = match (existing, way.missing, &way.deepest) {
            (Some(existing), ..) => self.scene.held(existing.view()?.record.parent())?,
            (None, 1, Some(parent)) => self.scene.held(parent.id)?,
            (None, _, None) if self.is_base(&name) => None,
            _ => return Err(nowhere()?.into()),
        };
        // The first thing that is told, as in OpenDJ: whoever sees the entry knows of it anyway.
        let exists = || Disclosure::Open.tell_denial(ApplyRefusal::EntryExists { dn: shown(dn) }.into());
        if let Some(existing) = existing
            && self.scene.shows(existing)?
        {
            return Err(exists().into());
        }
        let parent_shows = parent.as_ref().map_or(Ok(true), |parent| self.scene.shows(parent))?;
        let parent_id = parent.as_ref().map_or(EntryId::ROOT, |parent| parent.id);
        let new = new_entry(self.scene.facts, parent_id, request)?;
        let entry = new.view()?;
        let case = self.case(false);
        let judged = case.add(&entry, request.attributes.iter().map(|attribute| attribute.description));
        let judged = judged.and_then(|()| self.check_assertion_rights(&case, &entry));
        if let Err(denial) = judged {
            let told = Disclosure::Open.tell_denial(denial);
            return Err(if parent_shows { told.into() } else { instead(nowhere()?, told).into() });
        }
        if existing.is_some() {
            let refused = LdapResult::from(Refusal::MayNotAdd { dn: shown(dn) });
            return Err(instead(refused, exists()).into());
        }
        let judged = match &parent {
            Some(parent) => Judged::New { parent: self.judged_above(&parent.view()?)? },
            None => Judged::New { parent: JudgedEntry::NONE },
        };
        let disclosure = match parent_shows {
            true => Disclosure::Open,
            false => Disclosure::HiddenParent(Box::new(LdapResult::from(Refusal::MayNotAdd { dn: shown(dn) }))),
        };
        Ok(Verdict { judged, disclosure, readable_before: Readable::default(), is_asserted: false })
    }

    /// Where a moved entry goes: missing and forbidden are the same, but for whoever everything shows to.
    fn superior(&self, held: &Held<'_>, request: &ModifyDnRequest<'_>) -> Result<Option<Held<'s>>, Denial> {
        let Some(dn) = request.new_superior else { return Ok(None) };
        let refused = || Denial::from(Refusal::MayNotMove { dn: shown(request.entry), superior: shown(dn) });
        let name = NormalizedDn::parse(&self.scene.facts.schema, dn).map_err(|_| refused())?;
        let sees_all = self.rights.rights().bypasses_acl();
        let Some(suffix) = self.backend.suffix_of(name.as_bytes()) else {
            let missing = query::error::Refusal::no_such_object(&shown(dn), "");
            return Err(if sees_all { missing.into() } else { refused() });
        };
        if suffix.is_root() && name.is_root() {
            return if sees_all { Ok(None) } else { Err(refused()) };
        }
        let way = self.scene.way(suffix, &name)?;
        let found = way.entry().map(|superior| superior.id);
        let Some(superior) = found.map(|id| self.scene.held(id)).transpose()?.flatten() else {
            if !sees_all {
                return Err(refused());
            }
            if !self.matter.flags.has(Flags::MANAGE_DSA_IT) {
                self.scene.check_referral(dn, &way)?;
            }
            return Err(self.scene.missing(dn, &way)?.into());
        };
        if !self.scene.asker.may_move(&held.view()?, &superior.view()?)? {
            return Err(refused());
        }
        if !self.matter.flags.has(Flags::MANAGE_DSA_IT) {
            self.scene.check_referral(dn, &way)?;
        }
        Ok(Some(superior))
    }

    /// A name that another entry has is told of only if that entry shows.
    fn check_name_free(
        &self,
        held: &Held<'_>,
        superior: Option<&Held<'_>>,
        request: &ModifyDnRequest<'_>,
    ) -> Result<(), Denial> {
        let parent = match (superior, request.new_superior) {
            (Some(superior), _) => superior.id,
            (None, Some(_)) => EntryId::ROOT,
            (None, None) => held.view()?.record.parent(),
        };
        let Ok(normal) = NormalizedDn::parse(&self.scene.facts.schema, request.new_rdn) else { return Ok(()) };
        let Some(leaf) = normal.rdn() else { return Ok(()) };
        // Base entries are kept by their whole names.
        let leaf = if parent == EntryId::ROOT { normal.as_bytes() } else { leaf.as_bytes() };
        let other = self.scene.view.child(parent, leaf)?.filter(|id| *id != held.id);
        let Some(other) = other.map(|id| self.scene.held(id)).transpose()?.flatten() else { return Ok(()) };
        if self.scene.shows(&other)? {
            return Err(ApplyRefusal::EntryExists { dn: other.dn }.into());
        }
        Err(Refusal::NameNotFree { dn: shown(request.entry), rdn: shown(request.new_rdn) }.into())
    }

    /// Every entry below is judged before the first one goes: all, or none.
    fn check_below(&self, case: &Case<'_>, top: &Held<'_>, disclosure: &Disclosure) -> Result<(), End> {
        let mut looked_at = 0;
        let mut parents = vec![top.id];
        while let Some(parent) = parents.pop() {
            for id in self.scene.view.children(parent)?.iter_from(EntryId(1)) {
                looked_at += 1;
                if looked_at > self.matter.most_below {
                    return Err(End::TakesLong);
                }
                let Some(held) = self.scene.held(id)? else { continue };
                match case.delete(&held.view()?) {
                    Ok(()) => parents.push(id),
                    Err(Denial::Failed(error)) => return Err(StoreError::into(*error)),
                    Err(Denial::Refused(_)) => {
                        let refusal = Refusal::MayNotDeleteBelow { dn: shown(self.matter.request.entry()) };
                        return Err(disclosure.tell_denial(refusal.into()).into());
                    }
                }
            }
        }
        Ok(())
    }

    /// The entries below that are deleted next, some being deleted already. All were judged before, but others may have
    /// come since.
    fn check_next(&self, case: &Case<'_>, top: &Held<'_>, disclosure: &Disclosure) -> Result<(), End> {
        for id in doomed(&self.scene.view, top.id, self.matter.tree.entries)? {
            let Some(held) = self.scene.held(id)?.filter(|held| held.id != top.id) else { continue };
            match case.delete(&held.view()?) {
                Ok(()) => {}
                Err(Denial::Failed(error)) => return Err(StoreError::into(*error)),
                Err(Denial::Refused(_)) => {
                    let refusal = Refusal::MayNotDeleteRest { dn: shown(self.matter.request.entry()) };
                    return Err(disclosure.tell_denial(refusal.into()).into());
                }
            }
        }
        Ok(())
    }

    /// Evaluates an assertion control; tells whether there was one.
    fn assertion(&self, case: &Case<'_>, entry: &EntryView<'_>) -> Result<bool, Denial> {
        let Some(filter) = self.asserted()? else { return Ok(false) };
        case.assertion(entry, &filter, self.rights, self.now_unix_seconds)?;
        Ok(true)
    }

    /// The assertion of an add is about an entry that is not there yet: `apply` evaluates it.
    fn check_assertion_rights(&self, case: &Case<'_>, entry: &EntryView<'_>) -> Result<(), Denial> {
        match self.asserted()? {
            Some(filter) => case.check_assertion_rights(entry, &filter, self.now_unix_seconds).map(drop),
            None => Ok(()),
        }
    }

    fn asserted(&self) -> Result<Option<Filter<'_>>, Denial> {
        if self.matter.assertion.is_empty() {
            return Ok(None);
        }
        let decoded = Filter::decode(&mut ber::Reader::new(self.matter.assertion));
        let malformed = |error: ldap::DecodeError| ApplyRefusal::MalformedAssertion { problem: error.to_string() };
        Ok(Some(decoded.map_err(malformed)?))
    }

    fn case(&self, is_own: bool) -> Case<'_> {
        let Matter { kind, flags, .. } = self.matter;
        let Scene { facts, asker, .. } = self.scene;
        Case { facts, asker, kind, flags, is_own, took_values: &self.took_values }
    }

    /// Where a name leads, and its normal form.
    fn way(&self, dn: &[u8]) -> Result<(NormalizedDn, Way<'s>), End> {
        let name = NormalizedDn::parse(&self.scene.facts.schema, dn).map_err(|error| invalid_dn(dn, error))?;
        let Some(suffix) = self.backend.suffix_of(name.as_bytes()) else {
            return Err(query::error::no_such_object(&shown(dn), "").into());
        };
        let way = self.scene.way(suffix, &name)?;
        Ok((name, way))
    }

    fn is_base(&self, name: &NormalizedDn) -> bool {
        self.backend.suffix_of(name.as_bytes()).is_some_and(|suffix| suffix.is_base(name))
    }

    fn is_own_name(&self, name: &NormalizedDn) -> bool {
        let own = NormalizedDn::parse(&self.scene.facts.schema, self.own_dn.as_bytes());
        !self.own_dn.is_empty() && own.is_ok_and(|own| own == *name)
    }

    /// An entry as it was judged: as it is, if what it holds has counted; and those above it, if what they hold has.
    fn judged(&self, entry: &EntryView<'_>) -> Result<JudgedEntry, StoreError> {
        self.judged_as(entry, false, self.rights.looked_above())
    }

    /// The same of the parent of an entry that is to be.
    fn judged_above(&self, parent: &EntryView<'_>) -> Result<JudgedEntry, StoreError> {
        let levels = self.rights.looked_above();
        self.judged_as(parent, levels > 0, levels.saturating_sub(1))
    }

    fn judged_as(&self, entry: &EntryView<'_>, has_counted: bool, levels: u8) -> Result<JudgedEntry, StoreError> {
        let judged = match has_counted || self.took_values.get() || self.rights.looked_at_content() {
            true => JudgedEntry::as_it_is(entry.id, &entry.record),
            false => JudgedEntry::whatever_it_contains(entry.id),
        };
        judged.with_above(&entry.record, &self.scene.view, levels)
    }
}

/// A result told instead of another, which only the log is told.
fn instead(result: LdapResult, told: Told) -> Told {
    let masked = told.log.masked.unwrap_or_else(|| Box::new(told.result));
    let masked = Some(masked).filter(|masked| **masked != result);
    Told { result, log: LogNote { reason: told.log.reason, masked }, policy: None }
}

/// Entries below a deleted one that an event loop may look at: as many as one slice deletes.
pub(crate) const MOST_BELOW_AT_ONCE: usize = SLICE_ENTRIES;
