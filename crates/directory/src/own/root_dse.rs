//! The root DSE (RFC 4512 §5.1): what this server holds and can do. It lists exactly what works.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use ldap::LdapResult;
use ldap::oids::{control, extended};
use schema::NormalizedDn;
use store::StoreError;

use super::tree::{OwnContext, OwnTree};
use change::history::Bounds;
use query::error::store_failure;
use query::facts::Facts;
use query::own_names::CHANGELOG_DN;
use query::synthetic::{Attributes, SyntheticEntry};
use query::virtual_attributes::SCHEMA_DN;

/// Controls that some operation takes.
const SUPPORTED_CONTROLS: [&str; 27] = [
    "1.2.826.0.1.3344810.2.3", // matched values (RFC 3876)
    "1.2.840.113556.1.4.1413", // permissive modify
    "1.2.840.113556.1.4.319",  // paged results (RFC 2696)
    "1.2.840.113556.1.4.473",  // server-side sort (RFC 2891)
    "1.2.840.113556.1.4.805",  // subtree delete
    "1.3.6.1.1.12",            // assertion (RFC 4528)
    "1.3.6.1.1.13.1",          // pre-read (RFC 4527)
    "1.3.6.1.1.13.2",          // post-read (RFC 4527)
    "1.3.6.1.1.21.2",          // transaction specification (RFC 5805)
    "1.3.6.1.1.22",            // don't use copy (RFC 6171)
    control::PASSWORD_POLICY,
    control::ACCOUNT_USABILITY,
    "1.3.6.1.4.1.42.2.27.9.5.2", // get effective rights (draft-ietf-ldapext-acl-model)
    "1.3.6.1.4.1.4203.1.10.1",   // subentries (RFC 3672)
    "1.3.6.1.4.1.4203.1.10.2",   // no-op
    "1.3.6.1.4.1.4203.666.5.12", // relax rules
    "1.3.6.1.4.1.4203.666.5.16", // dereference (draft-masarati-ldap-deref)
    "1.3.6.1.4.1.4203.666.5.2",  // no-op, as OpenLDAP's clients send it
    "1.3.6.1.4.1.7628.5.101.1",  // subentries, as before RFC 3672
    "2.16.840.1.113730.3.4.12",  // proxied authorization, version 1
    "2.16.840.1.113730.3.4.17",  // real attributes only
    "2.16.840.1.113730.3.4.18",  // proxied authorization (RFC 4370)
    "2.16.840.1.113730.3.4.19",  // virtual attributes only
    "2.16.840.1.113730.3.4.2",   // ManageDsaIT (RFC 3296)
    "2.16.840.1.113730.3.4.3",   // persistent search (draft-ietf-ldapext-psearch)
    "2.16.840.1.113730.3.4.9",   // virtual list view (draft-ietf-ldapext-ldapv3-vlv)
    control::ACCESS_EXPLANATION,
];

/// Extended operations that always work.
const SUPPORTED_EXTENSIONS: [&str; 6] = [
    "1.3.6.1.1.21.1",          // start transaction (RFC 5805)
    "1.3.6.1.1.21.3",          // end transaction
    "1.3.6.1.4.1.4203.1.11.1", // password modify (RFC 3062)
    "1.3.6.1.4.1.4203.1.11.3", // who am I? (RFC 4532)
    extended::PASSWORD_POLICY_STATE,
    extended::SECOND_FACTOR,
];

const START_TLS: &str = "1.3.6.1.4.1.1466.20037";

/// Features (RFC 3674).
const SUPPORTED_FEATURES: [&str; 6] = [
    "1.3.6.1.1.14",           // modify-increment (RFC 4525)
    "1.3.6.1.4.1.4203.1.5.1", // all operational attributes (RFC 3673)
    "1.3.6.1.4.1.4203.1.5.2", // @objectClass (RFC 4529)
    "1.3.6.1.4.1.4203.1.5.3", // absolute true and false filters (RFC 4526)
    "1.3.6.1.4.1.4203.1.5.4", // language tags (RFC 3866)
    "1.3.6.1.4.1.4203.1.5.5", // language ranges (RFC 3866)
];

/// What the server above can do, for the root DSE to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Some connection can start TLS.
    pub start_tls: bool,
    /// Some connection handler takes LDAPv2 clients.
    pub ldap_v2: bool,
    /// Extended operations of connections, such as cancel, beside those that the directory itself does.
    pub extensions: Vec<String>,
}

/// What the root DSE says of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) naming_contexts: Vec<String>,
    /// Where entries can be dynamic.
    pub(crate) dynamic_subtrees: Vec<String>,
    pub(crate) capabilities: Capabilities,
}

