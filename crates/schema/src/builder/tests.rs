//! Tests of [`super`]: what `builder` must accept, refuse and give back.

use super::*;

fn errors(text: &str) -> Vec<String> {
    let mut builder = SchemaBuilder::standard(SchemaOptions::default());
    builder.add_ldif("99-user.ldif", text);
    match builder.build() {
        Ok(_) => Vec::new(),
        Err(errors) => errors.0.iter().map(ToString::to_string).collect(),
    }
}

/// Lines of a file and how the message begins.
const MISTAKES: &[(&str, &str)] = &[
    (
        "attributeTypes: ( 1.2.3 NAME 'x'",
        "99-user.ldif:2: attributeTypes: expected a keyword or ')' but found the end at character 16",
    ),
    ("attributeTypes: ( x NAME 'x' )", "99-user.ldif:2: \"x\" is not a numeric OID"),
    (
        "attributeTypes: ( 1.2.3 NAME 'a_b' )",
        "99-user.ldif:2: \"a_b\" is not a valid name (letters, digits and hyphens, a letter first); \
         allow-attribute-name-exceptions would allow it",
    ),
    (
        "attributeTypes: ( 1.2.3 NAME 'MAIL' )",
        "99-user.ldif:2: the name \"MAIL\" of 1.2.3 already belongs to 0.9.2342.19200300.100.1.3 (00-core.ldif:",
    ),
    ("attributeTypes: ( 1.2.3 NAME 'x' SUP y )", "99-user.ldif:2: x refers to the unknown attribute type \"y\""),
    ("attributeTypes: ( 1.2.3 NAME 'x' SUP x )", "99-user.ldif:2: x is its own superior"),
    ("attributeTypes: ( 1.2.3 NAME 'x' SYNTAX 1.2 )", "99-user.ldif:2: x refers to the unknown syntax \"1.2\""),
    ("attributeTypes: ( 1.2.3 NAME 'x' EQUALITY y )", "99-user.ldif:2: x refers to the unknown matching rule \"y\""),
    (
        "attributeTypes: ( 1.2.3 NAME 'x' EQUALITY integerOrderingMatch )",
        "99-user.ldif:2: x: integerOrderingMatch is not an equality rule",
    ),
    (
        "attributeTypes: ( 1.2.3 NAME 'x' NO-USER-MODIFICATION )",
        "99-user.ldif:2: x: NO-USER-MODIFICATION needs an operational USAGE",
    ),
    (
        "attributeTypes: ( 1.2.3 NAME 'x' COLLECTIVE SINGLE-VALUE )",
        "99-user.ldif:2: x: a COLLECTIVE attribute can be neither",
    ),
    (
        "attributeTypes: ( 1.2.3 NAME 'x' SUP name USAGE dSAOperation )",
        "99-user.ldif:2: x cannot have the superior name: their USAGE differs",
    ),
    (
        "objectClasses: ( 1.2.3 NAME 'x' SUP posixAccount STRUCTURAL )",
        "99-user.ldif:2: x cannot have the superior posixAccount: a structural class cannot have an auxiliary superior",
    ),
    (
        "objectClasses: ( 1.2.3 NAME 'x' SUP person AUXILIARY )",
        "99-user.ldif:2: x cannot have the superior person: an auxiliary class cannot have a structural superior",
    ),
    ("objectClasses: ( 1.2.3 NAME 'x' SUP x )", "99-user.ldif:2: x is its own superior"),
    ("objectClasses: ( 1.2.3 NAME 'x' MUST y )", "99-user.ldif:2: x refers to the unknown attribute type \"y\""),
    (
        "nameForms: ( 1.2.3 NAME 'x' OC posixAccount MUST cn )",
        "99-user.ldif:2: x: a name form needs a structural object class",
    ),
    (
        "dITContentRules: ( 1.3.6.1.1.1.2.0 NAME 'x' )",
        "99-user.ldif:2: x: a content rule needs the OID of a structural object class",
    ),
    (
        "dITContentRules: ( 2.5.6.6 NAME 'x' AUX device )",
        "99-user.ldif:2: x: only auxiliary classes can stand after AUX",
    ),
    (
        "dITContentRules: ( 2.5.6.6 NAME 'x' NOT cn )",
        "99-user.ldif:2: x: an attribute after NOT is required by the class or the rule",
    ),
    ("dITStructureRules: ( 1 NAME 'x' FORM y )", "99-user.ldif:2: x refers to the unknown name form \"y\""),
    (
        "dITStructureRules: ( 1 NAME 'x' FORM subentryNameForm SUP 7 )",
        "99-user.ldif:2: x refers to the unknown structure rule \"7\"",
    ),
    ("ldapSyntaxes: ( 1.2.3 X-PATTERN '(' )", "99-user.ldif:2: 1.2.3: the pattern is not a regular expression"),
    ("ldapSyntaxes: ( 1.2.3 X-SUBST '1.2' )", "99-user.ldif:2: 1.2.3 refers to the unknown syntax \"1.2\""),
    ("ldapSyntaxes: ( 1.2.3 DESC 'x' )", "99-user.ldif:2: 1.2.3: the syntax is not built in"),
    ("matchingRules: ( 1.2.3 NAME 'x' SYNTAX 1.2 )", "99-user.ldif:2: x refers to the unknown matching rule \"1.2.3\""),
    ("matchingRuleUse: ( 2.5.13.2 APPLIES y )", "99-user.ldif:2: 2.5.13.2 refers to the unknown attribute type \"y\""),
    ("what is this", "99-user.ldif:2: the line has no \"attribute: value\""),
    (
        "attributeTypes: ( 1.2.3 NAME 'x' )\nattributeTypes: ( 1.2.3 NAME 'y' )",
        "99-user.ldif:3: 1.2.3 is defined twice in this file; the first is at line 2",
    ),
    (
        "attributeTypes: ( 1.2.3 NAME 'x' )\nattributeTypes: ( 1.2.4 NAME 'X' )",
        "99-user.ldif:3: the name \"X\" of 1.2.4 already belongs to 1.2.3 (99-user.ldif:2)",
    ),
];

