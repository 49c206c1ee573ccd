//! Finding where a search or compare begins: the entry named, referral objects and aliases on the way to it.
//!
//! Decides between an entry, a referral and `noSuchObject` (RFC 4511 §4.5.1.3, RFC 3296 §5); knows no filter. What does
//! not show to the asker is not there: neither on the way, nor at its end, nor as the matched DN.

use ldap::{LdapResult, Scope};
use schema::NormalizedDn;
use store::{Content, EntryId, Snapshot, StoreError};

use crate::backend::{Backend, BackendIndex, Suffix, holder};
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EntryView, StoredAt};
use crate::error::{self, Refusal};
use crate::facts::Facts;
use crate::locate::{Path, locate};
use crate::referral::referral_urls;
use crate::rights::{Answer, ReadRight, ReadRights, Reader};

/// Aliases followed on the way to one base. Real directories chain one or two.
const ALIASES_MAX: usize = 32;

/// An entry that a name leads to.
pub struct Base {
    /// Which backend.
    pub backend: BackendIndex,
    /// Which entry.
    pub id: EntryId,
    /// The moment at which it was found.
    pub snapshot: Snapshot,
    /// What the asker is told of an entry that does not show: the same as if it were not there. Entries below it may
    /// show.
    pub hidden: Option<Box<LdapResult>>,
}

/// How names are followed, and for whom.
#[derive(Clone, Copy)]
pub struct Following<'r> {
    /// Aliases are followed.
    pub aliases: bool,
    /// Referral objects are ordinary entries.
    pub manage_dsa_it: bool,
    /// The scope of the search, which the URLs of a referral repeat (RFC 4511 §4.1.10); none when no search asks.
    pub scope: Option<Scope>,
    /// Answers for the asker.
    pub rights: &'r dyn ReadRights,
}

/// Finds `dn`; `shown` is the name as the client wrote it.
pub fn find_base(
    backends: &[Backend],
    facts: &Facts,
    dn: &NormalizedDn,
    shown: &str,
    following: Following<'_>,
) -> Result<Base, LdapResult> {
    let mut dn = dn.clone();
    // RDNs of the name that the last alias gave.
    let mut alias_depth = 0;
    for _ in 0..ALIASES_MAX {
        let held = holder(backends, dn.as_bytes()).and_then(|(at, suffix)| Some((at, suffix, backends.get(at.0)?)));
        let Some((at, suffix, backend)) = held else { return Err(error::no_such_object(shown, "")) };
        let snapshot = backend.store.snapshot().map_err(|error| error::store_failure(&error))?;
        let walk = Walk { stored: StoredAt::new(at, snapshot.view()), facts, suffix, dn: &dn, shown, following };
        let step = walk.step().map_err(|error| error::store_failure(&error))?;
        match step {
            Step::Found(id) => return Ok(Base { backend: at, id, snapshot, hidden: None }),
            Step::Hidden(id, missing) => {
                let hidden = Some(Box::new(walk.refusal(missing, alias_depth).into()));
                return Ok(Base { backend: at, id, snapshot, hidden });
            }
            Step::Missing(missing) => return Err(walk.refusal(missing, alias_depth).into()),
            Step::Elsewhere { dn, urls } => return Err(Refusal::Elsewhere { dn, urls }.into()),
            Step::Alias(target, depth) => (dn, alias_depth) = (target, depth),
            Step::BadAlias(alias) => return Err(Refusal::AliasWithoutName { alias }.into()),
            Step::ClosedAlias(alias) => return Err(Refusal::AliasNotReadable { alias }.into()),
        }
    }
    Err(Refusal::AliasCircle { most: ALIASES_MAX, dn: shown.to_owned() }.into())
}

enum Step {
    Found(EntryId),
    /// It does not show.
    Hidden(EntryId, Missing),
    Missing(Missing),
    /// Behind a referral object of that name.
    Elsewhere {
        dn: String,
        urls: Vec<String>,
    },
    /// With the name to go on with, and how many RDNs of it the alias gave.
    Alias(NormalizedDn, usize),
    /// With the alias's name.
    BadAlias(String),
    /// With the name of an alias whose target the asker may not read.
    ClosedAlias(String),
}

