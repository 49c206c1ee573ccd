//! `debugsearchindex`: what the planner says it does, in the words of the document that operators know.

use config::{IndexConfig, IndexKind, default_indexes};
use ldap::{ResultCode, Scope};

use super::fixture::{Asked, Fixture, root, user};
use crate::Identity;

const BASE: &str = "dc=example,dc=com";
const PEOPLE: &str = "ou=people,dc=example,dc=com";

/// 2,000 people whose addresses are those of OpenDJ's sample, so that its figures hold for every key that begins with
/// `user.1`; 103 names begin with Den, five of them from user.1900 on, and one is Denice.
fn people(indexes: Vec<IndexConfig>) -> Fixture {
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\n\n");
    for at in 0..2_000 {
        let first = match at {
            1999 => "Denice",
            1925 | 1996..=1998 | 200..298 => "Denis",
            _ => "Quinn",
        };
        ldif.push_str(&format!(
            "dn: uid=user.{at},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: {first} Tree\nsn: Tree\n\
             mail: user.{at}@example.com\ndescription: number {at}\nuidNumber: {at}\nl: same\n\n"
        ));
    }
    Fixture::new(&[BASE], indexes, &ldif)
}

fn explained(it: &mut Fixture, base: &str, scope: Scope, filter: &str) -> String {
    let asked = Asked { scope, attributes: &["debugSearchIndex"], ..Asked::new(base, filter) };
    let found = it.search(&asked).unwrap();
    assert_eq!(found.entries.len(), 1);
    assert_eq!(found.entries[0].0, "cn=debugsearch");
    assert_eq!(found.entries[0].1.keys().collect::<Vec<_>>(), ["debugsearchindex"]);
    assert!(!found.done.unindexed);
    found.entries[0].1["debugsearchindex"].join("\n")
}

/// Without our own members, which come after those of the document.
fn plain(json: &str) -> String {
    let mut out = json.to_owned();
    for name in ["estimatedMicroseconds", "microseconds", "reason", "advice", "backend"] {
        let member = format!(",\"{name}\":");
        while let Some(at) = out.find(&member) {
            let rest = &out[at + member.len()..];
            let length = match rest.strip_prefix('"') {
                Some(text) => text.find('"').unwrap() + 2,
                None => rest.find(|char: char| !char.is_ascii_digit()).unwrap(),
            };
            out.replace_range(at..at + member.len() + length, "");
        }
    }
    out
}

