//! The template language, feature by feature.

use super::*;

fn ldif(template: &str) -> String {
    ldif_of(template, 1, &[])
}

fn ldif_of(template: &str, seed: u64, constants: &[(String, String)]) -> String {
    let file = TemplateFile::parse("t", template, &Resources::default(), constants).unwrap();
    let mut out = LdifWriter::new(Vec::new(), 80);
    let mut sink = |entry: &Entry| out.entry(entry);
    let count = Generator::new(&file, seed).run(&mut sink).unwrap();
    assert_eq!(count, file.entry_count());
    String::from_utf8(out.finish().unwrap()).unwrap()
}

/// Values that attribute `v` gets in `entries` entries whose template has that line.
fn values(line: &str, entries: usize) -> Vec<String> {
    let template = format!(
        "branch: dc=b,dc=c\nsubordinateTemplate: t:{entries}\n\ntemplate: t\nrdnAttr: cn\ncn: x,y<sequential:5>\n\
         sn: one\nsn: two\n{line}\n"
    );
    ldif_of(&template, 1, &[]).lines().filter_map(|line| line.strip_prefix("v: ").map(str::to_owned)).collect()
}

fn fault(template: &str) -> String {
    TemplateFile::parse("t", template, &Resources::default(), &[]).unwrap_err().to_string()
}

#[test]
fn every_tag() {
    let table: &[(&str, &[&str])] = &[
        ("v: plain text", &["plain text", "plain text"]),
        ("v: <dn>", &["cn=x\\,y5,dc=b,dc=c", "cn=x\\,y6,dc=b,dc=c"]),
        ("v: <DN:1>", &["cn=x\\,y5", "cn=x\\,y6"]),
        ("v: <dn:-1>", &["dc=c", "dc=c"]),
        ("v: <dn:-9>", &["cn=x\\,y5,dc=b,dc=c", "cn=x\\,y6,dc=b,dc=c"]),
        ("v: <_dn>", &["cn=x\\,y5_dc=b_dc=c", "cn=x\\,y6_dc=b_dc=c"]),
        ("v: <_dn:2>", &["cn=x\\,y5_dc=b", "cn=x\\,y6_dc=b"]),
        ("v: <parentdn>", &["dc=b,dc=c", "dc=b,dc=c"]),
        ("v: <_parentdn>", &["dc=b_dc=c", "dc=b_dc=c"]),
        ("v: <rdn>", &["cn=x\\,y5", "cn=x\\,y6"]),
        ("v: <rdn:2>", &["cn=x\\,y5,dc=b", "cn=x\\,y6,dc=b"]),
        ("v: <sequential>", &["0", "1"]),
        ("v: <sequential:7:false>", &["7", "8"]),
        ("v: <list:only>", &["only", "only"]),
        ("v: <list:never;1>", &["never", "never"]),
        ("v: <statictext:a:b>", &["a:b", "a:b"]),
        ("v: {sn}-{cn:2}-{sn:99}", &["one-x,-one", "one-x,-one"]),
        ("v: a \\<b\\> \\{c\\} \\[d\\] \\\\", &["a <b> {c} [d] \\", "a <b> {c} [d] \\"]),
        ("v: <presence:0>never", &[]),
        ("v: <presence:100>always", &["always", "always"]),
        ("v: <ifpresent:sn>yes", &["yes", "yes"]),
        ("v: <ifpresent:SN:TWO>yes", &["yes", "yes"]),
        ("v: <ifpresent:sn:three>yes", &[]),
        ("v: <ifabsent:sn:three>yes", &["yes", "yes"]),
        ("v: <ifabsent:sn>yes", &[]),
        ("v: <ifabsent:mail>yes", &["yes", "yes"]),
        ("v: <file:states:sequential>", &["AL", "AK"]),
        ("v: <random:numeric:7:7>", &["7", "7"]),
        ("v: <random:numeric:7:7:0000>", &["0007", "0007"]),
        ("v: <random:chars:Z:3>", &["ZZZ", "ZZZ"]),
    ];
    for (line, expected) in table {
        assert_eq!(values(line, 2), *expected, "{line}");
    }
}

