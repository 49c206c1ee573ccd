//! Whether an asker may use controls and extended operations: instructions with `targetcontrol` and `extop`.
//!
//! They are about the name that a request is for, there or not; what a rule asks of an entry cannot be told here.

use aci::{Effect, Right};
use query::backend::holder;
use query::filter::Truth;
use query::locate::locate;
use schema::NormalizedDn;
use store::StoreError;

use crate::compiled::Instruction;
use crate::decide::{About, Concern, EntryQuestion, depth, name_test};
use crate::rights::Rights;

/// The instruction that decides about the use of a control or of an extended operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OidDecision {
    /// Whether it allows it.
    pub granted: bool,
    /// How many RDNs the name of the entry has that holds it, at or above the one that is asked about; 0: it is in the
    /// configuration.
    pub holder_depth: usize,
    /// Its position among the values of the holder.
    pub position: usize,
}

impl Rights {
    /// Whether the asker may use a control in a request about the entry with that name, there or not. Of proxied
    /// authorization, `target` is the asker's own name.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_use_control(&self, oid: &str, target: &NormalizedDn) -> Result<bool, StoreError> {
        Ok(self.bypasses_acl() || self.control_decision(oid, target)?.is_some_and(|it| it.granted))
    }

    /// Whether the asker may use an extended operation. Instructions of the entry of the asker, and above it, are about
    /// that; of the configuration also where the asker has none.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_use_extended(&self, oid: &str) -> Result<bool, StoreError> {
        Ok(self.bypasses_acl() || self.extended_decision(oid)?.is_some_and(|it| it.granted))
    }

    /// Which instruction decides about a control; none: nobody may use it.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn control_decision(&self, oid: &str, target: &NormalizedDn) -> Result<Option<OidDecision>, StoreError> {
        self.decide_use(target.as_bytes(), &|it| it.oids.as_ref().is_some_and(|oids| oids.is_about_control(oid)))
    }

    /// The same of an extended operation.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn extended_decision(&self, oid: &str) -> Result<Option<OidDecision>, StoreError> {
        let own = self.asker.name.as_deref().unwrap_or_default();
        self.decide_use(own, &|it| it.oids.as_ref().is_some_and(|oids| oids.is_about_extended(oid)))
    }

    /// A deny, else the first allow.
    fn decide_use(
        &self,
        name: &[u8],
        is_about: &dyn Fn(&Instruction) -> bool,
    ) -> Result<Option<OidDecision>, StoreError> {
        let mut allowed = None;
        let mut decide = |holder_depth: usize, concern: &Concern| -> Result<Option<OidDecision>, StoreError> {
            if !is_about(&concern.instruction) {
                return Ok(None);
            }
            let Some(effect) = self.effect_on(name, holder_depth, concern)? else { return Ok(None) };
            let granted = effect == Effect::Allow;
            let decision = OidDecision { granted, holder_depth, position: concern.instruction.position as usize };
            if granted {
                allowed.get_or_insert(decision);
            }
            Ok(Some(decision).filter(|_| !granted))
        };
        for concern in &self.global {
            if let Some(denied) = decide(0, concern)? {
                return Ok(Some(denied));
            }
        }
        for (holder_depth, concern) in self.of_holders_above(name)? {
            if let Some(denied) = decide(holder_depth, concern)? {
                return Ok(Some(denied));
            }
        }
        Ok(allowed)
    }

    /// What concerns the asker and is held by entries at or above a name, each with the depth of its holder. Where no
    /// instruction of the backend is about controls or extended operations, nothing is read.
    fn of_holders_above(&self, name: &[u8]) -> Result<Vec<(usize, &Concern)>, StoreError> {
        let mut found = Vec::new();
        let Some((at, suffix)) = holder(&self.context.backends, name) else { return Ok(found) };
        let (Some(backend), Some(concerns)) = (self.context.backends.get(at.0), self.backends.get(at.0)) else {
            return Ok(found);
        };
        for (above_suffix, above) in &concerns.above {
            if name.starts_with(above_suffix) {
                found.extend(above.iter().map(|(depth, concern)| (*depth, concern)));
            }
        }
        if !self.sets.newest(at).is_some_and(|set| set.has_oids()) {
            return Ok(found);
        }
        let snapshot = backend.store.snapshot()?;
        let path = locate(&snapshot.view(), &suffix.normalized, name)?;
        for (steps, id) in path.entries.iter().enumerate() {
            if let Some(own) = concerns.holders.get(*id) {
                found.extend(own.iter().map(|concern| (suffix.base_depth() + steps, concern)));
            }
        }
        Ok(found)
    }

    fn effect_on(&self, name: &[u8], holder_depth: usize, concern: &Concern) -> Result<Option<Effect>, StoreError> {
        let (instruction, schema) = (&concern.instruction, &self.facts.schema);
        let about = About::Entry(name);
        if !concern.rights.contains(Right::Read)
            || name_test(schema, instruction, holder_depth, about, &mut |_| Ok(None))?.is_none()
        {
            return Ok(None);
        }
        let own = self.asker.name.as_deref();
        let truth = match &concern.rule {
            None => Truth::True,
            Some(rule) => rule.truth(&mut |question| -> Result<Truth, StoreError> {
                Ok(match question {
                    EntryQuestion::IsSelf => (own == Some(name)).into(),
                    EntryQuestion::IsChildOfAsker => {
                        let is_child = own.is_some_and(|own| name.starts_with(own) && depth(name) == depth(own) + 1);
                        is_child.into()
                    }
                    EntryQuestion::Says(_) => Truth::Undefined,
                    EntryQuestion::IsAddition => Truth::False,
                })
            })?,
        };
        Ok(match (concern.effect, truth) {
            (Effect::Allow, Truth::True) => Some(Effect::Allow),
            (Effect::Deny, Truth::True | Truth::Undefined) => Some(Effect::Deny),
            _ => None,
        })
    }
}
