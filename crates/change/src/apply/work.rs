//! One proposal being applied: what was judged of it, and finding the entries that it names.
//!
//! Knows names, referrals and judgements; not what the operations do.

use std::sync::Arc;

use schema::{NormalizedDn, Schema};
use store::{EntryId, RecordView, StoreError, Tables, Txn, View};

use super::class_cache::Classes;
use super::error::ApplyError;
use super::outcome::ReferenceReport;
use super::rules::UpdateRules;
use crate::judged::{Judged, JudgedEntry};
use crate::judged_tree::JudgedTree;
use crate::proposal::{Authority, Flags, Proposal};
use crate::refusal::Refusal;
use query::backend::Suffix;
use query::class_flags::ClassFlags;
use query::entry::{DnParts, EntryView};
use query::error::Refusal as NameRefusal;
use query::error::shown;
use query::facts::Facts;
use query::locate::locate;
use query::referral::{leaf_rdns, referral_urls};

/// See the module.
pub(super) struct Work<'w, 't> {
    pub(super) rules: &'w mut UpdateRules,
    pub(super) txn: &'w mut Txn<'t>,
    pub(super) proposal: &'w Proposal<'w>,
    pub(super) facts: Arc<Facts>,
    /// The entry before, for a pre-read control.
    pub(super) pre_read: Option<Vec<u8>>,
    /// The entry after, for a post-read control.
    pub(super) post_read: Option<Vec<u8>>,
    /// The schema to be in force afterwards.
    pub(super) new_schema: Option<Arc<Schema>>,
    /// A part was done; the rest takes another proposal.
    pub(super) has_more: bool,
    /// What was done to references, or waits.
    pub(super) references: Option<ReferenceReport>,
}

/// An entry that was found.
pub(super) struct Target {
    pub(super) id: EntryId,
    pub(super) name: NormalizedDn,
    /// Its record as it is stored.
    pub(super) bytes: Vec<u8>,
    pub(super) tables: Arc<Tables>,
    pub(super) classes: Classes,
    pub(super) suffix: Suffix,
}

/// What the way to a name must lead to.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    /// The deepest entry on it.
    pub(super) entry: JudgedEntry,
    /// How many RDNs are missing below that.
    pub(super) missing: usize,
}

impl Target {
    /// The record.
    pub(super) fn record(&self) -> Result<RecordView<'_>, ApplyError> {
        Ok(RecordView::parse(&self.bytes, &self.tables)?)
    }

    /// Whether the entry is a base entry of its suffix.
    pub(super) fn is_suffix(&self) -> bool {
        self.suffix.is_base(&self.name)
    }
}

impl<'w, 't> Work<'w, 't> {
    pub(super) fn new(rules: &'w mut UpdateRules, txn: &'w mut Txn<'t>, proposal: &'w Proposal<'w>) -> Self {
        let facts = Arc::clone(&rules.facts);
        Self {
            rules,
            txn,
            proposal,
            facts,
            pre_read: None,
            post_read: None,
            new_schema: None,
            has_more: false,
            references: None,
        }
    }

    /// Whether a setting of the request is on.
    pub(super) fn has(&self, flag: Flags) -> bool {
        self.proposal.flags.has(flag)
    }

    /// Whether the relax control counts: it does for root only.
    pub(super) fn is_relaxed(&self) -> bool {
        self.has(Flags::RELAX) && self.proposal.authority.is_root()
    }

    /// What was judged; none where nothing had to be. Refuses a proposal that nobody judged.
    pub(super) fn judged(&self) -> Result<Option<Judged>, ApplyError> {
        match self.proposal.authority.judged() {
            Judged::Unneeded => Ok(None),
            Judged::Missing => Err(self.not_judged()),
            judged => Ok(Some(judged)),
        }
    }

    /// The entry that an update changes or deletes where it stands, as it was judged.
    pub(super) fn judged_entry(&self) -> Result<Option<JudgedEntry>, ApplyError> {
        match self.judged()? {
            None => Ok(None),
            Some(Judged::Entry(entry)) => Ok(Some(entry)),
            Some(_) => Err(self.not_judged()),
        }
    }

    /// The entry that an update deletes, and what of a subtree is deleted next, as they were judged. What older
    /// versions of the program proposed says nothing of the subtree.
    pub(super) fn judged_tree(&self) -> Result<(Option<JudgedEntry>, Option<JudgedTree>), ApplyError> {
        match self.judged()? {
            Some(Judged::Tree { entry, tree }) if self.has(Flags::SUBTREE_DELETE) => Ok((Some(entry), Some(tree))),
            _ => Ok((self.judged_entry()?, None)),
        }
    }

    /// The refusal of a proposal of which something else was judged than what it does.
    pub(super) fn not_judged(&self) -> ApplyError {
        Refusal::NotJudged { user: self.proposal.authority.dn().to_owned() }.into()
    }

