//! The event loops of a server: opening their sockets, starting and stopping their threads.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use mio::{Poll, Waker};
use thiserror::Error;

use crate::accept::ListenSocket;
use crate::event_loop::{EventLoop, LoopHandle, Shared, WAKER};
use crate::handed;
use crate::limits::NetworkLimits;
use crate::listener::{ListenAt, ListenerSettings, bind_tcp, bind_unix, check_port_is_free};
use crate::log::error::ErrorLog;
use crate::log::message;
use crate::loop_core::Core;
use crate::mailbox::{Mail, Mailbox};
use crate::metrics::NetworkMetrics;
use crate::protocol::Protocol;
use crate::survey::{LoopSurvey, Survey, SurveySlot};

/// What event loops are started with.
#[derive(Debug, Clone)]
pub struct LoopsSettings {
    /// Where to listen.
    pub listeners: Vec<ListenerSettings>,
    /// Limits of all connections.
    pub limits: NetworkLimits,
    /// How many loops; one per core.
    pub count: usize,
}

/// Why event loops did not start.
#[derive(Debug, Error)]
pub enum LoopsError {
    /// A listener.
    #[error("cannot listen on {at}: {error}")]
    Listen {
        /// Where.
        at: String,
        /// What the system says.
        error: io::Error,
    },
    /// Threads, pollers.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

/// What the protocol of one loop is made with.
pub struct LoopParts<M> {
    /// Where other threads tell the loop's connections something.
    pub mailbox: Arc<Mailbox<M>>,
    /// What the network side of the loop counts.
    pub metrics: Arc<NetworkMetrics>,
}

/// Loops whose sockets are open and whose threads do not run yet.
pub struct OpenLoops<P: Protocol> {
    loops: Vec<EventLoop<P>>,
    shared: Arc<Shared<P::Mail>>,
    addresses: Vec<ListenAt>,
    errors: ErrorLog,
}

impl<P: Protocol> OpenLoops<P> {
    /// Opens the sockets, and has `protocol` make one protocol for each loop.
    ///
    /// # Errors
    /// When a socket cannot be opened, or the system is out of something.
    pub fn open(
        settings: LoopsSettings,
        errors: &ErrorLog,
        mut protocol: impl FnMut(LoopParts<P::Mail>) -> P,
    ) -> Result<Self, LoopsError> {
        let count = settings.count.max(1);
        let mut polls = Vec::new();
        let mut handles = Vec::new();
        for _ in 0..count {
            let poll = Poll::new()?;
            let mailbox = Arc::new(Mailbox::new(Waker::new(poll.registry(), WAKER)?));
            handles.push(LoopHandle { mailbox, connections: Arc::default(), survey: SurveySlot::default() });
            polls.push(poll);
        }
        let shared =
            Arc::new(Shared { loops: handles, next_connection: AtomicU64::new(1), connections_peak: Arc::default() });
        let (sockets, addresses) = open_sockets(&settings.listeners, count)?;
        let listeners: Arc<[ListenerSettings]> = settings.listeners.into();
        let mut loops = Vec::new();
        for (index, (poll, sockets)) in polls.into_iter().zip(sockets).enumerate() {
            let Some(handle) = shared.loops.get(index) else { continue };
            let metrics = Arc::new(NetworkMetrics::default());
            let limits = settings.limits.clone();
            let core = Core::new(limits, Arc::clone(&listeners), Arc::clone(&metrics), errors.clone());
            let protocol = protocol(LoopParts { mailbox: Arc::clone(&handle.mailbox), metrics });
            loops.push(EventLoop::new(poll, (core, protocol), index, Arc::clone(&shared), sockets)?);
        }
        Ok(Self { loops, shared, addresses, errors: errors.clone() })
    }

    /// Where it listens, with the ports that the system chose where 0 was configured.
    pub fn addresses(&self) -> &[ListenAt] {
        &self.addresses
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(self) -> io::Result<Loops<P::Mail>> {
        let mut loops = Loops { threads: Vec::new(), shared: self.shared, addresses: self.addresses };
        for (index, event_loop) in self.loops.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("loop-{index}")).spawn(move || event_loop.run())?;
            loops.threads.push(thread);
        }
        for at in &loops.addresses {
            self.errors.report(message::LISTENING, format_args!("Listening on {at}"));
        }
        Ok(loops)
    }
}

