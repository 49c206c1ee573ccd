//! RFC 4516 §4's examples with other names, mistakes, round trips.

use proptest::prelude::*;

use super::*;

fn url(text: &str) -> LdapUrl {
    LdapUrl::parse(text).unwrap()
}

#[test]
fn parts_are_found() {
    let full = url("LDAP://Host.example.com:6666/o=An%20Example%2Cc=GB?cn,sn;lang-en?one?(cn=Babs%20J)?\
         !bindname=cn=a%2cdc=b,x-plain");
    assert_eq!((full.scheme, full.host.as_deref(), full.port), (UrlScheme::Ldap, Some("Host.example.com"), Some(6666)));
    assert_eq!(full.dn, "o=An Example,c=GB");
    assert_eq!(full.attributes, ["cn", "sn;lang-en"]);
    assert_eq!(full.scope, Some(Scope::SingleLevel));
    assert_eq!(full.filter.unwrap().to_string(), "(cn=Babs J)");
    let extension = |critical, name: &str, value: Option<&str>| UrlExtension {
        critical,
        name: name.into(),
        value: value.map(str::to_owned),
    };
    assert_eq!(full.extensions, [extension(true, "bindname", Some("cn=a,dc=b")), extension(false, "x-plain", None)]);
}

#[test]
fn parts_may_be_missing() {
    let least = url("ldap://");
    assert_eq!((least.host, least.port, least.dn.as_str()), (None, None, ""));
    assert_eq!(url("ldap:///??sub??").scope, Some(Scope::WholeSubtree));
    assert_eq!(url("ldap:///dc=a").effective_scope(), Scope::BaseObject);
    assert_eq!(url("ldaps://[2001:db8::7]:636/").host.as_deref(), Some("2001:db8::7"));
    assert_eq!(url("ldap://[::1]").port, None);
    assert_eq!(url("ldapi://%2fvar%2frun%2fldapi/dc=a").host.as_deref(), Some("/var/run/ldapi"));
    assert_eq!(url("ldap:///dc=a???(uid=x)").filter.unwrap().to_string(), "(uid=x)");
    // RFC 4516 §4: the value of the filter is a backslash escape inside a percent escape.
    let filter = url("ldap:///o=Babsco,c=US???(four-octet=%5c00%5c00%5c00%5c04)").filter.unwrap();
    assert_eq!(filter.to_string(), "(four-octet=\\00\\00\\00\\04)");
}

#[test]
fn mistakes_are_named() {
    let is = |text: &str, wanted: fn(&UrlError) -> bool| {
        let error = LdapUrl::parse(text).expect_err(text);
        assert!(wanted(&error), "{text}: {error:?}");
    };
    for text in ["", "ldap:/dc=a", "http://a/", "dc=a", "ldapx://"] {
        is(text, |e| matches!(e, UrlError::Scheme));
    }
    for text in ["ldap:///%", "ldap:///%4", "ldap:///%zz", "ldap:///%ff", "ldap:///???(a=%f)"] {
        is(text, |e| matches!(e, UrlError::Encoding(_)));
    }
    for text in ["ldap://h:0/", "ldap://h:65536/", "ldap://h:+1/", "ldap://h:x/"] {
        is(text, |e| matches!(e, UrlError::Port(_)));
    }
    for text in [
        "ldap://[::1/",
        "ldap://[::1]x/",
        "ldap://[1]/",
        "ldap://:389/",
        "ldap://a%20b/",
        "ldap://u@h/",
        "ldap://i%3ab/",
    ] {
        is(text, |e| matches!(e, UrlError::Host));
    }
    is("ldap:///nonsense", |e| matches!(e, UrlError::Dn(_)));
    is("ldap:///dc=a??all", |e| matches!(e, UrlError::Scope(_)));
    is("ldap:///dc=a???(cn=", |e| matches!(e, UrlError::Filter(_)));
    is("ldap:///dc=a?cn,,sn", |e| matches!(e, UrlError::Empty("attribute")));
    is("ldap:///dc=a????!", |e| matches!(e, UrlError::Empty("extension")));
    is("ldap:///dc=a????x?y", |e| matches!(e, UrlError::TooManyFields));
    let many = format!("ldap:///?{}", vec!["a"; URL_PARTS_MAX + 1].join(","));
    is(&many, |e| matches!(e, UrlError::TooManyParts));
}

fn any_url() -> impl Strategy<Value = LdapUrl> {
    let host = prop_oneof!["[a-z0-9.-]{1,12}", Just("2001:db8::1".to_owned())];
    let dn = prop::collection::vec(("[a-z]{1,4}", "\\PC{0,8}"), 0..4).prop_map(|rdns| {
        let rdn = |(attribute, value): &(String, String)| {
            let mut text = format!("{attribute}=");
            crate::dn::write_escaped(&mut text, value.as_bytes()).unwrap();
            text
        };
        rdns.iter().map(rdn).collect::<Vec<_>>().join(",")
    });
    let scope = prop::sample::select(vec![
        Scope::BaseObject,
        Scope::SingleLevel,
        Scope::WholeSubtree,
        Scope::SubordinateSubtree,
    ]);
    let filter = "[a-z]{1,5}".prop_map(|name| filter::parse(&format!("(&({name}=a*? %\u{e9})(!(b=\\2a,)))")).unwrap());
    let extension = (any::<bool>(), "[a-z=,!]{1,6}", prop::option::of("\\PC{0,8}"))
        .prop_map(|(critical, name, value)| UrlExtension { critical, name, value });
    (
        prop::sample::select(vec![UrlScheme::Ldap, UrlScheme::Ldaps]),
        prop::option::of((host, prop::option::of(1u16..))),
        dn,
        prop::collection::vec("[a-z*+@;?,]{1,6}", 0..3),
        prop::option::of(scope),
        prop::option::of(filter),
        prop::collection::vec(extension, 0..3),
    )
        .prop_map(|(scheme, authority, dn, attributes, scope, filter, extensions)| {
            let (host, port) = authority.map_or((None, None), |(host, port)| (Some(host), port));
            LdapUrl { scheme, host, port, dn, attributes, scope, filter, extensions }
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(url in any_url()) {
        let text = url.to_string();
        prop_assert!(text.is_ascii() && !text.contains(' '), "{}", text);
        prop_assert_eq!(LdapUrl::parse(&text), Ok(url), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "(ldap(s|i)?://)?[\\[\\]:%a-z0-9/?,!=()*\\\\\\PC]{0,30}") {
        if let Ok(url) = LdapUrl::parse(&text) {
            prop_assert_eq!(LdapUrl::parse(&url.to_string()), Ok(url));
        }
    }
}
