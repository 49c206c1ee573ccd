//! Having the disk write early what was handed to a file, in small pieces. A sync waits for everything that the disk
//! has been given, whoever wrote it: what piles up in the page cache of a file that nobody waits for is what an update
//! waits for later.
//!
//! Nothing here makes anything durable, and failing is no error here: who syncs the file is told.

use std::fs::File;
use std::ops::Range;

/// Tells the disk to begin writing a range of a file (an empty one goes to the end), and does not wait for it.
pub fn begin(file: &File, range: Range<u64>) {
    #[cfg(target_os = "linux")]
    sync_range(file, range, libc::SYNC_FILE_RANGE_WRITE);
    #[cfg(not(target_os = "linux"))]
    let _ = (file, range);
}

/// Has the disk write all that was handed to a file so far, and waits until it has taken it, into its cache perhaps.
///
/// For a handle of one's own that nobody syncs: the kernel tells each handle of a failed write once, and this one is
/// told here.
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
