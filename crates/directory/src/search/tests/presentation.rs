//! Controls about the form of a result, one case after the other: cookies, limits, failures, what is sent of an entry.

use std::fmt::Write;

use config::{BackendConfig, IndexConfig, IndexKind, default_indexes};
use ldap::client::controls::{VlvResponse, decode_sort_response, matched_values, sort_request, vlv_request};
use ldap::controls::{SortKey, VlvRequest, VlvTarget};
use ldap::oids::control;
use ldap::{ControlBuf, DerefAliases, ResultCode, Scope, client};

use super::fixture::{Asked, Fixture, user};
use super::pages::{names, next_page, page, value_of};

const BASE: &str = "dc=example,dc=com";

fn people(count: usize) -> String {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\n\n");
    for at in 0..count {
        let _ = write!(
            text,
            "dn: uid=u{at:03},{BASE}\nobjectClass: inetOrgPerson\ncn: Person {at}\nsn: S{}\n\
             mail: u{at}@example.com\n\n",
            at % 7
        );
    }
    text
}

fn sort_by(attribute: &str, rule: Option<&str>, reverse: bool) -> ControlBuf {
    let key = SortKey { attribute: attribute.as_bytes(), ordering_rule: rule.map(str::as_bytes), reverse };
    sort_request(&[key])
}

fn offset(offset: u32, content_count: u32) -> VlvRequest<'static> {
    VlvRequest { before: 1, after: 1, target: VlvTarget::Offset { offset, content_count }, context: None }
}

#[test]
fn a_cookie_is_for_its_search_only_and_outlives_other_searches_and_changes() {
    let mut it = Fixture::new(&[BASE], default_indexes(), &people(9));
    let controls = [page(4, b"")];
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") };
    let first = it.search(&asked).unwrap();
    assert_eq!(names(&first).len(), 4);
    let (_, cookie) = next_page(&first);
    it.search(&Asked::new(BASE, "(uid=u001)")).unwrap();
    // One of the entries sent goes, one that is to come too, a new one comes.
    for gone in ["u002", "u005"] {
        let mut bytes = Vec::new();
        client::delete(&mut bytes, 1, &format!("uid={gone},{BASE}"), &[]);
        it.update(&ldap::Message::decode(&bytes).unwrap());
    }
    let mut bytes = Vec::new();
    let values = [("objectClass", ["inetOrgPerson"]), ("cn", ["x"]), ("sn", ["x"]), ("uid", ["u000b"])];
    client::add(
        &mut bytes,
        1,
        &format!("uid=u000b,{BASE}"),
        values.iter().map(|(name, values)| (name.as_bytes(), values.iter().map(|value| value.as_bytes()))),
        &[],
    );
    it.update(&ldap::Message::decode(&bytes).unwrap());
    let controls = [page(100, &cookie)];
    let second = it.search(&Asked { controls: &controls, ..asked }).unwrap();
    let uid = |name: &str| format!("uid={name},{BASE}");
    assert_eq!(names(&second), [uid("u004"), uid("u006"), uid("u007"), uid("u008"), uid("u000b")]);
    assert_eq!(next_page(&second).1, b"", "nothing more to come");
    for other in [
        Asked { controls: &controls, ..Asked::new(BASE, "(uid=u*)") },
        Asked { controls: &controls, attributes: &["cn"], ..Asked::new(BASE, "(uid=*)") },
        Asked { controls: &controls, scope: Scope::SingleLevel, ..Asked::new(BASE, "(uid=*)") },
    ] {
        let refused = it.search(&other).unwrap_err();
        assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
        assert!(refused.message.contains("another search"), "{}", refused.message);
    }
    let mut forged = cookie.clone();
    forged[20] ^= 1;
    let controls = [page(4, &forged)];
    let refused = it.search(&Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") }).unwrap_err();
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(refused.message.contains("begin with an empty cookie"), "{}", refused.message);
}

#[test]
fn page_sizes_and_limits_of_size_go_together() {
    let mut it = Fixture::with(&[BASE], default_indexes(), &people(20), |config| config.global.size_limit = Some(6));
    let ask = |size, cookie: &[u8]| [page(size, cookie)];
    // No entries: only an estimate, and the end of a search that is given up.
    let controls = ask(0, b"");
    let found = it.search(&Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") }).unwrap();
    assert_eq!((found.entries.len(), next_page(&found).1.len()), (0, 0));
    fn limited(controls: &[ControlBuf]) -> Asked<'_> {
        Asked { controls, size_limit: 8, ..Asked::new(BASE, "(objectClass=person)") }
    }
    fn as_user(controls: &[ControlBuf]) -> Asked<'_> {
        Asked { controls, identity: user(), ..Asked::new(BASE, "(objectClass=person)") }
    }
    let controls = ask(3, b"");
    let first = it.search(&limited(&controls)).unwrap();
    let (estimate, cookie) = next_page(&first);
    assert_eq!((first.entries.len(), estimate), (3, 20));
    let controls = ask(0, &cookie);
    let given_up = it.search(&limited(&controls)).unwrap();
    assert_eq!((given_up.entries.len(), next_page(&given_up).1.len()), (0, 0));
    // The client's limit counts all pages.
    let controls = ask(3, &cookie);
    let second = it.search(&limited(&controls)).unwrap();
    assert_eq!(second.done.result.code, ResultCode::SUCCESS);
    let controls = ask(3, &next_page(&second).1);
    let third = it.search(&limited(&controls)).unwrap();
    assert_eq!((third.entries.len(), third.done.result.code), (2, ResultCode::SIZE_LIMIT_EXCEEDED));
    assert_eq!(next_page(&third).1, b"");
    // A page of the whole result is no page.
    let controls = ask(8, b"");
    let whole = it.search(&limited(&controls)).unwrap();
    assert_eq!((whole.entries.len(), value_of(&whole, control::PAGED_RESULTS)), (8, None));
    // The server's limit counts them too: pages are no way around it.
    let controls = ask(5, b"");
    let first = it.search(&as_user(&controls)).unwrap();
    assert_eq!((first.entries.len(), first.done.result.code), (5, ResultCode::SUCCESS));
    for more in [None, Some(sort_by("cn", None, false))] {
        let start: Vec<_> = [page(5, b"")].into_iter().chain(more.clone()).collect();
        let (_, cookie) = next_page(&it.search(&as_user(&start)).unwrap());
        let second: Vec<_> = [page(5, &cookie)].into_iter().chain(more).collect();
        let second = it.search(&as_user(&second)).unwrap();
        assert_eq!((second.entries.len(), second.done.result.code), (1, ResultCode::SIZE_LIMIT_EXCEEDED));
        assert_eq!(next_page(&second).1, b"");
    }
}

