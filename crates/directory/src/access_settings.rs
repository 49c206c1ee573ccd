//! From the configuration to what access control is set with.
//!
//! Knows the names of properties and privileges; what they allow is for the crate `access`.

use std::sync::Arc;

use access::{AccessSettings, Privilege, PrivilegeGrant, PrivilegeSet};
use config::{Config, ProposalMode};
use query::configured::ConfiguredError;
use schema::{NormalizedDn, Schema};

use crate::open_error::OpenError;
use crate::shadow::{Proposal, ProposedEntries};

/// The name of who administrates over the instance's own socket, in logs and in `modifiersName`.
pub(crate) const LOCAL_ADMINISTRATOR: &str = "cn=local administrator";

/// What a configuration says of access control.
///
/// # Errors
/// When the name of a root user is not valid under the schema.
pub(crate) fn access_settings(config: &Config, schema: &Schema) -> Result<AccessSettings, OpenError> {
    let set = |names: &[String]| names.iter().filter_map(|name| Privilege::parse(name)).collect::<PrivilegeSet>();
    let root_privileges = set(&config.root_defaults.default_privileges);
    // Whoever the system lets in at the administrators' socket could change the file as well.
    let administrator = NormalizedDn::parse(schema, LOCAL_ADMINISTRATOR.as_bytes()).unwrap_or_default();
    let mut privileges_of = vec![(administrator, Privilege::all().collect())];
    for user in config.root_users.iter().filter(|user| !user.privileges.is_empty()) {
        let grants = user.privileges.iter().filter_map(|value| PrivilegeGrant::parse(value.as_bytes()));
        let privileges = root_privileges.after(grants);
        for dn in &user.bind_dns {
            let bad_dn = |_| ConfiguredError::BadDn { what: "the root user's name", dn: dn.clone() };
            privileges_of.push((NormalizedDn::parse(schema, dn.as_bytes()).map_err(bad_dn)?, privileges));
        }
    }
    let mut disabled_privileges = set(&config.global.disabled_privileges);
    if !config.access_control.enabled {
        disabled_privileges = disabled_privileges.with(PrivilegeSet::from_iter([Privilege::BypassAcl]));
    }
    Ok(AccessSettings {
        global_acis: config.access_control.global_acis.clone(),
        root_privileges,
        privileges_of,
        disabled_privileges,
        ..AccessSettings::default()
    })
}

/// The instructions that are tried beside those in force, if some are proposed: of the configuration, and of entries.
pub(crate) fn proposal(
    config: &Config,
    in_force: &AccessSettings,
    entries: Option<Arc<ProposedEntries>>,
) -> Option<Proposal> {
    let configured = &config.access_control;
    if configured.proposed_global_acis.is_empty() && entries.is_none() {
        return None;
    }
    let mut global_acis = match configured.proposal_mode {
        ProposalMode::Replace if !configured.proposed_global_acis.is_empty() => Vec::new(),
        _ => in_force.global_acis.clone(),
    };
    let kept = global_acis.len();
    global_acis.extend_from_slice(&configured.proposed_global_acis);
    let settings = AccessSettings { global_acis, ..in_force.clone() };
    Some(Proposal { in_force: in_force.clone(), settings, kept, entries })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn settings(text: &str) -> AccessSettings {
        access_settings(&Config::parse(text, Path::new("pando.toml")).unwrap(), &Schema::standard()).unwrap()
    }

    /// The names of the configuration are those of the crate that obeys them.
    #[test]
    fn every_declared_privilege_is_known() {
        let mut names: Vec<&str> = Privilege::all().map(Privilege::name).collect();
        names.sort_unstable();
        assert_eq!(names, config::PRIVILEGES);
        assert_eq!(settings("").root_privileges, PrivilegeSet::of_root());
    }

    #[test]
    fn a_root_user_gains_and_loses_privileges() {
        let found = settings(
            r#"
            [access-control-handler]
            enabled = false
            [global]
            disabled-privilege = ["unindexed-search"]
            [root-dn]
            default-root-privilege-name = ["bypass-acl", "modify-acl"]
            [root-dn-user.auditor]
            alternate-bind-dn = ["cn=Auditor", "cn=other"]
            privilege-name = ["-Modify-ACL", "proxied-auth"]
            password = "{SSHA}x"
            [root-dn-user.other]
            alternate-bind-dn = "cn=third"
            password = "{SSHA}x"
            "#,
        );
        let names = |set: PrivilegeSet| set.iter().map(Privilege::name).collect::<Vec<_>>();
        assert_eq!(names(found.root_privileges), ["bypass-acl", "modify-acl"]);
        assert_eq!(
            found.privileges_of.len(),
            3,
            "the local administrator, and both names of the one with a list of its own"
        );
        assert_eq!(names(found.privileges_of[2].1), ["bypass-acl", "proxied-auth"]);
        assert_eq!(names(found.disabled_privileges), ["bypass-acl", "unindexed-search"], "enabled is off");
    }

    #[test]
    fn proposed_instructions_come_after_those_in_force_or_instead_of_them() {
        let aci = |name: &str| {
            format!("(targetattr=\"cn\")(version 3.0; acl \"{name}\"; allow (read) userdn=\"ldap:///all\";)")
        };
        let proposed = |lines: &str| {
            let text = format!("[access-control-handler]\nglobal-aci = ['{}']\n{lines}", aci("old"));
            let config = Config::parse(&text, Path::new("pando.toml")).unwrap();
            proposal(&config, &access_settings(&config, &Schema::standard()).unwrap(), None)
        };
        assert_eq!(proposed("proposed-global-aci-mode = \"replace\"\n"), None, "nothing is proposed");
        let new = format!("proposed-global-aci = ['{}']\n", aci("new"));
        let added = proposed(&new).unwrap();
        assert_eq!((added.settings.global_acis, added.kept), (vec![aci("old"), aci("new")], 1));
        let replaced = proposed(&format!("{new}proposed-global-aci-mode = \"replace\"\n")).unwrap();
        assert_eq!((replaced.settings.global_acis, replaced.kept), (vec![aci("new")], 0));
    }
}
