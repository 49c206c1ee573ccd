//! Tests of [`super`]: what `schema` must accept, refuse and give back.

use super::*;
use crate::definition::{Definition, DefinitionKind};
use crate::rule::MatchingRule;

#[test]
fn lookups_ignore_case_and_know_oids() {
    let schema = Schema::standard();
    let cn = schema.attribute_type(b"commonname").unwrap();
    assert_eq!(cn.index, schema.attribute_type(b"2.5.4.3").unwrap().index);
    assert_eq!((cn.name(), cn.oid()), ("cn", "2.5.4.3"));
    assert!(cn.has_name("CommonName") && !cn.has_name("sn"));
    assert_eq!(schema.attribute_by_index(cn.index).unwrap().index, cn.index);
    assert!(schema.attribute_type(b"cn;lang-de").is_none());
    assert_eq!(schema.object_class(b"INETORGPERSON").unwrap().name(), "inetOrgPerson");
    assert_eq!(schema.matching_rule(b"CASEIGNOREMATCH").unwrap().oid, "2.5.13.2");
    assert_eq!(schema.matching_rule(b"1.3.6.1.4.1.26027.1.4.902").unwrap().name(), "caseExactIA5SubstringsMatch");
    assert_eq!(schema.oid_of(b"person"), Some("2.5.6.6"));
    assert_eq!(schema.oid_of(b"SubentryNameForm"), Some("2.5.15.16"));
    assert_eq!(schema.oid_of(b"nothing"), None);
}

#[test]
fn indexes_are_positions() {
    let schema = Schema::standard();
    for (at, attribute) in schema.attribute_types().iter().enumerate() {
        assert_eq!(attribute.index.0 as usize, at);
        assert_eq!(schema.attribute_type(attribute.oid().as_bytes()).unwrap().index, attribute.index);
        assert!(schema.subtypes(attribute.index).contains(&attribute.index));
    }
    for (at, class) in schema.object_classes().iter().enumerate() {
        assert_eq!(class.index.0 as usize, at);
    }
}

#[test]
fn definitions_shown_build_the_same_schema() {
    let schema = Schema::standard();
    let mut again = crate::builder::SchemaBuilder::new(SchemaOptions::default());
    let kinds = DefinitionKind::ALL.into_iter().filter(|kind| *kind != DefinitionKind::MatchingRule);
    for kind in kinds {
        for text in schema.definitions(kind) {
            let parsed = Definition::parse(kind, &text).unwrap();
            assert_eq!(parsed.to_string(), text);
            if kind != DefinitionKind::MatchingRuleUse && kind != DefinitionKind::Syntax {
                let file = parsed.head().extension("X-SCHEMA-FILE").unwrap()[0].as_str();
                again.add_text(kind, &text, &file.into(), 1);
            }
        }
    }
    for text in schema.definitions(DefinitionKind::Syntax).iter().filter(|text| text.contains("X-SCHEMA-FILE")) {
        again.add_text(DefinitionKind::Syntax, text, &"00-core.ldif".into(), 1);
    }
    let again = again.build().unwrap();
    assert_eq!(again.definitions(DefinitionKind::AttributeType), schema.definitions(DefinitionKind::AttributeType));
    assert_eq!(again.definitions(DefinitionKind::ObjectClass), schema.definitions(DefinitionKind::ObjectClass));
}

