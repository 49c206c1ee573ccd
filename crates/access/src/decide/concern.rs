//! The instructions that concern one asker: what is left of them when all is decided that depends on the asker alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use aci::{Effect, Right, Rights};
use query::filter::Truth;
use store::{EntryId, StoreError};

use super::open_rule::{Additions, OpenRule, Subject};
use crate::compiled::Instruction;
use crate::set::{AciSet, Key};

/// One permission of an instruction that concerns the asker.
#[derive(Clone, Debug)]
pub(crate) struct Concern {
    pub instruction: Arc<Instruction>,
    pub effect: Effect,
    pub rights: Rights,
    /// What the entry has to be asked; none: it holds.
    pub rule: Option<OpenRule>,
}

/// A concern with how many RDNs the name of its holder has.
pub(crate) type HeldConcern = (usize, Concern);

/// What concerns an asker, by the entry that holds it: ascending, because it is looked for at every entry of a search,
/// and mostly has few.
#[derive(Debug, Default)]
pub(crate) struct ByHolder(Box<[(EntryId, Box<[Concern]>)]>);

impl ByHolder {
    /// Of entries in ascending order.
    pub fn new(holders: Vec<(EntryId, Box<[Concern]>)>) -> ByHolder {
        ByHolder(holders.into())
    }

    #[inline]
    pub fn get(&self, holder: EntryId) -> Option<&[Concern]> {
        let at = self.0.binary_search_by_key(&holder, |(id, _)| *id).ok()?;
        self.0.get(at).map(|(_, concerns)| &**concerns)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (EntryId, &[Concern])> {
        self.0.iter().map(|(id, concerns)| (*id, &**concerns))
    }
}

/// The instructions of one backend, and those above it, that concern an asker.
#[derive(Debug, Default)]
pub(crate) struct BackendConcerns {
    /// [`store::Marks::access`] of the set that they are from.
    pub mark: u64,
    pub holders: ByHolder,
    /// By suffix of the backend (its normalized name): those of entries of other backends above it, each with how many
    /// RDNs the name of its holder has.
    pub above: Vec<(Box<[u8]>, Vec<HeldConcern>)>,
}

/// What of some instructions concerns an asker.
pub(crate) fn concerns_of(
    instructions: &[Arc<Instruction>],
    subject: Subject<'_>,
    computed: &mut bool,
) -> Result<Vec<Concern>, StoreError> {
    let mut concerns = Vec::new();
    for instruction in instructions {
        for permission in &instruction.permissions {
            let additions = Additions::of(permission.effect, permission.rights);
            let rule = match (OpenRule::of(&permission.rule, subject, additions, computed)?, permission.effect) {
                (OpenRule::Decided(Truth::False), _) | (OpenRule::Decided(Truth::Undefined), Effect::Allow) => continue,
                (OpenRule::Decided(_), _) => None,
                (open, _) => Some(open),
            };
            // Moving as 389 Directory Server names it is the only right with a from and a to.
            let rights = match &instruction.moves {
                Some(_) => permission.rights.intersection(Rights::NONE.with(Right::ModDn)),
                None => permission.rights,
            };
            if !rights.is_empty() {
                let instruction = Arc::clone(instruction);
                concerns.push(Concern { instruction, effect: permission.effect, rights, rule });
            }
        }
    }
    Ok(concerns)
}

/// The entries of a backend that hold instructions that may concern an asker.
pub(crate) fn holders_for(set: &AciSet, subject: Subject<'_>) -> Result<BTreeSet<EntryId>, StoreError> {
    let mut ids: BTreeSet<EntryId> = set.with_key(&Key::Everybody).collect();
    let Some(name) = &subject.asker.name else { return Ok(ids) };
    ids.extend(set.with_key(&Key::Authenticated));
    ids.extend(set.with_key(&Key::User(name.clone())));
    for role in &subject.asker.roles {
        ids.extend(set.with_key(&Key::Role(role.clone())));
    }
    let groups = &subject.asker.groups;
    let Some(entry) = subject.entry.filter(|_| !groups.is_empty()) else { return Ok(ids) };
    let seen = entry.at.groups();
    // Whichever are fewer: the groups of the rules, or those of the asker.
    if set.group_key_count() <= groups.len() {
        for (key, name) in set.group_keys() {
            if seen.locate(name)?.is_some_and(|place| groups.contains(&place)) {
                ids.extend(set.with_key(key));
            }
        }
        return Ok(ids);
    }
    for group in groups {
        let view = seen.view_of(group.backend)?;
        let Some(record) = view.entry(group.id)? else { continue };
        let mut name = Vec::new();
        if seen.put_form(group.backend, &record.view()?, &mut name)? {
            ids.extend(set.with_key(&Key::Group(name.into())));
        }
    }
    Ok(ids)
}
