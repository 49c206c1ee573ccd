//! Collective attributes whose values another entry has (OpenDJ): the one that an attribute of each entry names, or the
//! one whose RDN has the value of an attribute of each entry.
//!
//! Only entries at or below the administrative point give anything: whoever may write a reference must not get to read
//! other branches by it. Knows what the subentries mean; values and filters are for [`super::elsewhere`].

use schema::NormalizedDn;
use schema::syntax::oid;

use super::collective::Subentry;
use super::definition::{Definition, ValueSource};
use super::from_entries::{BelowBase, OfNamed, Renamed, tells_groups};
use super::reading::Reading;

/// RDNs that can be taken off a name.
const PARENTS_MAX: usize = ldap::dn::RDNS_MAX;

/// Attributes that one subentry gives.
const ATTRIBUTES_MAX: usize = 1_000;

/// Reads an `inheritedFromDNCollectiveAttributeSubentry`.
pub(super) fn read_from_dn(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let by = reading.attribute_in("inheritFromDNAttribute")?;
    if by.syntax.oid() != oid::DN {
        return Err(format!("inherits by {}, whose values are not names of entries", by.name()));
    }
    let parents = match reading.value("inheritFromDNParent")? {
        None => 0,
        Some(number) => {
            let number = std::str::from_utf8(&number).ok().and_then(|text| text.trim().parse().ok());
            let message = || format!("has an inheritFromDNParent that is no number from 0 to {PARENTS_MAX}");
            number.filter(|number| *number <= PARENTS_MAX).ok_or_else(message)?
        }
    };
    let follows_groups = tells_groups(reading.facts, by.index);
    read(reading, |point| OfNamed { by: by.index, all: true, parents, within: Some(point.clone()), follows_groups })
}

/// Reads an `inheritedFromRDNCollectiveAttributeSubentry`.
pub(super) fn read_from_rdn(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let by = reading.attribute_in("inheritFromRDNAttribute")?;
    let naming = reading.attribute_in("inheritFromRDNType")?;
    let relative = reading.name_in("inheritFromBaseRDN")?.ok_or("has no inheritFromBaseRDN")?;
    read(reading, |point| BelowBase {
        base: point.join(&relative),
        specifier: by.index,
        named_by: vec![naming.index],
        must_be_template: false,
        fallback: None,
        all: true,
        follows_groups: tells_groups(reading.facts, by.index),
    })
}

/// What both have in common; `from` says where the values are, below an administrative point.
fn read<S: ValueSource + 'static>(
    reading: &Reading<'_>,
    from: impl Fn(&NormalizedDn) -> S,
) -> Result<Vec<Definition>, String> {
    let facts = reading.facts;
    let subentry = Subentry::read(reading)?;
    let mut all = subentry.says_so(facts);
    for value in reading.all_values("inheritAttribute", ATTRIBUTES_MAX)? {
        let text = String::from_utf8_lossy(&value);
        // ForgeRock DS: what is inherited, and the name under which it is shown.
        let (inherited, shown) = text.split_once(':').unwrap_or((&text, &text));
        let inherited = reading.known("inheritAttribute", inherited.as_bytes())?;
        if facts.is_secret(inherited.index) || facts.is_virtual(inherited.index) {
            return Err(format!("inherits {}, which is no attribute that entries can inherit", inherited.name()));
        }
        let shown = reading.known("inheritAttribute", shown.as_bytes())?;
        let source =
            Renamed { attribute: inherited.index, takes_one: shown.is_single_value(), source: from(&subentry.point) };
        all.push(subentry.definition(facts, shown, source)?);
    }
    Ok(all)
}