/// The root DSE of one schema.
#[derive(Debug)]
pub(super) struct RootDse {
    base: NormalizedDn,
    announced: Announced,
    /// As it was last asked for on connections without encryption, with it, and on local sockets.
    kept: [ArcSwapOption<Kept>; 3],
}

/// The root DSE as it was shown.
#[derive(Debug)]
struct Kept {
    /// Where the changelog begins and ends, if there is one.
    bounds: Option<Bounds>,
    /// What the connection was offered.
    mechanisms: Vec<&'static str>,
    entry: Arc<SyntheticEntry>,
}

impl RootDse {
    pub(super) fn new(facts: &Facts, announced: Announced) -> Result<Self, StoreError> {
        // Whether it can be made at all is found out now.
        root_dse(facts, &announced, &[], None)?;
        Ok(Self { base: NormalizedDn::root(), announced, kept: Default::default() })
    }

    pub(super) fn announced(&self) -> &Announced {
        &self.announced
    }
}

impl OwnTree for RootDse {
    fn base(&self) -> &NormalizedDn {
        &self.base
    }

    fn dn(&self) -> &'static str {
        ""
    }

    fn title(&self) -> &'static str {
        "The root DSE"
    }

    /// What is below it is in backends, or in other entries of this kind.
    fn holds(&self, dn: &NormalizedDn) -> bool {
        dn.is_root()
    }

    /// Says where the changelog begins and ends, and which SASL mechanisms the connection is offered.
    fn entry(
        &self,
        context: &OwnContext<'_>,
        _dn: &NormalizedDn,
        _written: &[u8],
    ) -> Result<Option<Arc<SyntheticEntry>>, LdapResult> {
        let bounds = context.history.is_on().then(|| context.history.bounds());
        let mechanisms = context.monitor.sasl_mechanisms(context.session);
        let kept = match context.session.local_peer {
            Some(_) => &self.kept[2],
            None => &self.kept[usize::from(context.session.security_strength_bits > 0)],
        };
        if let Some(kept) = kept.load().as_deref()
            && (kept.bounds, &kept.mechanisms) == (bounds, &mechanisms)
        {
            return Ok(Some(Arc::clone(&kept.entry)));
        }
        // Two requests may make it at once; whose is kept does not matter.
        let made = root_dse(context.facts, &self.announced, &mechanisms, bounds);
        let entry = Arc::new(made.map_err(|problem| store_failure(&problem))?);
        kept.store(Some(Arc::new(Kept { bounds, mechanisms, entry: Arc::clone(&entry) })));
        Ok(Some(entry))
    }
}

/// Makes the entry; with `changes`, if there is a changelog.
fn root_dse(
    facts: &Facts,
    announced: &Announced,
    mechanisms: &[&'static str],
    changes: Option<Bounds>,
) -> Result<SyntheticEntry, StoreError> {
    let Announced { naming_contexts, dynamic_subtrees, capabilities } = announced;
    let mut attributes = Attributes::new();
    let children = naming_contexts.len();
    attributes.add("objectClass", ["top"]);
    attributes.add("namingContexts", naming_contexts.iter().map(String::as_str));
    attributes.add("subschemaSubentry", [SCHEMA_DN]);
    attributes.add("supportedControl", SUPPORTED_CONTROLS);
    attributes.add("supportedExtension", SUPPORTED_EXTENSIONS);
    if capabilities.start_tls {
        attributes.add("supportedExtension", [START_TLS]);
    }
    attributes.add("supportedExtension", capabilities.extensions.iter().map(String::as_str));
    if !dynamic_subtrees.is_empty() {
        attributes.add("supportedExtension", [extended::REFRESH]);
        attributes.add("dynamicSubtrees", dynamic_subtrees.iter().map(String::as_str));
    }
    attributes.add("supportedFeatures", SUPPORTED_FEATURES);
    attributes.add("supportedLDAPVersion", ["3"]);
    if capabilities.ldap_v2 {
        attributes.add("supportedLDAPVersion", ["2"]);
    }
    attributes.add("supportedSASLMechanisms", mechanisms.iter().copied());
    if let Some(Bounds { first, last }) = changes {
        attributes.add("changelog", [CHANGELOG_DN]);
        attributes.add("firstChangeNumber", [first.to_string()]);
        attributes.add("lastChangeNumber", [last.to_string()]);
        attributes.add("lastPurgedChangeNumber", [(first - 1).to_string()]);
    }
    attributes.add("vendorName", ["Pando"]);
    attributes.add("vendorVersion", [concat!("Pando ", env!("CARGO_PKG_VERSION"))]);
    let mut entry = SyntheticEntry::new(facts, "", &attributes)?;
    entry.set_children(children as u64);
    Ok(entry)
}
