//! The control that asks why a request would be granted or refused; nothing of the request is done.
//!
//! Its value is the authorization identity of whom is asked about (`dn:NAME`, `dn:` for anonymous); without one it is
//! whoever asks. Only for those to whom no instruction applies: an explanation shows instructions and whether entries
//! exist.

use ldap::controls::name_after_dn;
use ldap::oids::control;
use ldap::{Control, Controls, EntryUpdate, LdapResult, Operation, ResultCode, SearchRequest};
use query::error::shown;

use super::asked::Asked;
use super::kept::{Kept, KeptRead, text};
use crate::refusal::Refusal as OwnRefusal;

ldap::refusals! {
    /// See the module.
    pub(crate) enum Refusal {
        TakesBypass = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "Only who has the privilege bypass-acl may ask why access is granted or refused";
        BadSubject { value: String } = ResultCode::PROTOCOL_ERROR,
            "\"{value}\" is not valid as the value of the control: write dn:NAME, or dn: for anonymous";
        NoSubject { reason: String } = ResultCode::NO_SUCH_OBJECT, "Nobody can be asked about: {reason}";
        OtherOperation = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "The control goes with search, compare, add, modify, delete and modify DN";
    }
}

/// The control, if a request has it.
pub(crate) fn find<'c>(controls: &Controls<'c>) -> Option<Control<'c>> {
    controls.iter().find(|item| item.oid == control::ACCESS_EXPLANATION.as_bytes())
}

/// The name of whom is asked about; none: whoever asks.
pub(crate) fn subject(control: &Control<'_>) -> Result<Option<String>, LdapResult> {
    let Some(value) = control.value else { return Ok(None) };
    let name = name_after_dn(value).and_then(|name| std::str::from_utf8(name).ok());
    name.map(|name| Some(name.to_owned())).ok_or_else(|| Refusal::BadSubject { value: shown(value) }.into())
}

/// What a request that can be asked about asks for, for another thread.
pub(crate) fn kept(operation: &Operation<'_>) -> Result<Kept, LdapResult> {
    Kept::of(operation).ok_or_else(|| Refusal::OtherOperation.into())
}

impl Kept {
    /// Calls `explain` with it.
    pub(crate) fn with<T>(
        &self,
        explain: impl FnOnce(Asked<'_, '_>) -> Result<T, LdapResult>,
    ) -> Result<T, LdapResult> {
        let malformed = |error: ldap::DecodeError| OwnRefusal::MadeRequest { problem: error.to_string() };
        match self {
            Kept::Read(KeptRead::Search(encoded)) => {
                let search = SearchRequest::decode(encoded).map_err(malformed)?;
                let attributes: Vec<String> = search.attributes.iter().map(text).collect();
                let dn = text(search.base);
                let within = Some((dn.as_str(), search.scope));
                explain(Asked::Search { dn: &dn, within, filter: Some(&search.filter), attributes: &attributes })
            }
            Kept::Read(KeptRead::Compare { dn, attribute }) => explain(Asked::Compare { dn, attribute }),
            Kept::Update(encoded) => explain(Asked::Update(EntryUpdate::decode(encoded).map_err(malformed)?.request())),
        }
    }
}
