//! The names of the groups of one class that list an entry in one attribute (OpenLDAP: memberof-memberof-ad for such a
//! pair).
//!
//! The equality index of the attribute with the members is the reverse index, as for `memberOf`: nothing is stored. As
//! there, an asker is told of groups that show.

use schema::TypeIndex;
use store::StoreError;
use store::record::put_value;

use super::alternatives::{Alternatives, Narrowing};
use super::definition::{ComputedAssertion, Priority, Shows, ValueSource};
use crate::entry::EntryView;
use crate::filter::Test;
use crate::groups::GroupPair;

/// Members of a group that a filter on it is led back to.
const MEMBERS_MAX: u64 = 100_000;

/// See the module.
#[derive(Debug)]
pub(super) struct FromGroups(pub GroupPair);

impl ValueSource for FromGroups {
    fn supply(
        &self,
        at: &dyn Shows,
        _attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        // Groups that do not show are not named.
        let groups = at.entries().shown_groups();
        let mut form = Vec::new();
        if !at.entries().put_form(&entry.record, &mut form)? {
            return Ok(None);
        }
        let mut dn = Vec::new();
        for group in groups.listing_by(&self.0, &form)? {
            dn.clear();
            if groups.put_dn(group, &mut dn)? {
                put_value(out, &dn);
            }
        }
        Ok(Some(Priority::LOWEST))
    }

    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        let is_name = wanted.item.rule.is_some_and(|rule| rule.name() == "distinguishedNameMatch");
        let Test::Equal(form) = &wanted.item.test else { return Ok(Narrowing::Everybody) };
        if !is_name {
            return Ok(Narrowing::Everybody);
        }
        let Some(group) = at.entries().locate(wanted.matcher.form(form))? else { return Ok(Narrowing::Nobody) };
        match at.entries().groups().listed_by(&self.0, group, MEMBERS_MAX)? {
            Some(members) if members.is_empty() => Ok(Narrowing::Nobody),
            Some(members) => {
                any.entries(members);
                Ok(any.narrowing())
            }
            None => Ok(Narrowing::Everybody),
        }
    }

    fn is_costly(&self) -> bool {
        true
    }
}