// S0-30 S0-31 S0-33 S0-34 S0-35 S0-37 S0-38
#[test]
fn the_examples_of_the_document_are_explained_as_printed() {
    let mut it = people(default_indexes());
    let mail = r#""index":"mail.caseIgnoreIA5SubstringsMatch:6""#;
    let and = explained(&mut it, BASE, Scope::WholeSubtree, "(&(cn=*Den*)(mail=user.19*))");
    assert_eq!(
        plain(&and),
        format!(r#"{{"filter":{{"intersection":[{{{mail},"exact":"ser.19","candidates":111,"retained":111}},"#)
            + &format!(r#"{{{mail},"exact":"user.1","candidates":1111,"retained":111}},"#)
            + r#"{"filter":"(cn=*Den*)","index":"cn.caseIgnoreSubstringsMatch:6","range":"[den,deo[","#
            + r#""candidates":103,"retained":5}],"#
            + r#""candidates":5},"final":5}"#
    );
    let or = explained(&mut it, BASE, Scope::WholeSubtree, "(|(cn=*Denice*)(uid=user.19))");
    assert_eq!(
        plain(&or),
        r#"{"filter":{"union":[{"filter":"(cn=*Denice*)","index":"cn.caseIgnoreSubstringsMatch:6","#.to_owned()
            + r#""exact":"denice","candidates":1},"#
            + r#"{"filter":"(uid=user.19)","index":"uid.caseIgnoreMatch","exact":"user.19","candidates":1}],"#
            + r#""candidates":2},"final":2}"#
    );
    let one = explained(&mut it, PEOPLE, Scope::SingleLevel, "(mail=user.1*)");
    assert_eq!(
        plain(&one),
        format!(r#"{{"filter":{{"filter":"(mail=user.1*)",{mail},"exact":"user.1","candidates":1111}},"#)
            + r#""scope":{"type":"one","candidates":"[NOT-INDEXED]","retained":1111},"final":1111}"#
    );
    // Our own members come last in each object.
    assert!(one.contains(r#""final":1111,"backend":"userRoot","estimatedMicroseconds":1111,"microseconds":"#), "{one}");
    assert!(one.contains(r#""candidates":"[NOT-INDEXED]","retained":1111,"estimatedMicroseconds":0,"#), "{one}");
}

#[test]
fn what_was_not_used_is_told_with_its_reason_and_its_remedy() {
    let limited = |attribute: &str, kinds: &[IndexKind], entry_limit| IndexConfig {
        entry_limit,
        ..IndexConfig::new(attribute, kinds)
    };
    use IndexKind::{Equality, Ordering, Presence, Substring};
    let mut it = people(vec![
        limited("uid", &[Equality], 4000),
        limited("mail", &[Equality, Presence], 4000),
        limited("sn", &[Equality], 1999),
        limited("cn", &[Substring], 500),
        limited("uidNumber", &[Ordering], 4000),
    ]);
    let mut told = |filter: &str| explained(&mut it, BASE, Scope::WholeSubtree, filter);
    let create =
        "dsconfig create-backend-index --backend-name userRoot --index-name description --set index-type:equality";
    let text = told("(description=x)");
    // As long as the limit allows to collect all entries, they are candidates by their scope.
    assert_eq!(
        plain(&text),
        r#"{"filter":{"filter":"(description=x)","candidates":"[NOT-INDEXED]"},"#.to_owned()
            + r#""scope":{"type":"sub","candidates":2002,"retained":2002},"final":2002}"#
    );
    assert!(
        text.contains(&format!(r#""reason":"no equality index is configured for this attribute","advice":"{create}""#)),
        "{text}"
    );
    // Over the limit: exactly 2,000 entries, limit 1,999.
    let text = told("(sn=tree)");
    assert!(
        plain(&text).contains(
            r#"{"filter":"(sn=tree)","index":"sn.caseIgnoreMatch","exact":"tree","candidates":"[LIMIT-EXCEEDED]"}"#
        ),
        "{text}"
    );
    assert!(text.contains(r#""reason":"the key is in more than index-entry-limit 1999 entries""#), "{text}");
    // The index of another kind is there: the presence index answers instead, and says so.
    let text = told("(mail=*19*)");
    assert!(
        plain(&text)
            .contains(r#"{"filter":"(mail=*19*)","index":"mail.presence","exact":"PRESENCE","candidates":2000}"#),
        "{text}"
    );
    let advice = r#""reason":"no substring index is configured for this attribute","#.to_owned()
        + r#""advice":"dsconfig set-backend-index-prop --backend-name userRoot "#
        + r#"--index-name mail --add index-type:substring""#;
    assert!(text.contains(&advice), "{text}");
    // Two bounds are one range; ends in interval notation. S0-36
    let text = told("(&(uidNumber>=10)(uidNumber<=29))");
    let range = r#"[{"filter":"(&(uidNumber>=10)(uidNumber<=29))","index":"uidNumber.integerMatch","#.to_owned()
        + r#""range":"[10,29]","candidates":20,"retained":20}]"#;
    assert!(plain(&text).contains(&range), "{text}");
    assert!(plain(&told("(uidNumber>=1985)")).contains(r#""range":"[1985,[","candidates":15}"#));
    assert!(plain(&told("(uidNumber<=14)")).contains(r#""range":"],14]","candidates":15}"#));
    // One candidate: nothing else is looked at, and no remedy is needed.
    let text = told("(&(uid=user.7)(description=x)(sn=tree))");
    assert!(text.contains(r#""reason":"looking at the candidates that are left costs less""#), "{text}");
    assert!(!text.contains("advice") && text.contains(r#""final":1,"#), "{text}");
    for (filter, reason) in [
        ("(!(uid=x))", "no index lists the entries that do not match"),
        ("(uid:caseExactMatch:=x)", "no index of caseExactMatch is configured"),
        ("(uid:caseIgnoreListMatch:=x)", "no entry can match"),
        ("(uid:dn:=x)", "values in names (:dn:) are in no index"),
        ("(hasSubordinates=TRUE)", "the attribute is computed by the server"),
        ("(:caseIgnoreMatch:=x)", "the filter names no attribute"),
        ("(objectClass=*)", "every entry has this attribute"),
        ("(nosuch=x)", "no entry can match"),
        ("(cn=*quinn*)", "no substring index is configured"),
    ] {
        let text = told(filter);
        if filter == "(cn=*quinn*)" {
            // A piece shorter than the windows is a range; one key of it is over the limit.
            assert!(text.contains(r#""range":"[quinn,quino[","candidates":"[LIMIT-EXCEEDED]""#), "{text}");
            continue;
        }
        assert!(text.contains(reason), "{filter}: {text}");
    }
}

#[test]
fn who_may_ask_and_where_it_means_nothing() {
    let mut it = people(default_indexes());
    let asked = |identity| Asked { identity, attributes: &["debugsearchindex"], ..Asked::new(BASE, "(l=same)") };
    assert_eq!(it.dns(&asked(root())), ["cn=debugsearch"]);
    // Counts in indexes tell of entries that may not show.
    for identity in [user(), Identity::Anonymous] {
        let refused = it.search(&asked(identity)).unwrap_err();
        assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    }
    let base = Asked { scope: Scope::BaseObject, ..asked(user()) };
    let found = it.search(&Asked { filter: "(objectClass=*)", ..base }).unwrap();
    assert_eq!(found.dns(), [BASE]);
    assert!(found.entries[0].1.is_empty());
    // Nobody reads entries for it.
    let asked = Asked { attributes: &["*", "debugsearchindex"], ..Asked::new(BASE, "(uid=user.7)") };
    let found = it.search(&asked).unwrap();
    assert_eq!(found.dns(), ["cn=debugsearch"]);
    assert_eq!(found.done.candidates, 1);
}