    /// Whether the asker may know of every entry.
    pub(super) fn may_know_all(&self) -> bool {
        self.proposal.authority.judged() == Judged::Unneeded
    }

    /// Refuses everybody but root.
    pub(super) fn require_root(&self, what: &'static str) -> Result<(), ApplyError> {
        match self.proposal.authority {
            Authority::Root { .. } => Ok(()),
            Authority::Anonymous { .. } => Err(Refusal::NotAuthenticated { what }.into()),
            Authority::User { dn, .. } => Err(Refusal::NotAllowed { what, user: dn.to_owned() }.into()),
        }
    }

    /// The normal form of a name, and the suffix that holds it.
    pub(super) fn resolve(&self, dn: &[u8]) -> Result<(NormalizedDn, Suffix), ApplyError> {
        let name = NormalizedDn::parse(&self.facts.schema, dn).map_err(|error| NameRefusal::invalid_dn(dn, error))?;
        match self.rules.suffix_of(&name) {
            Some(suffix) => {
                self.check_held(&name, &suffix.normalized)?;
                Ok((name, suffix.clone()))
            }
            None => Err(NameRefusal::no_such_object(&shown(dn), "").into()),
        }
    }

    /// The entry of that name, which is the one that was judged; `noSuchObject` with the matched DN, or a referral.
    pub(super) fn find(&mut self, dn: &[u8], judged: Option<JudgedEntry>) -> Result<Target, ApplyError> {
        let (name, suffix) = self.resolve(dn)?;
        let suffix_dn = suffix.dn.clone();
        match self.walk(dn, name, suffix, judged.map(|entry| Expected { entry, missing: 0 }))? {
            Some((target, 0)) => Ok(target),
            Some((deepest, _)) => {
                let matched = self.txn.view().dn_of(deepest.id)?.unwrap_or_default();
                Err(NameRefusal::no_such_object(&shown(dn), matched).into())
            }
            None => Err(NameRefusal::empty_suffix(&shown(dn), &suffix_dn).into()),
        }
    }

    /// The deepest entry on the way to a name, and how many RDNs are missing below it; none when the suffix has no
    /// entry. What is found must be what is expected, before anything is told of it.
    pub(super) fn walk(
        &mut self,
        dn: &[u8],
        name: NormalizedDn,
        suffix: Suffix,
        expected: Option<Expected>,
    ) -> Result<Option<(Target, usize)>, ApplyError> {
        let path = locate(&self.txn.view(), &suffix.normalized, name.as_bytes())?;
        let Some(deepest) = path.deepest() else {
            let is_other = expected.is_some_and(|expected| expected.entry != JudgedEntry::NONE);
            return if is_other { Err(ApplyError::JudgedElse) } else { Ok(None) };
        };
        let depth = suffix.base_depth() + path.entries.len() - 1;
        let missing = name.len().saturating_sub(depth);
        let target = self.read(deepest, name, suffix)?;
        if let Some(expected) = expected
            && !(expected.missing == missing && expected.entry.is(target.id, &target.record()?, &self.view())?)
        {
            return Err(ApplyError::JudgedElse);
        }
        Ok(Some((self.no_referral(target, dn, missing)?, missing)))
    }

    /// An entry by number.
    pub(super) fn read(&mut self, id: EntryId, name: NormalizedDn, suffix: Suffix) -> Result<Target, ApplyError> {
        let tables = Arc::clone(self.txn.tables());
        let found = self.txn.view().entry(id)?.map(|record| record.into_bytes().into_owned());
        let Some(bytes) = found else {
            return Err(StoreError::Damaged("the tree names an entry that is not there".to_owned()).into());
        };
        let record = RecordView::parse(&bytes, &tables)?;
        let classes = self.rules.classes.of(&self.facts, &self.rules.checker, &record);
        Ok(Target { id, name, bytes, tables, classes, suffix })
    }

    /// Turns a referral object into a referral, unless the request treats it as an entry (RFC 3296 §5). `missing` is
    /// how many RDNs of `dn` lie below the target.
    fn no_referral(&mut self, target: Target, dn: &[u8], missing: usize) -> Result<Target, ApplyError> {
        if self.has(Flags::MANAGE_DSA_IT) || !target.classes.flags.has(ClassFlags::REFERRAL) {
            return Ok(target);
        }
        let view = self.txn.view();
        let own = view.dn_of(target.id)?.unwrap_or_default();
        let below = leaf_rdns(&String::from_utf8_lossy(dn), missing);
        let entry =
            EntryView { id: target.id, record: target.record()?, dn: DnParts::whole(own.as_bytes()), source: &view };
        let urls = referral_urls(&self.facts, &entry, &below, &own, None)?;
        Err(Refusal::Referral { dn: own, urls }.into())
    }

    /// What the store has now.
    pub(super) fn view(&self) -> View<'_> {
        self.txn.view()
    }
}
