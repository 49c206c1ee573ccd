//! Changes of entries that only some requests show: referral objects, aliases, subentries.

use super::*;

fn manage_dsa_it() -> ControlBuf {
    ControlBuf::new(control::MANAGE_DSA_IT, None).critical()
}

#[test]
fn hidden_entries_stay_hidden() {
    let mut fixture = fixture();
    let (plain, all) = (Client::default(), Client::default());
    let only_changes = control(15, true);
    let asked = Asked { controls: &only_changes, deref: DerefAliases::Always, ..Asked::new(BASE, "(objectClass=*)") };
    watch(&mut fixture, &asked, &plain);
    let controls = [only_changes[0].clone(), manage_dsa_it()];
    watch(&mut fixture, &Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=*)") }, &all);
    let referral = "cn=elsewhere,dc=example,dc=com";
    let attributes = [
        (&b"objectClass"[..], vec![&b"referral"[..], b"extensibleObject"]),
        (b"cn", vec![b"elsewhere"]),
        (b"ref", vec![b"ldap://other.example/dc=example,dc=com"]),
    ];
    update(&fixture, |out| client::add(out, 1, referral, attributes, &[manage_dsa_it()]));
    let alias = "cn=alias,dc=example,dc=com";
    let attributes = [
        (&b"objectClass"[..], vec![&b"alias"[..], b"extensibleObject"]),
        (b"cn", vec![b"alias"]),
        (b"aliasedObjectName", vec![ANN.as_bytes()]),
    ];
    update(&fixture, |out| client::add(out, 1, alias, attributes, &[]));
    replace(&fixture, ANN, "last");
    let names = |told: Vec<Told>| told.into_iter().map(|it| it.dn).collect::<Vec<_>>();
    assert_eq!(names(all.told(3)), [referral, alias, ANN]);
    assert_eq!(names(plain.told(1)), [ANN]);
}

/// A search shows subentries to who has the control, or names their class; the changes that follow are told by the same
/// rule.
#[test]
fn subentries_are_told_to_who_asks_for_them() {
    let mut fixture = fixture();
    let subentry = "cn=zip,dc=example,dc=com";
    let attributes = [
        (&b"objectClass"[..], vec![&b"subentry"[..], b"extensibleObject"]),
        (b"cn", vec![b"zip"]),
        (b"subtreeSpecification", vec![b"{ }"]),
    ];
    update(&fixture, |out| client::add(out, 1, subentry, attributes, &[]));
    let changes = control(15, false);
    let with = |only: bool| vec![changes[0].clone(), client::controls::subentries(only)];
    let asked = [
        ("(objectClass=subentry)", changes.to_vec(), vec![subentry]),
        ("(|(objectClass=2.5.17.0)(uid=ann))", changes.to_vec(), vec![subentry, ANN]),
        ("(|(cn=*)(uid=ann))", changes.to_vec(), vec![ANN]),
        ("(|(cn=*)(uid=ann))", with(true), vec![subentry]),
        ("(|(objectClass=subentry)(uid=ann))", with(false), vec![ANN]),
    ];
    let mut watches = Vec::new();
    for (filter, controls, expected) in &asked {
        let client = Client::default();
        let shown = watch(&mut fixture, &Asked { controls, ..Asked::new(BASE, filter) }, &client);
        let mut shown: Vec<String> = shown.into_iter().map(|it| it.dn).collect();
        shown.sort();
        assert_eq!(&shown, expected, "{filter}");
        watches.push((filter, client, expected));
    }
    replace(&fixture, subentry, "first");
    replace(&fixture, ANN, "then");
    replace(&fixture, subentry, "last");
    for (filter, client, expected) in watches {
        let mut told = Vec::new();
        for (dn, value) in [(subentry, "first"), (ANN, "then"), (subentry, "last")] {
            told.extend(expected.contains(&dn).then(|| format!("4 {dn} {value}")));
        }
        assert_eq!(brief(&client.told(told.len())), told, "{filter}");
    }
}
