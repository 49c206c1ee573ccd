//! Each request with the rights that it takes, and with one of them missing.

use std::cell::Cell;

use access::Privilege;
use change::proposal::{Flags, Kind};
use ldap::{EntryRequest, MadeUpdate, ModifyOperation};
use query::facts::Facts;
use query::rights::Unrestricted;
use query::synthetic::{Attributes, SyntheticEntry};
use schema::Schema;
use store::EntryId;

use super::double::Double;
use crate::update::rights::case::Case;
use crate::update::rights::denial::Denial;
use crate::update::rights::new_entry::new_entry;

const ANN: &str = "uid=ann,dc=example,dc=com";

use ModifyOperation::{Add, Delete, Increment, Replace};

type Changes<'c> = &'c [(ModifyOperation, &'c str, &'c [&'c str])];

fn ann(facts: &Facts, classes: &[&str]) -> SyntheticEntry {
    let mut attributes = Attributes::new();
    attributes.add("objectClass", classes.iter().copied());
    for (name, values) in [
        ("uid", &["ann"][..]),
        ("cn", &["Ann"]),
        ("sn", &["Frost"]),
        ("description", &["d-x", "aa"]),
        ("uidNumber", &["7"]),
        ("userPassword", &["{CLEAR}x"]),
    ] {
        attributes.add(name, values.iter().copied());
    }
    SyntheticEntry::new(facts, ANN, &attributes).unwrap()
}

/// What a modify request is refused for, and what was asked; nothing is refused: `ok`.
struct Trial<'t> {
    grants: &'t [&'t str],
    privileges: &'t [Privilege],
    kind: Kind,
    is_own: bool,
    classes: &'t [&'t str],
}

impl Default for Trial<'_> {
    fn default() -> Self {
        Self { grants: &[], privileges: &[], kind: Kind::Modify, is_own: false, classes: &["inetOrgPerson"] }
    }
}

impl Trial<'_> {
    fn judge(
        &self,
        look: impl FnOnce(&Case<'_>, &SyntheticEntry) -> Result<(), Denial>,
    ) -> (&'static str, Vec<String>, bool) {
        let facts = Facts::new(Schema::standard());
        let entry = ann(&facts, self.classes);
        let asker = Double::new(&facts, self.grants, self.privileges);
        let took_values = Cell::new(false);
        let case = Case {
            facts: &facts,
            asker: &asker,
            kind: self.kind,
            flags: Flags::default(),
            is_own: self.is_own,
            took_values: &took_values,
        };
        let reason = match look(&case, &entry) {
            Ok(()) => "ok",
            Err(Denial::Refused(refusal)) => refusal.reason(),
            Err(Denial::Failed(error)) => panic!("{error}"),
        };
        (reason, asker.asked.take(), took_values.get())
    }

    fn modify(&self, changes: Changes<'_>) -> (&'static str, Vec<String>, bool) {
        let made = changes.iter().map(|(operation, name, values)| {
            (*operation, name.as_bytes(), values.iter().map(|value| value.as_bytes()).collect::<Vec<_>>())
        });
        let made = MadeUpdate::modify(ANN.as_bytes(), made);
        let update = made.update().unwrap();
        let EntryRequest::Modify(request) = *update.request() else { panic!() };
        self.judge(|case, entry| case.modify(&entry.view().unwrap(), &request))
    }

    fn rename(&self, new_rdn: &str, delete_old_rdn: bool) -> (&'static str, Vec<String>, bool) {
        let made = MadeUpdate::modify_dn(ANN, new_rdn, delete_old_rdn, None);
        let update = made.update().unwrap();
        let EntryRequest::ModifyDn(request) = *update.request() else { panic!() };
        self.judge(|case, entry| case.rename(&entry.view().unwrap(), &request))
    }

    fn add(&self, lines: &[(&str, &str)]) -> (&'static str, Vec<String>, bool) {
        let made = lines.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()])).collect::<Vec<_>>();
        let made = MadeUpdate::add(b"uid=ben,dc=example,dc=com", made);
        let update = made.update().unwrap();
        let EntryRequest::Add(request) = *update.request() else { panic!() };
        self.judge(|case, _| {
            let new = new_entry(case.facts, EntryId(1), &request).unwrap();
            case.add(&new.view().unwrap(), request.attributes.iter().map(|it| it.description))
        })
    }
}

