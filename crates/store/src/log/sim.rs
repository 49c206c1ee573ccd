//! A disk in memory that simulates power cuts: after one, writes since the last sync are there in part, cut at sectors,
//! in any order.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use super::disk::{Disk, DiskFile};

const SECTOR_BYTES: usize = 512;

/// The durable content of a file, and the writes that are not durable yet.
#[derive(Default)]
struct Content {
    durable: Vec<u8>,
    /// As a reader sees it.
    cached: Vec<u8>,
    pending: Vec<(usize, Vec<u8>)>,
}

#[derive(Default)]
struct Inner {
    files: BTreeMap<String, Arc<Mutex<Content>>>,
    faults: Faults,
}

/// The errors to simulate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// New files find no room.
    pub no_room: bool,
    /// Syncs fail this many times; what they should have synced is lost or not, as in a crash.
    pub failing_syncs: u32,
    /// Writes fail this many times, after a part.
    pub failing_writes: u32,
    /// Syncs do not return until this is set back.
    pub is_stuck: bool,
}

/// The disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<Inner>>);

impl SimDisk {
    /// Sets the errors to simulate.
    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().unwrap().faults = faults;
    }

    /// Cuts the power. `random` decides which writes survive; files opened before must not be used again.
    pub fn crash(&self, random: &mut dyn FnMut(u64) -> u64) {
        let mut inner = self.0.lock().unwrap();
        inner.faults = Faults::default();
        for content in inner.files.values_mut() {
            let old = content.lock().unwrap();
            let mut durable = old.durable.clone();
            let mut sectors = Vec::new();
            for (offset, bytes) in &old.pending {
                let mut at = 0;
                while at < bytes.len() {
                    let end = bytes.len().min(at + SECTOR_BYTES - (offset + at) % SECTOR_BYTES);
                    sectors.push((offset + at, bytes[at..end].to_vec()));
                    at = end;
                }
            }
            // All, none, or some of them in some order.
            let mode = random(4);
            while !sectors.is_empty() {
                let (offset, bytes) = sectors.swap_remove(random(sectors.len() as u64) as usize);
                if mode == 0 || (mode > 1 && random(2) == 0) {
                    durable[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
            }
            drop(old);
            *content = Arc::new(Mutex::new(Content { cached: durable.clone(), durable, pending: Vec::new() }));
        }
    }

    /// Flips a bit of a durable byte, as bad media do.
    pub fn damage(&self, name: &str, offset: usize) {
        self.change(name, offset, |byte| byte ^ 1);
    }

    /// Replaces a durable byte.
    pub fn change(&self, name: &str, offset: usize, change: impl Fn(u8) -> u8) {
        let inner = self.0.lock().unwrap();
        let mut content = inner.files[name].lock().unwrap();
        content.durable[offset] = change(content.durable[offset]);
        content.cached[offset] = content.durable[offset];
    }

    /// The durable bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.0.lock().unwrap().files[name].lock().unwrap().durable.clone()
    }

    /// Another disk with the durable bytes of this one: a copy of the folder.
    pub fn copy(&self) -> SimDisk {
        let copy = SimDisk::default();
        copy.restore(self);
        copy
    }

    /// Replaces all files by the durable files of another disk.
    pub fn restore(&self, other: &SimDisk) {
        let copy = |content: &Arc<Mutex<Content>>| {
            let durable = content.lock().unwrap().durable.clone();
            Arc::new(Mutex::new(Content { cached: durable.clone(), durable, pending: Vec::new() }))
        };
        let files = other.0.lock().unwrap().files.iter().map(|(name, content)| (name.clone(), copy(content))).collect();
        self.0.lock().unwrap().files = files;
    }
}

struct SimFile {
    disk: SimDisk,
    content: Arc<Mutex<Content>>,
}

impl Disk for SimDisk {
    fn files(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().files.keys().cloned().collect())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let mut inner = self.0.lock().unwrap();
        if inner.faults.no_room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let zeros = vec![0; bytes as usize];
        let content = Content { durable: zeros.clone(), cached: zeros, pending: Vec::new() };
        inner.files.insert(name.to_owned(), Arc::new(Mutex::new(content)));
        drop(inner);
        self.open(name)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let inner = self.0.lock().unwrap();
        let content = inner.files.get(name).ok_or(io::ErrorKind::NotFound)?.clone();
        Ok(Arc::new(SimFile { disk: self.clone(), content }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap().files.remove(name);
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().cached.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let rest = content.cached.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.disk.0.lock().unwrap();
        let mut content = self.content.lock().unwrap();
        let fails = inner.faults.failing_writes > 0;
        let bytes = if fails { &bytes[..bytes.len() / 2] } else { bytes };
        content.cached[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
        content.pending.push((offset as usize, bytes.to_vec()));
        if fails {
            inner.faults.failing_writes -= 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        while self.disk.0.lock().unwrap().faults.is_stuck {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut inner = self.disk.0.lock().unwrap();
        let mut content = self.content.lock().unwrap();
        if inner.faults.failing_syncs > 0 {
            inner.faults.failing_syncs -= 1;
            // The system forgets that these pages were dirty: a later sync will not write them.
            content.pending.clear();
            return Err(io::Error::other("simulated sync failure"));
        }
        content.durable = content.cached.clone();
        content.pending.clear();
        Ok(())
    }
}