/// Running loops.
pub struct Loops<M> {
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared<M>>,
    addresses: Vec<ListenAt>,
}

/// How many connections there are, for whoever shows it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionCounts {
    loops: Vec<Arc<AtomicUsize>>,
    peak: Arc<AtomicUsize>,
}

impl ConnectionCounts {
    /// The counts of those loops, and the most there were at once.
    pub fn new(loops: Vec<Arc<AtomicUsize>>, peak: Arc<AtomicUsize>) -> Self {
        Self { loops, peak }
    }

    /// Connections now.
    pub fn now(&self) -> usize {
        self.loops.iter().map(|one| one.load(Ordering::Relaxed)).sum()
    }

    /// Most connections at once since the start.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}

impl<M> Loops<M> {
    /// Where they listen.
    pub fn addresses(&self) -> &[ListenAt] {
        &self.addresses
    }

    /// The counts of connections.
    pub fn counts(&self) -> ConnectionCounts {
        let loops = self.shared.loops.iter().map(|one| Arc::clone(&one.connections)).collect();
        ConnectionCounts::new(loops, Arc::clone(&self.shared.connections_peak))
    }

    /// What tells of their connections.
    pub fn survey(&self) -> Arc<dyn Survey>
    where
        M: Send + 'static,
    {
        Arc::new(Surveyor(Arc::clone(&self.shared)))
    }

    /// Whether they have not been stopped.
    pub fn is_running(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Stops accepting, lets running operations end until then at most, tells the clients, closes.
    pub fn stop(&mut self, until: Instant) {
        for one in &self.shared.loops {
            one.mailbox.post(Mail::Stop(until));
        }
        for thread in self.threads.drain(..) {
            // A loop that panicked has been reported by the panic hook.
            let _ = thread.join();
        }
        for at in &self.addresses {
            if let ListenAt::Path(path) = at
                && !handed::has_path(path)
            {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl<M> std::fmt::Debug for Loops<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loops").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// Asks loops whose mails are `M`.
struct Surveyor<M>(Arc<Shared<M>>);

impl<M: Send> Survey for Surveyor<M> {
    fn look(&self) -> Vec<Arc<LoopSurvey>> {
        let told = self.0.loops.iter().filter_map(|one| one.survey.get()).collect();
        self.0.loops.iter().filter(|one| one.survey.ask()).for_each(|one| one.mailbox.post(Mail::Survey));
        told
    }
}

type Sockets = Vec<Vec<(usize, ListenSocket)>>;

/// One set of sockets for each loop, and the addresses as they came out.
fn open_sockets(listeners: &[ListenerSettings], loop_count: usize) -> Result<(Sockets, Vec<ListenAt>), LoopsError> {
    let mut sockets: Sockets = (0..loop_count).map(|_| Vec::new()).collect();
    let mut addresses = Vec::new();
    for (index, settings) in listeners.iter().enumerate() {
        let failed = |error| LoopsError::Listen { at: settings.at.to_string(), error };
        match &settings.at {
            ListenAt::Tcp(address) => {
                check_port_is_free(*address).map_err(failed)?;
                let mut address: SocketAddr = *address;
                for sockets in &mut sockets {
                    let socket = bind_tcp(settings, address).map_err(failed)?;
                    address = socket.local_addr().map_err(failed)?;
                    sockets.push((index, ListenSocket::Tcp(socket)));
                }
                addresses.push(ListenAt::Tcp(address));
            }
            // One loop accepts for all: unix sockets know no SO_REUSEPORT, and connections are spread afterwards.
            ListenAt::Path(path) => {
                let socket = bind_unix(settings, path).map_err(failed)?;
                if let Some(first) = sockets.first_mut() {
                    first.push((index, ListenSocket::Unix(socket)));
                }
                addresses.push(settings.at.clone());
            }
        }
    }
    Ok((sockets, addresses))
}
