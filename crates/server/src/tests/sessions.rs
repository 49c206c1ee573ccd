//! Sessions of accounts: those that end, and those whose user must change the password first.

use std::time::Duration;

use accounts::PasswordPolicy;
use directory::Directory;
use ldap::controls::ControlBuf;
use ldap::oids::{control, extended as oids};

use super::over_directory::{Real, base_search, modify, person, replace};
use super::*;

const ANN: &str = "uid=ann,dc=example,dc=com";
const MODIFY_REPLACE: i64 = 2;

fn with(policy: PasswordPolicy) -> Real {
    Real::with(|config| {
        let mut config = config.clone();
        config.default_policy = Arc::new(policy);
        Directory::open(&config).unwrap()
    })
}

/// Root and the user.
fn both(real: &Real) -> (Client<TcpStream>, Client<TcpStream>) {
    let root = real.filled();
    let mut ann = real.client();
    assert_eq!(ann.bind(1, ANN, "first password").code, 0);
    (root, ann)
}

fn delete(id: i32, dn: &str) -> Vec<u8> {
    request(id, |w| w.octets(0x4a, dn.as_bytes()))
}

/// What an administrator does to an account ends its sessions, at once where one asks for something.
#[test]
fn accounts_that_are_taken_away_lose_their_sessions() {
    let locked = replace(9, ANN, "pwdAccountLockedTime", &["000001010000Z"]);
    for (what, message) in [
        ("deleted", delete(9, ANN)),
        ("disabled", replace(9, ANN, "ds-pwp-account-disabled", &["TRUE"])),
        ("inactivated", replace(9, ANN, "nsAccountLock", &["TRUE"])),
        ("reset", replace(9, ANN, "userPassword", &["another password"])),
        ("locked", locked),
    ] {
        let real = Real::start();
        let (mut root, mut ann) = both(&real);
        root.send(&message);
        let code = root.expect().code;
        if what == "locked" && code == 19 {
            // Only the state operation writes it.
            continue;
        }
        assert_eq!(code, 0, "{what}");
        ann.send(&base_search(2, ""));
        ann.expect_notice(49);
    }
}

/// An account that is enabled at once has lost its sessions all the same, each time.
#[test]
fn accounts_that_are_disabled_for_a_moment_lose_their_sessions() {
    for attribute in ["ds-pwp-account-disabled", "nsAccountLock"] {
        let real = Real::start();
        let (mut root, ann) = both(&real);
        let mut sessions = vec![ann];
        for _ in 0..2 {
            let both_ways = [replace(9, ANN, attribute, &["TRUE"]), replace(10, ANN, attribute, &[])].concat();
            root.send(&both_ways);
            assert_eq!((root.expect().code, root.expect().code), (0, 0));
            for mut ann in sessions.drain(..) {
                ann.send(&base_search(2, ""));
                ann.expect_notice(49);
            }
            let mut ann = real.client();
            assert_eq!(ann.bind(1, ANN, "first password").code, 0, "it is in use again");
            ann.send(&extended(2, oids::WHO_AM_I, None));
            assert_eq!(ann.expect().rest, [format!("dn:{ANN}").into_bytes()]);
            sessions.push(ann);
        }
    }
}

/// Nobody has to ask for anything.
#[test]
fn a_silent_session_ends_too() {
    let real = Real::start();
    let (mut root, mut ann) = both(&real);
    root.send(&delete(9, ANN));
    assert_eq!(root.expect().code, 0);
    ann.expect_notice(49);
}

#[test]
fn other_changes_end_no_session() {
    let real = Real::start();
    let (mut root, mut ann) = both(&real);
    for message in [replace(9, ANN, "description", &["new"]), replace(9, ANN, "ds-pwp-account-disabled", &["FALSE"])] {
        root.send(&message);
        assert_eq!(root.expect().code, 0);
        ann.send(&extended(2, oids::WHO_AM_I, None));
        assert_eq!(ann.expect().rest, [format!("dn:{ANN}").into_bytes()]);
    }
    // A wrong password of somebody else, and one's own new password.
    assert_eq!(real.client().bind(1, ANN, "guess").code, 49);
    ann.send(&modify(3, ANN, MODIFY_REPLACE, "userPassword", &["second password"]));
    assert_eq!(ann.expect().code, 0);
    ann.send(&extended(4, oids::WHO_AM_I, None));
    assert_eq!(ann.expect().rest, [format!("dn:{ANN}").into_bytes()]);
}

