//! Which rule speaks of whom, and what pages may have.

use std::path::Path;
use std::sync::Arc;

use config::Config;
use proptest::prelude::*;
use schema::{NormalizedDn, Schema};

use super::rules::Subject;
use super::*;

fn rules(text: &str) -> (LimitRules, Arc<Schema>) {
    let config = Config::parse(text, Path::new("pando.toml")).unwrap();
    let schema = Schema::standard();
    let rules = LimitRules::new(&config, &schema, 0).unwrap();
    (rules, schema)
}

/// The soft size limit of `dn`, who is in `groups`.
fn size_of(rules: &(LimitRules, Arc<Schema>), dn: &str, groups: &[&str], is_root: bool) -> Option<u64> {
    let name = NormalizedDn::parse(&rules.1, dn.as_bytes()).unwrap();
    let groups: Vec<_> = groups.iter().map(|dn| NormalizedDn::parse(&rules.1, dn.as_bytes()).unwrap()).collect();
    let subject = Subject { name: &name, shown: dn, is_root };
    rules.0.of(&subject, &mut |group| Ok(groups.contains(group))).unwrap().size.granted(0).number()
}

/// The forms of OpenLDAP's own test of `limits`, each with a value of its own.
const FORMS: &str = r#"
    [global]
    size-limit = 500
    [limits.one]
    type = "dn"
    user-dn = ["cn=Ada Exact,ou=People,dc=example,dc=com", "cn=Directory Manager"]
    size-limit = 1
    [limits.two]
    type = "group"
    group-dn = ["cn=staff,ou=Groups,dc=example,dc=com"]
    size-limit = 2
    [limits.three]
    type = "dn-pattern"
    pattern = "^cn=foo user,ou=[^,]+,dc=example,dc=com$"
    size-limit = 3
    [limits.four]
    type = "dn"
    user-dn = "ou=People,dc=example,dc=com"
    scope = "one"
    size-limit = 4
    [limits.five]
    type = "dn"
    user-dn = "ou=Groups,dc=example,dc=com"
    scope = "children"
    size-limit = 5
    [limits.six]
    type = "dn"
    user-dn = "ou=Admin,dc=example,dc=com"
    scope = "subtree"
    size-limit = 6
    [limits.seven]
    type = "authenticated"
    size-limit = 7
    [limits.eight]
    type = "anonymous"
    size-limit = 8
    [limits.nine]
    type = "everyone"
    size-limit = 9
"#;

#[test]
fn the_first_rule_that_speaks_of_somebody_decides() {
    let rules = rules(FORMS);
    for (dn, groups, size) in [
        ("CN=ada exact, OU=people, DC=example, DC=com", &["cn=staff,ou=Groups,dc=example,dc=com"][..], 1),
        ("cn=Bo,ou=People,dc=example,dc=com", &["CN=Staff,ou=Groups,dc=example,dc=com"], 2),
        ("cn=Bo,ou=People,dc=example,dc=com", &["cn=others,ou=Groups,dc=example,dc=com"], 4),
        ("cn=Foo User,ou=People,dc=example,dc=com", &[], 3),
        ("cn=Foo User,ou=Deep,ou=People,dc=example,dc=com", &[], 7),
        ("ou=People,dc=example,dc=com", &[], 7),
        ("cn=x,ou=Groups,dc=example,dc=com", &[], 5),
        ("cn=y,cn=x,ou=Groups,dc=example,dc=com", &[], 5),
        ("ou=Groups,dc=example,dc=com", &[], 7),
        ("ou=Admin,dc=example,dc=com", &[], 6),
        ("cn=y,cn=x,ou=Admin,dc=example,dc=com", &[], 6),
        ("cn=Elsewhere,dc=example,dc=org", &[], 7),
    ] {
        assert_eq!(size_of(&rules, dn, groups, false), Some(size), "{dn} {groups:?}");
    }
    assert_eq!(rules.0.anonymous().size.granted(0), Most::At(8));
}

