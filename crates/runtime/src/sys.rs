//! The few calls into the operating system that the standard library does not offer, each wrapped safely.
#![allow(unsafe_code, reason = "signal handlers; every block says why it is sound")]

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::process::{Resource, Rlimit};

/// Who is at the other end of a unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Process id.
    pub pid: i32,
}

impl PeerCredentials {
    /// Whether it is a process of root, or of the user that this one runs as.
    #[must_use]
    pub fn is_own_user_or_root(self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }
}

/// `SO_PEERCRED` of a connected unix socket.
pub fn peer_credentials(socket: &impl AsFd) -> io::Result<PeerCredentials> {
    let found = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(PeerCredentials { uid: found.uid.as_raw(), gid: found.gid.as_raw(), pid: found.pid.as_raw_nonzero().get() })
}

/// Bytes that an ordinary user may still write on the file system of `path`.
pub fn free_disk_space(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Raises the limit of open files to what the administrator allows (the hard limit) and returns it; `None` is no limit.
pub fn raise_open_files_limit() -> io::Result<Option<u64>> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(limit.maximum)
}

/// Raises the nice value of the calling thread by `more` and leaves the others' alone. The greatest value there is is
/// 19.
pub(crate) fn lower_thread_priority(more: i32) -> io::Result<()> {
    // Linux keeps nice values per thread, and takes "this process" for the calling thread.
    let niceness = rustix::process::getpriority_process(None)?.saturating_add(more).min(19);
    Ok(rustix::process::setpriority_process(None, niceness)?)
}

/// Installs a signal handler that only writes the signal's number to a pipe.
pub(crate) fn install_signal_writer(signal: i32, handler: extern "C" fn(i32)) -> io::Result<()> {
    // SAFETY: the handler is async-signal-safe by its own contract (one `write`); the struct is fully initialised.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        if libc::sigaction(signal, &raw const action, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Writes one byte to a descriptor; nothing else, because a signal handler calls it.
pub(crate) fn write_byte(descriptor: i32, byte: u8) {
    // SAFETY: `write` is async-signal-safe; it reads one byte of a live local. A bad descriptor only fails.
    unsafe {
        let _ = libc::write(descriptor, (&raw const byte).cast(), 1);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn credentials_are_those_of_this_process() {
        let (a, _b) = UnixStream::pair().unwrap();
        let found = peer_credentials(&a).unwrap();
        assert_eq!(found.pid as u32, std::process::id());
    }

    #[test]
    fn the_priority_of_one_thread_only() {
        let of_thread = || rustix::process::getpriority_process(None).unwrap();
        let before = of_thread();
        let lowered = std::thread::spawn(move || {
            lower_thread_priority(3).unwrap();
            of_thread()
        });
        assert_eq!((lowered.join().unwrap(), of_thread()), ((before + 3).min(19), before));
    }

    #[test]
    fn limits_and_space() {
        assert_ne!(raise_open_files_limit().unwrap(), Some(0));
        assert!(free_disk_space(Path::new("/")).unwrap() > 0);
        assert!(free_disk_space(Path::new("/no/such/place")).is_err());
    }
}