/// Only the own password, and what a client needs for it.
#[test]
fn who_must_change_the_password_can_do_nothing_else() {
    let real = with(PasswordPolicy { force_change_on_reset: true, ..PasswordPolicy::default() });
    let mut root = real.filled();
    root.send(&replace(9, ANN, "userPassword", &["given password"]));
    assert_eq!(root.expect().code, 0);
    root.send(&person(10, "ben", "ben's password"));
    assert_eq!(root.expect().code, 0);
    let mut ann = real.client();
    assert_eq!(ann.bind(1, ANN, "given password").code, 0);
    let refused = [
        search(2, "dc=example,dc=com"),
        base_search(3, ANN),
        replace(4, ANN, "description", &["x"]),
        replace(5, "uid=ben,dc=example,dc=com", "userPassword", &["stolen password"]),
        delete(6, ANN),
        extended(7, oids::START_TRANSACTION, None),
        extended(8, oids::GET_CONNECTION_ID, None),
        extended(9, oids::REFRESH, Some(b"")),
        extended(10, "1.2.3", None),
    ];
    for message in &refused {
        ann.send(message);
        let answer = ann.expect();
        assert_eq!(answer.code, 50, "{answer:?}");
    }
    let allowed: [Vec<u8>; 1] = [extended(12, oids::WHO_AM_I, None)];
    for message in &allowed {
        ann.send(message);
        assert_eq!(ann.expect().code, 0);
    }
    ann.send(&replace(20, ANN, "userPassword", &["my own password"]));
    assert_eq!(ann.expect().code, 0);
    ann.send(&extended(21, oids::GET_CONNECTION_ID, None));
    assert_eq!(ann.expect().code, 0, "the change has lifted it");
    let mut again = real.client();
    assert_eq!(again.bind(1, ANN, "my own password").code, 0);
    again.send(&extended(2, oids::GET_CONNECTION_ID, None));
    assert_eq!(again.expect().code, 0);
}

/// The refusal says why, to clients that know the control.
#[test]
fn the_refusal_says_that_the_password_must_be_changed() {
    let real = with(PasswordPolicy { force_change_on_reset: true, ..PasswordPolicy::default() });
    let mut root = real.filled();
    root.send(&replace(9, ANN, "userPassword", &["given password"]));
    assert_eq!(root.expect().code, 0);
    let mut ann = real.client();
    assert_eq!(ann.bind(1, ANN, "given password").code, 0);
    let mut bytes = Vec::new();
    let wanted = ControlBuf::new(control::PASSWORD_POLICY, None);
    ldap::client::extended(&mut bytes, 2, oids::GET_CONNECTION_ID, None, &[wanted]);
    ann.send(&bytes);
    let mut raw = [0u8; 256];
    let length = ann.stream.read(&mut raw).unwrap();
    let told = b"\x30\x03\x81\x01\x02";
    assert!(raw[..length].windows(told.len()).any(|window| window == told), "{:?}", &raw[..length]);
}

/// A thousand wrong passwords at once: every client is told the same, and none is compared too much.
#[test]
fn a_storm_of_guesses_is_answered_alike() {
    let lockout_duration = Duration::from_secs(600);
    let real = with(PasswordPolicy { lockout_failure_count: 5, lockout_duration, ..PasswordPolicy::default() });
    drop(real.filled());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let mut client = real.client();
                for id in 0..10 {
                    assert_eq!(client.bind(id + 1, ANN, "guess").code, 49);
                }
            });
        }
    });
    assert_eq!(real.client().bind(1, ANN, "first password").code, 49, "it is locked");
}
