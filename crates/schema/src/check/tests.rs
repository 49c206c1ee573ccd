//! Tests of [`super`]: what `check` must accept, refuse and give back.

use super::*;
use crate::builder::SchemaBuilder;
use crate::schema::SchemaOptions;

/// An entry as text: one `name: value` a line.
struct Entry {
    attributes: Vec<(String, Option<TypeIndex>, Vec<Vec<u8>>)>,
}

impl Entry {
    fn parse(schema: &Schema, text: &str) -> Entry {
        let mut attributes: Vec<(String, Option<TypeIndex>, Vec<Vec<u8>>)> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            match attributes.iter_mut().find(|(known, _, _)| known == name) {
                Some((_, _, values)) => values.push(value.into()),
                None => {
                    let index = schema.attribute_type(name.as_bytes()).map(|it| it.index);
                    attributes.push((name.to_owned(), index, vec![value.into()]));
                }
            }
        }
        Entry { attributes }
    }
}

fn bytes(value: &Vec<u8>) -> &[u8] {
    value
}

impl EntryAttributes for Entry {
    type Values<'v> = std::iter::Map<std::slice::Iter<'v, Vec<u8>>, fn(&'v Vec<u8>) -> &'v [u8]>;

    fn attributes(&self) -> impl Iterator<Item = (AttributeKey<'_>, Self::Values<'_>)> {
        self.attributes.iter().map(|(name, index, values)| {
            let key = index.map_or(AttributeKey::Unknown(name), AttributeKey::Known);
            let values: Self::Values<'_> = values.iter().map(bytes);
            (key, values)
        })
    }
}

fn judge(checker: &Checker, rdn: &str, text: &str) -> (Result<(), CheckError>, Vec<CheckError>) {
    let schema = checker.schema();
    let entry = Entry::parse(schema, text);
    let classes: Vec<&[u8]> = entry
        .attributes
        .iter()
        .filter(|(name, _, _)| name == "objectClass")
        .flat_map(|(_, _, values)| values.iter().map(Vec::as_slice))
        .collect();
    let rdn: Vec<AttributeKey<'_>> =
        rdn.split('+').map(|name| AttributeKey::Known(schema.attribute_type(name.as_bytes()).unwrap().index)).collect();
    let mut warnings = Vec::new();
    let result = checker.check(classes.into_iter(), &rdn, &entry, &mut |warning| warnings.push(warning));
    (result, warnings)
}

fn strict() -> Checker {
    Checker::new(Schema::standard(), Leniency::default())
}

const PERSON: &str = "objectClass: inetOrgPerson\ncn: Ada Example\nsn: Example\n";

#[test]
fn entries_and_verdicts() {
    let checker = strict();
    let cases = [
        (PERSON.to_owned(), None),
        (format!("{PERSON}objectClass: top\nobjectClass: person\ncreateTimestamp: 20240101000000Z\n"), None),
        (format!("{PERSON}shoeSize: 43\n"), Some((17, "the attribute \"shoeSize\" is not defined in the schema"))),
        (format!("{PERSON}uidNumber: 43\n"), Some((65, "the attribute uidNumber is not allowed by any of"))),
        ("objectClass: person\ncn: x\n".into(), Some((65, "the attribute sn is required by person and missing"))),
        ("cn: x\n".into(), Some((65, "the entry has no objectClass"))),
        ("objectClass: nope\n".into(), Some((65, "the object class \"nope\" is not defined in the schema"))),
        ("objectClass: top\n".into(), Some((65, "the entry has no structural object class"))),
        (format!("{PERSON}objectClass: device\n"), Some((65, "the entry has two structural object classes"))),
        (
            format!("{PERSON}preferredLanguage: de\npreferredLanguage: fr\n"),
            Some((19, "the attribute preferredLanguage can have only one value")),
        ),
        (format!("{PERSON}manager: nobody\n"), Some((21, "value 1 of the attribute manager is not a valid DN"))),
        (format!("{PERSON}objectClass: extensibleObject\nuidNumber: 43\n"), None),
        (
            format!("{PERSON}objectClass: posixAccount\nuidNumber: 1\ngidNumber: 1\nuid: ada\n"),
            Some((65, "the attribute homeDirectory is required by posixAccount and missing")),
        ),
    ];
    for (text, expected) in cases {
        let (result, _) = judge(&checker, "cn", &text);
        match expected {
            None => assert_eq!(result, Ok(()), "{text}"),
            Some((code, message)) => {
                let error = result.unwrap_err();
                assert!(error.to_string().starts_with(message), "{error}");
                assert_eq!(error.result_code().as_i32(), code, "{error}");
            }
        }
    }
}

#[test]
fn leniency_lets_pass_and_tells() {
    let text = format!("{PERSON}objectClass: device\nmanager: nobody\n");
    let lenient = |behavior| Leniency {
        check_schema: true,
        invalid_attribute_syntax_behavior: behavior,
        single_structural_objectclass_behavior: behavior,
    };
    let (result, warnings) = judge(&Checker::new(Schema::standard(), lenient(Behavior::Warn)), "cn", &text);
    assert_eq!(result, Ok(()));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let (result, warnings) = judge(&Checker::new(Schema::standard(), lenient(Behavior::Accept)), "cn", &text);
    assert_eq!((result, warnings.len()), (Ok(()), 0));
    let off = Leniency { check_schema: false, ..Leniency::default() };
    assert_eq!(judge(&Checker::new(Schema::standard(), off), "cn", "objectClass: nope\nx: y\n").0, Ok(()));
}

const RULES: &str = "
dn: cn=schema
nameForms: ( 1.3.6.1.4.1.99999.3.1 NAME 'personForm' OC person MUST cn MAY uid )
nameForms: ( 1.3.6.1.4.1.99999.3.2 NAME 'unitForm' OC organizationalUnit MUST ou )
dITStructureRules: ( 1 NAME 'unitRule' FORM unitForm )
dITStructureRules: ( 2 NAME 'personRule' FORM personForm SUP 1 )
dITContentRules: ( 2.5.6.6 NAME 'personContent' AUX posixAccount MUST description MAY mail NOT seeAlso )
";

fn ruled() -> Checker {
    let mut builder = SchemaBuilder::standard(SchemaOptions::default());
    builder.add_ldif("99-user.ldif", RULES);
    Checker::new(builder.build().unwrap(), Leniency::default())
}

#[test]
fn content_rules_and_name_forms() {
    let checker = ruled();
    let person = "objectClass: person\ncn: x\nsn: x\ndescription: x\n";
    let verdict = |rdn: &str, more: &str| match judge(&checker, rdn, &format!("{person}{more}")).0 {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(verdict("cn", "mail: x@example.com\n"), "");
    assert_eq!(
        verdict("cn+uid", "objectClass: uidObject\n"),
        "the DIT content rule personContent does not allow the auxiliary class uidObject"
    );
    assert_eq!(
        verdict("cn", "seeAlso: cn=x\n"),
        "the attribute seeAlso is precluded by the DIT content rule personContent"
    );
    assert_eq!(verdict("sn", ""), "the RDN does not conform to the name form personForm of person: it needs cn");
    assert_eq!(
        verdict("cn+sn", ""),
        "the RDN does not conform to the name form personForm of person: it cannot have sn"
    );
    let (result, _) = judge(&checker, "cn", "objectClass: person\ncn: x\nsn: x\n");
    assert_eq!(result.unwrap_err().to_string(), "the attribute description is required by personContent and missing");
    // The rules of a class are not those of its subclasses.
    assert_eq!(judge(&checker, "sn", PERSON).0, Ok(()));
}

#[test]
fn structure_rules() {
    let checker = ruled();
    let schema = Arc::clone(checker.schema());
    let key = |name: &str| AttributeKey::Known(schema.attribute_type(name.as_bytes()).unwrap().index);
    let requirement =
        |class: &str| checker.requirement(&ClassSet::of_values(&schema, [class.as_bytes()].into_iter()).unwrap());
    let rule = |class: &str, rdn: &str, parent| checker.governing_rule(&requirement(class), &[key(rdn)], parent);
    assert_eq!(rule("organizationalUnit", "ou", ParentRule::None), Ok(Some(1)));
    assert_eq!(rule("organizationalUnit", "ou", ParentRule::Ungoverned), Ok(Some(1)));
    assert_eq!(rule("person", "cn", ParentRule::Governed(1)), Ok(Some(2)));
    assert_eq!(rule("person", "cn", ParentRule::Governed(2)).unwrap_err().result_code().as_i32(), 64);
    assert_eq!(rule("person", "cn", ParentRule::Ungoverned).unwrap_err().result_code().as_i32(), 64);
    assert_eq!(rule("device", "cn", ParentRule::Ungoverned), Ok(None));
    assert_eq!(rule("device", "cn", ParentRule::Governed(1)).unwrap_err().result_code().as_i32(), 64);
    assert_eq!(strict().governing_rule(&requirement("device"), &[key("cn")], ParentRule::Governed(1)), Ok(None));
}

#[test]
fn superior_classes_are_found() {
    let schema = Schema::standard();
    let set = ClassSet::of_values(&schema, [b"INETORGPERSON".as_slice(), b"2.5.6.6"].into_iter()).unwrap();
    let names: Vec<&str> =
        set.missing_superiors(&schema).into_iter().map(|class| schema.class_by_index(class).unwrap().name()).collect();
    assert_eq!(names, ["top", "organizationalPerson"]);
}
