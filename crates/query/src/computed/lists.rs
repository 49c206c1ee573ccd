//! Values of the entries that an entry's LDAP URLs find (OpenLDAP: the attribute lists of slapo-dynlist).
//!
//! What the entries that are found have stored is taken, never what they are given, so that lists cannot depend on each
//! other. Each entry that is looked at counts towards the lookthrough limit of the search.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use ldap::LdapUrl;
use schema::{AttributeType, TypeIndex};
use store::{EntryId, StoreError, View};

use super::alternatives::{Alternatives, Narrowing};
use super::definition::{ComputedAssertion, Priority, Shows, ValueSource, check_attribute};
use super::distinct::Distinct;
use crate::class_ids::ids_of_classes_by;
use crate::entry::{DnParts, EntryView, each_stored};
use crate::facts::Facts;
use crate::virtual_attributes::VirtualAttribute;

/// Entries with URLs in which it is looked for what they list.
const LISTS_MAX: usize = 10_000;

/// URLs of one entry that are followed.
const URLS_MAX: usize = 100;

/// One attribute of the entries that are found.
#[derive(Debug)]
pub(super) struct FromUrls {
    /// The attribute with the URLs.
    pub url_attribute: TypeIndex,
    /// The attribute whose values are taken; the names of the entries for `entryDN`.
    pub listed: TypeIndex,
    /// URLs without attributes list it, too.
    pub is_listed_by_default: bool,
    /// Only one value can be shown.
    pub takes_one: bool,
}

impl ValueSource for FromUrls {
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        let mut urls: Vec<Box<[u8]>> = Vec::new();
        each_stored(entry, self.url_attribute, &mut |url| {
            urls.push(url.into());
            if urls.len() < URLS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let (facts, groups) = (at.entries().facts(), at.entries().shown_groups());
        let is_name = facts.virtual_attribute(self.listed) == Some(VirtualAttribute::EntryDn);
        let mut distinct = Distinct::new(facts, attribute);
        for text in urls {
            let Some(url) = groups.member_url(&text, &mut |why| groups.report_bad_list(entry.id, &why)) else {
                continue;
            };
            let is_listed = match url.attributes.as_deref() {
                Some(attributes) => attributes.contains(&self.listed),
                None => self.is_listed_by_default,
            };
            if !is_listed {
                continue;
            }
            groups.each_described(&url, &mut |found, dn| {
                let mut take = |value: &[u8]| {
                    if !self.takes_one || distinct.len() == 0 {
                        distinct.add(value, out);
                    }
                    ControlFlow::Continue(())
                };
                if is_name {
                    let _ = take(dn);
                    return Ok(());
                }
                if !groups.may_read(found, self.listed)? {
                    return Ok(());
                }
                each_stored(found, self.listed, &mut take)
            })?;
        }
        Ok(Some(Priority::LOWEST))
    }

    /// Whose values are shown where is not known before the lists are read: everybody in reach, which are the entries
    /// of the class.
    fn narrow(
        &self,
        _at: &dyn Shows,
        _wanted: &ComputedAssertion<'_>,
        _any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        Ok(Narrowing::Everybody)
    }

    fn concerns(&self, has: &dyn Fn(TypeIndex) -> bool) -> bool {
        has(self.url_attribute)
    }

    fn is_costly(&self) -> bool {
        true
    }
}

/// Whether an attribute can be listed: why not, in words that follow its name.
pub(super) fn check_listed(facts: &Facts, listed: &AttributeType) -> Result<(), String> {
    match facts.virtual_attribute(listed.index) {
        Some(VirtualAttribute::EntryDn) => Ok(()),
        Some(_) => Err("is computed: only what entries have stored can be listed".to_owned()),
        None if facts.is_secret(listed.index) => Err("is secret, so no other entry may show it".to_owned()),
        None => Ok(()),
    }
}

/// The attributes that the URLs of the entries of a class list, as far as they can be shown.
pub(super) fn listed(
    facts: &Facts,
    view: &View<'_>,
    class: &str,
    url_attribute: TypeIndex,
) -> Result<BTreeSet<TypeIndex>, StoreError> {
    let mut found = BTreeSet::new();
    let wanted = facts.schema.object_class(class.as_bytes()).map(|class| class.index);
    let is_of = |classes: store::Values<'_>| {
        let mut classes = classes.iter().filter_map(|name| facts.schema.object_class(name));
        classes.any(|own| wanted.is_some_and(|wanted| own.is_subclass_of(wanted)))
    };
    let ids = ids_of_classes_by(facts, view, [class.as_bytes()], &is_of)?;
    let ids: Vec<EntryId> = ids.iter().take(LISTS_MAX).collect();
    for id in ids {
        let Some(record) = view.entry(id)? else { continue };
        let entry = EntryView { id, record: record.view()?, dn: DnParts::default(), source: view };
        each_stored(&entry, url_attribute, &mut |text| {
            let url = std::str::from_utf8(text).ok().and_then(|text| LdapUrl::parse(text).ok());
            let names = url.iter().flat_map(|url| &url.attributes);
            let known = names.filter_map(|name| facts.schema.attribute_type(name.as_bytes()));
            let shown = known.filter(|it| check_listed(facts, it).is_ok() && check_attribute(facts, it.index).is_ok());
            found.extend(shown.map(|it| it.index));
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}
