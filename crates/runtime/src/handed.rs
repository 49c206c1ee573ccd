//! Sockets that the service manager opened and hands over (`sd_listen_fds(3)`): a server without privileges listens at
//! low ports, and clients wait in the socket while it is started again.
//!
//! The process has them for as long as it lives. A listener whose address is that of one takes it instead of opening
//! its own; one that nobody takes is a mistake, which [`unclaimed`] tells.
#![allow(unsafe_code, reason = "the numbers of handed sockets become owned ones; the block says why it is sound")]

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use socket2::{SockAddr, Socket, Type};

use crate::listen_at::ListenAt;

static HANDED: OnceLock<Vec<Handed>> = OnceLock::new();

struct Handed {
    at: ListenAt,
    socket: Socket,
    is_claimed: AtomicBool,
}

/// Takes over what the service manager hands to this process; nothing without one. To be called once, at the start.
///
/// # Errors
/// When one is no listening stream socket, or the variables of the service manager make no sense.
pub fn receive() -> io::Result<()> {
    let mut all = Vec::new();
    for number in sd_notify::listen_fds()? {
        // SAFETY: the service manager gives these numbers to this process alone, nothing else of it knows them, and
        // `receive` is called once.
        let owned = unsafe { OwnedFd::from_raw_fd(number) };
        all.push(Handed::of(owned.into())?);
    }
    HANDED.set(all).map_err(|_| io::Error::other("the handed sockets are taken already"))
}

/// Has the program that this process becomes receive them anew.
///
/// # Errors
/// When the system refuses.
pub fn keep_over_exec() -> io::Result<()> {
    HANDED.get().into_iter().flatten().try_for_each(|handed| handed.socket.set_cloexec(false))
}

impl Handed {
    fn of(socket: Socket) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("the service manager {what}"));
        if socket.r#type()? != Type::STREAM || !socket.is_listener()? {
            return Err(wrong("hands over a socket that does not listen for connections: use ListenStream="));
        }
        let at = listen_at(&socket.local_addr()?).ok_or_else(|| wrong("hands over a socket without an address"))?;
        socket.set_nonblocking(true)?;
        Ok(Self { at, socket, is_claimed: AtomicBool::new(false) })
    }
}

fn listen_at(address: &SockAddr) -> Option<ListenAt> {
    let tcp = address.as_socket().map(ListenAt::Tcp);
    tcp.or_else(|| Some(ListenAt::Path(address.as_pathname()?.to_path_buf())))
}

/// A duplicate of the socket that was handed over for an address.
pub fn tcp(address: SocketAddr) -> Option<io::Result<Socket>> {
    claim(|at| *at == ListenAt::Tcp(address))
}

/// A duplicate of the socket that was handed over for a path.
pub(crate) fn unix(path: &Path) -> Option<io::Result<Socket>> {
    claim(|at| is_path(at, path))
}

/// Whether the socket of a path was handed over: it stays when the server ends.
pub(crate) fn has_path(path: &Path) -> bool {
    HANDED.get().is_some_and(|all| all.iter().any(|handed| is_path(&handed.at, path)))
}

fn is_path(at: &ListenAt, path: &Path) -> bool {
    let ListenAt::Path(own) = at else { return false };
    matches!((fs::canonicalize(own), fs::canonicalize(path)), (Ok(own), Ok(path)) if own == path)
}

fn claim(is_wanted: impl Fn(&ListenAt) -> bool) -> Option<io::Result<Socket>> {
    let found = HANDED.get()?.iter().find(|handed| is_wanted(&handed.at))?;
    found.is_claimed.store(true, Ordering::Relaxed);
    Some(found.socket.as_fd().try_clone_to_owned().map(Socket::from))
}

/// Whether the socket of an address was handed over: that somebody listens there is no obstacle then.
pub(crate) fn has_tcp(address: SocketAddr) -> bool {
    HANDED.get().is_some_and(|all| all.iter().any(|handed| handed.at == ListenAt::Tcp(address)))
}

/// Where sockets were handed over that no listener has taken.
pub fn unclaimed() -> Vec<ListenAt> {
    let all = HANDED.get().into_iter().flatten();
    all.filter(|handed| !handed.is_claimed.load(Ordering::Relaxed)).map(|handed| handed.at.clone()).collect()
}