#[test]
fn mistakes_come_with_file_and_line() {
    for (text, expected) in MISTAKES {
        let errors = errors(&format!("dn: cn=schema\n{text}\n"));
        assert_eq!(errors.len(), 1, "{text}: {errors:?}");
        assert!(errors[0].starts_with(expected), "{text}: {errors:?}");
    }
}

#[test]
fn a_cycle_of_several_is_found() {
    let text = "attributeTypes: ( 1.2.1 NAME 'one' SUP two )\nattributeTypes: ( 1.2.2 NAME 'two' SUP three )\n\
                attributeTypes: ( 1.2.3 NAME 'three' SUP one )\nobjectClasses: ( 1.2.4 NAME 'd' SUP e )\n\
                objectClasses: ( 1.2.5 NAME 'e' SUP d )\n";
    assert_eq!(errors(text).len(), 3);
    let classes = "objectClasses: ( 1.2.4 NAME 'd' SUP e )\nobjectClasses: ( 1.2.5 NAME 'e' SUP d )\n";
    assert_eq!(errors(classes), ["99-user.ldif:1: d is its own superior", "99-user.ldif:2: e is its own superior"]);
}

#[test]
fn what_attribute_types_inherit() {
    let mut builder = SchemaBuilder::standard(SchemaOptions::default());
    let text = "attributeTypes: ( 1.2.1 NAME 'child' SUP cn EQUALITY caseExactMatch )\n\
                attributeTypes: ( 1.2.2 NAME 'bare' )\n\
                attributeTypes: ( 1.2.3 NAME 'count' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
                attributeTypes: ( some-oid NAME 'private' )\n";
    builder.add_ldif("99-user.ldif", text);
    let schema = builder.build().unwrap();
    let of = |name: &str| schema.attribute_type(name.as_bytes()).unwrap();
    let child = of("child");
    assert_eq!(child.equality.unwrap().name(), "caseExactMatch");
    assert_eq!(child.substring.unwrap().name(), "caseIgnoreSubstringsMatch");
    assert_eq!(child.syntax.description(), "Directory String");
    assert!(child.is_subtype_of(of("name").index) && !of("name").is_subtype_of(child.index));
    assert!(schema.subtypes(of("name").index).contains(&child.index));
    assert_eq!(schema.subtypes(child.index), [child.index]);
    assert_eq!(of("bare").syntax.description(), "Octet String");
    assert_eq!(of("count").ordering.unwrap().name(), "integerOrderingMatch");
    assert_eq!(of("SOME-OID").name(), "private");
    let strict = SchemaOptions { allow_attribute_types_with_no_sup_or_syntax: false, ..SchemaOptions::default() };
    let mut builder = SchemaBuilder::new(strict);
    builder.add_ldif("x.ldif", "attributeTypes: ( 1.2.2 NAME 'bare' )");
    assert_eq!(builder.build().unwrap_err().to_string(), "x.ldif:1: bare has neither SYNTAX nor SUP");
}

#[test]
fn a_later_file_changes_what_is_shipped() {
    let mut builder = SchemaBuilder::standard(SchemaOptions::default());
    let before = Schema::standard().attribute_type(b"carLicense").unwrap().index;
    let text = "attributeTypes: ( 2.16.840.1.113730.3.1.1 NAME ( 'carLicense' 'plate' ) SYNTAX \
        1.3.6.1.4.1.1466.115.121.1.26 )";
    builder.add_ldif("99-user.ldif", text);
    let schema = builder.build().unwrap();
    let plate = schema.attribute_type(b"plate").unwrap();
    assert_eq!(plate.syntax.description(), "IA5 String");
    assert_eq!(plate.index, before);
    assert_eq!(plate.definition.head.extension("X-SCHEMA-FILE").unwrap(), ["99-user.ldif"]);
}
