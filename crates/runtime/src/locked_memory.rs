//! Memory for a key: not swapped to a disk, not in a core dump, not in a child process, wiped at the end.
#![allow(unsafe_code, reason = "one mapped page; every block says why it is sound")]

use std::io;
use std::ptr::NonNull;

/// Most bytes that one holds: those of a page, which every system has at least.
pub const LOCKED_BYTES_MAX: usize = 4096;

/// Bytes in a page of their own.
pub struct LockedMemory {
    page: NonNull<u8>,
    length: usize,
    is_locked: bool,
}

// SAFETY: the page belongs to this value alone, and is only read once it is made.
unsafe impl Send for LockedMemory {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for LockedMemory {}

impl LockedMemory {
    /// So many bytes, which `fill` writes. Where the limit of locked memory does not allow it, they are not locked
    /// ([`is_locked`](LockedMemory::is_locked)), and all else holds.
    ///
    /// # Errors
    /// When there is no memory, more is asked for than [`LOCKED_BYTES_MAX`], or `fill` fails.
    pub fn new(length: usize, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<LockedMemory> {
        if length > LOCKED_BYTES_MAX {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: a new anonymous mapping at an address that the system chooses touches nothing that is there.
        let mapped = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), LOCKED_BYTES_MAX, access, kind, -1, 0)
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = NonNull::new(mapped.cast::<u8>()).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the mapping was just made, is as long as that, and stays until the value is dropped.
        let is_locked = unsafe {
            libc::madvise(mapped, LOCKED_BYTES_MAX, libc::MADV_DONTDUMP);
            libc::madvise(mapped, LOCKED_BYTES_MAX, libc::MADV_DONTFORK);
            libc::mlock(mapped, LOCKED_BYTES_MAX) == 0
        };
        let made = LockedMemory { page, length, is_locked };
        // SAFETY: the page is zeroed, at least so long, and nobody else has it yet.
        fill(unsafe { std::slice::from_raw_parts_mut(made.page.as_ptr(), length) })?;
        Ok(made)
    }

    /// Whether the system keeps it out of the swap space.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }
}

impl AsRef<[u8]> for LockedMemory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the page is mapped as long as `self` is, and so many bytes of it were given to `fill`.
        unsafe { std::slice::from_raw_parts(self.page.as_ptr(), self.length) }
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        for at in 0..self.length {
            // SAFETY: within the page. A volatile write is not left out although nobody reads it again.
            unsafe { self.page.as_ptr().add(at).write_volatile(0) };
        }
        // SAFETY: the mapping is this value's own, and is used no more.
        unsafe {
            libc::munmap(self.page.as_ptr().cast(), LOCKED_BYTES_MAX);
        }
    }
}

impl std::fmt::Debug for LockedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockedMemory").field("length", &self.length).field("is_locked", &self.is_locked).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_filled_in_and_says_nothing_of_it() {
        let memory = LockedMemory::new(32, |bytes| {
            assert_eq!(bytes, [0; 32]);
            bytes.copy_from_slice(&[7; 32]);
            Ok(())
        })
        .unwrap();
        assert_eq!(memory.as_ref(), [7; 32]);
        assert!(!format!("{memory:?}").contains('7'));
        std::thread::spawn(move || assert_eq!(memory.as_ref(), [7; 32])).join().unwrap();
    }

    #[test]
    fn the_system_neither_dumps_nor_swaps_it() {
        let memory = LockedMemory::new(32, |_| Ok(())).unwrap();
        let address = format!("{:x}-", memory.as_ref().as_ptr() as usize);
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let of_page = maps.split_once(&address).unwrap().1;
        let flags = of_page.lines().find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
        let has = |flag: &str| flags.split_whitespace().any(|found| found == flag);
        assert!(has("dd") && has("dc"), "{flags}");
        assert_eq!(has("lo"), memory.is_locked(), "{flags}");
    }

    #[test]
    fn more_than_a_page_and_a_failure_are_told() {
        assert!(LockedMemory::new(LOCKED_BYTES_MAX + 1, |_| Ok(())).is_err());
        assert!(LockedMemory::new(1, |_| Err(io::Error::from(io::ErrorKind::Other))).is_err());
    }
}
