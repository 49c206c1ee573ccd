//! Unix sockets by their path, however long it is: the system takes 107 bytes.
//!
//! Knows paths; who listens and who connects is decided elsewhere.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// `sun_path` of Linux, with the zero at its end.
const SOCKET_PATH_BYTES: usize = 108;

/// Connects to the socket at `path`.
///
/// # Errors
/// When nobody listens there.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    with_short_path(path, |path| UnixStream::connect(path))
}

/// Calls `act` with a path that a socket address can hold: a long one is reached through a descriptor of its folder.
///
/// # Errors
/// When the folder cannot be opened, or `act` fails.
pub fn with_short_path<T>(path: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return act(path) };
    if path.as_os_str().len() < SOCKET_PATH_BYTES {
        return act(path);
    }
    let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    act(&Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name))
}
