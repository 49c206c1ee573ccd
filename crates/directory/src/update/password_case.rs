//! Whose password a request sets: the policy in force, the state of the account, and what is stored of it.
//!
//! Reads entries; what may be done with them is checked by `password_checks`.

use std::ops::ControlFlow;
use std::sync::Arc;

use access::account_policy::PolicyFinder;
use access::{Identity, Privilege};
use accounts::{AccountState, HistoryValue, Moment, PasswordPolicy, ValidatorRule};
use ldap::{AddRequest, LdapResult};
use password::Parameters;
use query::account_state;
use query::backend::{Backend, BackendIndex};
use query::entry::{DnParts, EntryView, StoredAt, each_stored};
use query::entry_place::EntryPlace;
use query::error::store_failure;
use query::facts::Facts;
use query::locate::locate;
use query::notices::Notices;
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, StoreError};

use super::context::UpdateContext;
use super::decided::snapshot;
use super::order::Order;
use super::rights::new_entry;
use crate::root_users::RootUser;

/// See the module.
pub(super) struct PasswordCase {
    pub(super) policy: Arc<PasswordPolicy>,
    pub(super) state: AccountState,
    /// What new values cost.
    pub(super) parameters: Parameters,
    /// Where the entry is, with its `entryUUID`; none of one that is to be added.
    pub(super) entry: Option<(EntryPlace, [u8; 16])>,
    /// By the clock of accounts.
    pub(super) now: Moment,
    /// Values of `userPassword`.
    pub(super) stored: Vec<Vec<u8>>,
    pub(super) history: Vec<HistoryValue>,
    /// The user attributes of the entry, where a rule of the policy looks at them.
    pub(super) values: Vec<(TypeIndex, Vec<u8>)>,
    /// The asker's own account.
    pub(super) is_self: bool,
    /// The asker may store values that are encoded already.
    pub(super) may_pre_encode: bool,
    /// The connection is encrypted, or local.
    pub(super) is_secure: bool,
    pub(super) notices: Arc<Notices>,
}

/// Who asks, for which entry.
pub(super) struct Asker<'a, 'o, 'm> {
    pub(super) order: &'a Order<'o, 'm>,
    /// By the name that its entry has now.
    pub(super) identity: &'a Identity,
}

