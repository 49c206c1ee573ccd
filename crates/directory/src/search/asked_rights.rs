//! What the get effective rights control of a search asks for: whose rights, and to which attributes.

use std::sync::Arc;

use access::Identity;
use ldap::LdapResult;
use ldap::controls::{EffectiveRightsRequest, RightsSubject};
use query::backend::BackendIndex;
use query::encode::AttributeKinds;
use query::error::{shown, store_failure};
use query::facts::Facts;
use store::EntryId;

use super::asked::Asked;
use super::context::SearchContext;
use super::effective_rights::{EffectiveRights, INFO, Named, RIGHTS};
use super::refusal::SearchRefusal;
use crate::subject::{SubjectError, identity_of};

impl SearchContext<'_> {
    /// What the control asks for; none where neither of the two attributes is asked for.
    ///
    /// # Errors
    /// When it names nobody whose rights can be told.
    pub(super) fn effective_rights(
        &self,
        asked: &Asked<'_, '_, '_>,
        wanted: &EffectiveRightsRequest<'_>,
    ) -> Result<Option<Box<EffectiveRights>>, LdapResult> {
        let facts = asked.facts;
        let session = asked.session;
        let subject = match wanted.subject {
            RightsSubject::Requester => None,
            _ => Some(self.subject(facts, wanted.subject)?),
        };
        let is_asked = |attribute: &str| {
            let known = facts.schema.attribute_type(attribute.as_bytes())?.index;
            let mut types = asked.request.attributes.iter().filter_map(|it| facts.schema.attribute_type(it));
            types.any(|it| it.index == known).then_some(known)
        };
        let kinds = asked.wanted.presentation.as_ref().map(|presentation| presentation.attributes);
        let (tells_rights, tells_info) = (is_asked(RIGHTS), is_asked(INFO));
        if (tells_rights, tells_info) == (None, None) || kinds == Some(AttributeKinds::RealOnly) {
            return Ok(None);
        }
        let (rights, name) = match subject {
            None => (Arc::clone(asked.rights), session.identity.dn().to_owned()),
            Some((identity, name)) => {
                let subject = session.acting_as(identity);
                (self.rights_of(&subject, facts, asked.time.unix_seconds)?, name)
            }
        };
        let mut named: Vec<Named> = Vec::new();
        for selector in asked.request.attributes.iter().chain(wanted.attributes.iter()) {
            let known = Named::of(facts, selector);
            let is_told = |it: &Named| it.attribute.is_some() && [tells_rights, tells_info].contains(&it.attribute);
            named.extend(known.filter(|it| !is_told(it)));
        }
        let adds_shown = asked.request.attributes.iter().any(|it| matches!(it, b"*" | b"+" | [b'@', ..]));
        Ok(Some(Box::new(EffectiveRights {
            rights,
            name,
            tells_rights,
            tells_info,
            named,
            adds_shown,
            types_only: asked.request.types_only,
            facts: Arc::clone(facts),
            reading: self.reading.clone(),
            now_unix_seconds: asked.time.unix_seconds,
        })))
    }

    /// Whom a request calls so. A name without an entry is one that is in no group.
    fn subject(&self, facts: &Facts, subject: RightsSubject<'_>) -> Result<(Identity, String), LdapResult> {
        let refusal = || match subject {
            RightsSubject::Bare(identity) => SearchRefusal::RightsOfNobodyBare { value: shown(identity) },
            RightsSubject::InSequence(identity) => SearchRefusal::RightsOfNobody { value: shown(identity) },
            RightsSubject::Requester => SearchRefusal::RightsOfNobody { value: String::new() },
        };
        let name = subject.name().and_then(|name| std::str::from_utf8(name).ok()).ok_or_else(refusal)?;
        let identity = match identity_of(name, facts, self.backends, &self.roots.load()) {
            Ok(identity) => identity,
            Err(SubjectError::Missing { .. }) => {
                Identity::User { dn: name.into(), backend: BackendIndex(0), entry: EntryId::ROOT }
            }
            Err(SubjectError::BadDn { .. }) => return Err(refusal().into()),
            Err(SubjectError::Store(problem)) => return Err(store_failure(&problem)),
        };
        Ok((identity, name.to_owned()))
    }
}