/// The deepest entry on the way that shows.
struct Missing {
    /// Its name; empty when there is none.
    matched: String,
    /// How many RDNs that has.
    depth: usize,
}

/// One name on its way through one backend.
struct Walk<'w> {
    stored: StoredAt<'w>,
    facts: &'w Facts,
    suffix: &'w Suffix,
    dn: &'w NormalizedDn,
    shown: &'w str,
    following: Following<'w>,
}

impl Walk<'_> {
    fn step(&self) -> Result<Step, StoreError> {
        let Walk { facts, following, .. } = *self;
        let view = self.stored.view;
        let reader = Reader { facts, rights: following.rights };
        let path = locate(&view, &self.suffix.normalized, self.dn.as_bytes())?;
        // What stands on the way counts before what is missing at its end.
        for (depth, id) in path.entries.iter().enumerate() {
            let Some(record) = view.entry(*id)? else { continue };
            let record = record.view()?;
            let flags = facts.class_flags(record.object_classes());
            let entry = EntryView { id: *id, record, dn: DnParts::default(), source: &self.stored };
            if flags.has(ClassFlags::REFERRAL) && !following.manage_dsa_it {
                if !shows_reference(reader, &entry)? {
                    return Ok(Step::Missing(self.missing(&path)?));
                }
                return self.elsewhere(&entry, depth);
            }
            if flags.has(ClassFlags::ALIAS) && following.aliases {
                return match shows_target(reader, &entry)? {
                    Some(true) => self.follow(&entry, depth),
                    Some(false) => Ok(Step::ClosedAlias(view.dn_of(*id)?.unwrap_or_default())),
                    None => Ok(Step::Missing(self.missing(&path)?)),
                };
            }
            if depth + 1 == path.entries.len() && path.is_complete {
                return match reader.shows(&entry)? {
                    true => Ok(Step::Found(*id)),
                    false => Ok(Step::Hidden(*id, self.missing(&path)?)),
                };
            }
        }
        Ok(Step::Missing(self.missing(&path)?))
    }

    fn elsewhere(&self, entry: &EntryView<'_>, depth: usize) -> Result<Step, StoreError> {
        let dn = self.stored.view.dn_of(entry.id)?.unwrap_or_default();
        let below = names_below(self.shown, self.dn, self.suffix.base_depth() + depth);
        let urls = referral_urls(self.facts, entry, &below, &dn, self.following.scope)?;
        Ok(Step::Elsewhere { dn, urls })
    }

    fn follow(&self, entry: &EntryView<'_>, depth: usize) -> Result<Step, StoreError> {
        let Some(target) = alias_target(self.facts, entry) else {
            return Ok(Step::BadAlias(self.stored.view.dn_of(entry.id)?.unwrap_or_default()));
        };
        let given = target.len();
        Ok(Step::Alias(below_target(target, self.dn, self.suffix.base_depth() + depth), given))
    }

    /// What there is to tell of the entries on the way.
    fn missing(&self, path: &Path) -> Result<Missing, StoreError> {
        let (view, rights) = (self.stored.view, self.following.rights);
        let reader = Reader { facts: self.facts, rights };
        // An entry at the end of the way that is not the result does not show.
        let above = path.entries.len() - usize::from(path.is_complete);
        for (depth, id) in path.entries.iter().take(above).enumerate().rev() {
            let Some(record) = view.entry(*id)? else { continue };
            let entry = EntryView { id: *id, record: record.view()?, dn: DnParts::default(), source: &self.stored };
            if reader.shows(&entry)? {
                let matched = view.dn_of(*id)?.unwrap_or_default();
                return Ok(Missing { matched, depth: self.suffix.base_depth() + depth });
            }
        }
        Ok(Missing { matched: String::new(), depth: 0 })
    }

    /// The answer where the name leads to nothing; `alias_depth` are the RDNs that the last alias gave.
    fn refusal(&self, missing: Missing, alias_depth: usize) -> Refusal {
        let Missing { matched, depth } = missing;
        if depth < alias_depth {
            return Refusal::AliasToNothing { matched };
        }
        if !matched.is_empty() {
            return Refusal::no_such_object(self.shown, matched);
        }
        // That a suffix is empty is for those to know who would see its entry.
        match self.following.rights.shows_entries() {
            Answer::Yes => Refusal::empty_suffix(self.shown, &self.suffix.dn),
            Answer::No | Answer::Ask => Refusal::NoEntryAbove { dn: self.shown.to_owned() },
        }
    }
}

