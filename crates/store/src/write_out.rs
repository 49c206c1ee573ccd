//! Tells the disk to write early, in small pieces, what was written to a file. A sync waits for everything that the
//! disk still has to write, for any file: without this, an update would wait for the pages that a fold left in the page
//! cache.
//!
//! Nothing here makes anything durable, and failures are ignored here: the sync of the file reports them.

use std::fs::File;
use std::ops::Range;

/// Tells the disk to begin writing a range of a file (an empty one goes to the end), and does not wait for it.
pub fn begin(file: &File, range: Range<u64>) {
    #[cfg(target_os = "linux")]
    sync_range(file, range, libc::SYNC_FILE_RANGE_WRITE);
    #[cfg(not(target_os = "linux"))]
    let _ = (file, range);
}

/// Has the disk write everything that was written to a file so far, and waits until the disk has it, maybe in its
/// cache.
///
/// Use a handle that is never synced: the kernel reports a failed write once to each handle, and here the report is
/// lost.
pub fn wait(file: &File) {
    #[cfg(target_os = "linux")]
    {
        let wait = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        sync_range(file, 0..0, libc::SYNC_FILE_RANGE_WRITE | wait);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file.sync_data();
}

#[cfg(target_os = "linux")]
fn sync_range(file: &File, range: Range<u64>, flags: libc::c_uint) {
    use std::os::fd::AsRawFd;
    let length = range.end.saturating_sub(range.start) as libc::off64_t;
    // SAFETY: a call on an open descriptor that touches no memory of ours.
    #[allow(unsafe_code)]
    unsafe {
        libc::sync_file_range(file.as_raw_fd(), range.start as libc::off64_t, length, flags);
    }
}
