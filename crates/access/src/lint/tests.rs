//! Tests of [`super`]: an instruction for each thing that can be said, and one beside it of which it is not said.

use std::collections::BTreeSet;

use schema::Schema;

use super::*;
use crate::profiles::Profile;

const BASE: &str = "dc=example,dc=com";
const BODY: &str = "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///self\";)";

fn facts() -> Facts {
    Facts::new(Schema::standard())
}

fn held(facts: &Facts, holder: Option<&str>, number: usize, text: &str) -> Instruction {
    let holder = holder.map(|dn| NormalizedDn::parse(&facts.schema, dn.as_bytes()).unwrap());
    Instruction { holder, place: format!("number {number}"), text: text.to_owned() }
}

/// Grants what a search takes, so that nothing is said of rights that are missing.
const SEARCH: &str = "(targetattr=\"ou\")(version 3.0; acl \"b\"; allow (read,search) userdn=\"ldap:///all\";)";

/// Looks at instructions of these holders; entries are there but for `cn=gone`, groups are named `cn`.
fn look(texts: &[(&str, &str)]) -> Vec<(usize, Issue, String)> {
    let facts = facts();
    let gone = NormalizedDn::parse(&facts.schema, format!("cn=gone,{BASE}").as_bytes()).unwrap();
    let instructions: Vec<Instruction> =
        (0..).zip(texts).map(|(at, (holder, text))| held(&facts, Some(holder), at, text)).collect();
    let mut presence = |name: &NormalizedDn| {
        let text = String::from_utf8_lossy(name.as_bytes()).into_owned();
        Ok::<_, ()>(match text {
            _ if *name == gone => Presence::Missing,
            text if text.contains("elsewhere") => Presence::Elsewhere,
            text if text.contains("person") => Presence::There,
            text if text.contains("root") => Presence::OfServer,
            _ => Presence::Group,
        })
    };
    let found = lint(&facts, &instructions, &mut presence).unwrap();
    let part = |finding: &Finding| {
        let text = texts[finding.instruction].1;
        finding.span.clone().map_or(text, |span| text.get(span).unwrap_or_default()).to_owned()
    };
    found.iter().map(|finding| (finding.instruction, finding.issue.clone(), part(finding))).collect()
}

/// The codes of what is said of one instruction.
fn codes(text: &str) -> Vec<&'static str> {
    let found = look(&[(BASE, text), (BASE, SEARCH)]);
    found.iter().filter(|(at, ..)| *at == 0).map(|(_, issue, _)| issue.code()).collect()
}

fn rule(attributes: &str, rights: &str, rule: &str) -> String {
    format!("(targetattr{attributes})(version 3.0; acl \"a\"; allow ({rights}) {rule};)")
}

