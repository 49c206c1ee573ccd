//! Requests that never become proposals, and controls.

use ldap::oids::control;
use ldap::{ControlBuf, ModifyOperation, ResultCode, client};

use super::bed::{ANN, BEN, Bed, modify_message};
use crate::{Identity, Session};

fn rename(bed: &Bed, dn: &str, rdn: &str, superior: Option<&str>) -> super::bed::Done {
    let mut bytes = Vec::new();
    client::modify_dn(&mut bytes, 1, dn, rdn, true, superior, &[]);
    bed.send(&bytes)
}

#[test]
fn entries_of_the_server_itself() {
    let mut bed = Bed::new();
    let unwilling = ResultCode::UNWILLING_TO_PERFORM;
    bed.replace("", "description", "x").refused(unwilling, "root DSE");
    bed.delete("cn=monitor", &[]).refused(unwilling, "monitor");
    bed.replace("cn=x,cn=monitor", "description", "x").refused(unwilling, "monitor");
    bed.delete("changeNumber=1,cn=changelog", &[]).refused(unwilling, "changelog");
    rename(&bed, "cn=changelog", "cn=x", None).refused(unwilling, "changelog");
    bed.delete("cn=schema", &[]).refused(unwilling, "schema");
    bed.add("cn=x,cn=schema", &[("cn", "x")]).refused(unwilling, "schema");
    bed.replace("dc=other", "description", "x").refused(ResultCode::NO_SUCH_OBJECT, "no suffix");
    bed.replace("no name", "description", "x").refused(ResultCode::INVALID_DN_SYNTAX, "no name");
}

#[test]
fn anonymous_clients_are_judged_like_others() {
    let mut bed = Bed::new();
    let (denied, missing) = (ResultCode::INSUFFICIENT_ACCESS_RIGHTS, ResultCode::NO_SUCH_OBJECT);
    let (new, class) = ("cn=x,dc=example,dc=com", [("objectClass", "device")]);
    let anonymous = || Session::of(Identity::Anonymous, 8);
    // Without rights nothing exists, and nothing is told of what is.
    bed.session = anonymous();
    for dn in [ANN, "uid=no,dc=example,dc=com"] {
        bed.replace(dn, "sn", "x").refused(missing, dn);
        bed.delete(dn, &[]).refused(missing, dn);
        rename(&bed, dn, "uid=x", None).refused(missing, dn);
    }
    bed.add(new, &class).refused(denied, "add");
    bed.replace("cn=schema", "attributeTypes", "x").refused(denied, "update-schema");
    // What shows is refused as what it is.
    let anyone = |targets: &str, rights: &str| {
        format!("{targets}(version 3.0; acl \"{rights}\"; allow ({rights}) userdn=\"ldap:///anyone\";)")
    };
    bed.session = Session::of(super::bed::root(), 7);
    bed.replace("dc=example,dc=com", "aci", &anyone("(targetattr=\"*\")", "read")).ok();
    bed.session = anonymous();
    bed.replace(ANN, "sn", "x").refused(denied, "sn");
    bed.delete(ANN, &[]).refused(denied, "delete");
    rename(&bed, ANN, "uid=x", None).refused(denied, "uid");
    bed.delete("uid=no,dc=example,dc=com", &[]).refused(missing, "uid=no");
    // With rights it is done.
    bed.session = Session::of(super::bed::root(), 7);
    bed.replace("dc=example,dc=com", "aci", &anyone("(targetattr=\"sn || uid\")", "write,add,delete")).ok();
    bed.session = anonymous();
    bed.replace(ANN, "sn", "x").ok();
    bed.replace(ANN, "cn", "x").refused(missing, ANN);
    bed.add(new, &class).ok();
    rename(&bed, ANN, "uid=anna", None).ok();
    bed.delete(new, &[]).ok();
    bed = bed.reopen();
    assert_eq!(bed.values("uid=anna,dc=example,dc=com", "sn"), ["x"]);
}

#[test]
fn uuids_are_random_and_times_grow() {
    let bed = Bed::new();
    let first = bed.replace(ANN, "sn", "a").ok().csn.unwrap();
    let second = bed.replace(ANN, "sn", "b").ok().csn.unwrap();
    assert!(first < second);
}

