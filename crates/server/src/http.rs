//! What the server answers over HTTP, and its listeners.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use directory::Directory;
use runtime::secret_file;
use subtle::ConstantTimeEq;
use thiserror::Error;
use web::answers::Answers;
use web::exposition::Family;
use web::listener::{HttpListener, OpenHttpListener};
use web::serving::HttpServer;

use crate::connection_rules::ConnectionRules;
use crate::exported;
use crate::http_settings::HttpSettings;
use crate::monitor::Monitor;

/// Why a handler cannot serve.
#[derive(Debug, Error)]
#[error("connection handler {handler:?} cannot listen on {at}: {error}")]
pub struct HttpOpenError {
    handler: String,
    at: SocketAddr,
    error: io::Error,
}

/// HTTP of a running server. Clients are not served any more when it is dropped.
#[derive(Debug)]
pub(crate) struct Http {
    server: HttpServer,
    is_stopping: Arc<AtomicBool>,
}

/// The part of the server that answers.
pub(crate) struct Behind {
    pub(crate) directory: Arc<Directory>,
    pub(crate) monitor: Arc<Monitor>,
    pub(crate) rules: Arc<ConnectionRules>,
}

struct HttpAnswers {
    behind: Behind,
    tokens: Vec<(String, PathBuf)>,
    is_stopping: Arc<AtomicBool>,
}

/// Opens the sockets, so that a port in use ends the start before anything is served.
pub(crate) fn open(settings: &HttpSettings) -> Result<Vec<OpenHttpListener>, HttpOpenError> {
    let open = |listener: &HttpListener| {
        let (handler, at) = (listener.handler.clone(), listener.at);
        listener.clone().open().map_err(|error| HttpOpenError { handler, at, error })
    };
    settings.listeners.iter().map(open).collect()
}

impl Http {
    /// Serves clients; nothing where there is no listener.
    pub(crate) fn start(
        open: Vec<OpenHttpListener>,
        tokens: Vec<(String, PathBuf)>,
        behind: Behind,
    ) -> io::Result<Option<Http>> {
        if open.is_empty() {
            return Ok(None);
        }
        let is_stopping = Arc::new(AtomicBool::new(false));
        let answers = HttpAnswers { behind, tokens, is_stopping: Arc::clone(&is_stopping) };
        let server = HttpServer::start(open, Arc::new(answers))?;
        Ok(Some(Http { server, is_stopping }))
    }

    /// From now on the server is not healthy, so that load balancers send nobody any more.
    pub(crate) fn stopping(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    /// Where it listens, and whether with TLS.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (SocketAddr, bool)> {
        self.server.listeners().iter().map(|listener| (listener.at, listener.tls.is_some()))
    }
}

impl Answers for HttpAnswers {
    fn admits(&self, handler: &str, address: IpAddr) -> bool {
        self.behind.rules.admits(handler, address)
    }

    fn may_read_metrics(&self, handler: &str, token: Option<&str>) -> bool {
        let Some((_, file)) = self.tokens.iter().find(|(known, _)| known == handler) else { return true };
        let Ok(Some(wanted)) = secret_file::first_line(file, secret_file::CONFIGURED) else { return false };
        let is_same = |token: &str| bool::from(token.as_bytes().ct_eq(wanted.as_bytes()));
        !wanted.is_empty() && token.is_some_and(is_same)
    }

    fn troubles(&self) -> Vec<String> {
        if self.is_stopping.load(Ordering::Acquire) {
            return vec!["the server is stopping".to_owned()];
        }
        self.behind.directory.troubles()
    }

    fn metrics(&self) -> Vec<Family> {
        let is_healthy = self.troubles().is_empty();
        exported::families(&self.behind.monitor, &self.behind.directory, is_healthy)
    }
}
