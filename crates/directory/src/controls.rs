//! Controls of operations that read: which are taken, and the answer to a critical one that is not (RFC 4511 §4.1.11).
//!
//! Knows the controls' meaning for search and compare; updates have their own list.

use ldap::controls::{
    self as codec, DereferenceSpec, EffectiveRightsRequest, PagedResults, PersistentSearch, SortKey, VlvRequest,
};
use ldap::oids::control;
use ldap::{Controls, Filter, LdapResult};

use crate::refusal::Refusal;
use crate::search::SearchRefusal;
use query::encode::AttributeKinds;
use query::error::malformed_control;

/// What the controls of a search or compare ask for.
#[derive(Debug, Default)]
pub struct ReadControls<'a> {
    /// Referral objects are ordinary entries (RFC 3296).
    pub manage_dsa_it: bool,
    /// Only subentries (`true`), or only others (`false`), in one-level and subtree searches (RFC 3672).
    pub subentries: Option<bool>,
    /// A filter that the base entry must match (RFC 4528).
    pub assertion: Option<Filter<'a>>,
    /// Changes are to be told as they come (draft-ietf-ldapext-psearch-03).
    pub persistent: Option<PersistentSearch>,
    /// What most searches do not have.
    pub presentation: Option<Box<Presentation<'a>>>,
}

/// In which order, in which pieces, and how much of each entry a search returns.
#[derive(Debug, Default)]
pub struct Presentation<'a> {
    /// A page (RFC 2696).
    pub paged: Option<PagedResults<'a>>,
    /// Sorted (RFC 2891).
    pub sort: Option<SortRequest<'a>>,
    /// A window of the sorted list (draft-ietf-ldapext-ldapv3-vlv-09).
    pub list_view: Option<VlvRequest<'a>>,
    /// Only values that match one of these (RFC 3876).
    pub matched_values: Vec<Filter<'a>>,
    /// Which attributes.
    pub attributes: AttributeKinds,
    /// With entries that others name (draft-masarati-ldap-deref).
    pub dereference: Option<DereferenceRequest<'a>>,
    /// With somebody's rights to it (draft-ietf-ldapext-acl-model).
    pub effective_rights: Option<EffectiveRightsRequest<'a>>,
    /// With what is known of its account (Sun, OpenDJ).
    pub usability: bool,
}

/// A request to show entries that others name.
#[derive(Debug)]
pub struct DereferenceRequest<'a> {
    /// Each attribute once.
    pub specs: Vec<DereferenceSpec<'a>>,
    /// Rather nothing than without them.
    pub critical: bool,
}

/// A request to sort.
#[derive(Debug)]
pub struct SortRequest<'a> {
    /// The most important first.
    pub keys: Vec<SortKey<'a>>,
    /// Rather nothing than unsorted.
    pub critical: bool,
}

