//! Which result code and matched DN a refusal has (RFC 4511 §4.6–4.9 and appendix A), and that it leaves nothing
//! behind.

use ldap::ResultCode;

use super::bed::{Bed, SUFFIX, With};
use crate::proposal::Flags;

const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";
const PERSON: &str = "objectClass: inetOrgPerson\ncn: x\nsn: x";

fn with_ann() -> Bed {
    let mut bed = Bed::new();
    bed.person("ann");
    bed
}

#[test]
fn adds_that_are_refused() {
    let mut bed = with_ann();
    let before = bed.picture();
    for (dn, lines, code, word) in [
        (ANN, PERSON, ResultCode::ENTRY_ALREADY_EXISTS, "exists already"),
        ("uid=x,ou=no,dc=example,dc=com", PERSON, ResultCode::NO_SUCH_OBJECT, "parent first"),
        ("uid=x,dc=other", PERSON, ResultCode::NO_SUCH_OBJECT, "no suffix"),
        ("", PERSON, ResultCode::UNWILLING_TO_PERFORM, "root DSE"),
        ("uid", PERSON, ResultCode::INVALID_DN_SYNTAX, "not a distinguished name"),
        ("uid=x,,dc=com", PERSON, ResultCode::INVALID_DN_SYNTAX, "not a distinguished name"),
        ("uid=x,dc=example,dc=com", "cn: x", ResultCode::OBJECT_CLASS_VIOLATION, "objectClass"),
        ("uid=x,dc=example,dc=com", "objectClass: nope\ncn: x", ResultCode::OBJECT_CLASS_VIOLATION, "nope"),
        ("uid=x,dc=example,dc=com", "objectClass: inetOrgPerson\ncn: x", ResultCode::OBJECT_CLASS_VIOLATION, "sn"),
        ("uid=x,dc=example,dc=com", "objectClass: person\ncn: x\nsn: x", ResultCode::OBJECT_CLASS_VIOLATION, "uid"),
        ("uid=x,dc=example,dc=com", "objectClass: top\ncn: x", ResultCode::OBJECT_CLASS_VIOLATION, "structural"),
        ("nope=x,dc=example,dc=com", PERSON, ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "nope"),
        ("uid=a+uid=b,dc=example,dc=com", PERSON, ResultCode::NAMING_VIOLATION, "two values of uid"),
    ] {
        bed.add(dn, lines).refused(code, word);
    }
    let dn = "uid=x,dc=example,dc=com";
    for (more, code, word) in [
        ("shoeSize: 43", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "shoeSize"),
        ("c_n: 43", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "c_n"),
        ("uidNumber: 43", ResultCode::OBJECT_CLASS_VIOLATION, "uidNumber"),
        ("manager: nobody", ResultCode::INVALID_ATTRIBUTE_SYNTAX, "manager"),
        (
            "objectClass: posixAccount\ngidNumber: 1\nhomeDirectory: /\nuidNumber: 007",
            ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "uidNumber",
        ),
        ("mail;binary: a@example.com", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "no binary form"),
        ("jpegPhoto;binary: x", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "no binary form"),
        ("employeeNumber: 1\nemployeeNumber: 2", ResultCode::CONSTRAINT_VIOLATION, "employeeNumber"),
        ("mail: a@example.com\nmail: A@example.com", ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "mail"),
        ("cn: y\ncommonName: Y", ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "cn"),
        ("entryUUID: 0b1b0c1e-9a1f-4c0e-8d6a-0123456789ab", ResultCode::CONSTRAINT_VIOLATION, "entryUUID"),
        ("numSubordinates: 3", ResultCode::CONSTRAINT_VIOLATION, "numSubordinates"),
        ("structuralObjectClass: person", ResultCode::CONSTRAINT_VIOLATION, "structuralObjectClass"),
    ] {
        bed.add(dn, &format!("{PERSON}\n{more}")).refused(code, word);
    }
    assert_eq!(bed.picture(), before);
}

