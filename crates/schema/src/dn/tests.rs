//! Tests of [`super`]: what `dn` must accept, refuse and give back.

use proptest::prelude::*;

use super::*;

fn dn(text: &str) -> NormalizedDn {
    NormalizedDn::parse(&Schema::standard(), text.as_bytes()).unwrap()
}

#[test]
fn equal_names_have_one_form() {
    for (one, two) in [
        ("cn=Ada Example,dc=example,dc=com", "CN = ada   example , DC=Example; 0.9.2342.19200300.100.1.25=COM"),
        ("commonName=a+sn=b", "SN=B + cn=A"),
        ("cn=a\\,b", "cn=\"A,B\""),
        ("cn=#04024869", "cn=hi"),
        ("uid=\\31\\32", "uid=12"),
        ("uidNumber=007", "uidnumber=7"),
        ("mystery=Some  Thing", "MYSTERY=some thing"),
        ("member=cn\\=A\\,dc\\=b", "member=cn\\=a\\, dc\\=B"),
        ("", "  "),
    ] {
        assert_eq!(dn(one), dn(two), "{one} {two}");
    }
    for (one, two) in [
        ("cn=a", "sn=a"),
        ("cn=a,dc=b", "dc=b,cn=a"),
        ("cn=a+sn=b", "cn=a,sn=b"),
        ("cn=a b", "cn=ab"),
        ("x500UniqueIdentifier='01'B", "x500UniqueIdentifier='010'B"),
        ("memberUid=A", "memberUid=a"),
    ] {
        assert_ne!(dn(one), dn(two), "{one} {two}");
    }
}

#[test]
fn the_form_reads_from_the_root() {
    let it = dn("UID=User.1,OU=People,dc=example");
    assert_eq!(it.as_bytes(), b"dc=example\0ou=people\0uid=user.1\0");
    assert_eq!(it.len(), 3);
    let rdns: Vec<&[u8]> = it.rdns().map(|rdn| rdn.as_bytes()).collect();
    assert_eq!(rdns, [b"dc=example".as_slice(), b"ou=people", b"uid=user.1"]);
    assert_eq!(it.rdn().unwrap().as_bytes(), b"uid=user.1");
    assert_eq!(it.parent().unwrap(), dn("ou=people,dc=example"));
    assert_eq!(it.parent().unwrap().child(it.rdn().unwrap()), it);
    assert_eq!(dn("dc=a").parent().unwrap(), NormalizedDn::root());
    assert_eq!(NormalizedDn::root().parent(), None);
    assert_eq!(NormalizedDn::root().rdns().count(), 0);
    assert!(NormalizedDn::root().is_root() && NormalizedDn::root().is_ancestor_of(&it));
    assert_eq!(dn("sn=b+cn=a").as_bytes(), b"cn=a\x02sn=b\0");
}

#[test]
fn values_without_a_normal_form_keep_what_they_are() {
    let it = dn("uidNumber=seven,dc=a");
    assert_eq!(it.as_bytes(), b"dc=a\0uidnumber=\x01\x7fseven\0");
    assert_ne!(it, dn("uidNumber=Seven,dc=a"));
}

#[test]
fn separators_in_values_are_escaped() {
    let schema = Schema::standard();
    // userPKCS12 has no text in it, so its value may be any bytes.
    let it = dn("userPKCS12=#0403000102,dc=a");
    assert_eq!(it.as_bytes(), b"dc=a\0userpkcs12=\x01\x01\x01\x02\x01\x03\0");
    assert_eq!(it.len(), 2);
    assert!(NormalizedDn::parse(&schema, b"no name").is_err());
    assert_eq!(NormalizedDn::parse(&schema, b"cn=\xff"), Err(DnSyntaxError::NotUtf8));
}

fn any_rdn() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["cn", "OU", "dc", "uidNumber", "userPKCS12", "unknown"]);
    let ava = (name, prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(name, value)| {
        let escaped: String = value.iter().map(|byte| format!("\\{byte:02x}")).collect();
        format!("{name}={escaped}")
    });
    prop::collection::vec(ava, 1..3).prop_map(|avas| avas.join("+"))
}

proptest! {
    #[test]
    fn prefix_means_ancestor(
        one in prop::collection::vec(any_rdn(), 0..4),
        two in prop::collection::vec(any_rdn(), 0..4),
    ) {
        let (a, b) = (dn(&one.join(",")), dn(&two.join(",")));
        prop_assert_eq!(a.len(), one.len());
        let rdns_a: Vec<_> = a.rdns().collect();
        let rdns_b: Vec<_> = b.rdns().collect();
        prop_assert_eq!(a.is_ancestor_or_equal(&b), rdns_b.starts_with(&rdns_a));
        let mut below = one.clone();
        below.splice(0..0, two);
        let below = dn(&below.join(","));
        prop_assert!(a.is_ancestor_or_equal(&below));
        prop_assert!(a <= below);
    }

    #[test]
    fn the_subtree_of_a_name_is_a_range(base in any_rdn(), others in prop::collection::vec(any_rdn(), 2..5)) {
        let base_dn = dn(&base);
        let mut names: Vec<NormalizedDn> = others.iter().map(|rdn| dn(rdn)).collect();
        names.extend(others.iter().map(|rdn| dn(&format!("{rdn},{base}"))));
        names.sort();
        let inside: Vec<bool> = names.iter().map(|name| base_dn.is_ancestor_or_equal(name)).collect();
        let changes = inside.windows(2).filter(|pair| pair[0] != pair[1]).count();
        prop_assert!(changes <= 2);
    }
}
