//! Privileges: what somebody may do with the server, beside what access control instructions say of entries.
//!
//! Names and sets; who has which is for [`crate::Rights`].

/// A privilege (OpenDJ's names).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Privilege {
    /// Access control instructions are not asked.
    BypassAcl,
    /// Write `aci`.
    ModifyAcl,
    /// Read the configuration.
    ConfigRead,
    /// Change the configuration.
    ConfigWrite,
    /// Read over JMX; there is none, and the name is known.
    JmxRead,
    /// Write over JMX.
    JmxWrite,
    /// Be notified over JMX.
    JmxNotify,
    /// Start imports.
    LdifImport,
    /// Start exports.
    LdifExport,
    /// Start backups.
    BackendBackup,
    /// Start restores.
    BackendRestore,
    /// Lock the server down, and end that.
    ServerLockdown,
    /// Use a server that is locked down.
    BypassLockdown,
    /// Stop the server.
    ServerShutdown,
    /// Start the server again.
    ServerRestart,
    /// Act as somebody else.
    ProxiedAuth,
    /// End connections of others.
    DisconnectClient,
    /// Cancel requests of others.
    CancelRequest,
    /// Change passwords of others.
    PasswordReset,
    /// Take part in replication.
    DataSync,
    /// Change the schema.
    UpdateSchema,
    /// Write `ds-privilege-name`.
    PrivilegeChange,
    /// Search without an index.
    UnindexedSearch,
    /// Write subentries.
    SubentryWrite,
    /// Read `cn=changelog`.
    ChangelogRead,
    /// Read `cn=monitor`.
    MonitorRead,
}

/// All of them with their names.
const NAMES: [(Privilege, &str); 26] = [
    (Privilege::BypassAcl, "bypass-acl"),
    (Privilege::ModifyAcl, "modify-acl"),
    (Privilege::ConfigRead, "config-read"),
    (Privilege::ConfigWrite, "config-write"),
    (Privilege::JmxRead, "jmx-read"),
    (Privilege::JmxWrite, "jmx-write"),
    (Privilege::JmxNotify, "jmx-notify"),
    (Privilege::LdifImport, "ldif-import"),
    (Privilege::LdifExport, "ldif-export"),
    (Privilege::BackendBackup, "backend-backup"),
    (Privilege::BackendRestore, "backend-restore"),
    (Privilege::ServerLockdown, "server-lockdown"),
    (Privilege::BypassLockdown, "bypass-lockdown"),
    (Privilege::ServerShutdown, "server-shutdown"),
    (Privilege::ServerRestart, "server-restart"),
    (Privilege::ProxiedAuth, "proxied-auth"),
    (Privilege::DisconnectClient, "disconnect-client"),
    (Privilege::CancelRequest, "cancel-request"),
    (Privilege::PasswordReset, "password-reset"),
    (Privilege::DataSync, "data-sync"),
    (Privilege::UpdateSchema, "update-schema"),
    (Privilege::PrivilegeChange, "privilege-change"),
    (Privilege::UnindexedSearch, "unindexed-search"),
    (Privilege::SubentryWrite, "subentry-write"),
    (Privilege::ChangelogRead, "changelog-read"),
    (Privilege::MonitorRead, "monitor-read"),
];

/// Privileges that root users do not have unless they are given them (OpenDJ).
const NOT_OF_ROOT: [Privilege; 5] =
    [Privilege::ProxiedAuth, Privilege::DataSync, Privilege::JmxRead, Privilege::JmxWrite, Privilege::JmxNotify];

impl Privilege {
    /// Every privilege.
    pub fn all() -> impl Iterator<Item = Privilege> {
        NAMES.into_iter().map(|(privilege, _)| privilege)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(privilege, _)| *privilege == self).map_or("", |(_, name)| name)
    }

    /// The privilege of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Privilege> {
        NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(privilege, _)| *privilege)
    }
}

/// One value of `ds-privilege-name`: a privilege that is given, or with `-` before its name taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivilegeGrant {
    /// It is given.
    Given(Privilege),
    /// It is taken away, whoever else gives it.
    Taken(Privilege),
}

impl PrivilegeGrant {
    /// The same of a value that somebody writes.
    ///
    /// # Errors
    /// Says what may have been meant.
    pub fn check(value: &[u8]) -> Result<PrivilegeGrant, UnknownPrivilege> {
        PrivilegeGrant::parse(value).ok_or_else(|| {
            let value = String::from_utf8_lossy(value.get(..SHOWN_BYTES).unwrap_or(value)).into_owned();
            let known: Vec<&str> = Privilege::all().map(Privilege::name).collect();
            let hint = nearest::hint(value.trim().trim_start_matches('-'), &known);
            UnknownPrivilege { value, hint }
        })
    }