/// What the standards and clients rely on, checked against the RFCs by hand.
#[test]
fn standard_attribute_types() {
    let schema = Schema::standard();
    let table = [
        ("cn", "2.5.4.3", "caseIgnoreMatch", "Directory String"),
        ("uid", "0.9.2342.19200300.100.1.1", "caseIgnoreMatch", "Directory String"),
        ("mail", "0.9.2342.19200300.100.1.3", "caseIgnoreIA5Match", "IA5 String"),
        ("dc", "0.9.2342.19200300.100.1.25", "caseIgnoreIA5Match", "IA5 String"),
        ("member", "2.5.4.31", "distinguishedNameMatch", "DN"),
        ("uniqueMember", "2.5.4.50", "uniqueMemberMatch", "Name And Optional UID"),
        ("telephoneNumber", "2.5.4.20", "telephoneNumberMatch", "Telephone Number"),
        ("postalAddress", "2.5.4.16", "caseIgnoreListMatch", "Postal Address"),
        ("objectClass", "2.5.4.0", "objectIdentifierMatch", "OID"),
        ("userPassword", "2.5.4.35", "octetStringMatch", "Octet String"),
        ("userCertificate", "2.5.4.36", "certificateExactMatch", "Certificate"),
        ("jpegPhoto", "0.9.2342.19200300.100.1.60", "octetStringMatch", "JPEG"),
        ("createTimestamp", "2.5.18.1", "generalizedTimeMatch", "Generalized Time"),
        ("modifiersName", "2.5.18.4", "distinguishedNameMatch", "DN"),
        ("subschemaSubentry", "2.5.18.10", "distinguishedNameMatch", "DN"),
        ("entryUUID", "1.3.6.1.1.16.4", "uuidMatch", "UUID"),
        ("entryDN", "1.3.6.1.1.20", "distinguishedNameMatch", "DN"),
        ("entryCSN", "1.3.6.1.4.1.4203.666.1.7", "CSNMatch", "Change Sequence Number"),
        ("contextCSN", "1.3.6.1.4.1.4203.666.1.25", "CSNMatch", "Change Sequence Number"),
        ("uidNumber", "1.3.6.1.1.1.1.0", "integerMatch", "INTEGER"),
        ("authPassword", "1.3.6.1.4.1.4203.1.3.4", "authPasswordExactMatch", "Authentication Password Syntax"),
        ("memberOf", "1.2.840.113556.1.2.102", "distinguishedNameMatch", "DN"),
        ("isMemberOf", "1.3.6.1.4.1.42.2.27.9.1.792", "distinguishedNameMatch", "DN"),
        ("aci", "2.16.840.1.113730.3.1.55", "octetStringMatch", "Sun-defined Access Control Information"),
        ("attributeTypes", "2.5.21.5", "objectIdentifierFirstComponentMatch", "Attribute Type Description"),
        ("dITStructureRules", "2.5.21.1", "integerFirstComponentMatch", "DIT Structure Rule Description"),
        ("hasSubordinates", "2.5.18.9", "booleanMatch", "Boolean"),
        ("pwdPolicySubentry", "1.3.6.1.4.1.42.2.27.8.1.23", "distinguishedNameMatch", "DN"),
        ("eduPersonPrincipalName", "1.3.6.1.4.1.5923.1.1.1.6", "caseIgnoreMatch", "Directory String"),
        ("sudoUser", "1.3.6.1.4.1.15953.9.1.1", "caseExactIA5Match", "IA5 String"),
        ("nsRoleDN", "2.16.840.1.113730.3.1.575", "distinguishedNameMatch", "DN"),
        ("memberURL", "2.16.840.1.113730.3.1.198", "caseExactIA5Match", "IA5 String"),
    ];
    for (name, oid, equality, syntax) in table {
        let it = schema.attribute_type(name.as_bytes()).unwrap_or_else(|| panic!("{name}"));
        let found = (it.oid(), it.equality.map_or("-", MatchingRule::name), it.syntax.description());
        assert_eq!(found, (oid, equality, syntax), "{name}");
    }
    for name in [
        "createTimestamp",
        "entryUUID",
        "entryDN",
        "entryCSN",
        "structuralObjectClass",
        "numSubordinates",
        "isMemberOf",
        "memberOf",
        "hasSubordinates",
        "subschemaSubentry",
        "nsRole",
        "pwdChangedTime",
    ] {
        let it = schema.attribute_type(name.as_bytes()).unwrap_or_else(|| panic!("{name}"));
        assert!(it.is_operational() && it.is_no_user_modification(), "{name}");
    }
    assert!(schema.attribute_type(b"c-l").unwrap().is_collective());
    assert!(schema.attribute_type(b"aci").unwrap().is_operational());
}

#[test]
fn rules_apply_to_what_they_understand() {
    let schema = Schema::standard();
    let applies = |rule: &str, attribute: &str| {
        let rule = schema.matching_rule(rule.as_bytes()).unwrap();
        schema.rule_applies(rule, schema.attribute_type(attribute.as_bytes()).unwrap())
    };
    for (rule, attribute, expected) in [
        ("caseExactMatch", "cn", true),
        ("caseExactMatch", "member", false),
        ("wordMatch", "description", true),
        ("1.2.840.113556.1.4.803", "uidNumber", true),
        ("1.2.840.113556.1.4.803", "cn", false),
        ("relativeTimeGTOrderingMatch", "pwdChangedTime", true),
        ("objectIdentifierFirstComponentMatch", "attributeTypes", true),
        ("integerOrderingMatch", "uidNumber", true),
    ] {
        assert_eq!(applies(rule, attribute), expected, "{rule} {attribute}");
    }
    let uses = schema.definitions(DefinitionKind::MatchingRuleUse);
    let of_uuid = uses.iter().find(|text| text.contains("'uuidMatch'")).unwrap();
    assert_eq!(of_uuid, "( 1.3.6.1.1.16.2 NAME 'uuidMatch' APPLIES ( entryUUID $ superiorUUID ) )");
}
