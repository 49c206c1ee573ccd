//! The password policy state operation of OpenDJ: an administrator reads and writes what is kept of an account.
//!
//! Knows requests and rights; what the numbers mean is in `account_items`. It takes the privilege password-reset, and
//! what it takes to set the password.

use std::sync::Arc;

use access::guesses::Guessed;
use access::{Identity, Privilege};
use accounts::AccountState;
use change::proposal::{Flags, Kind};
use ldap::password_policy_state::{PasswordPolicyState, StateItem, StateOperation};
use ldap::{LdapResult, MadeUpdate, ModifyOperation, ResultCode, oids};
use query::backend::holder;
use query::error::{invalid_dn, no_such_object, shown};
use query::facts::Facts;
use schema::NormalizedDn;

use super::account_items::{Items, read_by};
use super::context::UpdateContext;
use super::decided::Decided;
use super::done::{ExtendedAnswer, UpdateCallback, UpdateDone};
use super::order::Order;
use super::password_case::{Asker, PasswordCase};
use super::rights::Told;
use crate::refusal::Refusal;
use crate::root_users::{RootUser, RootUsers};

/// What a request comes to.
enum Outcome {
    /// Nothing is written: the value of the response.
    Read(Vec<u8>),
    Written(Box<Decided<'static>>),
    /// The state of a root user: answered when that is on disk.
    OfRoot {
        account: NormalizedDn,
        value: Vec<u8>,
    },
}

impl UpdateContext<'_> {
    /// Answers a request, or has written what it wants.
    pub(super) fn account_state(&self, order: &Order<'_, '_>, wanted: &PasswordPolicyState, done: UpdateCallback) {
        match self.try_account_state(order, wanted) {
            Ok(Outcome::Written(decided)) => self.propose(*decided, done),
            Ok(Outcome::Read(value)) => done(answered(value)),
            Ok(Outcome::OfRoot { account, value }) => {
                let then = move |written: std::io::Result<()>| match written {
                    Ok(()) => done(answered(value)),
                    Err(_) => done(UpdateDone::refused(Refusal::StateNotWritten.into())),
                };
                self.binding.root_accounts.change(&account, &[], Some(Box::new(then)));
            }
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
        if let Some(root) = self.roots.load().user(&name) {
            return self.root_account_state(order, wanted, (&facts, root), controls.flags.has(Flags::NO_OP));
        }
        let missing = || no_such_object(&shown(dn), "");
        let (at, _) = holder(self.backends, name.as_bytes()).ok_or_else(missing)?;
        let identity = self.requestor(&order.session.identity)?;
        let password = (ModifyOperation::Replace, &b"userPassword"[..], [&b""[..]]);
        let made = MadeUpdate::modify(dn, [password]);
        self.review_made(order, (&identity, at, Kind::PasswordModify), &made, &mut controls)?;
        let case = self.password_case(&facts, &Asker { order, identity: &identity }, at, &name)?.ok_or_else(missing)?;
        let (place, _) = case.entry.ok_or_else(missing)?;
        let mut items = Items::of(case, self.binding.guess_sources, Guessed::entry(place));
        let value = items.answer(wanted)?;
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

impl UpdateContext<'_> {
    /// The same of a root user, whose state is no entry's. Who may read and change the configuration, where root users
    /// are, may do that with their state.
    fn root_account_state(
        &self,
        order: &Order<'_, '_>,
        wanted: &PasswordPolicyState,
        (facts, root): (&Arc<Facts>, &RootUser),
        is_tried_only: bool,
    ) -> Result<Outcome, Box<Told>> {
        let rights = self.rights_of(order, facts)?;
        let writes = wanted.operations.iter().any(|it| it.item().is_none_or(|item| read_by(item) != item));
        if !rights.has(if writes { Privilege::ConfigWrite } else { Privilege::ConfigRead }) {
            return Err(Refusal::RootAccountState.into());
        }
        let identity = self.requestor(&order.session.identity)?;
        let case = self.password_case_of_root(facts, &Asker { order, identity: &identity }, root)?;
        if is_tried_only {
            Items::of(case, self.binding.guess_sources, root.guessed()).answer(wanted)?;
            let result = if writes { ResultCode::NO_OPERATION } else { ResultCode::SUCCESS };
            return Err(Box::new(Told::open(LdapResult::new(result, ""))));
        }
        let edit = |state: &AccountState| -> Result<_, LdapResult> {
            let case = PasswordCase { state: state.clone(), ..case };
            let mut items = Items::of(case, self.binding.guess_sources, root.guessed());
            let value = items.answer(wanted)?;
            Ok((items.into_state(), value))
        };
        let (value, is_kept_out) = self.binding.root_accounts.edit(&root.account, edit)?;
        if is_kept_out {
            self.roots.rcu(|users| {
                let mut users = RootUsers::clone(users);
                users.revoke(&root.account);
                users
            });
        }
        Ok(if writes { Outcome::OfRoot { account: root.account.clone(), value } } else { Outcome::Read(value) })
    }
}

fn answered(value: Vec<u8>) -> UpdateDone {
    UpdateDone {
        response_name: Some(oids::extended::PASSWORD_POLICY_STATE),
        response_value: Some(value),
        ..UpdateDone::refused(LdapResult::success())
    }
}

impl Items {
    /// Makes the operations; the value of the response.
    fn answer(&mut self, wanted: &PasswordPolicyState) -> Result<Vec<u8>, LdapResult> {
        let shown = self.run(&wanted.operations)?;
        let operations: Vec<StateOperation> =
            shown.into_iter().map(|item| StateOperation::new(item, self.values(item))).collect();
        Ok(PasswordPolicyState { target: wanted.target.clone(), operations }.encode())
    }

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
