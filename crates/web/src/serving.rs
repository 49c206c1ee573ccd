//! The thread that serves HTTP.
//!
//! Bounded: connections at once, the time for a request to come, the time that a connection lasts. The library bounds
//! the head of a request (400 KiB); bodies are not read.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::answers::Answers;
use crate::listener::{HttpListener, OpenHttpListener};
use crate::routes::{Asked, router};

/// Connections of all listeners at once.
const CONNECTIONS_MAX: usize = 256;

/// A connection that has sent no whole request, or has made no TLS handshake, for so long is closed.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(15);

/// A connection that has lasted for so long is closed; whoever scrapes makes a new one.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(600);

/// When no connection can be accepted (too many open files, say), it is tried again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long answers under way may take when the server stops.
const STOP_TIME_MAX: Duration = Duration::from_secs(1);

/// See the module. Ends when it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    listeners: Vec<HttpListener>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Serves clients of the listeners.
    ///
    /// # Errors
    /// When the system gives no thread or no poller.
    pub fn start(open: Vec<OpenHttpListener>, answers: Arc<dyn Answers>) -> io::Result<Self> {
        let listeners = open.iter().map(|open| open.settings.clone()).collect();
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let run = move || runtime.block_on(serve(open, answers, stopped));
        let thread = std::thread::Builder::new().name("http".to_owned()).spawn(run)?;
        Ok(Self { listeners, stop, thread: Some(thread) })
    }

    /// Where it listens, with the ports that the system chose.
    #[must_use]
    pub fn listeners(&self) -> &[HttpListener] {
        &self.listeners
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // It panics only by a defect, which the panic hook reported.
            let _ = thread.join();
        }
    }
}

async fn serve(open: Vec<OpenHttpListener>, answers: Arc<dyn Answers>, mut stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut accepting = JoinSet::new();
    for OpenHttpListener { settings, socket } in open {
        // The socket was made non-blocking; without a poller nothing of this runtime works.
        let Ok(socket) = TcpListener::from_std(socket) else { continue };
        let handler = Arc::from(settings.handler.as_str());
        let asked = Asked { answers: Arc::clone(&answers), handler };
        accepting.spawn(accept(socket, settings, asked, Arc::clone(&places)));
    }
    // The sender lives as long as the server does.
    let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
    accepting.shutdown().await;
    // All places are free when nobody is served any more.
    let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
    let _ = timeout(STOP_TIME_MAX, places.acquire_many(all)).await;
}

async fn accept(socket: TcpListener, settings: HttpListener, asked: Asked, places: Arc<Semaphore>) {
    let router = router(asked.clone());
    loop {
        // Clients wait in the system's queue while all places are taken.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, address) = match socket.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if !asked.answers.admits(&asked.handler, address.ip().to_canonical()) {
            continue;
        }
        let (tls, router) = (settings.tls.clone(), router.clone());
        tokio::spawn(async move {
            // Errors of a connection are the client's.
            let _ = timeout(CONNECTION_TIME_MAX, connection(stream, tls, router)).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, tls: Option<Arc<runtime::tls::TlsAcceptor>>, router: Router) {
    let Some(tls) = tls else { return requests(stream, router).await };
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::clone(&tls.serving().config));
    if let Ok(Ok(stream)) = timeout(REQUEST_TIME_MAX, acceptor.accept(stream)).await {
        requests(stream, router).await;
    }
}

async fn requests(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let mut protocol = hyper_util::server::conn::auto::Builder::new(hyper_util::rt::TokioExecutor::new()).http1_only();
    protocol.http1().timer(TokioTimer::new()).header_read_timeout(REQUEST_TIME_MAX);
    let service = TowerToHyperService::new(router);
    // A client that goes away, or sends what is no HTTP, has had its answer from the library.
    let _ = protocol.serve_connection(TokioIo::new(stream), service).await;
}
