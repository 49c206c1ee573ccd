//! Connections to a list of equal servers and to a second list, which is asked when nobody of the first answers.
//!
//! A connection that requests bind themselves is not mixed with those that are bound as the settings say.
//!
//! Servers of a list take turns. One that fails is left alone until [`Pool::check`] finds that it answers again, so
//! that a server that is down costs its timeout once and not at each request.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ldap::client::Search;
use ldap::{FilterBuf, LdapResult, Scope};
use zeroize::Zeroizing;

use crate::connection::Connection;
use crate::error::OutboundError;
use crate::server::{Server, Settings};

/// Connections that are kept open to each server.
const IDLE_MAX: usize = 64;

/// As whom connections are bound before they are used.
#[derive(Clone)]
pub struct Credentials {
    /// The name; empty for anonymous.
    pub dn: String,
    /// The password.
    pub password: Zeroizing<Vec<u8>>,
}

/// What a pool is made of.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// Servers that are asked first.
    pub primary: Vec<Server>,
    /// Servers that are asked when no primary one answers.
    pub secondary: Vec<Server>,
    /// How connections are made.
    pub connections: Settings,
    /// As whom they are bound; none: requests bind them.
    pub credentials: Option<Credentials>,
}

/// See the module's comment.
pub struct Pool {
    settings: PoolSettings,
    lists: [List; 2],
    tell: Box<dyn Fn(&Change) + Send + Sync>,
}

/// As whom a connection is bound.
#[derive(Clone, Copy)]
enum Bound {
    /// As the settings say.
    AsConfigured,
    /// By each request.
    ByRequests,
}

struct List {
    members: Vec<Kept>,
    /// Whose turn it is.
    turn: AtomicUsize,
}

struct Kept {
    server: Server,
    /// By [`Bound`].
    idle: [Mutex<Vec<Connection>>; 2],
    is_down: AtomicBool,
    /// Why it is down.
    problem: Mutex<String>,
}

/// What a request made of a server's answer.
pub enum Attempt<R> {
    /// It is answered.
    Done(R),
    /// This server cannot say; another one may. The text says why.
    TryNext(String),
}

/// No server could be asked: each with its reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Unavailable(pub Vec<(Server, String)>);

/// A server as [`Pool::members`] shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which.
    pub server: Server,
    /// Whether it belongs to the first list.
    pub is_primary: bool,
    /// Why it is not asked; none: it is.
    pub problem: Option<String>,
    /// Connections that wait for a request.
    pub idle: usize,
}

/// A server that was found to answer again, or not to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub server: Server,
    /// Why it is not asked from now on; none: it is asked again.
    pub problem: Option<String>,
}

impl Pool {
    /// A pool without any connection yet.
    #[must_use]
    pub fn new(settings: PoolSettings) -> Pool {
        Pool::telling(settings, |_| {})
    }

    /// The same; `tell` is called, on whatever thread finds it out, when a server is not asked from now on, and when it
    /// is asked again.
    #[must_use]
    pub fn telling(settings: PoolSettings, tell: impl Fn(&Change) + Send + Sync + 'static) -> Pool {
        let list = |servers: &[Server]| List {
            members: servers.iter().map(|server| Kept::new(server.clone())).collect(),
            turn: AtomicUsize::new(0),
        };
        let lists = [list(&settings.primary), list(&settings.secondary)];
        Pool { settings, lists, tell: Box::new(tell) }
    }

    /// Has `work` done on a connection to the first server that can answer. A server that fails is not asked again
    /// until [`Pool::check`] has found it well.
    ///
    /// # Errors
    /// When no server can be asked, at once when all are known not to answer.
    pub fn with<R>(
        &self,
        work: impl FnMut(&mut Connection) -> Result<Attempt<R>, OutboundError>,
    ) -> Result<R, Unavailable> {
        self.run(Bound::AsConfigured, work)
    }

    /// The same on a connection that `work` binds.
    ///
    /// # Errors
    /// As there.
    pub fn with_unbound<R>(
        &self,
        work: impl FnMut(&mut Connection) -> Result<Attempt<R>, OutboundError>,
    ) -> Result<R, Unavailable> {
        self.run(Bound::ByRequests, work)
    }

    fn run<R>(
        &self,
        bound: Bound,
        mut work: impl FnMut(&mut Connection) -> Result<Attempt<R>, OutboundError>,
    ) -> Result<R, Unavailable> {
        let mut reasons = Vec::new();
        for list in &self.lists {
            let first = list.turn.fetch_add(1, Ordering::Relaxed);
            for at in 0..list.members.len() {
                let Some(member) = list.members.get(first.wrapping_add(at) % list.members.len()) else { continue };
                if let Some(problem) = member.problem() {
                    reasons.push((member.server.clone(), problem));
                    continue;
                }
                match self.try_member(member, bound, &mut work) {
                    Ok(Attempt::Done(answer)) => return Ok(answer),
                    Ok(Attempt::TryNext(problem)) => reasons.push((member.server.clone(), problem)),
                    Err(error) => {
                        if member.set_down(error.to_string()) {
                            let problem = Some(error.to_string());
                            (self.tell)(&Change { server: member.server.clone(), problem });
                        }
                        reasons.push((member.server.clone(), error.to_string()));
                    }
                }
            }
        }
        Err(Unavailable(reasons))
    }

