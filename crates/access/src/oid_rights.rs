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

impl Rights {
    /// Whether the asker may use a control in a request about the entry with that name, there or not. Of proxied
    /// authorization, `target` is the asker's own name.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_use_control(&self, oid: &str, target: &NormalizedDn) -> Result<bool, StoreError> {
        self.may_use(target.as_bytes(), &|it| it.oids.as_ref().is_some_and(|oids| oids.is_about_control(oid)))
    }

    /// Whether the asker may use an extended operation. Instructions of the entry of the asker, and above it, are about
    /// that; of the configuration also where the asker has none.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_use_extended(&self, oid: &str) -> Result<bool, StoreError> {
        let own = self.asker.name.as_deref().unwrap_or_default();
        self.may_use(own, &|it| it.oids.as_ref().is_some_and(|oids| oids.is_about_extended(oid)))
    }

    fn may_use(&self, name: &[u8], is_about: &dyn Fn(&Instruction) -> bool) -> Result<bool, StoreError> {
        if self.bypasses_acl() {
            return Ok(true);
        }
        let mut is_allowed = false;
        for concern in self.global.iter().filter(|it| is_about(&it.instruction)) {
            match self.effect_on(name, 0, concern)? {
                Some(Effect::Deny) => return Ok(false),
                Some(Effect::Allow) => is_allowed = true,
                None => {}
            }
        }
        for (holder_depth, concern) in self.of_holders_above(name)? {
            let effect = match is_about(&concern.instruction) {
                true => self.effect_on(name, holder_depth, concern)?,
                false => None,
            };
            match effect {
                Some(Effect::Deny) => return Ok(false),
                Some(Effect::Allow) => is_allowed = true,
                None => {}
            }
        }
        Ok(is_allowed)
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