#[test]
fn root_users_are_limited_by_name_only() {
    let rules = rules(FORMS);
    assert_eq!(size_of(&rules, "cn=Directory Manager", &[], true), Some(1));
    assert_eq!(size_of(&rules, "cn=Other Root", &[], true), None);
    let everyone = self::rules("[limits.all]\ntype = \"everyone\"\nsize-limit = 3\nidle-time-limit = \"1 s\"\n");
    assert_eq!(size_of(&everyone, "cn=Directory Manager", &[], true), None);
    assert_eq!(everyone.0.anonymous().size.granted(0), Most::At(3));
    assert_eq!(everyone.0.anonymous().idle, Some(Duration::from_secs(1)));
    // A rule that names a root user says what it says, and the rest stays without limit.
    let named = self::rules("[limits.r]\ntype = \"dn\"\nuser-dn = \"cn=Root\"\ntime-limit = 5\n");
    assert_eq!(size_of(&named, "cn=Root", &[], true), None);
}

#[test]
fn a_rule_inherits_what_it_does_not_say_and_rules_are_never_mixed() {
    let text = r#"
        [global]
        size-limit = 500
        time-limit = "30 s"
        lookthrough-limit = 700
        [limits.first]
        type = "everyone"
        size-limit-hard = 900
        allow-paged-results = false
        [limits.second]
        type = "everyone"
        size-limit = 1
        lookthrough-limit = 1
    "#;
    let limits = rules(text).0.anonymous();
    assert_eq!((limits.size.granted(0), limits.size.granted(2000)), (Most::At(500), Most::At(900)));
    assert_eq!((limits.time_ms.granted(0), limits.lookthrough), (Most::At(30_000), Most::At(700)));
    assert_eq!(limits.paged_total, PagedTotal::Disabled);
    assert_eq!(limits.for_page(0, 10, 0).unwrap_err(), Refusal::NoPaging);
}

#[test]
fn own_attributes_come_before_rules_one_by_one() {
    let text = "[limits.all]\ntype = \"everyone\"\nsize-limit = 5\nsize-limit-hard = 9\nlookthrough-limit = 50\n";
    let by_rule = rules(text).0.anonymous();
    let own = OwnLimits::of([Some(Most::Unlimited), Some(Most::At(2)), None, Some(Most::At(3))]);
    let limits = own.over(by_rule);
    assert_eq!((limits.size.granted(0), limits.size.granted(7)), (Most::Unlimited, Most::At(7)));
    assert_eq!((limits.time_ms.granted(0), limits.time_ms.granted(5000)), (Most::At(2000), Most::At(2000)));
    assert_eq!((limits.lookthrough, limits.idle), (Most::At(50), Some(Duration::from_secs(3))));
    assert_eq!(OwnLimits::default().over(by_rule), by_rule);
}

fn paging() -> impl Strategy<Value = SessionLimits> {
    let most = || prop_oneof![Just(Most::Unlimited), (1u64..30).prop_map(Most::At)];
    let total = prop_oneof![Just(PagedTotal::SizeLimit), most().prop_map(PagedTotal::Most)];
    (most(), most(), most(), total).prop_map(|(soft, hard, page_size, paged_total)| {
        let size = Allowance::both(hard).with(Some(soft), Some(hard));
        SessionLimits { size, page_size, paged_total, ..SessionLimits::UNLIMITED }
    })
}

proptest! {
    /// Reading page after page gives what one bound on the whole gives: all entries, or as many as the total allows and
    /// then `sizeLimitExceeded`.
    #[test]
    fn pages_add_up_to_the_total(limits in paging(), asked in 0u64..40, page_size in 1u64..12, matching in 0u64..60) {
        let allowed = match limits.paged_total {
            PagedTotal::Most(most) => most,
            _ => limits.size.hard(),
        };
        let total = if asked == 0 { allowed } else { allowed.min(Most::At(asked)) };
        let mut sent = 0;
        let is_exceeded = loop {
            let page = limits.for_page(asked, page_size, sent).unwrap();
            prop_assert!(page.entries <= page_size && Most::At(page.entries) <= limits.page_size);
            let found = page.entries.min(matching - sent);
            sent += found;
            if sent == matching || page.is_last_allowed {
                break sent < matching;
            }
            prop_assert!(found > 0, "paging goes on");
        };
        prop_assert_eq!(sent, total.number().unwrap_or(u64::MAX).min(matching));
        prop_assert_eq!(is_exceeded, Most::At(matching) > total);
    }
}
