//! Sets of global access control instructions to begin with: what `setup` writes into a new `pando.toml`.
//!
//! Texts with a sentence each for the administrator who reads the file. No profile lets anybody read a password. What
//! root users may do is in no profile: they have the privilege bypass-acl.

use config::CommentedAci;
use ldap::oids::extended::SECOND_FACTOR;

/// How the instruction is named that allows extended operations.
const EXTENSIONS_NAME: &str = "\"Extended operations for everybody\"";

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Profile {
    /// Root DSE, schema and what a connection needs; no data.
    Closed,
    /// Authenticated users read what people and groups are described with, and care for their own entry.
    #[default]
    Addressbook,
    /// What a fresh OpenDJ grants, but passwords: everybody reads the data, bound or not.
    OpendjCompatible,
    /// The address book, and anonymous look-ups of POSIX accounts and groups (nslcd, SSSD).
    PosixLogins,
}

const EXTENSIONS: CommentedAci = CommentedAci {
    comment: "Everybody may ask who they are, begin TLS, cancel their own requests, learn the number of the \
              connection, use transactions, refresh dynamic entries, change a password, ask for the state of \
              accounts and manage one-time codes; what these change takes the rights below and privileges all the \
              same.",
    text: "(extop=\"1.3.6.1.4.1.4203.1.11.3 || 1.3.6.1.4.1.1466.20037 || 1.3.6.1.1.8 || 1.3.6.1.4.1.26027.1.6.2 || \
           1.3.6.1.1.21.1 || 1.3.6.1.1.21.3 || 1.3.6.1.4.1.1466.101.119.1 || 1.3.6.1.4.1.4203.1.11.1 || \
           1.3.6.1.4.1.26027.1.6.1 || 2.25.175513028506401587346170323351613111380.1.4\")\
           (version 3.0; acl \"Extended operations for everybody\"; allow (read) userdn=\"ldap:///anyone\";)",
};

const ROOT_DSE: CommentedAci = CommentedAci {
    comment: "Everybody may read what the server can do (the root DSE).",
    text: "(target=\"ldap:///\")(targetscope=\"base\")(targetattr=\"* || +\")\
           (version 3.0; acl \"Root DSE for everybody\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
};

const SCHEMA: CommentedAci = CommentedAci {
    comment: "Everybody may read the schema.",
    text: "(target=\"ldap:///cn=schema\")(targetscope=\"base\")(targetattr=\"* || +\")\
           (version 3.0; acl \"Schema for everybody\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
};

const CONTROLS: CommentedAci = CommentedAci {
    comment: "Everybody may use controls that disclose nothing: ManageDsaIT, don't use copy, real or virtual \
              attributes only, authorization identity, no-op, permissive modify, transactions, password policy.",
    text: "(targetcontrol=\"2.16.840.1.113730.3.4.2 || 1.3.6.1.1.22 || 2.16.840.1.113730.3.4.17 || \
           2.16.840.1.113730.3.4.19 || 2.16.840.1.113730.3.4.16 || 1.3.6.1.4.1.4203.1.10.2 || \
           1.3.6.1.4.1.4203.666.5.2 || 1.2.840.113556.1.4.1413 || 1.3.6.1.1.21.2 || \
           1.3.6.1.4.1.42.2.27.8.5.1\")\
           (version 3.0; acl \"Harmless controls for everybody\"; allow (read) userdn=\"ldap:///anyone\";)",
};

const USERS_CONTROLS: CommentedAci = CommentedAci {
    comment: "Authenticated users may use the controls of searches and updates, which follow their rights to entries: \
              assertion, pre-read, post-read, paged results, sorting, list views, matched values, subentries, \
              dereference, persistent search, subtree delete, proxied authorization (which takes the privilege \
              proxied-auth and the right proxy, too).",
    text: "(targetcontrol=\"1.3.6.1.1.12 || 1.3.6.1.1.13.1 || 1.3.6.1.1.13.2 || 1.2.840.113556.1.4.319 || \
           1.2.840.113556.1.4.473 || 2.16.840.1.113730.3.4.9 || 1.2.826.0.1.3344810.2.3 || \
           1.3.6.1.4.1.4203.1.10.1 || 1.3.6.1.4.1.7628.5.101.1 || 1.3.6.1.4.1.4203.666.5.16 || \
           2.16.840.1.113730.3.4.3 || 1.2.840.113556.1.4.805 || 2.16.840.1.113730.3.4.18\")\
           (version 3.0; acl \"Controls for users\"; allow (read) userdn=\"ldap:///all\";)",
};

