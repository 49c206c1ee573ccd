//! Listening sockets: addresses, `SO_REUSEPORT`, unix sockets, and what each says about its connections.

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use config::AddressMask;
use mio::net::{TcpListener, UnixListener};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use crate::handed;
pub use crate::listen_at::ListenAt;
use crate::local_socket;
use crate::sys::PeerCredentials;
use crate::tls::TlsAcceptor;

/// Idle time after which the system probes whether a client is still there (`use-tcp-keep-alive`).
const KEEPALIVE_TIME: Duration = Duration::from_secs(300);

/// Who is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// All who may connect; the protocol finds out who they are.
    Clients,
    /// Processes of the server's own user and of root, through a unix socket: the kernel says who they are.
    LocalAdministrator,
}

/// A listener as configured.
#[derive(Debug, Clone)]
pub struct ListenerSettings {
    /// Where.
    pub at: ListenAt,
    /// Who is served.
    pub audience: Audience,
    /// TLS from the first byte, with this certificate.
    pub tls: Option<Arc<TlsAcceptor>>,
    /// Connections from these begin with a PROXY header.
    pub trusted_proxies: Vec<AddressMask>,
    /// Probe idle connections.
    pub keep_alive: bool,
    /// Send short answers at once.
    pub no_delay: bool,
    /// Connections that the system holds until they are accepted.
    pub backlog: u32,
    /// Time that a client may leave answers unread.
    pub blocked_write_time: Duration,
}

impl ListenerSettings {
    /// Without TLS, with the defaults.
    pub fn new(at: ListenAt) -> Self {
        Self {
            at,
            audience: Audience::Clients,
            tls: None,
            trusted_proxies: Vec::new(),
            keep_alive: true,
            no_delay: true,
            backlog: 4096,
            blocked_write_time: Duration::from_secs(120),
        }
    }

    /// Whether a process may connect through a unix socket.
    pub fn admits_process(&self, peer: PeerCredentials) -> bool {
        self.audience == Audience::Clients || peer.is_own_user_or_root()
    }

    /// Permissions of a unix socket. Everybody on the machine may connect to one for clients: who they are is known
    /// from the kernel, what they may do is decided later.
    fn socket_mode(&self) -> u32 {
        match self.audience {
            Audience::Clients => 0o666,
            Audience::LocalAdministrator => 0o600,
        }
    }

    /// Whether connections from `address` begin with a PROXY header.
    pub fn trusts_proxy(&self, address: std::net::IpAddr) -> bool {
        self.trusted_proxies.iter().any(|mask| mask.contains(address))
    }
}

/// Opens one socket of a TCP listener; each loop opens its own for the same address.
pub(crate) fn bind_tcp(settings: &ListenerSettings, address: SocketAddr) -> io::Result<TcpListener> {
    let handed = handed::tcp(address).transpose()?;
    let is_handed = handed.is_some();
    let socket = match handed {
        Some(socket) => socket,
        None => Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?,
    };
    // Accepted sockets inherit both, which saves two calls for each connection.
    socket.set_tcp_nodelay(settings.no_delay)?;
    if settings.keep_alive {
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_TIME))?;
    }
    if !is_handed {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
    }
    // Of one that was handed over this sets the backlog.
    socket.listen(i32::try_from(settings.backlog).unwrap_or(i32::MAX))?;
    Ok(TcpListener::from_std(socket.into()))
}

/// Whether somebody else listens on `address`. `SO_REUSEPORT` would otherwise let two servers of the same user share a
/// port and its clients.
pub fn check_port_is_free(address: SocketAddr) -> io::Result<()> {
    if address.port() == 0 || handed::has_tcp(address) {
        return Ok(());
    }
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}

/// Opens a unix socket. A socket left behind by a server that is gone is replaced; one that answers is not.
pub(crate) fn bind_unix(settings: &ListenerSettings, path: &Path) -> io::Result<UnixListener> {
    if let Some(socket) = handed::unix(path) {
        return Ok(UnixListener::from_std(socket?.into()));
    }
    if let Ok(meta) = fs::symlink_metadata(path) {
        if !meta.file_type().is_socket() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the path exists and is not a socket"));
        }
        if local_socket::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens on the socket"));
        }
        fs::remove_file(path)?;
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    local_socket::with_short_path(path, |path| socket.bind(&socket2::SockAddr::unix(path)?))?;
    // No client can connect before `listen`.
    fs::set_permissions(path, fs::Permissions::from_mode(settings.socket_mode()))?;
    socket.listen(i32::try_from(settings.backlog).unwrap_or(i32::MAX))?;
    Ok(UnixListener::from_std(socket.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_can_be_shared_by_loops_but_not_with_others() {
        let settings = ListenerSettings::new(ListenAt::Tcp("127.0.0.1:0".parse().unwrap()));
        let first = bind_tcp(&settings, "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = first.local_addr().unwrap();
        let _second = bind_tcp(&settings, address).unwrap();
        assert_eq!(check_port_is_free(address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn unix_sockets_replace_only_dead_ones() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let settings = ListenerSettings::new(ListenAt::Path(path.clone()));
        let living = bind_unix(&settings, &path).unwrap();
        assert_eq!(bind_unix(&settings, &path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(living);
        bind_unix(&settings, &path).unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "precious").unwrap();
        assert_eq!(bind_unix(&settings, &file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"precious");
    }

    #[test]
    fn only_the_own_user_and_root_administrate() {
        let dir = tempfile::tempdir().unwrap();
        // Longer than a socket's name may be.
        let folder = dir.path().join("instance".repeat(20));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("admin.sock");
        let clients = ListenerSettings::new(ListenAt::Path(path.clone()));
        let settings = ListenerSettings { audience: Audience::LocalAdministrator, ..clients.clone() };
        let _listener = bind_unix(&settings, &path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        local_socket::connect(&path).unwrap();
        let own = rustix::process::geteuid().as_raw();
        let peer = |uid| PeerCredentials { uid, gid: 0, pid: 1 };
        assert!(settings.admits_process(peer(own)) && settings.admits_process(peer(0)));
        assert!(!settings.admits_process(peer(own + 1)));
        assert!(clients.admits_process(peer(own + 1)));
    }

    #[test]
    fn proxies_are_trusted_by_address() {
        let mut settings = ListenerSettings::new(ListenAt::Path("x".into()));
        let home = "192.0.2.1".parse().unwrap();
        assert!(!settings.trusts_proxy(home));
        settings.trusted_proxies = vec![AddressMask::parse("192.0.2.0/24").unwrap()];
        assert!(settings.trusts_proxy(home) && !settings.trusts_proxy("198.51.100.1".parse().unwrap()));
    }
}
