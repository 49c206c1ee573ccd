//! Messages of many MiB: sent in parts, to fast and slow clients, with nothing of other operations between the parts.

use std::thread::sleep;

use super::over_directory::{ANN, Real, base_search, modify};
use super::*;

/// Values of the long message.
const VALUES: usize = 16;
/// Bytes of each.
const VALUE_BYTES: usize = 1_000_000;

/// A client bound as root of a server where Ann has a description of 16 MB.
fn filled(real: &Real) -> Client<TcpStream> {
    let mut client = real.filled();
    for at in 0..VALUES {
        let value = format!("{at} {}", "x".repeat(VALUE_BYTES));
        client.send(&modify(10, ANN, 0, "description", &[&value]));
        assert_eq!(client.expect().code, 0);
    }
    client
}

/// Every answer in the order of arrival, as message id and tag; entries must be complete.
fn answers(client: &mut Client<TcpStream>, count: usize) -> Vec<(i64, u8)> {
    let answers = (0..count).map(|_| {
        let answer = client.expect();
        if answer.tag == encode::tags::SEARCH_ENTRY && answer.id < 100 {
            let bytes: usize = answer.rest.iter().map(Vec::len).sum();
            assert!(bytes > VALUES * VALUE_BYTES, "{bytes} bytes of message {}", answer.id);
        }
        (answer.id, answer.tag)
    });
    answers.collect()
}

#[test]
fn a_long_message_is_not_mixed_with_others() {
    let real = Real::start();
    let mut client = filled(&real);
    for is_slow in [false, true] {
        let mut requests = Vec::new();
        for id in 20..23 {
            requests.extend(base_search(id, ANN));
            requests.extend(modify(id + 100, "dc=example,dc=com", 2, "description", &["short"]));
            requests.extend(base_search(id + 200, ""));
        }
        client.send(&requests);
        if is_slow {
            // Longer than a search waits in the middle of a message: the rest is put aside.
            sleep(Duration::from_millis(900));
        }
        let mut seen = answers(&mut client, 3 * 5);
        seen.sort_unstable();
        let entry = |id| (id, encode::tags::SEARCH_ENTRY);
        let done = |id| (id, encode::tags::SEARCH_DONE);
        let mut expected: Vec<_> = (20..23)
            .flat_map(|id| [entry(id), done(id), (id + 100, encode::tags::MODIFY), entry(id + 200), done(id + 200)])
            .collect();
        expected.sort_unstable();
        assert_eq!(seen, expected, "slow: {is_slow}");
    }
}

#[test]
fn who_leaves_in_the_middle_harms_nobody() {
    let real = Real::start();
    let mut client = filled(&real);
    for id in 1..4 {
        let mut leaving = real.client();
        assert_eq!(leaving.bind(1, "cn=Directory Manager", "secret12").code, 0);
        leaving.send(&base_search(id + 1, ANN));
        sleep(Duration::from_millis(100));
        drop(leaving);
    }
    client.send(&base_search(50, ANN));
    assert_eq!(answers(&mut client, 2), [(50, encode::tags::SEARCH_ENTRY), (50, encode::tags::SEARCH_DONE)]);
}
