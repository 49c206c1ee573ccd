//! Signals as ordinary messages: the handler writes a byte to a pipe, and the waiting thread reads it.

use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};

/// What the administrator asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: stop in order.
    Stop,
    /// SIGHUP: open the logs again, and read the configuration again.
    Reload,
}

/// The receiving end; one per process.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
}

/// Write end of the pipe for the handler, which can take no argument. -1 before `install`.
static PIPE: AtomicI32 = AtomicI32::new(-1);

impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGHUP of this process.
    pub fn install() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        writer.set_nonblocking(true)?;
        // The descriptor lives as long as the process: a handler may run at any time.
        PIPE.store(writer.into_raw_fd(), Ordering::SeqCst);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            crate::sys::install_signal_writer(signal, handler)?;
        }
        Ok(Self { pipe: reader })
    }

    /// Waits for the next signal.
    pub fn wait(&mut self) -> io::Result<Signal> {
        let mut byte = [0];
        loop {
            self.pipe.read_exact(&mut byte)?;
            match i32::from(byte[0]) {
                libc::SIGHUP => return Ok(Signal::Reload),
                libc::SIGTERM | libc::SIGINT => return Ok(Signal::Stop),
                _ => {}
            }
        }
    }
}

/// Asks this process to stop in order, as SIGTERM does. Does nothing before [`Signals::install`].
pub fn stop_self() {
    handler(libc::SIGTERM);
}

extern "C" fn handler(signal: i32) {
    crate::sys::write_byte(PIPE.load(Ordering::SeqCst), signal as u8);
}
