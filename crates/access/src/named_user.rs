//! Users as logs ask of them: whether one is in a group, whether a name matches a pattern.
//!
//! Decides nothing about what anybody may.

use std::sync::Arc;

use aci::DnPattern;
use ldap::DnError;
use query::entry::{DnParts, EntryView};
use query::facts::Facts;
use query::read_moment::ReadContext;
use schema::{NormalizedDn, Schema};
use store::StoreError;

use crate::compiled::NamePattern;
use crate::identity::Identity;

/// A name, or a pattern of names (`uid=*,ou=people,**`), by one schema.
#[derive(Debug)]
pub struct DnMatcher {
    pattern: NamePattern,
    schema: Arc<Schema>,
}

impl DnMatcher {
    /// Reads it.
    ///
    /// # Errors
    /// When it is neither a name nor a pattern.
    pub fn parse(schema: &Arc<Schema>, text: &str) -> Result<DnMatcher, DnError> {
        let pattern = NamePattern::of(schema, &DnPattern::parse(text)?);
        Ok(DnMatcher { pattern, schema: Arc::clone(schema) })
    }

    /// Whether a name is it, or matches it. What is no name does not.
    #[must_use]
    pub fn matches(&self, dn: &[u8]) -> bool {
        NormalizedDn::parse(&self.schema, dn).is_ok_and(|name| self.pattern.is(&self.schema, name.as_bytes()))
    }
}

/// Whether an identity is in the group of that name, static, dynamic or nested. Root users and nobody are in none.
///
/// # Errors
/// When something cannot be read.
pub fn is_in_group(
    facts: &Arc<Facts>,
    context: &ReadContext,
    identity: &Identity,
    group: &str,
    now_unix_seconds: i64,
) -> Result<bool, StoreError> {
    let Identity::User { dn, backend: at, entry } = identity else { return Ok(false) };
    let Some(backend) = context.backends.get(at.0) else { return Ok(false) };
    let Ok(group) = NormalizedDn::parse(&facts.schema, group.as_bytes()) else { return Ok(false) };
    let snapshot = backend.store.snapshot()?;
    let view = snapshot.view();
    let Some(record) = view.entry(*entry)? else { return Ok(false) };
    let moment = context.moment(facts, now_unix_seconds);
    let seen = moment.at(*at, view);
    let user = EntryView { id: *entry, record: record.view()?, dn: DnParts::whole(dn.as_bytes()), source: &seen };
    seen.groups().contains(&user, group.as_bytes())
}
