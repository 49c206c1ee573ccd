//! Modifications of `cn=schema`.

use ldap::oids::control;
use ldap::{ControlBuf, ModifyOperation, ResultCode};

use super::bed::{ANN, Bed, modify_message};

const SHOE_SIZE: &str = "( 1.3.6.1.4.1.99999.1.1 NAME 'shoeSize' EQUALITY integerMatch \
                         SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE X-ORIGIN 'user defined' )";
const SHOD: &str = "( 1.3.6.1.4.1.99999.2.1 NAME 'shod' SUP top AUXILIARY MAY shoeSize X-ORIGIN 'user defined' )";

fn add_definitions(bed: &Bed) {
    let changes = [(ModifyOperation::Add, "attributeTypes", SHOE_SIZE), (ModifyOperation::Add, "objectClasses", SHOD)];
    bed.modify("cn=schema", &changes).ok();
}

fn put_shoes_on(bed: &Bed) {
    let changes = [(ModifyOperation::Add, "objectClass", "shod"), (ModifyOperation::Add, "shoeSize", "43")];
    bed.modify(ANN, &changes).ok();
}

#[test]
fn new_definitions_are_in_force_and_survive_a_restart() {
    let bed = Bed::new();
    bed.modify(ANN, &[(ModifyOperation::Add, "shoeSize", "43")])
        .refused(ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "shoeSize");
    add_definitions(&bed);
    put_shoes_on(&bed);
    assert!(bed.directory.schema().attribute_type(b"shoesize").is_some());
    let wrong = bed.replace(ANN, "shoeSize", "large");
    wrong.refused(ResultCode::INVALID_ATTRIBUTE_SYNTAX, "shoeSize");
    let text = std::fs::read_to_string(bed.folder.path().join("schema/99-user.ldif")).unwrap();
    assert!(text.contains("shoeSize"), "{text}");
    let bed = bed.reopen();
    assert!(bed.directory.schema().object_class(b"shod").is_some());
    bed.replace(ANN, "shoeSize", "44").ok();
    assert_eq!(bed.values(ANN, "shoeSize"), ["44"]);
}

#[test]
fn what_is_in_use_stays() {
    let bed = Bed::new();
    add_definitions(&bed);
    put_shoes_on(&bed);
    let delete = |kind: &str, value: &str| bed.modify("cn=schema", &[(ModifyOperation::Delete, kind, value)]);
    delete("objectClasses", SHOD).refused(ResultCode::UNWILLING_TO_PERFORM, ANN);
    delete("attributeTypes", SHOE_SIZE).refused(ResultCode::CONSTRAINT_VIOLATION, "shod");
    let other = SHOE_SIZE.replace("1.27 SINGLE-VALUE", "1.15").replace("integerMatch", "caseIgnoreMatch");
    let changed = bed.modify("cn=schema", &[(ModifyOperation::Add, "attributeTypes", &other)]);
    changed.refused(ResultCode::UNWILLING_TO_PERFORM, "rules change");
    // The refused change left neither file nor schema behind.
    let text = std::fs::read_to_string(bed.folder.path().join("schema/99-user.ldif")).unwrap();
    assert!(text.contains("integerMatch") && !text.contains("caseIgnoreMatch"), "{text}");
    bed.replace(ANN, "shoeSize", "no number").refused(ResultCode::INVALID_ATTRIBUTE_SYNTAX, "");
    let changes = [(ModifyOperation::Delete, "objectClass", "shod"), (ModifyOperation::Delete, "shoeSize", "43")];
    bed.modify(ANN, &changes).ok();
    delete("objectClasses", SHOD).ok();
    delete("attributeTypes", SHOE_SIZE).ok();
    let bed = bed.reopen();
    assert!(bed.directory.schema().attribute_type(b"shoeSize").is_none());
}

#[test]
fn changes_that_are_refused() {
    let mut bed = Bed::new();
    let modify = |operation, kind: &str, value: &str| bed.modify("cn=schema", &[(operation, kind, value)]);
    let add = ModifyOperation::Add;
    modify(add, "attributeTypes", "( nonsense").refused(ResultCode::INVALID_ATTRIBUTE_SYNTAX, "attributeTypes");
    modify(add, "objectClasses", SHOD).refused(ResultCode::CONSTRAINT_VIOLATION, "shoeSize");
    modify(add, "description", "x").refused(ResultCode::CONSTRAINT_VIOLATION, "definitions");
    modify(ModifyOperation::Replace, "objectClasses", SHOD).refused(ResultCode::UNWILLING_TO_PERFORM, "as a whole");
    modify(ModifyOperation::Delete, "attributeTypes", SHOE_SIZE).refused(ResultCode::NO_SUCH_ATTRIBUTE, "");
    modify(ModifyOperation::Delete, "attributeTypes", "( 2.5.4.3 )").refused(ResultCode::UNWILLING_TO_PERFORM, "cn");
    let no_op = [ControlBuf::new(control::NO_OP, None).critical()];
    let trial = bed.send(&modify_message("cn=schema", &[(add, "attributeTypes", SHOE_SIZE)], &no_op));
    trial.refused(ResultCode::NO_OPERATION, "");
    assert!(bed.directory.schema().attribute_type(b"shoeSize").is_none());
    assert!(!bed.folder.path().join("schema/99-user.ldif").exists());
    bed.bind_as(ANN, "opensesame");
    let denied = bed.modify("cn=schema", &[(add, "attributeTypes", SHOE_SIZE)]);
    denied.refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "schema");
}

#[test]
fn edited_files_count_when_the_directory_opens() {
    let bed = Bed::new();
    let folder = bed.folder.path().join("schema");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("dn: cn=schema\nattributeTypes: {SHOE_SIZE}\nobjectClasses: {SHOD}\n");
    std::fs::write(folder.join("50-shoes.ldif"), text).unwrap();
    let bed = bed.reopen();
    put_shoes_on(&bed);
    let bed = bed.reopen();
    assert_eq!(bed.values(ANN, "shoeSize"), ["43"]);
}

#[test]
fn a_new_subtype_of_an_indexed_attribute_is_indexed() {
    let bed = Bed::new();
    let nickname = "( 1.3.6.1.4.1.99999.1.2 NAME 'nickname' SUP cn )";
    let class = "( 1.3.6.1.4.1.99999.2.2 NAME 'nicknamed' SUP top AUXILIARY MAY nickname )";
    let changes = [(ModifyOperation::Add, "attributeTypes", nickname), (ModifyOperation::Add, "objectClasses", class)];
    bed.modify("cn=schema", &changes).ok();
    let changes = [(ModifyOperation::Add, "objectClass", "nicknamed"), (ModifyOperation::Add, "nickname", "Nan")];
    bed.modify(ANN, &changes).ok();
    let index = bed.directory.backends[0].store.indexes().set().by_name("cn.caseIgnoreMatch").unwrap().id;
    let snapshot = bed.directory.backends[0].store.snapshot().unwrap();
    let postings = snapshot.view().postings(&store::IndexKey::new(index, b"nan")).unwrap();
    assert_eq!(postings.count(), 1);
}