#[test]
fn controls() {
    let mut bed = Bed::new();
    let unknown = [ControlBuf::new("1.2.3", None)];
    let critical = [ControlBuf::new("1.2.3", None).critical()];
    let replace = |controls: &[ControlBuf]| modify_message(ANN, &[(ModifyOperation::Replace, "sn", "y")], controls);
    bed.send(&replace(&unknown)).ok();
    bed.send(&replace(&critical)).refused(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, "1.2.3");
    // Known, but not with this operation.
    let tree = [ControlBuf::new(control::SUBTREE_DELETE, None).critical()];
    bed.send(&replace(&tree)).refused(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, "805");
    bed.delete("dc=example,dc=com", &[]).refused(ResultCode::NOT_ALLOWED_ON_NON_LEAF, "805");
    let broken = [ControlBuf::new(control::ASSERTION, Some(vec![1, 2, 3])).critical()];
    bed.send(&replace(&broken)).refused(ResultCode::PROTOCOL_ERROR, "assertion");
    let no_op = [ControlBuf::new(control::NO_OP, None).critical()];
    bed.delete(ANN, &no_op).refused(ResultCode::NO_OPERATION, "no-op");
    let read = [ControlBuf::new(control::POST_READ, Some(b"\x30\x04\x04\x02sn".to_vec()))];
    let done = bed.send(&replace(&read)).ok();
    assert_eq!(done.response_controls[0].oid, control::POST_READ);
    bed.bind_as(BEN, "benben");
    let relax = [ControlBuf::new(control::RELAX, None).critical()];
    bed.send(&replace(&relax)).refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "relax");
    bed.session.identity = super::bed::root();
    bed.delete("dc=example,dc=com", &tree).ok();
}

/// An entry with the name of another base DN would be found by searches and by no name.
#[test]
fn names_of_other_base_dns_are_not_given() {
    let mut bed = Bed::with(&["dc=example,dc=com"], |config| {
        let mut second = config.backends[0].clone();
        second.id = "second".to_owned();
        second.base_dns = vec!["cn=Everyone,ou=Groups,dc=example,dc=com".to_owned()];
        second.directory = second.directory.with_file_name("second");
        config.backends.push(second);
    });
    let unit = |bed: &mut Bed, dn: &str, name: &str| {
        bed.add(dn, &[("objectClass", "organizationalUnit"), ("ou", name)]).ok();
    };
    unit(&mut bed, "ou=Teams,dc=example,dc=com", "Teams");
    for parent in ["ou=Teams,dc=example,dc=com", "dc=example,dc=com"] {
        for name in ["All", "Everyone"].iter().filter(|name| **name == "All" || parent.starts_with("ou=Teams")) {
            bed.add(&format!("cn={name},{parent}"), &[("objectClass", "device"), ("cn", name)]).ok();
        }
    }
    let (all, refused) = ("cn=All,dc=example,dc=com", ResultCode::AFFECTS_MULTIPLE_DSAS);
    let groups = "ou=Groups,dc=example,dc=com";
    // By renaming what is above.
    rename(&bed, "ou=Teams,dc=example,dc=com", "ou=Groups", None).refused(refused, "a base DN of its own");
    unit(&mut bed, groups, "Groups");
    // By a move, in whatever spelling, and by a rename.
    rename(&bed, all, "CN=everyone", Some(groups)).refused(refused, "a base DN of its own");
    rename(&bed, all, "cn=All", Some(groups)).ok();
    rename(&bed, "cn=All,ou=Groups,dc=example,dc=com", "cn=Everyone", None).refused(refused, "a base DN of its own");
    rename(&bed, "cn=All,ou=Groups,dc=example,dc=com", "cn=Everybody", None).ok();
    // What lies above a base DN keeps its name.
    rename(&bed, groups, "ou=Old groups", None).refused(refused, "lies below the entry");
    rename(&bed, "ou=Teams,dc=example,dc=com", "ou=Old groups", None).ok();
}

#[test]
fn backends() {
    let mut bed = Bed::with(&["dc=example,dc=com"], |config| {
        let mut second = config.backends[0].clone();
        second.id = "second".to_owned();
        second.base_dns = vec!["dc=second".to_owned()];
        second.directory = second.directory.with_file_name("second");
        let mut frozen = second.clone();
        frozen.id = "frozen".to_owned();
        frozen.base_dns = vec!["dc=frozen".to_owned()];
        frozen.directory = frozen.directory.with_file_name("frozen");
        frozen.writability = config::Writability::Disabled;
        config.backends.extend([second, frozen]);
    });
    bed.add("dc=second", &[("objectClass", "domain"), ("dc", "second")]).ok();
    let frozen = bed.add("dc=frozen", &[("objectClass", "domain"), ("dc", "frozen")]);
    frozen.refused(ResultCode::UNWILLING_TO_PERFORM, "writability-mode");
    rename(&bed, ANN, "uid=ann", Some("dc=second")).refused(ResultCode::AFFECTS_MULTIPLE_DSAS, "another backend");
    rename(&bed, ANN, "uid=ann", Some("dc=nowhere")).refused(ResultCode::NO_SUCH_OBJECT, "dc=nowhere");
}
