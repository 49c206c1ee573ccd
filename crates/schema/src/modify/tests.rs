//! Tests of [`super`]: what `modify` must accept, refuse and give back.

use super::*;
use crate::SchemaOptions;

fn add(kind: DefinitionKind, value: &str) -> SchemaChange {
    SchemaChange::Add { kind, value: value.into() }
}

fn delete(kind: DefinitionKind, value: &str) -> SchemaChange {
    SchemaChange::Delete { kind, value: value.into() }
}

const TYPE: DefinitionKind = DefinitionKind::AttributeType;
const CLASS: DefinitionKind = DefinitionKind::ObjectClass;

#[test]
fn definitions_come_and_go() {
    let standard = Schema::standard();
    let shoe = "( 1.3.6.1.4.1.99999.1 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 X-ORIGIN 'user defined' )";
    let class =
        "( 1.3.6.1.4.1.99999.2 NAME 'shoePerson' SUP top AUXILIARY MAY shoeSize X-SCHEMA-FILE '98-shoes.ldif' )";
    let done = standard.modified(&[add(CLASS, class), add(TYPE, shoe)]).unwrap();
    assert!(done.removed.is_empty() && done.replaced.is_empty());
    assert_eq!(done.files, ["98-shoes.ldif", "99-user.ldif"]);
    let schema = done.schema;
    let shoe_type = schema.attribute_type(b"SHOESIZE").unwrap();
    assert!(shoe_type.definition().to_string().contains("X-ORIGIN 'user defined' X-SCHEMA-FILE '99-user.ldif'"));
    assert_eq!(shoe_type.equality.unwrap().name(), "integerMatch");

    // What is written builds the same schema again.
    let mut builder = SchemaBuilder::standard(SchemaOptions::default());
    for file in schema.user_files() {
        builder.add_ldif(&file, &schema.user_file_text(&file));
    }
    let again = builder.build().unwrap();
    for file in ["98-shoes.ldif", "99-user.ldif"] {
        assert_eq!(again.user_file_text(file), schema.user_file_text(file));
    }
    assert_eq!(again.definitions(CLASS), schema.definitions(CLASS));

    let error = schema.modified(&[delete(TYPE, "( 1.3.6.1.4.1.99999.1 )")]).unwrap_err();
    assert_eq!(error.to_string(), "shoeSize is not deleted: shoePerson refers to it");
    assert_eq!(error.result_code().as_i32(), 19);
    let done = schema.modified(&[delete(TYPE, shoe), delete(CLASS, class)]).unwrap();
    assert_eq!(done.removed.len(), 2);
    assert!(done.schema.attribute_type(b"shoeSize").is_none());
    assert!(done.schema.user_files().is_empty());
}

#[test]
fn a_definition_with_a_known_oid_takes_its_place_and_gives_it_back() {
    let standard = Schema::standard();
    let group = "( 1.3.6.1.1.1.2.2 NAME 'posixGroup' SUP top STRUCTURAL MUST ( cn $ gidNumber ) MAY memberUid )";
    let done = standard.modified(&[add(CLASS, group)]).unwrap();
    assert_eq!(done.replaced.len(), 1);
    assert_eq!(done.files, ["99-user.ldif"]);
    let class = done.schema.object_class(b"posixGroup").unwrap();
    assert_eq!(class.kind(), crate::ClassKind::Structural);
    let back = done.schema.modified(&[delete(CLASS, group)]).unwrap();
    assert!(back.removed.is_empty());
    assert_eq!(back.schema.object_class(b"posixGroup").unwrap().kind(), crate::ClassKind::Auxiliary);
    // Delete and add of one OID in one request is a replacement.
    let both = done.schema.modified(&[delete(CLASS, group), add(CLASS, group)]).unwrap();
    assert!(both.removed.is_empty() && both.files.is_empty());
}

#[test]
fn refusals_say_why() {
    let standard = Schema::standard();
    let cases = [
        (delete(TYPE, "( 2.5.4.3 )"), "cn is part of the standard schema (00-core.ldif) and must stay", 53),
        (delete(TYPE, "( 9.9.9 )"), "there is no 9.9.9 in attributeTypes", 16),
        (add(TYPE, "( 1.2.3 NAME"), "the value of attributeTypes is not a definition", 21),
        (add(TYPE, "( 1.2.3 NAME 'sn' )"), "the name \"sn\" of 1.2.3 already belongs to 2.5.4.4 (00-core.ldif:", 19),
        (add(CLASS, "( 1.2.3 NAME 'x' MAY nope )"), "x refers to the unknown attribute type \"nope\"", 19),
        (add(TYPE, "( 1.2.3 NAME 'x' X-SCHEMA-FILE '../x.ldif' )"), "\"../x.ldif\" is not valid as the file", 53),
    ];
    for (change, message, code) in cases {
        let error = standard.modified(&[change]).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.result_code().as_i32(), code, "{error}");
    }
}
