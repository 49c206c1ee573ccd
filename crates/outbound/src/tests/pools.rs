//! Pools: turns, failover, servers that come back, stale connections.

use std::net::TcpListener;

use ldap::ResultCode;

use super::server::{Does, Fake, nowhere, settings};
use crate::connection::Connection;
use crate::error::OutboundError;
use crate::pool::{Attempt, Change, Credentials, Pool, PoolSettings};
use crate::server::Server;

fn pool(primary: &[&Server], secondary: &[&Server]) -> Pool {
    let list = |servers: &[&Server]| servers.iter().copied().cloned().collect();
    Pool::new(PoolSettings {
        primary: list(primary),
        secondary: list(secondary),
        connections: settings(),
        credentials: None,
    })
}

fn bind(connection: &mut Connection) -> Result<Attempt<ResultCode>, OutboundError> {
    let result = connection.bind("cn=a", b"right")?;
    match result.code {
        ResultCode::BUSY => Ok(Attempt::TryNext(result.to_string())),
        code => Ok(Attempt::Done(code)),
    }
}

#[test]
fn servers_take_turns_and_connections_are_kept() {
    let (one, two) = (Fake::start(Does::Answers), Fake::start(Does::Answers));
    let pool = pool(&[&one.server, &two.server], &[]);
    for _ in 0..10 {
        assert_eq!(pool.with(bind), Ok(ResultCode::SUCCESS));
    }
    assert_eq!((one.connections(), two.connections()), (1, 1));
    assert_eq!(pool.members().iter().map(|member| member.idle).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn the_second_list_is_asked_when_nobody_of_the_first_answers() {
    let (busy, gone, spare) = (Fake::start(Does::IsBusy), nowhere(), Fake::start(Does::Answers));
    let pool = pool(&[&busy.server, &gone], &[&spare.server]);
    assert_eq!(pool.with(bind), Ok(ResultCode::SUCCESS));
    let members = pool.members();
    assert_eq!(members[0].problem, None, "who is busy can be asked again");
    assert!(members[1].problem.as_ref().unwrap().starts_with("cannot connect"), "{members:?}");
    assert_eq!((members[1].is_primary, members[2].is_primary, members[2].idle), (true, false, 1));
}

/// A server that is down costs its timeout once.
#[test]
fn a_server_that_is_down_is_not_asked_again_until_it_answers() {
    let silent = Fake::start(Does::IsSilent);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let absent = Server { host: "127.0.0.1".to_owned(), port: address.port() };
    drop(listener);
    let pool = pool(&[&silent.server, &absent], &[]);
    let unavailable = pool.with(bind).unwrap_err();
    assert_eq!(unavailable.0.len(), 2);
    assert!(unavailable.to_string().contains(&format!("{}: no answer within 300 ms", silent.server)), "{unavailable}");
    assert_eq!(pool.with(bind).unwrap_err().0.len(), 2);
    assert_eq!(silent.connections(), 1, "the second request did not try it");
    assert_eq!(pool.check(), [], "neither of them is back");
    let back = Fake::on(TcpListener::bind(address).unwrap(), Does::Answers);
    assert_eq!(pool.check(), [Change { server: absent, problem: None }]);
    assert_eq!(pool.with(bind), Ok(ResultCode::SUCCESS));
    assert_eq!(back.connections(), 1, "the connection of the check was used");
}

/// Servers close connections that nobody uses.
#[test]
fn a_connection_that_was_closed_meanwhile_is_opened_again() {
    let fake = Fake::start(Does::AnswersOnce);
    let pool = pool(&[&fake.server], &[]);
    for asked in 1..=3 {
        assert_eq!(pool.with(bind), Ok(ResultCode::SUCCESS));
        assert_eq!(fake.connections(), asked);
    }
}

#[test]
fn a_pool_without_servers_has_nobody_to_ask() {
    assert!(pool(&[], &[]).with(bind).unwrap_err().0.is_empty());
}

/// One line in a log when a server goes, one when it is back.
#[test]
fn changes_are_told_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Server { host: "127.0.0.1".to_owned(), port: address.port() };
    let (sender, told) = std::sync::mpsc::channel();
    let settings = PoolSettings {
        primary: vec![server.clone()],
        secondary: Vec::new(),
        connections: settings(),
        credentials: None,
    };
    let pool = Pool::telling(settings, move |change| sender.send(change.problem.is_some()).unwrap());
    for _ in 0..3 {
        pool.with(bind).unwrap_err();
        pool.with_unbound(bind).unwrap_err();
    }
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [true]);
    let _back = Fake::on(TcpListener::bind(address).unwrap(), Does::Answers);
    pool.check();
    pool.check();
    assert_eq!(pool.with_unbound(bind), Ok(ResultCode::SUCCESS));
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [false]);
    assert_eq!(pool.members()[0].idle, 2, "connections for requests and others are not mixed");
}

#[test]
fn connections_are_bound_as_configured() {
    let fake = Fake::start(Does::Answers);
    let credentials = |password: &[u8]| Credentials { dn: "cn=p".to_owned(), password: password.to_vec().into() };
    let bound = |password: &[u8]| {
        Pool::new(PoolSettings {
            primary: vec![fake.server.clone()],
            secondary: Vec::new(),
            connections: settings(),
            credentials: Some(credentials(password)),
        })
    };
    assert_eq!(bound(b"right").with(bind), Ok(ResultCode::SUCCESS));
    let refused = bound(b"wrong").with(bind).unwrap_err();
    assert!(refused.to_string().contains("the bind as cn=p is refused"), "{refused}");
    assert!(!format!("{:?}", credentials(b"hidden")).contains("hidden"));
}
