//! What comes before every operation: whether its controls and the extended operation may be used (OpenDJ:
//! `targetcontrol`, `extop`), and who it acts as (proxied authorization, RFC 4370).
//!
//! A request that has no control and is no extended one costs nothing here. Knows no connection.

use ldap::controls::{AuthorizationId, decode_proxied_authorization, decode_proxied_authorization_v1};
use ldap::oids::control;
use ldap::{Control, Controls, ExtendedFault, LdapResult, Operation, Update};
use schema::NormalizedDn;
use store::{Snapshot, StoreError};

use crate::directory::Directory;
use crate::refusal::Refusal;
use crate::search::RequestTime;
use crate::session::Session;
use crate::shadowing::Uses;
use access::inactive::inactive;
use access::{Identity, Privilege, Question, Right, Rights};
use query::backend::holder;
use query::entry::{DnParts, EntryView};
use query::entry_place::EntryPlace;
use query::error::{malformed_control, shown, store_failure};
use query::locate::locate;

/// What a request is executed with instead of what it came with.
#[derive(Default)]
pub struct Admitted {
    /// The connection as somebody else, for this request alone.
    pub acting: Option<Box<Session>>,
    /// The controls that are left, for [`Controls::decode`]; none: all of them.
    pub controls: Option<Vec<u8>>,
}

/// Whether a request can be refused here, or changed.
#[inline]
#[must_use]
pub fn needs_admission(operation: &Operation<'_>, controls: Controls<'_>) -> bool {
    // A bind is subject to no access control.
    !matches!(operation, Operation::Bind(_) | Operation::Unbind | Operation::Abandon(_))
        && (!controls.is_empty() || extended_oid(operation).is_some())
}

/// OID of an extended operation that this server has.
fn extended_oid<'a>(operation: &Operation<'a>) -> Option<&'a [u8]> {
    match operation {
        Operation::NotExecutable(request) if request.fault == ExtendedFault::Unknown => None,
        other => other.extended_oid(),
    }
}

/// Operations that can act as somebody else. Others refuse the control where it is critical, as they do all that they
/// do not know.
fn can_be_proxied(operation: &Operation<'_>) -> bool {
    match operation {
        Operation::Search(_) | Operation::Compare(_) | Operation::WhoAmI => true,
        Operation::Update(update) => !matches!(update, Update::EndTransaction(_)),
        _ => false,
    }
}

fn is_proxied_authorization(item: &Control<'_>) -> bool {
    [control::PROXIED_AUTHORIZATION, control::PROXIED_AUTHORIZATION_V1].map(str::as_bytes).contains(&item.oid)
}

/// The name of the entry that a request is about; none of extended requests.
fn target<'a>(operation: &Operation<'a>) -> Option<&'a [u8]> {
    match operation {
        Operation::Search(search) => Some(search.base),
        Operation::Compare(compare) => Some(compare.entry),
        Operation::Update(Update::Entry(update)) => Some(update.request().entry()),
        _ => None,
    }
}