impl<'a> ReadControls<'a> {
    /// Reads the controls of a search (`is_search`) or compare.
    ///
    /// # Errors
    /// The result to send when a critical control is not taken, one that is taken has a value it must not have, or two
    /// of them contradict each other.
    pub fn read(controls: &Controls<'a>, is_search: bool) -> Result<ReadControls<'a>, LdapResult> {
        let mut wanted = ReadControls::default();
        for item in controls.iter() {
            let oid = std::str::from_utf8(item.oid).unwrap_or_default();
            match oid {
                control::MANAGE_DSA_IT => wanted.manage_dsa_it = true,
                // This server is no copy (RFC 6171 §3).
                control::DONT_USE_COPY => {}
                control::SUBENTRIES if is_search => {
                    wanted.subentries =
                        Some(codec::decode_subentries(item.value).map_err(malformed_control("subentries"))?);
                }
                // The draft before RFC 3672 had no value.
                control::SUBENTRIES_LDUP if is_search => wanted.subentries = Some(true),
                control::ASSERTION => {
                    wanted.assertion =
                        Some(codec::decode_assertion(item.value).map_err(malformed_control("assertion"))?);
                }
                control::PERSISTENT_SEARCH if is_search => {
                    let asked = PersistentSearch::decode(item.value);
                    wanted.persistent = Some(asked.map_err(malformed_control("persistent search"))?);
                }
                _ if is_search && wanted.presentation(oid, item.critical, item.value)? => {}
                _ if item.critical => {
                    return Err(Refusal::critical_control(item.oid).into());
                }
                _ => {}
            }
        }
        if let Some(presentation) = &wanted.presentation
            && presentation.paged.is_some()
            && presentation.list_view.is_some()
        {
            return Err(Refusal::PagesAndListView.into());
        }
        if let (Some(_), Some(presentation)) = (&wanted.persistent, &wanted.presentation) {
            if presentation.dereference.is_some() {
                return Err(SearchRefusal::DereferenceOfChanges.into());
            }
            if presentation.effective_rights.is_some() {
                return Err(SearchRefusal::EffectiveRightsOfChanges.into());
            }
        }
        if let (Some(_), Some(presentation)) = (&wanted.persistent, &wanted.presentation)
            && (presentation.paged.is_some() || presentation.sort.is_some() || presentation.list_view.is_some())
        {
            // RFC 4511 §4.1.11: nobody has said what they mean together.
            return Err(Refusal::PersistentInParts.into());
        }
        Ok(wanted)
    }

    /// Every filter that the controls have.
    pub fn filters(&self) -> impl Iterator<Item = &Filter<'a>> {
        let values = self.presentation.iter().flat_map(|presentation| &presentation.matched_values);
        self.assertion.iter().chain(values)
    }

    /// Takes a control that is about the form of the result; `false` if it is none.
    fn presentation(&mut self, oid: &str, critical: bool, value: Option<&'a [u8]>) -> Result<bool, LdapResult> {
        const KNOWN: [&str; 9] = [
            control::ACCOUNT_USABILITY,
            control::DEREFERENCE,
            control::GET_EFFECTIVE_RIGHTS,
            control::PAGED_RESULTS,
            control::SORT_REQUEST,
            control::VLV_REQUEST,
            control::MATCHED_VALUES,
            control::REAL_ATTRIBUTES_ONLY,
            control::VIRTUAL_ATTRIBUTES_ONLY,
        ];
        if !KNOWN.contains(&oid) {
            return Ok(false);
        }
        let wanted = self.presentation.get_or_insert_default();
        match oid {
            control::DEREFERENCE => {
                let specs = codec::decode_dereference(value).map_err(malformed_control("dereference"))?;
                if wanted.dereference.replace(DereferenceRequest { specs, critical }).is_some() {
                    return Err(SearchRefusal::SecondDereferenceControl.into());
                }
            }
            control::GET_EFFECTIVE_RIGHTS => {
                let asked = EffectiveRightsRequest::decode(value).map_err(malformed_control("get effective rights"))?;
                if wanted.effective_rights.replace(asked).is_some() {
                    return Err(SearchRefusal::SecondEffectiveRightsControl.into());
                }
            }
            control::ACCOUNT_USABILITY if value.is_some() => return Err(Refusal::UsabilityControlValue.into()),
            control::ACCOUNT_USABILITY => wanted.usability = true,
            control::PAGED_RESULTS => {
                wanted.paged = Some(PagedResults::decode(value).map_err(malformed_control("paged results"))?);
            }
            control::SORT_REQUEST => {
                let keys = codec::decode_sort_keys(value).map_err(malformed_control("server-side sort"))?;
                wanted.sort = Some(SortRequest { keys, critical });
            }
            control::VLV_REQUEST => {
                wanted.list_view = Some(VlvRequest::decode(value).map_err(malformed_control("virtual list view"))?);
            }
            control::MATCHED_VALUES => {
                wanted.matched_values =
                    codec::decode_matched_values(value).map_err(malformed_control("matched values"))?;
            }
            _ => {
                let (own, other) = match oid {
                    control::REAL_ATTRIBUTES_ONLY => (AttributeKinds::RealOnly, AttributeKinds::VirtualOnly),
                    _ => (AttributeKinds::VirtualOnly, AttributeKinds::RealOnly),
                };
                if wanted.attributes == other {
                    return Err(Refusal::RealAndVirtualOnly.into());
                }
                wanted.attributes = own;
            }
        }
        Ok(true)
    }
}
