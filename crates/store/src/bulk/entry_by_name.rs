//! From a name to the entry in a view that has it, whatever the base DNs are.

use schema::NormalizedDn;

use crate::view::View;
use crate::{EntryId, StoreError};

/// The entry of that name.
pub(super) fn entry_by_name(view: View<'_>, dn: &NormalizedDn) -> Result<Option<EntryId>, StoreError> {
    let mut base = dn.clone();
    let mut below: Vec<Vec<u8>> = Vec::new();
    loop {
        if let Some(mut id) = view.child(EntryId::ROOT, base.as_bytes())? {
            for rdn in below.iter().rev() {
                let Some(child) = view.child(id, rdn)? else { return Ok(None) };
                id = child;
            }
            return Ok(Some(id));
        }
        let Some(rdn) = base.rdn().map(|rdn| rdn.as_bytes().to_vec()) else { return Ok(None) };
        below.push(rdn);
        base = base.parent().unwrap_or_default();
    }
}