#[test]
fn a_modification_takes_write_on_each_attribute() {
    let description_only = Trial { grants: &["write description"], ..Trial::default() };
    // Case 10 of section 11.
    let rows: [(Changes<'_>, &str); 8] = [
        (&[(Replace, "description", &["x"])], "ok"),
        (&[(Replace, "sn", &["x"])], "MayNotWrite"),
        (&[(Replace, "description", &["x"]), (Replace, "sn", &["x"])], "MayNotWrite"),
        // Whether values are there is not told: access comes first.
        (&[(Add, "sn", &["Frost"])], "MayNotWrite"),
        (&[(Delete, "sn", &["Gale"])], "MayNotWrite"),
        (&[(Delete, "title", &[])], "MayNotWrite"),
        (&[(Replace, "title", &[])], "MayNotWrite"),
        // Options never take part.
        (&[(Replace, "description;lang-en", &["x"])], "ok"),
    ];
    for (changes, reason) in rows {
        assert_eq!(description_only.modify(changes).0, reason, "{changes:?}");
    }
    // Nobody looks at values that do not matter.
    let (_, asked, took_values) = description_only.modify(&[(Replace, "description", &["x"])]);
    assert_eq!((asked, took_values), (vec!["write description every".to_owned()], false));
}

/// Case 22: add=description:a*, del=description:d*.
#[test]
fn values_are_judged_where_they_matter() {
    let by_value = Trial { grants: &["write description +a*", "write description -d*"], ..Trial::default() };
    let rows: [(Changes<'_>, &str); 9] = [
        (&[(Add, "description", &["abc"])], "ok"),
        (&[(Add, "description", &["xyz"])], "MayNotWrite"),
        (&[(Add, "description", &["abc", "xyz"])], "MayNotWrite"),
        (&[(Delete, "description", &["aa"])], "MayNotWrite"),
        (&[(Delete, "description", &["d-x"])], "ok"),
        // Of the old values, aa may not go.
        (&[(Replace, "description", &["ab"])], "MayNotWrite"),
        (&[(Delete, "description", &[])], "MayNotWrite"),
        (&[(Replace, "description", &["bb"])], "MayNotWrite"),
        (&[(Add, "sn", &["abc"])], "MayNotWrite"),
    ];
    for (changes, reason) in rows {
        assert_eq!(by_value.modify(changes).0, reason, "{changes:?}");
    }
    let wider = Trial { grants: &["write description +a*", "write description -*"], ..Trial::default() };
    let (reason, asked, took_values) = wider.modify(&[(Replace, "description", &["ab"])]);
    let expected =
        ["write description every", "write description +ab", "write description -d-x", "write description -aa"];
    assert_eq!((reason, took_values), ("ok", true));
    assert_eq!(asked, expected);
}

#[test]
fn an_increment_takes_the_old_value_and_the_new_one() {
    let may = |grants: &[&str]| Trial { grants, ..Trial::default() }.modify(&[(Increment, "uidNumber", &["3"])]).0;
    assert_eq!(may(&["write uidNumber"]), "ok");
    assert_eq!(may(&["write uidNumber +10", "write uidNumber -7"]), "ok");
    assert_eq!(may(&["write uidNumber +10"]), "MayNotWrite");
    assert_eq!(may(&["write uidNumber -7", "write uidNumber +3"]), "MayNotWrite");
}

#[test]
fn some_attributes_take_a_privilege_beside_the_right() {
    let rows: [(&str, Option<Privilege>, &str); 5] = [
        ("aci", Some(Privilege::ModifyAcl), "NeedsPrivilege"),
        ("ds-privilege-name", Some(Privilege::PrivilegeChange), "NeedsPrivilege"),
        ("userPassword", Some(Privilege::PasswordReset), "ResetPassword"),
        ("authPassword", Some(Privilege::PasswordReset), "ResetPassword"),
        ("sn", None, ""),
    ];
    for (attribute, privilege, lacking) in rows {
        let write = format!("write {attribute}");
        let grants = [write.as_str()];
        let change: Changes<'_> = &[(Replace, attribute, &["x"])];
        let privileges: Vec<Privilege> = privilege.into_iter().collect();
        let both = Trial { grants: &grants, privileges: &privileges, ..Trial::default() };
        assert_eq!(both.modify(change).0, "ok", "{attribute}");
        let right_alone = Trial { grants: &grants, ..Trial::default() };
        assert_eq!(right_alone.modify(change).0, if privilege.is_some() { lacking } else { "ok" }, "{attribute}");
        let privilege_alone = Trial { privileges: &privileges, ..Trial::default() };
        assert_eq!(privilege_alone.modify(change).0, "MayNotWrite", "{attribute}");
    }
    // Case 11: the own password takes the right alone.
    let own = Trial { grants: &["write userPassword"], is_own: true, ..Trial::default() };
    assert_eq!(own.modify(&[(Replace, "userPassword", &["x"])]).0, "ok");
    // Privileges come before rights.
    let neither = Trial::default().modify(&[(Replace, "sn", &["x"]), (Replace, "aci", &["x"])]);
    assert_eq!((neither.0, neither.1), ("NeedsPrivilege", vec![]));
}

#[test]
fn what_only_the_server_writes_is_no_matter_of_rights() {
    assert_eq!(Trial::default().modify(&[(Replace, "entryUUID", &["x"])]).0, "ServerMaintained");
    assert_eq!(Trial::default().modify(&[(Replace, "isMemberOf", &["cn=x"])]).0, "ServerMaintained");
    // Of unknown attributes only who may do the rest is told.
    let changes: Changes<'_> = &[(Replace, "sn", &["x"]), (Replace, "noSuch", &["x"])];
    assert_eq!(Trial::default().modify(changes).0, "MayNotWrite");
    assert_eq!(Trial { grants: &["write sn"], ..Trial::default() }.modify(changes).0, "UndefinedAttribute");
}

#[test]
fn subentries_take_a_privilege() {
    let subentry = Trial { classes: &["inetOrgPerson", "ldapSubentry"], grants: &["write sn"], ..Trial::default() };
    assert_eq!(subentry.modify(&[(Replace, "sn", &["x"])]).0, "WriteSubentry");
    let with = Trial { privileges: &[Privilege::SubentryWrite], ..subentry };
    assert_eq!(with.modify(&[(Replace, "sn", &["x"])]).0, "ok");
    let becomes: Changes<'_> = &[(Add, "objectClass", &["ldapSubentry"])];
    assert_eq!(Trial { grants: &["write objectClass"], ..Trial::default() }.modify(becomes).0, "WriteSubentry");
    let lines = [("objectClass", "ldapSubentry"), ("cn", "x")];
    assert_eq!(Trial { grants: &["add"], ..Trial::default() }.add(&lines).0, "WriteSubentry");
}

#[test]
fn an_add_takes_one_right_for_the_whole_entry() {
    let lines = [("objectClass", "inetOrgPerson"), ("sn", "x"), ("userPassword", "x")];
    let may = Trial { grants: &["add"], ..Trial::default() };
    assert_eq!((may.add(&lines).0, may.add(&lines).1), ("ok", vec!["add".to_owned()]));
    assert_eq!(Trial { grants: &["write *"], ..Trial::default() }.add(&lines).0, "MayNotAdd");
    assert_eq!(may.add(&[("objectClass", "person"), ("aci", "x")]).0, "NeedsPrivilege");
    assert_eq!(may.add(&[("objectClass", "person"), ("ds-privilege-name", "x")]).0, "NeedsPrivilege");
    assert_eq!(may.add(&[("objectClass", "person"), ("modifiersName", "x")]).0, "ServerMaintained");
    assert_eq!(may.add(&[("objectClass", "person"), ("noSuch", "x")]).0, "UndefinedAttribute");
}

#[test]
fn a_delete_takes_one_right() {
    let delete = |grants: &[&str]| {
        Trial { grants, ..Trial::default() }.judge(|case, entry| case.delete(&entry.view().unwrap())).0
    };
    assert_eq!((delete(&["delete"]), delete(&["write *", "add"])), ("ok", "MayNotDelete"));
}

/// Case 15: what else of the entry may not be written does not matter.
#[test]
fn a_new_name_takes_write_on_what_names() {
    let uid = Trial { grants: &["write uid"], ..Trial::default() };
    assert_eq!(uid.rename("uid=x", true).0, "ok");
    assert_eq!(uid.rename("cn=Ann", true).0, "MayNotRename");
    let cn = Trial { grants: &["write cn"], ..Trial::default() };
    assert_eq!(cn.rename("cn=Ann", false).0, "ok", "the old attribute stays");
    assert_eq!(cn.rename("cn=Ann", true).0, "MayNotRename");
    let by_value = Trial { grants: &["write uid +x", "write uid -ann"], ..Trial::default() };
    assert_eq!(by_value.rename("uid=x", true).0, "ok");
    assert_eq!(by_value.rename("uid=y", true).0, "MayNotRename");
    // The same name again: the value does not go, but the right is needed.
    assert_eq!(Trial { grants: &["write uid +ANN"], ..Trial::default() }.rename("uid=ANN", true).0, "ok");
    assert_eq!(Trial::default().rename("uid=ann", true).0, "MayNotRename");
    assert_eq!(Trial::default().rename("entryUUID=x", true).0, "ServerMaintained");
    assert_eq!(Trial { grants: &["write *"], ..Trial::default() }.rename("userPassword=x", true).0, "ResetPassword");
    assert_eq!(Trial { grants: &["write *"], ..Trial::default() }.rename("uid=x,cn=y", true).0, "InvalidDn");
    assert_eq!(Trial { grants: &["write *"], ..Trial::default() }.rename("noSuch=y", true).0, "UndefinedAttribute");
}

#[test]
fn a_refresh_takes_write_on_the_time_to_live() {
    let change: Changes<'_> = &[(Replace, "entryExpireTimestamp", &["x"])];
    let may = |grants: &[&str]| Trial { grants, kind: Kind::Refresh, ..Trial::default() }.modify(change).0;
    assert_eq!((may(&["write entryTtl"]), may(&["write sn"])), ("ok", "MayNotWrite"));
}

#[test]
fn an_assertion_takes_search_on_what_it_names() {
    let assert = |grants: &[&str], filter: &str| {
        let parsed = ldap::filter::parse(filter).unwrap();
        let trial = Trial { grants, ..Trial::default() };
        trial.judge(|case, entry| case.assertion(&entry.view().unwrap(), &parsed.filter(), &Unrestricted, 0)).0
    };
    assert_eq!(assert(&["search sn"], "(sn=Frost)"), "ok");
    assert_eq!(assert(&["search sn"], "(sn=Gale)"), "AssertionFailed");
    assert_eq!(assert(&["search sn"], "(|(sn=Frost)(cn=Ann))"), "MayNotAssert");
    assert_eq!(assert(&["read sn", "write sn"], "(!(sn=Frost))"), "MayNotAssert");
}