    /// What a value says; none when it names no privilege.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<PrivilegeGrant> {
        let value = std::str::from_utf8(value).ok()?.trim();
        match value.strip_prefix('-') {
            Some(name) => Privilege::parse(name).map(PrivilegeGrant::Taken),
            None => Privilege::parse(value).map(PrivilegeGrant::Given),
        }
    }
}

/// Bytes of a value that a message repeats.
const SHOWN_BYTES: usize = 100;

/// A value of `ds-privilege-name` that names no privilege.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{value}\" is not a privilege: {hint} (see docs/reference/access-rights.md)")]
pub struct UnknownPrivilege {
    /// The value.
    pub value: String,
    /// What may have been meant.
    pub hint: String,
}

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivilegeSet(u32);

impl PrivilegeSet {
    /// No privilege.
    pub const NONE: PrivilegeSet = PrivilegeSet(0);

    /// What root users have by default: all but proxied-auth, data-sync and jmx-*.
    #[must_use]
    pub fn of_root() -> PrivilegeSet {
        Privilege::all().filter(|it| !NOT_OF_ROOT.contains(it)).collect()
    }

    /// Whether it has one.
    #[inline]
    #[must_use]
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & (1 << privilege as u8) != 0
    }

    /// With the privileges of another set.
    #[must_use]
    pub fn with(self, others: PrivilegeSet) -> PrivilegeSet {
        PrivilegeSet(self.0 | others.0)
    }

    /// After values of `ds-privilege-name` or `privilege-name`, in any order: what is taken away stays away.
    #[must_use]
    pub fn after(self, grants: impl IntoIterator<Item = PrivilegeGrant>) -> PrivilegeSet {
        let (mut given, mut taken) = (self, PrivilegeSet::NONE);
        for grant in grants {
            match grant {
                PrivilegeGrant::Given(privilege) => given = given.with(PrivilegeSet::from_iter([privilege])),
                PrivilegeGrant::Taken(privilege) => taken = taken.with(PrivilegeSet::from_iter([privilege])),
            }
        }
        PrivilegeSet(given.0 & !taken.0)
    }

    /// Those that it has.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::all().filter(move |it| self.has(*it))
    }
}

impl FromIterator<Privilege> for PrivilegeSet {
    fn from_iter<I: IntoIterator<Item = Privilege>>(privileges: I) -> PrivilegeSet {
        PrivilegeSet(privileges.into_iter().fold(0, |bits, it| bits | (1 << it as u8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_privilege() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/access-rights.md");
        let text = std::fs::read_to_string(file).unwrap();
        let (_, table) = text.split_once("| privilege | what it is for | root users |\n|---|---|---|\n").unwrap();
        let mut rows = table.lines().take_while(|line| line.starts_with('|'));
        for privilege in Privilege::all() {
            let cells: Vec<&str> = rows.next().unwrap().split('|').map(str::trim).collect();
            let [_, name, what, of_root, _] = cells.as_slice() else { panic!("{cells:?}") };
            let is_of_root = if PrivilegeSet::of_root().has(privilege) { "yes" } else { "no" };
            assert_eq!((*name, *of_root), (format!("`{}`", privilege.name()).as_str(), is_of_root));
            assert!(!what.is_empty(), "{name}");
        }
        assert_eq!(rows.next(), None);
    }

    #[test]
    fn privileges_are_given_and_taken_away_in_any_order() {
        let grants = |values: &[&str]| -> Vec<_> {
            values.iter().filter_map(|value| PrivilegeGrant::parse(value.as_bytes())).collect()
        };
        let root = PrivilegeSet::of_root();
        assert!(root.has(Privilege::BypassAcl) && !root.has(Privilege::ProxiedAuth) && !root.has(Privilege::JmxRead));
        assert_eq!(root.iter().count(), 21);
        let less = root.after(grants(&["-Bypass-ACL", "bypass-acl", "proxied-auth", "no-such"]));
        assert!(!less.has(Privilege::BypassAcl) && less.has(Privilege::ProxiedAuth));
        for privilege in Privilege::all() {
            assert_eq!(Privilege::parse(privilege.name()), Some(privilege));
        }
    }
}