    fn try_member<R>(
        &self,
        member: &Kept,
        bound: Bound,
        work: &mut impl FnMut(&mut Connection) -> Result<Attempt<R>, OutboundError>,
    ) -> Result<Attempt<R>, OutboundError> {
        if let Some(mut connection) = member.take_idle(bound) {
            match work(&mut connection) {
                Ok(answer) => {
                    member.put_back(bound, connection);
                    return Ok(answer);
                }
                // Others of the same age are as stale.
                Err(error) if error.may_be_stale() => member.forget_idle(),
                Err(error) => return Err(error),
            }
        }
        let mut connection = self.open(&member.server, bound)?;
        let answer = work(&mut connection)?;
        member.put_back(bound, connection);
        Ok(answer)
    }

    fn open(&self, server: &Server, bound: Bound) -> Result<Connection, OutboundError> {
        let mut connection = Connection::open(server, &self.settings.connections)?;
        if let (Some(credentials), Bound::AsConfigured) = (&self.settings.credentials, bound) {
            let result = connection.bind(&credentials.dn, &credentials.password)?;
            if !result.is_success() {
                return Err(OutboundError::Bind { dn: credentials.dn.clone(), result: Box::new(result) });
            }
        }
        Ok(connection)
    }

    /// Asks the servers that are down for their root DSE; says who answers again. Blocks for up to the timeouts of each
    /// of them.
    pub fn check(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for member in self.lists.iter().flat_map(|list| &list.members) {
            if !member.is_down.load(Ordering::Acquire) {
                continue;
            }
            let bound = Bound::AsConfigured;
            match self
                .open(&member.server, bound)
                .and_then(|mut connection| ask_root(&mut connection).map(|_| connection))
            {
                Ok(connection) => {
                    member.put_back(bound, connection);
                    member.is_down.store(false, Ordering::Release);
                    let change = Change { server: member.server.clone(), problem: None };
                    (self.tell)(&change);
                    changes.push(change);
                }
                Err(error) => member.note(error.to_string()),
            }
        }
        changes
    }

    /// The servers, in the order in which they are configured.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let lists = self.lists.iter().zip([true, false]);
        let members = lists.flat_map(|(list, is_primary)| list.members.iter().map(move |member| (member, is_primary)));
        let member = |(kept, is_primary): (&Kept, bool)| Member {
            server: kept.server.clone(),
            is_primary,
            problem: kept.problem(),
            idle: kept.idle.iter().map(|idle| lock(idle).len()).sum(),
        };
        members.map(member).collect()
    }
}

fn ask_root(connection: &mut Connection) -> Result<LdapResult, OutboundError> {
    let filter = FilterBuf::every_entry();
    connection.search(&Search::new("", Scope::BaseObject, &filter, &["1.1"]), &mut |_| {})
}

impl Kept {
    fn new(server: Server) -> Kept {
        Kept { server, idle: Default::default(), is_down: AtomicBool::new(false), problem: Mutex::default() }
    }

    fn idle(&self, bound: Bound) -> &Mutex<Vec<Connection>> {
        let [as_configured, by_requests] = &self.idle;
        match bound {
            Bound::AsConfigured => as_configured,
            Bound::ByRequests => by_requests,
        }
    }

    fn take_idle(&self, bound: Bound) -> Option<Connection> {
        lock(self.idle(bound)).pop()
    }

    fn put_back(&self, bound: Bound, connection: Connection) {
        let mut idle = lock(self.idle(bound));
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }

    fn forget_idle(&self) {
        self.idle.iter().for_each(|idle| lock(idle).clear());
    }

    /// Whether that is news.
    fn set_down(&self, problem: String) -> bool {
        self.note(problem);
        let is_news = !self.is_down.swap(true, Ordering::AcqRel);
        self.forget_idle();
        is_news
    }

    fn note(&self, problem: String) {
        *lock(&self.problem) = problem;
    }

    fn problem(&self) -> Option<String> {
        self.is_down.load(Ordering::Acquire).then(|| lock(&self.problem).clone())
    }
}

/// What a panicking thread left is still a list of connections, or a text.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (server, reason)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}{server}: {reason}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("dn", &self.dn).finish_non_exhaustive()
    }
}