impl Directory {
    /// Decides about the controls and the OID of a request for which [`needs_admission`] says so.
    ///
    /// # Errors
    /// The result to send.
    pub fn admit(
        &self,
        session: &Session,
        operation: &Operation<'_>,
        controls: Controls<'_>,
        time: RequestTime,
    ) -> Result<Admitted, LdapResult> {
        let failure = |error: StoreError| store_failure(&error);
        let mut acting = None;
        let is_proxied = can_be_proxied(operation) && controls.iter().any(|item| is_proxied_authorization(&item));
        if is_proxied {
            let identity = self.proxied_identity(session, controls, time)?;
            acting = identity.map(|identity| Box::new(session.acting_as(identity)));
        }
        let asker = acting.as_deref().unwrap_or(session);
        let rights = self.rights_of(asker, time.unix_seconds).map_err(failure)?;
        let extended = extended_oid(operation);
        if self.tries_proposed_instructions() {
            let written = target(operation).unwrap_or(asker.identity.dn().as_bytes());
            let name = NormalizedDn::parse(&self.schema(), written).unwrap_or_default();
            self.compare_uses(asker, &rights, &Uses { extended, controls, written, target: &name }, time);
        }
        if let Some(oid) = extended
            && !rights.may_use_extended(&shown(oid)).map_err(failure)?
        {
            return Err(Refusal::ExtendedNotAllowed { oid: shown(oid) }.into());
        }
        let mut refused = Ok(());
        let mut is_left_out = is_proxied;
        if !rights.bypasses_acl() && !controls.is_empty() {
            let own = asker.identity.dn().as_bytes();
            // A name that is not valid is refused by the operation, in its own words.
            let name = NormalizedDn::parse(&self.schema(), target(operation).unwrap_or(own)).unwrap_or_default();
            for item in controls.iter().filter(|item| !(is_proxied && is_proxied_authorization(item))) {
                if rights.may_use_control(&shown(item.oid), &name).map_err(failure)? {
                    continue;
                }
                is_left_out = true;
                if item.critical && refused.is_ok() {
                    refused = Err(not_allowed(&item, extended.is_some()));
                }
            }
            refused?;
            if is_left_out {
                let drop = |item: &Control<'_>| {
                    (is_proxied && is_proxied_authorization(item))
                        || !rights.may_use_control(&shown(item.oid), &name).unwrap_or(false)
                };
                return Ok(Admitted { acting, controls: Some(controls.encoded_without(drop)) });
            }
        }
        let left = is_left_out.then(|| controls.encoded_without(is_proxied_authorization));
        Ok(Admitted { acting, controls: left })
    }

    /// Who a request with the control acts as; none: as who sent it.
    fn proxied_identity(
        &self,
        session: &Session,
        controls: Controls<'_>,
        time: RequestTime,
    ) -> Result<Option<Identity>, LdapResult> {
        let failure = |error: StoreError| store_failure(&error);
        let mut items = controls.iter().filter(is_proxied_authorization);
        let Some(item) = items.next() else { return Ok(None) };
        if items.next().is_some() {
            return Err(Refusal::TwoProxiedAuthorizations.into());
        }
        if !item.critical {
            return Err(Refusal::ProxiedNotCritical.into());
        }
        let rights = self.rights_of(session, time.unix_seconds).map_err(failure)?;
        let decoded = match item.oid == control::PROXIED_AUTHORIZATION.as_bytes() {
            true => decode_proxied_authorization(item.value),
            false => decode_proxied_authorization_v1(item.value),
        };
        if session.identity.is_anonymous() {
            decoded.map_err(malformed_control("proxied authorization"))?;
            return Err(Refusal::NotProxied.into());
        }
        let own = NormalizedDn::parse(&self.schema(), session.identity.dn().as_bytes()).unwrap_or_default();
        if !rights.may_use_control(&shown(item.oid), &own).map_err(failure)? {
            return Err(not_allowed(&item, false));
        }
        let asked = decoded.map_err(malformed_control("proxied authorization"))?;
        if let AuthorizationId::Dn(dn) = asked
            && NormalizedDn::parse(&self.schema(), dn).is_ok_and(|dn| dn == own)
        {
            return Ok(None);
        }
        if !rights.has(Privilege::ProxiedAuth) {
            return Err(Refusal::NotProxied.into());
        }
        self.authorized(session, &rights, asked, time).map(Some)
    }

    /// Whether a session may act as somebody else: it takes the privilege, and the right to the entry.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn check_acting(
        &self,
        session: &Session,
        asked: AuthorizationId<'_>,
        time: RequestTime,
    ) -> Result<(), LdapResult> {
        let rights = self.rights_of(session, time.unix_seconds).map_err(|error| store_failure(&error))?;
        match rights.has(Privilege::ProxiedAuth) {
            true => self.authorized(session, &rights, asked, time).map(drop),
            false => Err(Refusal::NotProxied.into()),
        }
    }

    /// Finds somebody whom the asker may act as. Whatever is missing, the answer is the same.
    fn authorized(
        &self,
        session: &Session,
        rights: &Rights,
        asked: AuthorizationId<'_>,
        time: RequestTime,
    ) -> Result<Identity, LdapResult> {
        let found = match asked {
            AuthorizationId::Anonymous => return Ok(Identity::Anonymous),
            AuthorizationId::Dn(dn) => self.entry_named(dn),
            AuthorizationId::User(user) => match self.user_named(user, time)? {
                Some(dn) => self.entry_named(dn.as_bytes()),
                None => Ok(None),
            },
        };
        let Some((place, snapshot)) = found.map_err(|error| store_failure(&error))? else {
            return Err(Refusal::NotProxied.into());
        };
        let may = self.may_proxy(session, rights, (place, &snapshot), time).map_err(|error| store_failure(&error))?;
        may.ok_or_else(|| Refusal::NotProxied.into())
    }

    /// The entry of that name and a moment at which it is there.
    fn entry_named(&self, dn: &[u8]) -> Result<Option<(EntryPlace, Snapshot)>, StoreError> {
        let Ok(name) = NormalizedDn::parse(&self.schema(), dn) else { return Ok(None) };
        let Some((at, suffix)) = holder(&self.backends, name.as_bytes()) else { return Ok(None) };
        let Some(backend) = self.backends.get(at.0) else { return Ok(None) };
        let snapshot = backend.store.snapshot()?;
        let found = locate(&snapshot.view(), &suffix.normalized, name.as_bytes())?.found();
        Ok(found.map(|id| (EntryPlace { backend: at, id }, snapshot)))
    }

    /// The entry as an identity, if the asker has the right `proxy` to it and the account is in use.
    fn may_proxy(
        &self,
        session: &Session,
        rights: &Rights,
        (place, snapshot): (EntryPlace, &Snapshot),
        time: RequestTime,
    ) -> Result<Option<Identity>, StoreError> {
        let facts = self.facts();
        let view = snapshot.view();
        let (Some(record), Some(dn)) = (view.entry(place.id)?, view.dn_of(place.id)?) else { return Ok(None) };
        let moment = self.reading.moment(&facts, time.unix_seconds);
        let seen = moment.at(place.backend, view);
        let entry =
            EntryView { id: place.id, record: record.view()?, dn: DnParts::whole(dn.as_bytes()), source: &seen };
        let may = rights.at(seen)?.may(&facts, &entry, Question::entry(Right::Proxy))?;
        if self.tries_proposed_instructions() {
            self.compare_proxy((session, &facts), (seen, &entry), may, time);
        }
        if !may || inactive(&self.reading, &facts, place, snapshot)?.is_some() {
            return Ok(None);
        }
        Ok(Some(Identity::User { dn: dn.into(), backend: place.backend, entry: place.id }))
    }
}

/// A control that may not be used. On an extended request the operation as such is refused, as in OpenDJ.
fn not_allowed(item: &Control<'_>, is_extended: bool) -> LdapResult {
    let oid = shown(item.oid);
    match is_extended {
        true => Refusal::ExtendedControlNotAllowed { oid }.into(),
        false => Refusal::ControlNotAllowed { oid }.into(),
    }
}
