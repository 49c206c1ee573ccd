//! What entries show of the groups that they are in: `isMemberOf` and `memberOf`, and what sources of entries tell of
//! it.

use schema::TypeIndex;
use store::record::put_value;
use store::{RecordView, StoreError};

use super::moment::GroupsAt;
use crate::entry::{EntryView, Membership};
use crate::entry_place::EntryPlace;
use crate::virtual_attributes::VirtualAttribute;

impl GroupsAt<'_> {
    /// Whether the configuration has that attribute.
    #[must_use]
    pub fn offers(&self, attribute: VirtualAttribute) -> bool {
        let options = self.groups.service.options;
        match attribute {
            VirtualAttribute::IsMemberOf => options.is_member_of,
            VirtualAttribute::MemberOf => options.member_of,
            _ => false,
        }
    }

    /// Appends the DNs of all groups that the entry is in, in wire form and in the order of their numbers; `false` when
    /// it is in none.
    pub fn put_groups(&self, entry: &EntryView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        let place = EntryPlace { backend: self.own, id: entry.id };
        if let Some((_, wire)) = self.groups.state.borrow().last.as_ref().filter(|(last, _)| *last == place) {
            out.extend_from_slice(wire);
            return Ok(!wire.is_empty());
        }
        let mut groups = self.all_above(entry)?;
        groups.sort_unstable();
        let start = out.len();
        let mut dn = Vec::new();
        for group in groups {
            dn.clear();
            if self.put_dn(group, &mut dn)? {
                put_value(out, &dn);
            }
        }
        let wire: Box<[u8]> = out.get(start..).unwrap_or_default().into();
        self.groups.state.borrow_mut().last = Some((place, wire));
        Ok(out.len() > start)
    }
}

impl Membership for GroupsAt<'_> {
    fn offers(&self, attribute: VirtualAttribute) -> bool {
        GroupsAt::offers(self, attribute)
    }

    fn is_in_any(&self, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        GroupsAt::is_in_any(self, entry)
    }

    fn contains(&self, entry: &EntryView<'_>, group: &[u8]) -> Result<bool, StoreError> {
        GroupsAt::contains(self, entry, group)
    }

    fn is_in_chain(
        &self,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
        form: &[u8],
    ) -> Result<Option<bool>, StoreError> {
        GroupsAt::is_in_chain(self, entry, attribute, form)
    }

    fn computes_members(&self, record: &RecordView<'_>, attribute: TypeIndex) -> bool {
        GroupsAt::computes_members(self, record, attribute)
    }

    fn has_member(&self, group: &EntryView<'_>, member: &[u8]) -> Result<bool, StoreError> {
        GroupsAt::has_member(self, group, member)
    }

    fn put_groups(&self, entry: &EntryView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        GroupsAt::put_groups(self, entry, out)
    }

    fn put_members(&self, group: &EntryView<'_>, attribute: TypeIndex, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        GroupsAt::put_members(self, group, attribute, out)
    }
}
