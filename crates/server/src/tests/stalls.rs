//! Updates on a disk that does not answer for a while: what the logs and the monitor say of it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use ::directory::Directory;
use store::log::{Disk, DiskFile, FolderDisk};

use super::over_directory::{ANN, Real, base_search, replace};
use super::*;

/// Longer than the threshold.
const STUCK: Duration = Duration::from_millis(150);

/// A folder whose syncs do not return while the switch is on.
struct StickyDisk(FolderDisk, Arc<AtomicBool>);

struct StickyFile(Arc<dyn DiskFile>, Arc<AtomicBool>);

impl StickyDisk {
    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(StickyFile(file, Arc::clone(&self.1)))
    }
}

impl Disk for StickyDisk {
    fn files(&self) -> io::Result<Vec<String>> {
        self.0.files()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.0.create(name, bytes)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.0.open(name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
}

impl DiskFile for StickyFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        while self.1.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.sync()
    }
}

/// The entry that a search of the monitor for one entry gives, as text.
fn monitored(client: &mut Client<TcpStream>, id: i32, name: &str) -> String {
    client.send(&base_search(id, &format!("cn={name},cn=monitor")));
    let entry = client.expect();
    assert_eq!((entry.tag, client.expect().code), (encode::tags::SEARCH_ENTRY, 0));
    entry_lines(&entry).iter().map(|line| format!("\n{line}\n")).collect()
}

/// S3-11, S3-14, S3-16: an update that waited for the disk says so in the error log, and the monitor answers all the
/// while.
#[test]
fn an_update_that_waits_for_the_disk_is_told_with_the_reason() {
    let is_stuck = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&is_stuck);
    let real = Real::with(move |config| {
        let folder = store::log_path(&config.backends[0].directory);
        Directory::open_with(config, |_| {
            let disk = StickyDisk(FolderDisk::open(&folder).unwrap(), Arc::clone(&switch));
            Some(Arc::new(disk))
        })
        .unwrap()
    });
    let mut client = real.filled();
    let mut watcher = real.client();
    assert_eq!(watcher.bind(1, "cn=Directory Manager", "secret12").code, 0);
    is_stuck.store(true, Ordering::Release);
    client.send(&replace(4, ANN, "description", &["late"]));
    let backend = &real.directory.backends()[0].store;
    while backend.stats().doing != store::Doing::Sync {
        std::thread::yield_now();
    }
    std::thread::sleep(STUCK);
    let entry = monitored(&mut watcher, 2, "userRoot Backend");
    assert!(entry.contains("\nwriter-state: sync\n"), "{entry}");
    is_stuck.store(false, Ordering::Release);
    assert_eq!(client.expect().code, 0);
    let errors = || {
        real.server.as_ref().unwrap().flush_logs();
        lines_of(real.dir.path().join("logs/errors"))
    };
    let lines = errors();
    let line =
        lines.iter().find(|line| line.contains("conn=1 op=3 msgID=4: MODIFY took ")).expect("a line of the stall");
    assert!(line.contains("ms, most of it waiting for the sync of the log: queue "), "{line}");
    assert!(line.contains("see whether the disk of the backend's log is busy"), "{line}");
    let entry = monitored(&mut watcher, 3, "Stalls");
    assert!(entry.contains("\nstalls-sync: ") && !entry.contains("\nstalls-sync: 0\n"), "{entry}");
    let access = lines_of(real.dir.path().join("logs/access"));
    let answer = access.iter().find(|line| line.contains("MODIFY RES conn=1 op=3")).unwrap();
    let sync_ms: u64 = answer.split("sync=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    assert!(u128::from(sync_ms) >= STUCK.as_millis(), "{answer}");
}
