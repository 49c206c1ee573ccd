//! `[backend.ID]` and the indexes in it.

use ldap::Scope;

use super::shared::{COUNT, WRITABILITY, single};
use crate::declare::{Applier, Class, property};
use crate::syntax::Syntax;

pub(super) static BACKEND: Class = Class {
    name: "backend",
    named_by: Some("the backend id"),
    variants: &[single(
        "",
        &[
            property("enabled", "BackendConfig.enabled", Syntax::Boolean, "Whether the backend is served.")
                .default(&["true"]),
            property(
                "base-dn",
                "BackendConfig.base_dns",
                Syntax::BaseDn,
                "Names at the top of the trees that the backend holds. The empty name alone holds every name that no \
                 other backend holds.",
            )
            .multi(),
            property(
                "db-directory",
                "BackendConfig.directory",
                Syntax::Path,
                "Where the backends' folders are; this backend's folder in it has its id as name.",
            )
            .default(&["db"]),
            property(
                "writability-mode",
                "BackendConfig.writability",
                WRITABILITY,
                "Whether clients may change entries of this backend; internal-only refuses them as disabled does.",
            )
            .default(&["enabled"]),
            property(
                "index-entry-limit",
                "BackendConfig.index_entry_limit",
                COUNT,
                "Longest list of entries that an index keeps for one value, unless the index says otherwise; 0 is no \
             limit.",
            )
            .default(&["4000"])
            .live(Applier::Indexes),
        ],
    )],
    children: &[&BACKEND_INDEX, &BACKEND_VLV_INDEX],
    help: "A store of entries with its own indexes.",
};

static BACKEND_INDEX: Class = Class {
    name: "index",
    named_by: Some("the attribute type"),
    variants: &[single(
        "",
        &[
            property(
                "index-type",
                "IndexConfig.kinds",
                Syntax::Choice(&["equality", "presence", "substring", "ordering", "approximate", "extensible"]),
                "Which searches the index serves.",
            )
            .multi()
            .live(Applier::Indexes),
            property(
                "index-entry-limit",
                "IndexConfig.entry_limit",
                COUNT,
                "Longest list of entries kept for one value; 0 is no limit.",
            )
            .absent("The backend's index-entry-limit holds.")
            .live(Applier::Indexes),
            property(
                "substring-length",
                "IndexConfig.substring_length",
                Syntax::Integer { min: 3, max: 64 },
                "Characters in one key of the substring index.",
            )
            .default(&["6"])
            .live(Applier::Indexes),
            property(
                "index-extensible-matching-rule",
                "IndexConfig.extensible_rules",
                Syntax::Text,
                "Matching rules of the extensible index: names, OIDs, or languages such as \"fr\" and \"en-US.sub\".",
            )
            .absent("No rule is indexed.")
            .multi()
            .live(Applier::Indexes),
            property(
                "confidentiality-enabled",
                "IndexConfig.is_confidential",
                Syntax::Boolean,
                "Keys on disk are hashed with the secret in keys/index.secret: they show no value, and serve no \
                 ranges and no substrings shorter than substring-length. Entries and the log stay as they are.",
            )
            .default(&["false"])
            .live(Applier::Indexes),
        ],
    )],
    children: &[],
    help: "An index on one attribute type (OpenDJ: backend-index).",
};

static BACKEND_VLV_INDEX: Class = Class {
    name: "vlv-index",
    named_by: Some("the index's name; tools call it vlv.NAME"),
    variants: &[single(
        "",
        &[
            property("base-dn", "VlvIndexConfig.base_dn", Syntax::Dn, "Base of the searches that the index serves.")
                .live(Applier::Indexes),
            property(
                "scope",
                "VlvIndexConfig.scope",
                Syntax::Choice(&Scope::WORDS),
                "Scope of the searches that the index serves.",
            )
            .live(Applier::Indexes),
            property(
                "filter",
                "VlvIndexConfig.filter",
                Syntax::Text,
                "Filter of the searches that the index serves. The index has the matching entries of the whole \
                 backend.",
            )
            .live(Applier::Indexes),
            property(
                "sort-order",
                "VlvIndexConfig.sort_order",
                Syntax::Text,
                "Attributes to sort by, the most important first, - before those that go from the largest to the \
                 smallest: \"+sn -givenName\".",
            )
            .live(Applier::Indexes),
        ],
    )],
    children: &[],
    help: "A list of entries kept in order, for virtual list views and sorted searches (OpenDJ: backend-vlv-index).",
};
