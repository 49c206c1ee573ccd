//! The password policy state operation of OpenDJ: an administrator reads and writes what is kept of an account.
//!
//! Knows requests and rights; what the numbers mean is in `account_items`. It takes the privilege password-reset, and
//! what it takes to set the password.

use std::sync::Arc;

use access::{Identity, Privilege};
use change::proposal::{Flags, Kind};
use ldap::password_policy_state::{PasswordPolicyState, StateItem, StateOperation};
use ldap::{LdapResult, MadeUpdate, ModifyOperation, oids};
use query::backend::holder;
use query::error::{invalid_dn, no_such_object, shown};
use schema::NormalizedDn;

use super::account_items::{Items, read_by};
use super::context::UpdateContext;
use super::decided::Decided;
use super::done::{ExtendedAnswer, UpdateCallback, UpdateDone};
use super::order::Order;
use super::password_case::Asker;
use super::rights::Told;
use crate::refusal::Refusal;

/// What a request comes to.
enum Outcome {
    /// Nothing is written: the value of the response.
    Read(Vec<u8>),
    Written(Box<Decided<'static>>),
}

impl UpdateContext<'_> {
    /// Answers a request, or has written what it wants.
    pub(super) fn account_state(&self, order: &Order<'_, '_>, wanted: &PasswordPolicyState, done: UpdateCallback) {
        match self.try_account_state(order, wanted) {
            Ok(Outcome::Written(decided)) => self.propose(*decided, done),
            Ok(Outcome::Read(value)) => done(UpdateDone {
                response_name: Some(oids::extended::PASSWORD_POLICY_STATE),
                response_value: Some(value),
                ..UpdateDone::refused(LdapResult::success())
            }),
            Err(told) => done(UpdateDone::told(*told)),
        }
    }

    fn try_account_state(&self, order: &Order<'_, '_>, wanted: &PasswordPolicyState) -> Result<Outcome, Box<Told>> {
        let mut controls = self.update_controls(order, Kind::Refresh)?.owned();
        let facts = self.facts();
        let dn = &wanted.target;
        let name = NormalizedDn::parse(&facts.schema, dn).map_err(|error| invalid_dn(dn, error))?;
        if !self.rights_of(order, &facts)?.has(Privilege::PasswordReset) {
            return Err(Refusal::AccountStateByUser.into());
        }
        if self.roots.load().find(&name).is_some() {
            return Err(Refusal::RootAccountState.into());
        }
        let missing = || no_such_object(&shown(dn), "");
        let (at, _) = holder(self.backends, name.as_bytes()).ok_or_else(missing)?;
        let identity = self.requestor(&order.session.identity)?;
        let password = (ModifyOperation::Replace, &b"userPassword"[..], [&b""[..]]);
        let made = MadeUpdate::modify(dn, [password]);
        self.review_made(order, (&identity, at, Kind::PasswordModify), &made, &mut controls)?;
        let case = self.password_case(&facts, &Asker { order, identity: &identity }, at, &name)?.ok_or_else(missing)?;
        let mut items = Items::of(case);
        let shown = items.run(&wanted.operations)?;
        let operations: Vec<StateOperation> =
            shown.into_iter().map(|item| StateOperation::new(item, items.values(item))).collect();
        let value = PasswordPolicyState { target: dn.clone(), operations }.encode();
        let changes = items.into_changes();
        if changes.is_empty() {
            return Ok(Outcome::Read(value));
        }
        self.backend_of(&name, dn)?;
        let changes = changes.iter().map(|(attribute, values)| {
            (ModifyOperation::Replace, attribute.as_bytes(), values.iter().map(Vec::as_slice))
        });
        let mut decided = Decided::by_server(at, Kind::Modify, MadeUpdate::modify(dn, changes).into_encoded());
        // Attributes that only the server writes. It is known who asked.
        decided.controls.flags.set(Flags::RELAX);
        if controls.flags.has(Flags::NO_OP) {
            decided.controls.flags.set(Flags::NO_OP);
        }
        decided.identity = Identity::Root { dn: Arc::from(identity.dn()) };
        decided.connection = order.session.connection;
        decided.operation = order.operation;
        let name = Some(oids::extended::PASSWORD_POLICY_STATE);
        decided.answer = Some(ExtendedAnswer { name, value });
        Ok(Outcome::Written(Box::new(decided)))
    }
}

impl Items {
    /// Makes the operations one after the other; what is to be shown in the end, in the order of the numbers.
    fn run(&mut self, operations: &[StateOperation]) -> Result<Vec<StateItem>, LdapResult> {
        if operations.is_empty() {
            return Ok(StateItem::ALL.into_iter().filter(|item| read_by(*item) == *item).collect());
        }
        let mut shown = Vec::new();
        for operation in operations {
            let item = operation.item().ok_or(Refusal::UnknownStateOperation { number: operation.number })?;
            self.write(item, &operation.values)?;
            shown.push(read_by(item));
        }
        shown.sort_by_key(|item| *item as u8);
        shown.dedup();
        Ok(shown)
    }
}