#[test]
fn pages_run_over_backends_aliases_and_referrals_and_end() {
    let ldif = format!(
        "{}dn: ou=far,{BASE}\nobjectClass: referral\nobjectClass: extensibleObject\nref: ldap://far.example.net/o=x\n\n\
         dn: cn=link,{BASE}\nobjectClass: alias\nobjectClass: extensibleObject\n\
         aliasedObjectName: uid=u002,{BASE}\n\n####\n\
         dn: ou=sub,{BASE}\nobjectClass: organizationalUnit\n\n\
         dn: uid=z,ou=sub,{BASE}\nobjectClass: account\n\n",
        people(5)
    );
    let second = |config: &mut config::Config| {
        let mut backend: BackendConfig = config.backends[0].clone();
        backend.id = "second".to_owned();
        backend.base_dns = vec![format!("ou=sub,{BASE}")];
        backend.directory = backend.directory.with_file_name("second");
        config.backends.push(backend);
    };
    let mut it = Fixture::with(&[BASE], default_indexes(), &ldif, second);
    for (deref, expected) in [(DerefAliases::Never, 9), (DerefAliases::Always, 8)] {
        for sorted in [false, true] {
            for size in 1..11 {
                let (mut all, mut references, mut cookie) = (Vec::new(), 0, Vec::new());
                for turn in 0.. {
                    assert!(turn < 12, "the pages do not end");
                    let mut controls = vec![page(size, &cookie)];
                    controls.extend(sorted.then(|| sort_by("uid", None, true)));
                    let asked = Asked { deref, controls: &controls, ..Asked::new(BASE, "(objectClass=*)") };
                    let found = it.search(&asked).unwrap();
                    all.extend(names(&found));
                    references += found.references.len();
                    cookie = next_page(&found).1;
                    if cookie.is_empty() {
                        break;
                    }
                }
                let mut each = all.clone();
                each.sort();
                each.dedup();
                assert_eq!((all.len(), each.len(), references), (expected, expected, 1), "{deref:?} {sorted} {size}");
            }
        }
    }
}