/// Whether a referral object sends the asker elsewhere.
///
/// # Errors
/// When something cannot be read.
pub fn shows_reference(reader: Reader<'_>, entry: &EntryView<'_>) -> Result<bool, StoreError> {
    let Some(attribute) = reader.facts.ref_type else { return Ok(false) };
    Ok(reader.shows(entry)? && reader.may(ReadRight::Read, entry, attribute)?)
}

/// Whether an alias leads the asker to its target; none when it does not show.
///
/// # Errors
/// When something cannot be read.
pub fn shows_target(reader: Reader<'_>, entry: &EntryView<'_>) -> Result<Option<bool>, StoreError> {
    if !reader.shows(entry)? {
        return Ok(None);
    }
    match reader.facts.aliased_object_name {
        Some(attribute) => reader.may(ReadRight::Read, entry, attribute).map(Some),
        None => Ok(Some(true)),
    }
}

/// The name that an alias stands for.
pub fn alias_target(facts: &Facts, entry: &EntryView<'_>) -> Option<NormalizedDn> {
    let attribute = facts.aliased_object_name?;
    let tables = entry.record.tables();
    let mut stored = entry.record.attributes().filter(|it| tables.by_type(attribute.0).contains(&it.desc));
    let Content::Inline(values) = stored.next()?.content else { return None };
    NormalizedDn::parse(&facts.schema, values.iter().next()?).ok()
}

/// `target` with what `dn` has below its first `covered` RDNs.
fn below_target(target: NormalizedDn, dn: &NormalizedDn, covered: usize) -> NormalizedDn {
    let mut bytes = target.as_bytes().to_vec();
    for rdn in dn.rdns().skip(covered) {
        bytes.extend_from_slice(rdn.as_bytes());
        bytes.push(0);
    }
    NormalizedDn::from_bytes(bytes)
}

/// The part of `dn` below the referral object, leaf first and with its comma, for the URL: as the client wrote it,
/// unless an alias led here.
fn names_below(shown: &str, dn: &NormalizedDn, covered: usize) -> String {
    let missing = dn.len().saturating_sub(covered);
    let written = ldap::Dn::parse(shown).ok().filter(|written| written.rdns().len() == dn.len());
    let rdns: Vec<String> = match written {
        Some(written) => written.rdns().iter().take(missing).map(ToString::to_string).collect(),
        None => dn.rdns().rev().take(missing).map(|rdn| escaped_rdn(rdn.as_bytes())).collect(),
    };
    rdns.iter().map(|rdn| format!("{rdn},")).collect()
}

/// `name=value` of a normal form as RFC 4514 text.
fn escaped_rdn(normal: &[u8]) -> String {
    let mut text = String::new();
    for (at, ava) in normal.split(|byte| *byte == 2).enumerate() {
        if at > 0 {
            text.push('+');
        }
        let split = ava.iter().position(|byte| *byte == b'=').unwrap_or(ava.len());
        text.push_str(&String::from_utf8_lossy(ava.get(..split).unwrap_or_default()));
        text.push('=');
        // Writing to a String cannot fail.
        let _ = ldap::dn::write_escaped(&mut text, ava.get(split + 1..).unwrap_or_default());
    }
    text
}