const USERS_READ: CommentedAci = CommentedAci {
    comment: "Authenticated users may read every user attribute but passwords. An attribute that is added to the \
              schema becomes readable, too; name the attributes (targetattr=\"cn || mail\") where that is too much.",
    text: "(targetattr!=\"userPassword || authPassword\")(version 3.0; acl \"User attributes for users\"; \
           allow (read,search,compare) userdn=\"ldap:///all\";)",
};

const USERS_OPERATIONAL: CommentedAci = CommentedAci {
    comment: "Authenticated users may read when and by whom an entry was changed, its names, and its groups and roles.",
    text: "(targetattr=\"createTimestamp || creatorsName || modifiersName || modifyTimestamp || entryDN || entryUUID \
           || subschemaSubentry || etag || structuralObjectClass || hasSubordinates || numSubordinates || isMemberOf \
           || memberOf || nsRole || entryTtl\")(version 3.0; acl \"Operational attributes for users\"; \
           allow (read,search,compare) userdn=\"ldap:///all\";)",
};

const SELF_WRITE: CommentedAci = CommentedAci {
    comment: "Users may change their own password and what describes them.",
    text: "(targetattr=\"userPassword || authPassword || description || displayName || givenName || homePhone || \
           homePostalAddress || initials || jpegPhoto || labeledURI || mobile || pager || postalAddress || postalCode \
           || preferredLanguage || telephoneNumber\")(version 3.0; acl \"Own entry\"; allow (write) \
           userdn=\"ldap:///self\";)",
};

const OPENDJ: [CommentedAci; 5] = [
    CommentedAci {
        comment: "Everybody, bound or not, may read every user attribute but passwords and the changes of the \
                  changelog.",
        text: "(targetattr!=\"userPassword || authPassword || debugsearchindex || changes || changeNumber || \
               changeType || changeTime || targetDN || newRDN || newSuperior || deleteOldRDN\")(version 3.0; \
               acl \"Anonymous read access\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
    },
    CommentedAci {
        comment: "Everybody may read when and by whom an entry was changed, its names and its groups.",
        text: "(targetattr=\"createTimestamp || creatorsName || modifiersName || modifyTimestamp || entryDN || \
               entryUUID || subschemaSubentry || etag || governingStructureRule || structuralObjectClass || \
               hasSubordinates || numSubordinates || isMemberOf\")(version 3.0; \
               acl \"User-Visible Operational Attributes\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
    },
    CommentedAci {
        comment: "Users may change their own password and what describes them.",
        text: "(targetattr=\"audio || authPassword || description || displayName || givenName || homePhone || \
               homePostalAddress || initials || jpegPhoto || labeledURI || mobile || pager || postalAddress || \
               postalCode || preferredLanguage || telephoneNumber || userPassword\")(version 3.0; \
               acl \"Self entry modification\"; allow (write) userdn=\"ldap:///self\";)",
    },
    CommentedAci {
        comment: "Authenticated users may use these controls: assertion, pre-read, post-read, paged results, matched \
                  values, proxied authorization, list views, sorting, change sequence number.",
        text: "(targetcontrol=\"1.3.6.1.1.12 || 1.3.6.1.1.13.1 || 1.3.6.1.1.13.2 || 1.2.840.113556.1.4.319 || \
               1.2.826.0.1.3344810.2.3 || 2.16.840.1.113730.3.4.18 || 2.16.840.1.113730.3.4.9 || \
               1.2.840.113556.1.4.473 || 1.3.6.1.4.1.42.2.27.9.5.9\")(version 3.0; \
               acl \"Authenticated users control access\"; allow (read) userdn=\"ldap:///all\";)",
    },
    CommentedAci {
        comment: "Everybody may use these controls: ManageDsaIT, real or virtual attributes only, no-op, password \
                  policy, authorization identity, permissive modify, transaction id.",
        text: "(targetcontrol=\"2.16.840.1.113730.3.4.2 || 2.16.840.1.113730.3.4.17 || 2.16.840.1.113730.3.4.19 || \
               1.3.6.1.4.1.4203.1.10.2 || 1.3.6.1.4.1.42.2.27.8.5.1 || 2.16.840.1.113730.3.4.16 || \
               1.2.840.113556.1.4.1413 || 1.3.6.1.4.1.36733.2.1.5.1\")(version 3.0; \
               acl \"Anonymous control access\"; allow (read) userdn=\"ldap:///anyone\";)",
    },
];