#[test]
fn what_cannot_be_sorted_is_told_in_the_control() {
    let mut it = Fixture::new(&[BASE], default_indexes(), &people(3));
    let failures = [
        (sort_by("colour", None, false), ResultCode::NO_SUCH_ATTRIBUTE),
        (sort_by("cn;lang-en", None, false), ResultCode::NO_SUCH_ATTRIBUTE),
        (sort_by("cn", Some("nonsenseMatch"), false), ResultCode::INAPPROPRIATE_MATCHING),
        (sort_by("cn", Some("integerOrderingMatch"), false), ResultCode::INAPPROPRIATE_MATCHING),
        (sort_by("entryDN", None, false), ResultCode::UNWILLING_TO_PERFORM),
        (sort_by("userPassword", None, false), ResultCode::INSUFFICIENT_ACCESS_RIGHTS),
    ];
    for (sort, code) in failures {
        let told = |found: &super::fixture::Found| {
            let (code, attribute) = decode_sort_response(value_of(found, control::SORT_RESPONSE)).unwrap();
            (code, attribute.map(<[u8]>::to_vec))
        };
        let controls = [sort.clone()];
        let asked = Asked { controls: &controls, identity: user(), ..Asked::new(BASE, "(objectClass=person)") };
        let unsorted = it.search(&asked).unwrap();
        assert_eq!((unsorted.entries.len(), unsorted.done.result.code), (3, ResultCode::SUCCESS));
        assert_eq!(told(&unsorted).0, code);
        assert!(told(&unsorted).1.is_some());
        let controls = [sort.critical()];
        let refused = it.search(&Asked { controls: &controls, ..asked }).unwrap();
        assert_eq!(refused.done.result.code, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
        assert_eq!((refused.entries.len(), told(&refused).0), (0, code));
    }
    let nothing = [sort_by("cn", None, false)];
    let found = it.search(&Asked { controls: &nothing, ..Asked::new(BASE, "(uid=none)") }).unwrap();
    assert_eq!(found.done.controls, [], "RFC 2891 section 2.2, 7");
}

#[test]
fn list_views_that_cannot_be() {
    let mut it = Fixture::new(&[BASE], default_indexes(), &people(5));
    let mut ask = |controls: &[ControlBuf]| {
        let found = it.search(&Asked { controls, ..Asked::new(BASE, "(objectClass=person)") }).unwrap();
        let told = value_of(&found, control::VLV_RESPONSE).map(|value| VlvResponse::decode(Some(value)).unwrap().code);
        (found.done.result.code, told, found.entries.len())
    };
    let sort = sort_by("cn", None, false);
    let missing = ResultCode::SORT_CONTROL_MISSING;
    assert_eq!(ask(&[vlv_request(&offset(1, 0))]), (missing, Some(missing), 0));
    let failed = ResultCode::VIRTUAL_LIST_VIEW_ERROR;
    for (at, count) in [(0, 0), (6, 0), (3, 2)] {
        let asked = [sort.clone(), vlv_request(&offset(at, count))];
        assert_eq!(ask(&asked), (failed, Some(ResultCode::OFFSET_RANGE_ERROR), 0), "{at} {count}");
    }
    let nonsense = VlvRequest { target: VlvTarget::Assertion(b"yesterday"), ..offset(1, 0) };
    let by_time = [sort_by("createTimestamp", None, false), vlv_request(&nonsense)];
    assert_eq!(ask(&by_time), (failed, Some(ResultCode::INAPPROPRIATE_MATCHING), 0));
    let unsortable = [sort_by("colour", None, false), vlv_request(&offset(1, 0))];
    assert_eq!(ask(&unsortable), (failed, Some(ResultCode::INAPPROPRIATE_MATCHING), 0));
    let strange = VlvRequest { context: Some(b"context"), ..offset(1, 0) };
    assert_eq!(ask(&[sort.clone(), vlv_request(&strange)]), (failed, Some(ResultCode::PROTOCOL_ERROR), 0));
    assert_eq!(ask(&[sort.clone(), vlv_request(&offset(2, 0))]), (ResultCode::SUCCESS, Some(ResultCode::SUCCESS), 3));
    let controls = [sort, vlv_request(&offset(2, 0)), page(2, b"")];
    let both = it.search(&Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=person)") }).unwrap_err();
    assert_eq!(both.code, ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn the_context_of_a_view_is_good_for_its_search() {
    let mut it = Fixture::new(&[BASE], default_indexes(), &people(5));
    let sort = sort_by("cn", None, false);
    let controls = [sort.clone(), vlv_request(&offset(2, 0))];
    let first = it.search(&Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=person)") }).unwrap();
    let context = VlvResponse::decode(value_of(&first, control::VLV_RESPONSE)).unwrap().context.unwrap().to_vec();
    let again = VlvRequest { context: Some(&context), ..offset(3, 5) };
    let controls = [sort, vlv_request(&again)];
    let second = it.search(&Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=person)") }).unwrap();
    assert_eq!(names(&second), ["u001", "u002", "u003"].map(|uid| format!("uid={uid},{BASE}")));
    let other = it.search(&Asked { controls: &controls, ..Asked::new(BASE, "(uid=u*)") }).unwrap();
    assert_eq!(other.done.result.code, ResultCode::VIRTUAL_LIST_VIEW_ERROR);
}

#[test]
fn only_values_that_match_are_sent() {
    let ldif = format!(
        "dn: {BASE}\nobjectClass: domain\n\ndn: cn=Sean Mullan,{BASE}\nobjectClass: inetOrgPerson\nsn: Mullan\n\
         mail: sean.mullan@hotmail.example\nmail: mullan@east.example\ntelephoneNumber: +781 442 0926\n\
         telephoneNumber: 555-9999\ndescription;lang-en: one\ndescription: two\n\n"
    );
    let mut it = Fixture::new(&[BASE], default_indexes(), &ldif);
    let mut ask = |filters: &[&str], attributes: &[&str], types_only| {
        let filters: Vec<_> = filters.iter().map(|filter| ldap::filter::parse(filter).unwrap()).collect();
        let controls = [matched_values(&filters).critical()];
        let asked = Asked { controls: &controls, attributes, types_only, ..Asked::new(BASE, "(sn=mullan)") };
        it.search(&asked).unwrap().entries.remove(0).1
    };
    // RFC 3876 section 5, example 1.
    let found = ask(&["(mail=*hotmail.example)", "(telephoneNumber=*)"], &["mail", "telephoneNumber", "sn"], false);
    assert_eq!(found["mail"], ["sean.mullan@hotmail.example"]);
    assert_eq!(found["telephoneNumber"].len(), 2);
    assert_eq!(found["sn"], [""; 0], "section 2, 4 ii");
    let found = ask(&["(description;lang-en=*)", "(name=mullan)", "(hasSubordinates=FALSE)"], &["*", "+"], false);
    assert_eq!((&found["description;lang-en"][..], &found["description"][..]), (&["one".to_owned()][..], &[][..]));
    assert_eq!((&found["sn"][..], found["cn"].len()), (&["Mullan".to_owned()][..], 0));
    assert_eq!((&found["hasSubordinates"][..], found["entryDN"].len()), (&["FALSE".to_owned()][..], 0));
    let found = ask(&["(:caseExactMatch:=two)", "(nosuch=*)"], &["description"], false);
    assert_eq!((&found["description"][..], found["description;lang-en"].len()), (&["two".to_owned()][..], 0));
    let types = ask(&["(mail=none)"], &["mail"], true);
    assert_eq!(types.keys().collect::<Vec<_>>(), ["mail"]);
}

#[test]
fn real_or_computed_attributes_only() {
    let mut it = Fixture::new(&[BASE], default_indexes(), &people(1));
    let mut ask = |oids: &[&str]| {
        let controls: Vec<_> = oids.iter().map(|oid| ControlBuf::new(oid, None).critical()).collect();
        let asked = Asked { controls: &controls, attributes: &["sn", "entryDN"], ..Asked::new(BASE, "(uid=u000)") };
        let found = it.search(&asked).map_err(|result| result.code);
        found.map(|mut found| found.entries.remove(0).1.into_keys().collect::<Vec<_>>())
    };
    assert_eq!(ask(&[]).unwrap(), ["entryDN", "sn"]);
    assert_eq!(ask(&[control::REAL_ATTRIBUTES_ONLY]).unwrap(), ["sn"]);
    assert_eq!(ask(&[control::VIRTUAL_ATTRIBUTES_ONLY]).unwrap(), ["entryDN"]);
    let both = ask(&[control::VIRTUAL_ATTRIBUTES_ONLY, control::REAL_ATTRIBUTES_ONLY]);
    assert_eq!(both, Err(ResultCode::CONSTRAINT_VIOLATION));
}

#[test]
fn the_servers_own_entries_come_in_pages_and_sorted_too() {
    let mut it = Fixture::new(&[BASE], default_indexes(), &people(1));
    let monitor = Asked::new("cn=monitor", "(objectClass=*)");
    let mut all = names(&it.search(&monitor).unwrap());
    let (mut paged, mut cookie) = (Vec::new(), Vec::new());
    for _ in 0..all.len() {
        let controls = [page(1, &cookie)];
        let found = it.search(&Asked { controls: &controls, ..Asked::new("cn=monitor", "(objectClass=*)") }).unwrap();
        paged.extend(names(&found));
        cookie = next_page(&found).1;
    }
    assert_eq!((&paged, cookie.len()), (&all, 0));
    let controls = [sort_by("cn", None, true)];
    let sorted = it.search(&Asked { controls: &controls, ..monitor }).unwrap();
    all.sort_by_key(|dn| std::cmp::Reverse(dn.split(',').next().unwrap_or_default().to_lowercase()));
    assert_eq!(names(&sorted), all);
}

#[test]
fn an_index_gives_the_first_page_without_looking_at_the_rest() {
    let by = |attribute: &str| IndexConfig { entry_limit: 0, ..IndexConfig::new(attribute, &[IndexKind::Equality]) };
    let mut it = Fixture::new(&[BASE], vec![by("mail"), by("objectClass")], &people(3000));
    let mut all: Vec<String> = (0..3000).map(|at| format!("u{at}@example.com")).collect();
    all.sort();
    for reverse in [false, true] {
        let mut cookie = Vec::new();
        let mut mails = Vec::new();
        for _ in 0..2 {
            let controls = [sort_by("mail", None, reverse), page(2, &cookie)];
            let asked =
                Asked { controls: &controls, attributes: &["mail"], ..Asked::new(BASE, "(objectClass=person)") };
            let found = it.search(&asked).unwrap();
            mails.extend(found.entries.iter().map(|(_, attributes)| attributes["mail"][0].clone()));
            cookie = next_page(&found).1;
            if !reverse {
                assert!(found.done.candidates < 10, "{}", found.done.candidates);
            }
        }
        assert_eq!(mails, all[..4]);
        all.reverse();
    }
}

#[test]
fn values_longer_than_an_index_key_are_in_order_too() {
    let stem = "long ".repeat(60);
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\n\n");
    let mut all = Vec::new();
    for at in 0..40 {
        let name = match at % 4 {
            0 => format!("{stem}{:02}", (at * 7) % 40),
            1 => format!("{}{at}", &stem[..239]),
            2 => format!("{}!{at}", &stem[..238]),
            _ => format!("short {at}"),
        };
        let _ = write!(ldif, "dn: uid=u{at:02},{BASE}\nobjectClass: inetOrgPerson\ncn: {name}\nsn: S{}\n\n", at % 3);
        all.push((name, format!("uid=u{at:02},{BASE}")));
    }
    all.sort();
    let mut it = Fixture::new(&[BASE], default_indexes(), &ldif);
    crate::search::sort::force_walk(Some(true));
    for reverse in [false, true] {
        let (mut paged, mut cookie) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            let controls = [sort_by("cn", None, reverse), page(5, &cookie)];
            let asked = Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=person)") };
            let found = it.search(&asked).unwrap();
            paged.extend(names(&found));
            cookie = next_page(&found).1;
        }
        assert!(paged.iter().eq(all.iter().map(|(_, dn)| dn)), "{reverse} {paged:?}");
        assert_eq!(cookie, b"");
        all.reverse();
    }
}

#[test]
fn a_list_kept_in_order_gives_the_window_wherever_its_base_is() {
    let long = "long ".repeat(60);
    let mut ldif = format!(
        "dn: {BASE}\nobjectClass: domain\n\ndn: ou=a,{BASE}\nobjectClass: organizationalUnit\n\n\
         dn: ou=b,{BASE}\nobjectClass: organizationalUnit\n\ndn: ou=c,ou=b,{BASE}\nobjectClass: organizationalUnit\n\n"
    );
    let mut people = Vec::new();
    for at in 0..120 {
        let place = ["ou=a", "ou=b", "ou=c,ou=b"][at % 3];
        let name = if at % 2 == 0 { format!("{long}{:02}", (at * 7) % 60) } else { format!("name {}", at % 9) };
        let dn = format!("uid=u{at},{place},{BASE}");
        let _ = write!(ldif, "dn: {dn}\nobjectClass: inetOrgPerson\ncn: {name}\nsn: S\n\n");
        people.push((name, at, dn));
    }
    people.sort();
    let filter = "(objectClass=inetOrgPerson)";
    let bases = [BASE, &format!("ou=b,{BASE}"), &format!("ou=c,ou=b,{BASE}")];
    let scopes = [Scope::WholeSubtree, Scope::SubordinateSubtree, Scope::SingleLevel];
    let mut it = Fixture::with(&[BASE], default_indexes(), &ldif, |config| {
        let list = |(at, base, scope)| config::VlvIndexConfig {
            name: format!("list{at}"),
            base_dn: base,
            scope,
            filter: filter.to_owned(),
            sort_order: "cn".to_owned(),
        };
        let all = bases.iter().flat_map(|base| scopes.map(|scope| ((*base).to_owned(), scope)));
        config.backends[0].vlv_indexes = all.enumerate().map(|(at, (base, scope))| list((at, base, scope))).collect();
    });
    let values = [b"name 4".to_vec(), b"a".to_vec(), b"z".to_vec(), format!("{long}33").into_bytes()];
    for base in bases {
        for scope in scopes {
            let is_in = |dn: &str| {
                let below = dn.strip_suffix(base).and_then(|rest| rest.strip_suffix(','));
                below.is_some_and(|below| scope != Scope::SingleLevel || !below.contains(','))
            };
            let expected: Vec<&(String, usize, String)> = people.iter().filter(|(_, _, dn)| is_in(dn)).collect();
            let offsets = (1..=expected.len()).step_by(7);
            let by_offset = offsets.map(|at| (VlvTarget::Offset { offset: at as u32, content_count: 0 }, at));
            let by_value = values.iter().map(|value| {
                let at = expected.iter().position(|(name, ..)| name.as_bytes() >= &value[..]).unwrap_or(expected.len());
                (VlvTarget::Assertion(value), at + 1)
            });
            for (target, place) in by_offset.chain(by_value) {
                if expected.is_empty() {
                    continue;
                }
                let request = VlvRequest { before: 3, after: 4, target, context: None };
                let controls = [sort_by("cn", None, false), vlv_request(&request)];
                let found = it.search(&Asked { controls: &controls, scope, ..Asked::new(base, filter) }).unwrap();
                assert_eq!(found.done.candidates, 0, "the index was not used");
                let told = VlvResponse::decode(value_of(&found, control::VLV_RESPONSE)).unwrap();
                assert_eq!((told.position as usize, told.content_count as usize), (place, expected.len()));
                let at = (place - 1).min(expected.len());
                let window = &expected[at.saturating_sub(3)..(at + 5).min(expected.len())];
                assert!(names(&found).iter().eq(window.iter().map(|(_, _, dn)| dn)), "{base} {scope:?} {target:?}");
            }
        }
    }
}

#[test]
fn values_outside_the_record_count_as_none_by_index_and_without() {
    let large = "x".repeat(3000);
    let mut ldif = people(4);
    for (uid, names) in [("a", vec![large.as_str()]), ("b", vec![large.as_str(), "person 1b"]), ("c", vec!["zz"])] {
        let _ = writeln!(ldif, "dn: uid={uid},{BASE}\nobjectClass: inetOrgPerson\nsn: S");
        for name in names {
            let _ = writeln!(ldif, "cn: {name}");
        }
        ldif.push('\n');
    }
    let mut it = Fixture::new(&[BASE], default_indexes(), &ldif);
    for reverse in [false, true] {
        let controls = [sort_by("cn", None, reverse)];
        let asked = Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=person)") };
        let both = [false, true].map(|walk| {
            crate::search::sort::force_walk(Some(walk));
            names(&it.search(&asked).unwrap())
        });
        assert_eq!(both[0], both[1]);
        let place = |uid: &str| both[0].iter().position(|dn| dn.starts_with(&format!("uid={uid},"))).unwrap();
        assert_eq!(both[0].len(), 7);
        // All values of such an attribute are outside the record, the short ones too.
        assert_eq!([place("a"), place("b")], if reverse { [0, 1] } else { [5, 6] });
    }
}
