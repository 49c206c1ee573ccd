//! Who may do what: `[access-control-handler]`, and the privileges of root users (`[root-dn]`).

use super::shared::single;
use crate::declare::{Applier, Class, property};
use crate::privileges::PRIVILEGES;
use crate::syntax::Syntax;

/// What root users may do unless `[root-dn]` or their own table says otherwise: everything but to act as somebody else,
/// to replicate, and JMX.
const ROOT_PRIVILEGES: [&str; 21] = [
    "bypass-lockdown",
    "bypass-acl",
    "modify-acl",
    "config-read",
    "config-write",
    "ldif-import",
    "ldif-export",
    "backend-backup",
    "backend-restore",
    "server-lockdown",
    "server-shutdown",
    "server-restart",
    "disconnect-client",
    "cancel-request",
    "password-reset",
    "update-schema",
    "privilege-change",
    "unindexed-search",
    "subentry-write",
    "changelog-read",
    "monitor-read",
];

pub(super) static ACCESS_CONTROL_HANDLER: Class = Class {
    name: "access-control-handler",
    named_by: None,
    variants: &[single(
        "",
        &[
            property(
                "enabled",
                "AccessControlConfig.enabled",
                Syntax::Boolean,
                "Access control instructions are evaluated. Without it everybody, bound or not, has the privilege \
                 bypass-acl.",
            )
            .default(&["true"])
            .live(Applier::AccessControl),
            property(
                "global-aci",
                "AccessControlConfig.global_acis",
                Syntax::Aci,
                "Access control instructions that hold for every entry of every backend, the root DSE, cn=schema and \
                 cn=monitor, unless their targets say otherwise.",
            )
            .absent("Nobody may do anything that no instruction in an entry (attribute aci) allows.")
            .multi()
            .live(Applier::AccessControl),
            property(
                "proposed-global-aci",
                "AccessControlConfig.proposed_global_acis",
                Syntax::Aci,
                "Instructions that are tried beside those in force (shadow mode): every request of users without the \
                 privilege bypass-acl is decided with them, too, and cn=Proposed Access Control,cn=monitor counts what \
                 would be decided otherwise. Answers do not depend on them.",
            )
            .absent("Nothing is tried.")
            .multi()
            .live(Applier::AccessControl),
            property(
                "proposed-global-aci-mode",
                "AccessControlConfig.proposal_mode",
                Syntax::Choice(&["add", "replace"]),
                "Whether proposed-global-aci is tried beside the instructions of global-aci (add), or instead of all \
                 of them (replace).",
            )
            .default(&["add"])
            .live(Applier::AccessControl),
            property(
                "proposed-aci-file",
                "AccessControlConfig.proposed_aci_file",
                Syntax::Path,
                "An LDIF file with changes of the instructions of entries (attribute aci) that are tried, too: \
                 modifications of aci, or entries with the values that they are to have. It is read when the \
                 configuration is.",
            )
            .absent("The instructions of entries are tried as they are.")
            .live(Applier::AccessControl),
        ],
    )],
    children: &[],
    help: "Who may read and change what: the access control instructions that stand in no entry.",
};

pub(super) static ROOT_DN: Class = Class {
    name: "root-dn",
    named_by: None,
    variants: &[single(
        "",
        &[property(
            "default-root-privilege-name",
            "RootDefaults.default_privileges",
            Syntax::Choice(&PRIVILEGES),
            "Privileges of all root users.",
        )
        .default(&ROOT_PRIVILEGES)
        .multi()
        .live(Applier::AccessControl)],
    )],
    children: &[],
    help: "What all root users have in common.",
};