impl UpdateContext<'_> {
    /// The case of an entry; none when there is no such entry.
    pub(super) fn password_case(
        &self,
        facts: &Arc<Facts>,
        asker: &Asker<'_, '_, '_>,
        at: BackendIndex,
        name: &NormalizedDn,
    ) -> Result<Option<PasswordCase>, LdapResult> {
        let Some(backend) = self.backends.get(at.0) else { return Ok(None) };
        let mut case = self.case(facts, asker, is_own(facts, asker.identity, name))?;
        let is_found = self.read_account(facts, backend, at, name, &mut case).map_err(|error| store_failure(&error))?;
        Ok(is_found.then_some(case))
    }

    /// The case of a root user.
    pub(super) fn password_case_of_root(
        &self,
        facts: &Arc<Facts>,
        asker: &Asker<'_, '_, '_>,
        root: &RootUser,
    ) -> Result<PasswordCase, LdapResult> {
        let is_self = matches!(asker.identity, Identity::Root { dn } if self.is_name_of(root, dn));
        let mut case = self.case(facts, asker, is_self)?;
        case.policy = Arc::clone(&root.policy);
        case.state = self.binding.root_accounts.state(&root.account);
        case.stored = vec![root.password.clone()];
        Ok(case)
    }

    fn is_name_of(&self, root: &RootUser, dn: &str) -> bool {
        let name = NormalizedDn::parse(&self.schema(), dn.as_bytes());
        name.is_ok_and(|name| self.roots.load().user(&name).is_some_and(|named| named.account == root.account))
    }

    /// The case of an entry that is to be added.
    pub(super) fn password_case_of_new(
        &self,
        facts: &Arc<Facts>,
        asker: &Asker<'_, '_, '_>,
        at: BackendIndex,
        (name, request): (&NormalizedDn, &AddRequest<'_>),
    ) -> Result<PasswordCase, LdapResult> {
        let mut case = self.case(facts, asker, false)?;
        let Some(backend) = self.backends.get(at.0) else { return Ok(case) };
        let snapshot = snapshot(backend)?;
        let mut read = || -> Result<(), StoreError> {
            let above = match backend.suffix_of(name.as_bytes()) {
                Some(suffix) => locate(&snapshot.view(), &suffix.normalized, name.as_bytes())?.deepest(),
                None => None,
            };
            let entry = new_entry(facts, above.unwrap_or(EntryId::ROOT), request)?;
            let entry = entry.view()?;
            case.policy = self.reading.password_policy_of_new(facts, at, &entry, &snapshot)?;
            case.values = user_values(facts, &case.policy, &entry)?;
            Ok(())
        };
        read().map_err(|error| store_failure(&error))?;
        Ok(case)
    }

    fn case(&self, facts: &Arc<Facts>, asker: &Asker<'_, '_, '_>, is_self: bool) -> Result<PasswordCase, LdapResult> {
        let policy = PolicyFinder { facts, context: self.reading }.default_policy();
        Ok(PasswordCase {
            policy,
            state: AccountState::default(),
            parameters: **self.updates.password_parameters.load(),
            entry: None,
            now: self.account_clock.now(),
            stored: Vec::new(),
            history: Vec::new(),
            values: Vec::new(),
            is_self,
            may_pre_encode: self.rights_of(asker.order, facts)?.has(Privilege::LdifImport),
            is_secure: asker.order.session.security_strength_bits > 0,
            notices: Arc::clone(self.notices),
        })
    }

    fn read_account(
        &self,
        facts: &Arc<Facts>,
        backend: &Backend,
        at: BackendIndex,
        name: &NormalizedDn,
        case: &mut PasswordCase,
    ) -> Result<bool, StoreError> {
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let Some(suffix) = backend.suffix_of(name.as_bytes()) else { return Ok(false) };
        let Some(id) = locate(&view, &suffix.normalized, name.as_bytes())?.found() else { return Ok(false) };
        let Some(found) = view.entry(id)? else { return Ok(false) };
        let record = found.view()?;
        let place = EntryPlace { backend: at, id };
        case.entry = Some((place, record.header().uuid.unwrap_or_default()));
        case.policy = PolicyFinder { facts, context: self.reading }.of_entry(place, &record, &snapshot)?;
        let source = StoredAt::new(at, view);
        let entry = EntryView { id, record, dn: DnParts::default(), source: &source };
        case.state = account_state::read(facts, &entry, &case.policy)?;
        let all = |attribute: Option<TypeIndex>| -> Result<Vec<Vec<u8>>, StoreError> {
            let mut values = Vec::new();
            if let Some(attribute) = attribute {
                each_stored(&entry, attribute, &mut |value| {
                    values.push(value.to_vec());
                    ControlFlow::Continue(())
                })?;
            }
            Ok(values)
        };
        case.stored = all(facts.user_password)?;
        let history = facts.schema.attribute_type(b"pwdHistory").map(|it| it.index);
        case.history = all(history)?.iter().filter_map(|value| HistoryValue::decode(value)).collect();
        case.values = user_values(facts, &case.policy, &entry)?;
        Ok(true)
    }
}

fn is_own(facts: &Facts, identity: &Identity, name: &NormalizedDn) -> bool {
    matches!(identity, Identity::User { .. })
        && NormalizedDn::parse(&facts.schema, identity.dn().as_bytes()).is_ok_and(|own| own == *name)
}

/// The values of user attributes that hold no passwords; none where no rule looks at them.
fn user_values(
    facts: &Facts,
    policy: &PasswordPolicy,
    entry: &EntryView<'_>,
) -> Result<Vec<(TypeIndex, Vec<u8>)>, StoreError> {
    let mut values = Vec::new();
    if !policy.validators.iter().any(|rule| matches!(rule, ValidatorRule::AttributeValue(_))) {
        return Ok(values);
    }
    let is_password = |index: TypeIndex| {
        Some(index) == facts.user_password
            || facts.schema.attribute_type(b"authPassword").is_some_and(|it| it.index == index)
    };
    let tables = entry.record.tables();
    for stored in entry.record.attributes() {
        let Some(index) = tables.type_of(stored.desc).map(TypeIndex) else { continue };
        let is_users = facts.schema.attribute_by_index(index).is_some_and(|it| !it.is_operational());
        if is_users && !is_password(index) && Some(index) != facts.object_class {
            entry.each_value(std::iter::once(stored), &mut |value| {
                values.push((index, value.to_vec()));
                ControlFlow::Continue(())
            })?;
        }
    }
    Ok(values)
}