#[test]
fn every_mistake_is_named_and_what_is_meant_so_is_not() {
    let me = "userdn=\"ldap:///self\"";
    let anyone = "userdn=\"ldap:///anyone\"";
    let all = "userdn=\"ldap:///all\"";
    let secret = "=\"*\"";
    for (text, expected) in [
        (rule("=\"cn\"", "read", anyone), vec![]),
        ("(targetatr=\"cn\")".to_owned(), vec!["invalid"]),
        (format!("(target=\"ldap:///dc=other\")(targetattr=\"cn\"){BODY}"), vec!["foreign-target"]),
        (rule("=\"cn\"", "write", anyone), vec!["anyone-may-write"]),
        (rule("=\"cn\"", "read,add", anyone), vec!["anyone-may-write"]),
        (rule("=\"cn\"", "write", &format!("{anyone} and ip=\"10.0.0.0/8\"")), vec![]),
        (rule("=\"cn\"", "write", "authmethod=\"none\""), vec!["anyone-may-write"]),
        (rule(secret, "read", anyone), vec!["anyone-sees-passwords"]),
        (rule("=\"userPassword\"", "search", anyone), vec!["anyone-sees-passwords"]),
        (rule("!=\"cn\"", "compare", anyone), vec!["anyone-sees-passwords", "all-but-listed"]),
        (rule("!=\"userPassword || authPassword\"", "read", anyone), vec!["all-but-listed"]),
        (rule("=\"+\"", "read", anyone), vec![]),
        (rule(secret, "read", all), vec!["users-see-passwords"]),
        (rule(secret, "read", me), vec![]),
        (rule("=\"cn\"", "read", &format!("userdn!=\"ldap:///cn=a,{BASE}\"")), vec!["negation-admits-anonymous"]),
        (rule("=\"cn\"", "read", &format!("not {me}")), vec!["negation-admits-anonymous"]),
        (rule("=\"cn\"", "read", "authmethod!=\"simple\""), vec!["negation-admits-anonymous"]),
        (rule("=\"cn\"", "read", &format!("{all} and userdn!=\"ldap:///cn=a,{BASE}\"")), vec![]),
        (rule("=\"cn\"", "read", &format!("{anyone} and not {me}")), vec!["negation-admits-anonymous"]),
        (rule("=\"cn\"", "read", &format!("{anyone} and ip!=\"10.0.0.1\"")), vec![]),
        (rule("=\"cn\"", "read", &format!("{me} and {all} or {me}")), vec!["mixed-operators"]),
        (rule("=\"cn\"", "read", "authmethod=\"sasl NEW\""), vec!["unclear"]),
        (format!("(targetattr=cn){BODY}"), vec!["unclear"]),
        (rule("=\"cn || blueness\"", "read", me), vec!["unknown-attribute"]),
        (rule("=\"cn\"", "read", "userattr=\"blueness#USERDN\""), vec!["unknown-attribute"]),
        (format!("(targetfilter=\"(&(cn;x=a)(blueness=*))\")(targetattr=\"cn\"){BODY}"), vec!["unknown-attribute"]),
        (rule("=\"cn\"", "read", &format!("groupdn=\"ldap:///cn=gone,{BASE}\"")), vec!["missing-entry"]),
        (rule("=\"cn\"", "read", &format!("userdn=\"ldap:///CN=gone, {BASE}\"")), vec!["missing-entry"]),
        (rule("=\"cn\"", "read", &format!("groupdn=\"ldap:///cn=a,{BASE}\"")), vec![]),
        (BODY.to_owned(), vec!["no-targetattr"]),
        (BODY.replace("read", "all"), vec!["no-targetattr"]),
        (BODY.replace("read", "add,delete"), vec![]),
        (format!("(targattrfilters=\"add=cn:(cn=a)\"){}", BODY.replace("read", "write")), vec![]),
        (format!("(extop=\"1.2.3\"){}", BODY.replace("self", "anyone")), vec![]),
        (rule("=\"aci\"", "write", me), vec!["writes-access-control"]),
        (rule("=\"+\"", "write", me), vec!["writes-access-control", "writes-access-control"]),
        (rule("=\"*\"", "write", me), vec![]),
        (rule("=\"member || cn\"", "selfwrite", me), vec!["selfwrite-of-no-name"]),
        (rule("=\"cn\"", "all", me), vec![]),
        (rule("=\"uniqueMember\"", "selfwrite", me), vec![]),
        (rule("=\"*\"", "read", anyone).replace("allow", "deny"), vec!["deny-leaves-search"]),
        (rule("=\"cn\"", "read", &format!("not {me}")).replace("allow", "deny"), vec![]),
    ] {
        assert_eq!(codes(&text), expected, "{text}");
    }
}

