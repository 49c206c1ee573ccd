//! The few calls into the operating system that the standard library does not offer, each wrapped safely.
#![allow(unsafe_code, reason = "direct calls of libc; every block says why it is sound")]

use std::{
    ffi::CString,
    io,
    mem::MaybeUninit,
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::Path,
};

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

/// `SO_PEERCRED` of a connected unix socket.
pub fn peer_credentials(socket: &impl AsRawFd) -> io::Result<PeerCredentials> {
    let mut credentials = MaybeUninit::<libc::ucred>::zeroed();
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `credentials`, which is that large; the descriptor is
    // borrowed and open for the duration of the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            credentials.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed before, so initialised whatever the kernel wrote; a `ucred` is three integers.
    let credentials = unsafe { credentials.assume_init() };
    Ok(PeerCredentials { uid: credentials.uid, gid: credentials.gid, pid: credentials.pid })
}

/// Bytes that an ordinary user may still write on the file system of `path`.
pub fn free_disk_space(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `path` ends with a NUL and outlives the call; `found` has the size of what the kernel writes.
    let status = unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed before and filled by the successful call; all fields are integers.
    let found = unsafe { found.assume_init() };
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Raises the limit of open files to what the administrator allows (the hard limit) and returns it.
pub fn raise_open_files_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write only the struct passed.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(limit.rlim_cur)
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
    fn limits_and_space() {
        assert!(raise_open_files_limit().unwrap() > 0);
        assert!(free_disk_space(Path::new("/")).unwrap() > 0);
        assert!(free_disk_space(Path::new("/no/such/place")).is_err());
    }
}