const OPENDJ_EXTENSIONS: CommentedAci = CommentedAci {
    comment: "Everybody may use these extended operations: password policy state, get symmetric key, change a \
              password, begin TLS, ask who they are.",
    text: "(extop=\"1.3.6.1.4.1.26027.1.6.1 || 1.3.6.1.4.1.26027.1.6.3 || 1.3.6.1.4.1.4203.1.11.1 || \
           1.3.6.1.4.1.1466.20037 || 1.3.6.1.4.1.4203.1.11.3\")(version 3.0; \
           acl \"Anonymous extended operation access\"; allow (read) userdn=\"ldap:///anyone\";)",
};

const POSIX: [CommentedAci; 4] = [
    CommentedAci {
        comment: "Everybody may find the places where accounts and groups are kept.",
        text: "(targetattr=\"objectClass || dc || o || ou || l || c || cn\")\
               (targetfilter=\"(|(objectClass=domain)(objectClass=dcObject)(objectClass=organization)\
               (objectClass=organizationalUnit)(objectClass=locality)(objectClass=country)(objectClass=nisMap)\
               (objectClass=automountMap))\")(version 3.0; acl \"Places of logins\"; allow (read,search,compare) \
               userdn=\"ldap:///anyone\";)",
    },
    CommentedAci {
        comment: "Everybody may look accounts and their shadow data up, as nslcd and SSSD do; passwords are checked by \
                  a bind and never read.",
        text: "(targetattr=\"objectClass || uid || uidNumber || gidNumber || cn || gecos || homeDirectory || \
               loginShell || shadowLastChange || shadowMin || shadowMax || shadowWarning || shadowInactive || \
               shadowExpire || shadowFlag || sshPublicKey || memberOf || isMemberOf || entryUUID || modifyTimestamp\")\
               (targetfilter=\"(|(objectClass=posixAccount)(objectClass=shadowAccount))\")(version 3.0; \
               acl \"Accounts of logins\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
    },
    CommentedAci {
        comment: "Everybody may look groups and the maps of NIS and automount up.",
        text: "(targetattr=\"objectClass || cn || gidNumber || memberUid || member || uniqueMember || nisMapName || \
               nisMapEntry || nisNetgroupTriple || memberNisNetgroup || automountMapName || automountKey || \
               automountInformation || ipHostNumber || ipNetworkNumber || ipNetmaskNumber || ipProtocolNumber || \
               ipServicePort || ipServiceProtocol || oncRpcNumber || macAddress || entryUUID || modifyTimestamp\")\
               (targetfilter=\"(|(objectClass=posixGroup)(objectClass=nisNetgroup)(objectClass=nisMap)\
               (objectClass=nisObject)(objectClass=automountMap)(objectClass=automount)(objectClass=ipHost)\
               (objectClass=ipNetwork)(objectClass=ipProtocol)(objectClass=ipService)(objectClass=oncRpc))\")\
               (version 3.0; acl \"Groups and maps of logins\"; allow (read,search,compare) \
               userdn=\"ldap:///anyone\";)",
    },
    CommentedAci {
        comment: "Users may change their own shell, full name and the day of the last password change.",
        text: "(targetattr=\"loginShell || gecos || shadowLastChange\")(targetfilter=\"(objectClass=posixAccount)\")\
               (version 3.0; acl \"Own account\"; allow (write) userdn=\"ldap:///self\";)",
    },
];