#[test]
fn random_tags_have_their_shape() {
    type Shape = fn(&str) -> bool;
    let table: &[(&str, Shape)] = &[
        ("<random:alpha:4>", |v| v.len() == 4 && v.bytes().all(|b| b.is_ascii_lowercase())),
        ("<random:alpha:2:5>", |v| (2..=5).contains(&v.len())),
        ("<random:alphanumeric:9>", |v| v.len() == 9 && v.bytes().all(|b| b.is_ascii_alphanumeric())),
        ("<random:numeric:5>", |v| v.len() == 5 && v.bytes().all(|b| b.is_ascii_digit())),
        ("<random:numeric:10:12>", |v| (10..=12).contains(&v.parse::<u32>().unwrap())),
        ("<random:hex:6>", |v| v.len() == 6 && v.bytes().all(|b| b.is_ascii_hexdigit())),
        ("<random:base64:8>", |v| v.len() == 8),
        ("<random:chars:AB:6>", |v| v.len() == 6 && v.bytes().all(|b| matches!(b, b'A' | b'B'))),
        ("<random:month>", |v| v.len() >= 3),
        ("<random:month:3>", |v| v.len() == 3),
        ("<random:telephone>", |v| v.len() == 15 && v.starts_with("+1 ")),
        ("<guid>", |v| v.len() == 36 && v.as_bytes()[14] == b'4' && v.split('-').count() == 5),
        ("<file:cities>", |v| v.len() > 2),
        ("<first> <last>", |v| v.split(' ').count() == 2),
    ];
    for (tag, is_right) in table {
        let made = values(&format!("v: {tag}"), 50);
        assert_eq!(made.len(), 50, "{tag}");
        assert!(made.iter().all(|value| is_right(value)), "{tag}: {made:?}");
        assert!(made.iter().collect::<std::collections::HashSet<_>>().len() > 1, "{tag}: {made:?}");
    }
}

#[test]
fn weights_count() {
    assert!(
        fault("branch: dc=b\nsubordinateTemplate: t:1\n\ntemplate: t\nrdnAttr: cn\ncn: <list:a;0>\n")
            .contains("<list:value")
    );
    let made = values("v: <list:a;1:b;3>", 4000);
    let many = made.iter().filter(|value| *value == "b").count();
    assert!((2800..3200).contains(&many), "{many}");
}

#[test]
fn names_do_not_repeat() {
    let made = values("v: <first> <last>", 20_000);
    assert_eq!(made.iter().collect::<std::collections::HashSet<_>>().len(), 20_000);
}

#[test]
fn the_same_seed_gives_the_same_entries() {
    let small = [("numusers".to_owned(), "50".to_owned()), ("numgroups".to_owned(), "3".to_owned())];
    let one = ldif_of(EXAMPLE_TEMPLATE, 42, &small);
    assert_eq!(one, ldif_of(EXAMPLE_TEMPLATE, 42, &small));
    assert_ne!(one, ldif_of(EXAMPLE_TEMPLATE, 43, &small));
    assert_eq!(one.matches("\ndn: ").count() + 1, 56);
}

#[test]
fn a_whole_file() {
    let template = "\
# comment
define suffix=dc=example,dc=com
define n=1

branch: [SUFFIX]
objectClass: domain

branch: ou=A+l=B,[suffix]
objectClass: organizationalUnit
subordinateTemplate: person:2

template: base
rdnAttr: uid
objectClass: person
uid: u<sequential>
subordinateTemplate: device:[n]

template: person
extends: base
rdnAttr: uid+sn
sn: S
description: folded
  line
photo:: aGk=
seeAlso:< file:///x
note: Zoë

template: device
rdnAttr: cn
objectClass: device
cn: d<sequential:1>
";
    let expected = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=A+l=B,dc=example,dc=com
objectClass: organizationalUnit
ou: A
l: B

dn: uid=u0+sn=S,ou=A+l=B,dc=example,dc=com
objectClass: person
uid: u0
sn: S
description: folded line
photo:: aGk=
seeAlso:< file:///x
note:: Wm/Dqw==

dn: cn=d1,uid=u0+sn=S,ou=A+l=B,dc=example,dc=com
objectClass: device
cn: d1

dn: uid=u1+sn=S,ou=A+l=B,dc=example,dc=com
objectClass: person
uid: u1
sn: S
description: folded line
photo:: aGk=
seeAlso:< file:///x
note:: Wm/Dqw==

dn: cn=d1,uid=u1+sn=S,ou=A+l=B,dc=example,dc=com
objectClass: device
cn: d1

";
    assert_eq!(ldif(template), expected);
    assert_eq!(ldif_of(template, 1, &[("n".into(), "0".into())]).matches("cn=d1").count(), 0);
}

