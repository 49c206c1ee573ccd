//! Where HTTP is served.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use runtime::handed;
use runtime::tls::TlsAcceptor;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 128;

/// An address of a connection handler.
#[derive(Debug, Clone)]
pub struct HttpListener {
    /// The name of its connection handler.
    pub handler: String,
    /// Address and port.
    pub at: SocketAddr,
    /// The certificate of an https handler.
    pub tls: Option<Arc<TlsAcceptor>>,
}

/// A listener whose socket is open.
#[derive(Debug)]
pub struct OpenHttpListener {
    pub(crate) settings: HttpListener,
    pub(crate) socket: TcpListener,
}

impl HttpListener {
    /// Opens the socket; clients are served when [`HttpServer::start`](crate::serving::HttpServer::start) gets it.
    ///
    /// # Errors
    /// When the address is not one of this machine, or in use.
    pub fn open(mut self) -> io::Result<OpenHttpListener> {
        let socket = match handed::tcp(self.at) {
            Some(socket) => socket?,
            None => self.bind()?,
        };
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let socket = TcpListener::from(socket);
        // The port that the system chose where 0 was asked for.
        self.at = socket.local_addr()?;
        Ok(OpenHttpListener { settings: self, socket })
    }

    fn bind(&self) -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(self.at), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if self.at.is_ipv6() {
            // So that 0.0.0.0 and :: can be listed together.
            socket.set_only_v6(true)?;
        }
        socket.bind(&self.at.into())?;
        Ok(socket)
    }
}