const POSIX_CONTROLS: CommentedAci = CommentedAci {
    comment: "Everybody may page through results and dereference, as SSSD does.",
    text: "(targetcontrol=\"1.2.840.113556.1.4.319 || 1.3.6.1.4.1.4203.666.5.16\")(version 3.0; \
           acl \"Controls of logins\"; allow (read) userdn=\"ldap:///anyone\";)",
};

/// What an instance lacks that was set up before users could manage their own one-time codes; none where an
/// instruction allows that, or somebody wrote other instructions.
#[must_use]
pub fn lacks_second_factor<'t>(global_acis: impl Iterator<Item = &'t str> + Clone) -> Option<String> {
    let allows = |text: &str| text.contains(SECOND_FACTOR) || text.contains("extop=\"*\"");
    let is_setups = global_acis.clone().any(|text| text.contains(EXTENSIONS_NAME));
    (is_setups && !global_acis.clone().any(allows)).then(|| {
        format!(
            "The access control instruction {EXTENSIONS_NAME} was written before there were one-time codes: if users \
             shall manage their own, add \" || {SECOND_FACTOR}\" to its extop (global-aci of \
             [access-control-handler] in pando.toml) and run pando reload; if not, give the instruction another name"
        )
    })
}

impl Profile {
    /// All of them with their names.
    pub const NAMES: [(Profile, &'static str); 4] = [
        (Profile::Closed, "closed"),
        (Profile::Addressbook, "addressbook"),
        (Profile::OpendjCompatible, "opendj-compatible"),
        (Profile::PosixLogins, "posix-logins"),
    ];

    /// The profile of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Profile> {
        Self::NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(profile, _)| *profile)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(profile, _)| *profile == self).map_or("", |(_, name)| name)
    }

    /// Its instructions, in the order in which they are read best.
    #[must_use]
    pub fn acis(self) -> Vec<CommentedAci> {
        let everybody = [EXTENSIONS, ROOT_DSE, SCHEMA, CONTROLS];
        let users = [USERS_READ, USERS_OPERATIONAL, SELF_WRITE, USERS_CONTROLS];
        match self {
            Profile::Closed => everybody.to_vec(),
            Profile::Addressbook => [everybody, users].concat(),
            Profile::OpendjCompatible => [&[OPENDJ_EXTENSIONS, ROOT_DSE, SCHEMA], OPENDJ.as_slice()].concat(),
            Profile::PosixLogins => [&everybody, users.as_slice(), &POSIX, &[POSIX_CONTROLS]].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_profiles_and_acis_have_names_of_their_own() {
        for (profile, name) in Profile::NAMES {
            assert_eq!((Profile::parse(name), profile.name()), (Some(profile), name));
            let acis = profile.acis();
            let mut names: Vec<&str> = acis.iter().filter_map(|aci| aci.text.split('"').rev().nth(3)).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), acis.len(), "{name}");
            for aci in acis {
                assert!(aci.comment.ends_with('.'), "{name}");
                let parsed = aci::parse_as(aci.text, aci::Reading::Strict);
                let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", aci.text));
                assert_eq!(parsed.warnings, [], "{}", aci.text);
            }
        }
        assert_eq!(Profile::parse("open"), None);
    }

    #[test]
    fn an_instance_that_was_set_up_before_one_time_codes_is_told_what_it_lacks() {
        let before = EXTENSIONS.text.replace(&format!(" || {SECOND_FACTOR}"), "");
        assert_ne!(before, EXTENSIONS.text);
        assert!(lacks_second_factor([before.as_str()].into_iter()).is_some_and(|told| told.contains(SECOND_FACTOR)));
        let renamed = before.replace("for everybody", "for nobody in particular");
        for text in [EXTENSIONS.text, renamed.as_str(), ROOT_DSE.text] {
            assert_eq!(lacks_second_factor([text].into_iter()), None, "{text}");
        }
        let granted = [before.as_str(), "(extop=\"2.25.175513028506401587346170323351613111380.1.4\")(version 3.0;)"];
        assert_eq!(lacks_second_factor(granted.into_iter()), None, "another one allows it");
    }
}