#[test]
fn matched_names() {
    let mut bed = with_ann();
    let matched = |report: crate::apply::Report| report.result.matched_dn;
    let missing = ResultCode::NO_SUCH_OBJECT;
    let deep = "cn=a,cn=b,ou=people,dc=example,dc=com";
    let expected = "ou=people,dc=example,dc=com";
    assert_eq!(matched(bed.add(deep, PERSON).refused(missing, "")), expected);
    assert_eq!(matched(bed.modify(deep, "delete cn").refused(missing, "")), expected);
    assert_eq!(matched(bed.delete(deep).refused(missing, "")), expected);
    assert_eq!(matched(bed.rename(deep, "cn=c", true, None).refused(missing, "")), expected);
    assert_eq!(matched(bed.rename(ANN, "cn=c", true, Some(deep)).refused(missing, "")), expected);
    assert_eq!(matched(bed.delete("cn=x,dc=other").refused(missing, "no suffix")), "");
    let mut empty = Bed::empty();
    assert_eq!(matched(empty.delete(SUFFIX).refused(missing, "is empty")), "");
    assert_eq!(matched(empty.modify("uid=x,dc=example,dc=com", "delete cn").refused(missing, "is empty")), "");
    empty.add("ou=x,dc=example,dc=com", "objectClass: organizationalUnit\nou: x").refused(missing, "suffix");
}

#[test]
fn modifications_that_are_refused() {
    let mut bed = with_ann();
    bed.modify(ANN, "add mail: a@example.com\nadd employeeNumber: 1").ok();
    let before = bed.picture();
    for (changes, code, word) in [
        ("add mail: A@EXAMPLE.com", ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "mail"),
        ("add mail: b@example.com | B@example.com", ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "mail"),
        ("replace mail: b@example.com | B@example.com", ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "mail"),
        ("add mail", ResultCode::PROTOCOL_ERROR, "mail"),
        ("delete mail: b@example.com", ResultCode::NO_SUCH_ATTRIBUTE, "b@example.com"),
        ("delete mail\ndelete mail", ResultCode::NO_SUCH_ATTRIBUTE, "mail"),
        ("delete title", ResultCode::NO_SUCH_ATTRIBUTE, "title"),
        ("delete mail;lang-de", ResultCode::NO_SUCH_ATTRIBUTE, "mail;lang-de"),
        ("delete shoeSize", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "shoeSize"),
        ("add employeeNumber: 2", ResultCode::CONSTRAINT_VIOLATION, "employeeNumber"),
        ("add manager: nobody", ResultCode::INVALID_ATTRIBUTE_SYNTAX, "manager"),
        ("add pwdHistoryX;binary: 1", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "pwdHistoryX"),
        ("add cn;binary: x", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "no binary form"),
        ("replace cn;lang-de;binary: x", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "no binary form"),
        ("delete cn;binary", ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "no binary form"),
        ("delete sn", ResultCode::OBJECT_CLASS_VIOLATION, "sn"),
        ("replace sn", ResultCode::OBJECT_CLASS_VIOLATION, "sn"),
        ("add uidNumber: 1", ResultCode::OBJECT_CLASS_VIOLATION, "uidNumber"),
        ("delete uid", ResultCode::NOT_ALLOWED_ON_RDN, "modify DN"),
        ("replace uid: ben", ResultCode::NOT_ALLOWED_ON_RDN, "modify DN"),
        ("delete uid: ANN", ResultCode::NOT_ALLOWED_ON_RDN, "modify DN"),
        ("replace objectClass: organizationalUnit", ResultCode::OBJECT_CLASS_MODS_PROHIBITED, "inetOrgPerson"),
        ("replace objectClass: person", ResultCode::OBJECT_CLASS_MODS_PROHIBITED, "person"),
        ("add objectClass: device", ResultCode::OBJECT_CLASS_VIOLATION, "device"),
        ("add objectClass: nope", ResultCode::OBJECT_CLASS_VIOLATION, "nope"),
        ("add objectClass: posixAccount", ResultCode::OBJECT_CLASS_VIOLATION, "required by posixAccount"),
        ("delete objectClass", ResultCode::OBJECT_CLASS_VIOLATION, "objectClass"),
        ("replace entryUUID: 0b1b0c1e-9a1f-4c0e-8d6a-0123456789ab", ResultCode::CONSTRAINT_VIOLATION, "entryUUID"),
        ("replace entryDN: cn=x", ResultCode::CONSTRAINT_VIOLATION, "entryDN"),
        ("increment employeeNumber: 1", ResultCode::CONSTRAINT_VIOLATION, "integers"),
        ("increment uidNumber: 1", ResultCode::NO_SUCH_ATTRIBUTE, "uidNumber"),
        ("increment uidNumber: x", ResultCode::CONSTRAINT_VIOLATION, "integer"),
        ("increment uidNumber: 1 | 2", ResultCode::PROTOCOL_ERROR, "exactly one"),
    ] {
        // The first change is fine: nothing of it may stay.
        bed.modify(ANN, &format!("add description: y\n{changes}")).refused(code, word);
    }
    assert_eq!(bed.picture(), before);
}

