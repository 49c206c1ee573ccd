//! The control that asks why a request would be granted or refused, over a real directory.

use ldap::oids::control::ACCESS_EXPLANATION;
use ldap::{ControlBuf, client};

use super::over_directory::{Real, person, replace};
use super::*;

fn about(name: Option<&str>) -> ControlBuf {
    ControlBuf::new(ACCESS_EXPLANATION, name.map(|name| name.as_bytes().to_vec())).critical()
}

fn ask_about_delete(client: &mut Client<TcpStream>, control: ControlBuf) -> (i64, String) {
    let mut request = Vec::new();
    let change = ldap::ldif::LdifChange {
        dn: "uid=ann,dc=example,dc=com".to_owned(),
        line: 1,
        controls: Vec::new(),
        operation: ldap::ldif::LdifOperation::Delete,
    };
    client::change(&mut request, 9, &change, &[control]);
    client.send(&request);
    // The whole message, with its controls.
    let mut room = [0; 4096];
    while !matches!(ber::frame(&client.received, usize::MAX), Ok(ber::Frame::Complete(_))) {
        let length = client.stream.read(&mut room).unwrap();
        client.received.extend_from_slice(&room[..length]);
    }
    let message = String::from_utf8_lossy(&client.received).into_owned();
    (client.expect().code, message)
}

#[test]
fn a_request_is_explained_and_not_done() {
    let real = Real::start();
    let mut root = real.filled();
    let (code, text) = ask_about_delete(&mut root, about(None));
    assert_eq!(code, 16654);
    assert!(text.contains("\"granted\":true") && text.contains("\"right\":\"delete\""), "{text}");
    let (code, text) = ask_about_delete(&mut root, about(Some("dn:")));
    assert_eq!(code, 16654);
    assert!(text.contains("\"granted\":false") && text.contains("\"asker\":\"\""), "{text}");
    assert_eq!(ask_about_delete(&mut root, about(Some("ann"))).0, 2);
    assert_eq!(ask_about_delete(&mut root, about(Some("dn:uid=nobody,dc=example,dc=com"))).0, 32);
    // The entry is still there.
    root.send(&replace(5, "uid=ann,dc=example,dc=com", "description", &["x"]));
    assert_eq!(root.expect().code, 0);
}

#[test]
fn only_who_bypasses_access_control_is_told() {
    let real = Real::start();
    let mut root = real.filled();
    root.send(&person(4, "ben", "secret"));
    assert_eq!(root.expect().code, 0);
    let mut ben = real.client();
    assert_eq!(ben.bind(1, "uid=ben,dc=example,dc=com", "secret").code, 0);
    // Not critical: without the right to use the control, the delete is refused itself.
    let (code, text) = ask_about_delete(&mut ben, ControlBuf { critical: false, ..about(None) });
    assert_eq!(code, 50);
    assert!(!text.contains("granted"), "{text}");
}
