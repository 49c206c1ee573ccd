//! What the system tells of this process: disk traffic, waits for pages, memory. From `/proc`; what is not there counts
//! as 0.

use std::fs;

/// Figures since the start of the process, but for the memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// Bytes that came from disks.
    pub disk_bytes_read: u64,
    /// Bytes that went, or will go, to disks.
    pub disk_bytes_written: u64,
    /// Times that a page of memory had to be read from a disk while a thread waited for it.
    pub major_faults: u64,
    /// Memory in use, pages of the databases that are mapped included.
    pub resident_bytes: u64,
}

/// The figures of now.
pub fn figures() -> ProcessFigures {
    let text = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    read(&text("io"), &text("stat"), &text("status"))
}

fn read(io: &str, stat: &str, status: &str) -> ProcessFigures {
    let line = |text: &str, name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    // The second field, a name in brackets, may hold anything.
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    ProcessFigures {
        disk_bytes_read: line(io, "read_bytes"),
        disk_bytes_written: line(io, "write_bytes"),
        major_faults: after_name.split(' ').nth(9).and_then(|field| field.parse().ok()).unwrap_or(0),
        resident_bytes: line(status, "VmRSS").saturating_mul(1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_system_are_read() {
        let io = "rchar: 7\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        let stat = "42 (a ) name) S 1 42 42 0 -1 4194304 900 0 13 0 5 6 0 0 20 0 4 0 100 1000 50";
        let figures = read(io, stat, "VmPeak:\t 90 kB\nVmRSS:\t   10 kB\n");
        let expected = ProcessFigures {
            disk_bytes_read: 4096,
            disk_bytes_written: 8192,
            major_faults: 13,
            resident_bytes: 10_240,
        };
        assert_eq!(figures, expected);
        assert_eq!(read("", "", "VmRSS: many"), ProcessFigures::default());
        assert!(super::figures().resident_bytes > 0);
    }
}