#[test]
fn integers_are_written_as_rfc_4517_says() {
    let mut bed = with_ann();
    bed.modify(ANN, "add objectClass: posixAccount\nadd gidNumber: 1\nadd homeDirectory: /\nadd uidNumber: 0").ok();
    let before = bed.picture();
    for number in ["007", "-0", "+1", "2 3", "1e3", "0x10", "-01"] {
        let changes = format!("replace uidNumber: {number}");
        bed.modify(ANN, &changes).refused(ResultCode::INVALID_ATTRIBUTE_SYNTAX, "uidNumber");
    }
    assert_eq!(bed.picture(), before);
    for number in ["-7", "10", "123456789012345678901234567890"] {
        bed.modify(ANN, &format!("replace uidNumber: {number}")).ok();
    }
}

#[test]
fn deletes_and_renames_that_are_refused() {
    let mut bed = with_ann();
    bed.person("ben");
    let before = bed.picture();
    bed.delete("ou=people,dc=example,dc=com").refused(ResultCode::NOT_ALLOWED_ON_NON_LEAF, "2 entries");
    let people = "ou=people,dc=example,dc=com";
    for (dn, rdn, superior, code, word) in [
        (SUFFIX, "dc=x", None, ResultCode::UNWILLING_TO_PERFORM, "suffix"),
        (ANN, "uid=ben", None, ResultCode::ENTRY_ALREADY_EXISTS, "uid=ben,ou=people"),
        (people, "ou=x", Some(people), ResultCode::UNWILLING_TO_PERFORM, "below itself"),
        (people, "ou=x", Some(ANN), ResultCode::UNWILLING_TO_PERFORM, "below itself"),
        (ANN, "uid=x,ou=y", None, ResultCode::INVALID_DN_SYNTAX, "exactly one RDN"),
        (ANN, "", None, ResultCode::INVALID_DN_SYNTAX, "exactly one RDN"),
        (ANN, "uid", None, ResultCode::INVALID_DN_SYNTAX, ""),
        (ANN, "nope=x", None, ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "nope"),
        (ANN, "uidNumber=1", None, ResultCode::OBJECT_CLASS_VIOLATION, "uidNumber"),
        (ANN, "manager=x", None, ResultCode::INVALID_ATTRIBUTE_SYNTAX, "manager"),
        (ANN, "entryUUID=x", None, ResultCode::CONSTRAINT_VIOLATION, "entryUUID"),
        (people, "cn=x", None, ResultCode::OBJECT_CLASS_VIOLATION, ""),
    ] {
        bed.rename(dn, rdn, true, superior).refused(code, word);
    }
    assert_eq!(bed.picture(), before);
    bed.modify(ANN, "add employeeNumber: 1").ok();
    bed.rename(ANN, "employeeNumber=2", true, None).refused(ResultCode::CONSTRAINT_VIOLATION, "employeeNumber");
}

#[test]
fn aliases_have_no_children() {
    let mut bed = with_ann();
    let alias = "cn=alias,dc=example,dc=com";
    bed.add(alias, &format!("objectClass: alias\nobjectClass: extensibleObject\ncn: alias\naliasedObjectName: {ANN}"))
        .ok();
    bed.add(&format!("uid=x,{alias}"), PERSON).refused(ResultCode::ALIAS_PROBLEM, "alias");
    bed.rename(ANN, "uid=ann", true, Some(alias)).refused(ResultCode::ALIAS_PROBLEM, "alias");
    // An update never follows an alias: this renames the alias itself.
    bed.rename(alias, "cn=other", true, None).ok();
    bed.delete("cn=other,dc=example,dc=com").ok();
}

