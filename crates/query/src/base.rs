//! Finding where a search or compare begins: the entry named, referral objects and aliases on the way to it.
//!
//! Decides between an entry, a referral and `noSuchObject` (RFC 4511 §4.5.1.3, RFC 3296 §5); knows no filter.

use ldap::{LdapResult, Scope};
use schema::NormalizedDn;
use store::{Content, EntryId, Snapshot, StoreError, View};

use crate::backend::{Backend, BackendIndex, holder};
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EntryView};
use crate::error::{self, Refusal};
use crate::facts::Facts;
use crate::locate::locate;
use crate::referral::referral_urls;

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
}

/// How names are followed.
#[derive(Clone, Copy, Debug)]
pub struct Following {
    /// Aliases are followed.
    pub aliases: bool,
    /// Referral objects are ordinary entries.
    pub manage_dsa_it: bool,
    /// The scope of the search, which the URLs of a referral repeat (RFC 4511 §4.1.10); none when no search asks.
    pub scope: Option<Scope>,
}

/// Finds `dn`; `shown` is the name as the client wrote it.
pub fn find_base(
    backends: &[Backend],
    facts: &Facts,
    dn: &NormalizedDn,
    shown: &str,
    following: Following,
) -> Result<Base, LdapResult> {
    let mut dn = dn.clone();
    // RDNs of the name that the last alias gave.
    let mut alias_depth = 0;
    for _ in 0..ALIASES_MAX {
        let held = holder(backends, dn.as_bytes()).and_then(|(at, suffix)| Some((at, suffix, backends.get(at.0)?)));
        let Some((at, suffix, backend)) = held else { return Err(error::no_such_object(shown, "")) };
        let snapshot = backend.store.snapshot().map_err(|error| error::store_failure(&error))?;
        let step = step(&snapshot.view(), facts, suffix, &dn, shown, following)
            .map_err(|error| error::store_failure(&error))?;
        match step {
            Step::Found(id) => return Ok(Base { backend: at, id, snapshot }),
            Step::Missing(matched, depth) if depth < alias_depth => {
                return Err(Refusal::AliasToNothing { matched }.into());
            }
            Step::Missing(matched, _) if matched.is_empty() => {
                return Err(Refusal::empty_suffix(shown, &suffix.dn).into());
            }
            Step::Missing(matched, _) => return Err(error::no_such_object(shown, matched)),
            Step::Elsewhere { dn, urls } => return Err(Refusal::Elsewhere { dn, urls }.into()),
            Step::Alias(target, depth) => (dn, alias_depth) = (target, depth),
            Step::BadAlias(alias) => return Err(Refusal::AliasWithoutName { alias }.into()),
        }
    }
    Err(Refusal::AliasCircle { most: ALIASES_MAX, dn: shown.to_owned() }.into())
}

enum Step {
    Found(EntryId),
    /// With the name of the deepest entry on the way, and how many RDNs that has.
    Missing(String, usize),
    /// Behind a referral object of that name.
    Elsewhere {
        dn: String,
        urls: Vec<String>,
    },
    /// With the name to go on with, and how many RDNs of it the alias gave.
    Alias(NormalizedDn, usize),
    /// With the alias's name.
    BadAlias(String),
}

fn step(
    view: &View<'_>,
    facts: &Facts,
    suffix: &crate::backend::Suffix,
    dn: &NormalizedDn,
    shown: &str,
    following: Following,
) -> Result<Step, StoreError> {
    let path = locate(view, &suffix.normalized, dn.as_bytes())?;
    // What stands on the way counts before what is missing at its end.
    for (depth, id) in path.entries.iter().enumerate() {
        let Some(record) = view.entry(*id)? else { continue };
        let record = record.view()?;
        let flags = facts.class_flags(record.object_classes());
        let is_last = depth + 1 == path.entries.len() && path.is_complete;
        if flags.has(ClassFlags::REFERRAL) && !following.manage_dsa_it {
            let own_dn = view.dn_of(*id)?.unwrap_or_default();
            let below = names_below(shown, dn, suffix.base_depth() + depth);
            let entry = EntryView { id: *id, record, dn: DnParts::whole(own_dn.as_bytes()), source: view };
            let urls = referral_urls(facts, &entry, &below, &own_dn, following.scope)?;
            return Ok(Step::Elsewhere { dn: own_dn, urls });
        }
        if flags.has(ClassFlags::ALIAS) && following.aliases {
            let Some(target) =
                alias_target(facts, &EntryView { id: *id, record, dn: DnParts::default(), source: view })
            else {
                return Ok(Step::BadAlias(view.dn_of(*id)?.unwrap_or_default()));
            };
            let given = target.len();
            return Ok(Step::Alias(below_target(target, dn, suffix.base_depth() + depth), given));
        }
        if is_last {
            return Ok(Step::Found(*id));
        }
    }
    let (matched, depth) = match path.deepest() {
        Some(id) => (view.dn_of(id)?.unwrap_or_default(), suffix.base_depth() + path.entries.len() - 1),
        None => (String::new(), 0),
    };
    Ok(Step::Missing(matched, depth))
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