#[test]
fn long_lines_are_folded() {
    let out = ldif(&format!("branch: dc=b\ndescription: {}\n", "x".repeat(200)));
    assert!(out.lines().all(|line| line.len() <= 80), "{out}");
    assert_eq!(out.replace("\n ", "").lines().filter(|line| line.ends_with(&"x".repeat(200))).count(), 1);
}

#[test]
fn faults_name_the_line() {
    let head = "branch: dc=b\nsubordinateTemplate: t:1\n\ntemplate: t\nrdnAttr: cn\ncn: x\n";
    for (template, expected) in [
        (
            "cn: x\n".to_owned(),
            "t:1: \"cn: x\" is neither define, include, branch: nor template:, and no branch or template has begun",
        ),
        ("".to_owned(), "t:1: the template has no branch"),
        ("define x\n".to_owned(), "t:1: a definition must be of the form: define name=value"),
        ("branch: nothing\n".to_owned(), "t:1: the branch needs a DN, such as branch: ou=People,dc=example,dc=com"),
        ("branch: dc=b\nsubordinateTemplate: p:1\n".to_owned(), "t:2: there is no template \"p\""),
        (
            "branch: dc=b\nsubordinateTemplate: p:many\n".to_owned(),
            "t:2: a subordinate template must be of the form: subordinateTemplate: name:number",
        ),
        (format!("{head}v: {{mail}}\n"), "t:4: {mail} is used before the template has a line for it"),
        (format!("{head}v: {{cn:x}}\n"), "t:7: \"{cn:x}\" must be {attribute} or {attribute:length}"),
        (
            format!("{head}v: <colour>\n"),
            "t:7: unknown tag <colour>; known are dn, _dn, parentdn, _parentdn, rdn, file, first, last, guid, \
             ifabsent, ifpresent, list, presence, random, sequential, statictext",
        ),
        (
            format!("{head}v: <presence:101>\n"),
            "t:7: <presence> must be of the form: <presence:percent>, from 0 to 100",
        ),
        (format!("{head}v: <guid:1>\n"), "t:7: <guid> must be of the form: <guid>"),
        (
            format!("{head}v: <sequential:a>\n"),
            "t:7: <sequential> must be of the form: <sequential>, <sequential:start> or <sequential:start:true|false>",
        ),
        (format!("{head}v: <file:no-such-list>\n"), "t:7: there is no file no-such-list"),
        (format!("{head}v: <dn\n"), "t:7: '<' is not closed; a '<' that is meant as text is written \\<"),
        (format!("{head}subordinateTemplate: t:2\n"), "t:7: templates nest in a circle through \"t\""),
        ("branch: dc=b\n\ntemplate: t\ncn: x\n".to_owned(), "t:3: template \"t\" needs rdnAttr"),
        (
            "branch: dc=b\n\ntemplate: t\nrdnAttr: uid\ncn: x\n".to_owned(),
            "t:3: rdnAttr \"uid\" has no line in the template",
        ),
        (
            "branch: dc=b\n\ntemplate: t\nrdnAttr: cn\nv: <dn>\ncn: x\n".to_owned(),
            "t:3: <v> is used before the attributes of the RDN have their lines",
        ),
        ("branch: dc=b\n\ntemplate: t\nextends: u\n".to_owned(), "t:4: there is no template \"u\""),
        (format!("{head}\ntemplate: T\nrdnAttr: cn\ncn: x\n"), "t:8: the template \"T\" is defined twice"),
        ("branch: dc=b\nno colon here\n".to_owned(), "t:2: \"no colon here\" is not \"attribute: value\""),
        ("include nowhere.template\n".to_owned(), "t:1: there is no file nowhere.template"),
    ] {
        assert_eq!(fault(&template), expected, "{template}");
    }
    let unsure = TemplateFile::parse("t", "branch: dc=b\nv: [what]\n", &Resources::default(), &[]).unwrap();
    assert_eq!(unsure.warnings, ["t:2: there is no constant \"what\"; [what] stays as it is"]);
}