#[test]
fn referrals_are_returned_unless_managed() {
    let mut bed = with_ann();
    let mut flags = Flags::default();
    flags.set(Flags::MANAGE_DSA_IT);
    let with = With { flags, ..With::default() };
    let dn = "ou=far,dc=example,dc=com";
    let lines = "objectClass: referral\nobjectClass: extensibleObject\nou: far\nref: ldap://far.example/ou=far,o=x";
    bed.add_with(dn, lines, with).ok();
    let urls = |report: crate::apply::Report| report.result.referrals;
    let referral = ResultCode::REFERRAL;
    assert_eq!(urls(bed.delete(dn).refused(referral, "ManageDsaIT")), ["ldap://far.example/ou=far,o=x"]);
    let below = "cn=a,cn=b,ou=far,dc=example,dc=com";
    let expected = ["ldap://far.example/cn=a,cn=b,ou=far,o=x"];
    assert_eq!(urls(bed.modify(below, "delete cn").refused(referral, "")), expected);
    assert_eq!(urls(bed.add(below, PERSON).refused(referral, "")), expected);
    assert_eq!(urls(bed.rename(below, "cn=c", true, None).refused(referral, "")), expected);
    assert_eq!(urls(bed.rename(ANN, "cn=c", true, Some(dn)).refused(referral, "")), ["ldap://far.example/ou=far,o=x"]);
    bed.modify_with(below, "delete cn", with).refused(ResultCode::NO_SUCH_OBJECT, "ou=far");
    bed.modify_with(dn, "add description: x", with).ok();
    bed.delete_with(dn, with).ok();
}

#[test]
fn structure_rules_and_name_forms() {
    let mut builder = schema::SchemaBuilder::standard(schema::SchemaOptions::default());
    builder.add_ldif(
        "99-user.ldif",
        "dn: cn=schema\n\
         nameForms: ( 1.3.6.1.4.1.99999.3.1 NAME 'orgPersonForm' OC inetOrgPerson MUST uid )\n\
         nameForms: ( 1.3.6.1.4.1.99999.3.2 NAME 'unitForm' OC organizationalUnit MUST ou )\n\
         nameForms: ( 1.3.6.1.4.1.99999.3.3 NAME 'domainForm' OC domain MUST dc )\n\
         dITStructureRules: ( 1 NAME 'domainRule' FORM domainForm )\n\
         dITStructureRules: ( 2 NAME 'unitRule' FORM unitForm SUP 1 )\n\
         dITStructureRules: ( 3 NAME 'personRule' FORM orgPersonForm SUP 2 )\n",
    );
    let mut bed = Bed::with_schema(builder.build().unwrap()).planted();
    bed.person("ann");
    let violation = ResultCode::NAMING_VIOLATION;
    bed.add("cn=x,ou=people,dc=example,dc=com", &format!("{PERSON}\nuid: x")).refused(violation, "name form");
    bed.add("uid=x,dc=example,dc=com", &format!("{PERSON}\nuid: x")).refused(violation, "structure rule");
    bed.rename(ANN, "cn=ann Example", false, None).refused(violation, "name form");
    bed.rename(ANN, "uid=ann", false, Some(SUFFIX)).refused(violation, "structure rule");
    bed.rename(ANN, "uid=ann", false, Some("ou=groups,dc=example,dc=com")).ok();
}

#[test]
fn collective_attributes_stand_in_their_subentries() {
    let mut bed = with_ann();
    let violation = ResultCode::OBJECT_CLASS_VIOLATION;
    bed.modify(ANN, "add objectClass: extensibleObject\nadd c-l: Berlin")
        .refused(violation, "collectiveAttributeSubentry");
    bed.modify(ANN, "add objectClass: extensibleObject").ok();
    bed.modify(ANN, "add c-l: Berlin").refused(violation, "collectiveAttributeSubentry");
    let lines =
        "objectClass: subentry\nobjectClass: collectiveAttributeSubentry\ncn: c\nc-l: Berlin\nsubtreeSpecification: {}";
    bed.add("cn=c,dc=example,dc=com", lines).ok();
    bed.modify("cn=c,dc=example,dc=com", "replace c-l: Bern").ok();
}
