//! Options that have a form of their own.

use ldap::controls::{PersistentSearch, VlvRequest, VlvTarget, decode_sort_keys};

use super::list::{parse_order, parse_persistent, parse_view};

#[test]
fn sort_orders() {
    let control = parse_order("sn, -cn,+uid:2.5.13.3").unwrap().control();
    let keys = decode_sort_keys(control.value.as_deref()).unwrap();
    let found: Vec<_> = keys.iter().map(|key| (key.attribute, key.ordering_rule, key.reverse)).collect();
    assert_eq!(found, [(&b"sn"[..], None, false), (b"cn", None, true), (b"uid", Some(&b"2.5.13.3"[..]), false)]);
    for text in ["", "sn,", "-", "cn:"] {
        assert!(parse_order(text).is_err(), "{text}");
    }
}

#[test]
fn views_of_lists() {
    let target = |text: &str| {
        let control = parse_view(text).unwrap().control();
        let request = VlvRequest::decode(control.value.as_deref()).unwrap();
        (request.before, request.after, format!("{:?}", request.target))
    };
    let offset = VlvTarget::Offset { offset: 3, content_count: 4 };
    assert_eq!(target("1:2:3:4"), (1, 2, format!("{offset:?}")));
    let value = VlvTarget::Assertion(b"jen:sen");
    assert_eq!(target("1:2:jen:sen"), (1, 2, format!("{value:?}")));
    for text in ["", "1", "1:2", "1:2:", "a:2:x", "1:-2:x"] {
        assert!(parse_view(text).is_err(), "{text}");
    }
}

#[test]
fn persistent_searches() {
    let all = PersistentSearch { change_types: 15, changes_only: true, return_controls: true };
    for text in ["ps", "PS:any", "ps:add,delete,modify,modifydn", "ps::true:1"] {
        assert_eq!(parse_persistent(text), Ok(all), "{text}");
    }
    let some = PersistentSearch { change_types: 3, changes_only: false, return_controls: false };
    assert_eq!(parse_persistent("ps:add,delete:false:0"), Ok(some));
    for text in ["", "p", "ps:added", "ps:any:maybe", "ps:any:1:1:1"] {
        assert!(parse_persistent(text).is_err(), "{text}");
    }
}