#[test]
fn the_part_that_is_at_fault_is_pointed_at() {
    let text = rule("=\"cn\"", "read,search", "ssf>=\"1\" and not (groupdn=\"ldap:///cn=a,dc=example,dc=com\")");
    let found = look(&[(BASE, &text)]);
    let [(0, Issue::NegationAdmitsAnonymous, part)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(part, "groupdn=\"ldap:///cn=a,dc=example,dc=com\"");
}

#[test]
fn what_is_denied_to_everybody_is_not_granted() {
    let below = format!("ou=People,{BASE}");
    let deny =
        |attributes: &str, rights: &str, rule_text: &str| rule(attributes, rights, rule_text).replace("allow", "deny");
    let allow = rule("=\"cn || sn\"", "read,search", "userdn=\"ldap:///self\"");
    let shadowed = |deny: &str, holder: &str| {
        let found = look(&[(holder, deny), (&below, &allow)]);
        let mut of_allow = found.iter().filter(|(at, ..)| *at == 1).map(|(_, issue, _)| issue.code());
        let first = of_allow.next();
        assert!(first.is_none_or(|code| code == "shadowed") && of_allow.next().is_none(), "{found:?}");
        first.is_some()
    };
    let anyone = "userdn=\"ldap:///anyone\"";
    assert!(shadowed(&deny("=\"*\"", "all", anyone), BASE));
    assert!(shadowed(&deny("=\"sn || commonName\"", "read,search", "userdn=\"ldap:///self\""), &below));
    assert!(shadowed(&deny("!=\"mail\"", "read,search", anyone), BASE));
    assert!(!shadowed(&deny("=\"*\"", "read", anyone), BASE), "search is left");
    assert!(!shadowed(&deny("=\"cn\"", "all", anyone), BASE), "sn is left");
    assert!(!shadowed(&deny("=\"*\"", "all", "userdn=\"ldap:///all\" and ssf=\"0\""), BASE), "others are left");
    assert!(!shadowed(&deny("=\"*\"", "all", anyone), &format!("uid=a,{below}")), "the deny is below");
    assert!(!shadowed(&format!("(targetscope=\"base\"){}", deny("=\"*\"", "all", anyone)), BASE));
    assert!(!shadowed(&format!("(targetfilter=\"(cn=a)\"){}", deny("=\"*\"", "all", anyone)), BASE));
}

#[test]
fn what_is_said_twice_is_said_once_too_often() {
    let below = format!("ou=People,{BASE}");
    let text = rule("=\"cn\"", "read,search", "userdn=\"ldap:///self\"");
    let renamed = text.replace("acl \"a\"", "acl \"other\"").replace("allow", "  Allow");
    let found = look(&[(BASE, &text), (&below, &renamed), (BASE, &renamed)]);
    let issues: Vec<_> = found.iter().map(|(at, issue, _)| (*at, issue.clone())).collect();
    assert_eq!(issues, [1, 2].map(|at| (at, Issue::Duplicate("number 0".to_owned()))));
    let children = format!("(targetscope=\"onelevel\"){text}");
    assert_eq!(look(&[(BASE, &children), (&below, &children)]), []);
}

#[test]
fn what_setup_writes_has_no_mistakes() {
    let facts = facts();
    for profile in [Profile::Closed, Profile::Addressbook, Profile::PosixLogins, Profile::OpendjCompatible] {
        let texts = profile.acis();
        let instructions: Vec<Instruction> =
            (0..).zip(&texts).map(|(at, it)| held(&facts, None, at, it.text)).collect();
        let found = lint(&facts, &instructions, &mut |_| Ok::<_, ()>(Presence::Elsewhere)).unwrap();
        let bad: Vec<_> = found.iter().filter(|it| it.issue.severity() > Severity::Note).collect();
        assert_eq!(bad, Vec::<&Finding>::new(), "{profile:?}");
    }
}

/// The commonest typos fail a build that lints.
#[test]
fn a_name_that_does_not_exist_is_a_warning() {
    let missing = Issue::Missing { name: "cn=adimns".to_owned(), effect: "nobody is a member of it".to_owned() };
    for issue in [missing, Issue::UnknownAttribute("teIephoneNumber".to_owned())] {
        assert_eq!(issue.severity(), Severity::Warning, "{issue}");
    }
}

#[test]
fn every_issue_has_its_code() {
    let codes: BTreeSet<&str> = Issue::CODES.into_iter().collect();
    assert_eq!(codes.len(), Issue::CODES.len());
}

#[test]
fn names_that_stand_for_nobody_are_found() {
    for (condition, expected) in [
        ("groupdn=\"ldap:///cn=g,dc=elsewhere\"", vec!["foreign-name"]),
        ("userdn=\"ldap:///cn=u,dc=elsewhere\"", vec!["foreign-name"]),
        ("userdn=\"ldap:///cn=root\"", vec![]),
        ("groupdn=\"ldap:///cn=root\"", vec!["no-group"]),
        ("groupdn=\"ldap:///uid=person,dc=example,dc=com\"", vec!["no-group"]),
        ("userdn=\"ldap:///uid=person,dc=example,dc=com\"", vec![]),
        ("groupdn=\"ldap:///cn=g,dc=example,dc=com\"", vec![]),
    ] {
        assert_eq!(codes(&rule("=\"cn\"", "read", condition)), expected, "{condition}");
    }
}

#[test]
fn conditions_that_contradict_each_other_are_found() {
    for (condition, is_found) in [
        ("ip=\"10.0.0.1\" and ip=\"10.0.0.2\"", true),
        ("ip=\"10.0.0.0/8\" and ip=\"10.0.0.2\"", false),
        ("ip=\"10.0.0.1,10.0.0.2\" and ip=\"10.0.0.2,10.0.0.3\"", false),
        ("ip=\"2001:db8::/32\" and ip=\"2001:db8:1::/48\"", false),
        ("ip=\"2001:db8::/32\" and ip=\"2001:db9::/32\"", true),
        ("ip=\"10.0.0.1\" and ip=\"::1\"", true),
        ("ip=\"10.0.0.1\" or ip=\"10.0.0.2\"", false),
        ("ip=\"10.0.0.1\" and ip!=\"10.0.0.1\"", false),
        ("ssf>=\"128\" and ssf<\"56\"", true),
        ("ssf>=\"56\" and ssf<\"128\"", false),
        ("dayofweek=\"sat,sun\" and dayofweek=\"mon\"", true),
        ("dayofweek=\"sat,sun\" and dayofweek!=\"sat\"", false),
        ("timeofday>\"1800\" and timeofday<\"0600\"", true),
        ("timeofday>\"0600\" and timeofday<\"1800\"", false),
        ("authmethod=\"simple\" and authmethod=\"ssl\"", true),
        ("authmethod=\"simple\" and authmethod=\"none\"", false),
        ("timeofday<\"0000\"", true),
        ("ssf<\"0\" or ssf>\"1\"", true),
        ("userdn=\"ldap:///self\" or (ssf=\"0\" and ip=\"::1\" and ssf=\"1\")", true),
    ] {
        let text = rule("=\"cn\"", "read", &format!("userdn=\"ldap:///all\" and ({condition})"));
        assert_eq!(codes(&text).contains(&"never-true"), is_found, "{condition}");
    }
    let text = rule("=\"cn\"", "read", "ip=\"10.0.0.1\" and ssf>\"0\" and ip=\"10.0.0.2\"");
    let found = look(&[(BASE, &text), (BASE, SEARCH)]);
    assert_eq!(found[0].2, "ip=\"10.0.0.1\" and ssf>\"0\" and ip=\"10.0.0.2\"");
}

#[test]
fn rights_without_effect_are_found() {
    let all = "userdn=\"ldap:///all\"";
    let extended = |rights: &str| format!("(extop=\"1.2\")(version 3.0; acl \"a\"; allow ({rights}) {all};)");
    for (text, expected) in [
        (rule("=\"cn\"", "add,delete", all), vec!["targetattr-without-effect"]),
        (rule("=\"cn\"", "add,write", all), vec![]),
        (rule("=\"cn\"", "all", all), vec![]),
        (extended("read"), vec![]),
        (extended("all"), vec![]),
        (extended("read,write"), vec!["rights-without-effect"]),
    ] {
        assert_eq!(codes(&text), expected, "{text}");
    }
    let half = |right: &str| rule("=\"cn\"", right, all);
    let below = format!("ou=x,{BASE}");
    let said = |texts: &[(&str, &str)]| look(texts).iter().map(|(_, issue, _)| issue.code()).collect::<Vec<_>>();
    assert_eq!(said(&[(BASE, &half("read"))]), ["read-without-search"]);
    assert_eq!(said(&[(BASE, &half("search"))]), ["search-without-read"]);
    assert_eq!(said(&[(BASE, &half("search")), (&below, &half("read"))]), [""; 0]);
    let beside = format!("ou=y,{BASE}");
    assert_eq!(
        said(&[(&beside, &half("search")), (&below, &half("read"))]),
        ["search-without-read", "read-without-search"]
    );
}

#[test]
fn who_sees_passwords_of_others_is_noted() {
    let me = "userdn=\"ldap:///self\"";
    for (condition, expected) in [
        (format!("userdn=\"ldap:///uid=*,ou=Apps,{BASE}\""), vec!["others-see-passwords"]),
        (format!("userdn=\"ldap:///cn=a,{BASE}\""), vec!["others-see-passwords"]),
        (format!("groupdn=\"ldap:///cn=a,{BASE}\""), vec!["others-see-passwords"]),
        ("userattr=\"manager#USERDN\"".to_owned(), vec!["others-see-passwords"]),
        ("userdn=\"ldap:///parent\"".to_owned(), vec!["others-see-passwords"]),
        (format!("{me} or ip=\"10.0.0.1\""), vec!["others-see-passwords"]),
        ("userdn!=\"ldap:///self\"".to_owned(), vec!["negation-admits-anonymous", "anyone-sees-passwords"]),
        (format!("{me} and ip=\"10.0.0.1\""), vec![]),
        (me.to_owned(), vec![]),
    ] {
        assert_eq!(codes(&rule("=\"*\"", "read,search", &condition)), expected, "{condition}");
        assert!(!codes(&rule("=\"cn\"", "read,search", &condition)).contains(&"others-see-passwords"), "{condition}");
    }
    assert_eq!(codes(&rule("=\"userPassword\"", "write", &format!("groupdn=\"ldap:///cn=a,{BASE}\""))), [""; 0]);
}

#[test]
fn a_deny_of_read_that_leaves_search_is_noted() {
    let anyone = "userdn=\"ldap:///anyone\"";
    let deny = |attributes: &str, rights: &str| rule(attributes, rights, anyone).replace("allow", "deny");
    assert_eq!(codes(&deny("=\"ou\"", "read")), ["deny-leaves-search"]);
    assert_eq!(codes(&deny("=\"ou\"", "read,search")), [""; 0]);
    assert_eq!(codes(&deny("=\"mail\"", "read")), [""; 0], "nobody may search for it");
    let below = format!("ou=x,{BASE}");
    let found = look(&[(BASE, &deny("=\"*\"", "search")), (&below, &deny("=\"ou\"", "read")), (BASE, SEARCH)]);
    assert!(found.iter().all(|(_, issue, _)| *issue != Issue::DenyLeavesSearch), "{found:?}");
}

#[test]
fn a_deny_that_hides_whole_entries_is_noted() {
    let deny = BODY.replace("allow", "deny");
    assert_eq!(codes(&deny), ["hides-entries"]);
    assert_eq!(codes(&deny.replace("(read)", "(all)")), ["hides-entries"]);
    assert_eq!(codes(&deny.replace("(read)", "(add,delete)")), [""; 0]);
    assert_eq!(codes(&format!("(extop=\"1.2.3\"){deny}")), [""; 0]);
}

#[test]
fn conditions_that_are_always_true_are_found() {
    for (condition, is_found) in [
        ("timeofday>=\"0000\"", true),
        ("timeofday<=\"2359\"", true),
        ("timeofday>\"0000\"", false),
        ("timeofday<\"2359\"", false),
        ("dayofweek=\"sun,mon,tue,wed,thu,fri,sat\"", true),
        ("dayofweek=\"mon,tue\"", false),
        ("ssf>=\"0\"", true),
        ("ssf>\"0\"", false),
        ("ip!=\"10.0.0.1\"", false),
        ("authmethod!=\"simple\"", false),
    ] {
        let text = rule("=\"cn\"", "read", &format!("userdn=\"ldap:///all\" and {condition}"));
        let found = look(&[(BASE, &text), (BASE, SEARCH)]);
        let parts: Vec<_> = found.iter().filter(|(_, issue, _)| *issue == Issue::AlwaysTrue).collect();
        assert_eq!(!parts.is_empty(), is_found, "{condition}");
        assert!(parts.iter().all(|(_, _, part)| part == condition), "{parts:?}");
    }
}

#[test]
fn what_a_missing_group_decides_is_said() {
    let said = |condition: &str, effect: &str| {
        let text = rule("=\"cn\"", "read,search", condition).replace("allow", effect);
        let found = look(&[(BASE, &text), (BASE, SEARCH)]);
        let missing = found.iter().find(|(_, issue, _)| issue.code() == "missing-entry");
        missing.map(|(_, issue, _)| issue.to_string()).unwrap()
    };
    let gone = format!("\"ldap:///cn=gone,{BASE}\"");
    let nobody = format!("there is no entry \"cn=gone,{BASE}\", so nobody is a member of it");
    for (condition, effect, more) in [
        (format!("groupdn!={gone}"), "deny", ", and this denies everybody"),
        (format!("not groupdn={gone}"), "deny", ", and this denies everybody"),
        (format!("groupdn={gone}"), "deny", ", and this denies nobody"),
        (format!("groupdn={gone}"), "allow", ""),
        (format!("groupdn!={gone}"), "allow", ", and this allows everybody"),
        (format!("ssf>\"0\" and groupdn!={gone}"), "deny", ", and this condition is true of everybody"),
        (format!("ssf>\"0\" and groupdn={gone}"), "deny", ""),
    ] {
        assert_eq!(said(&condition, effect), format!("{nobody}{more}"), "{condition}");
    }
}
