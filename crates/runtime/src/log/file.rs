//! One log file: its permissions, when it is rotated, how many old ones stay.
//!
//! Meanings are OpenDJ's: rotation policies are `size-limit`, `time-limit` and `fixed-time`, retention policies are
//! `file-count`, `free-disk-space` and `size-limit`. What the files put aside are called, and in which order they were,
//! `rotated` knows. Time comes from the caller.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use config::{RetentionPolicy, RotationPolicy};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use super::rotated::{self, RotatedFile};

/// The disk is told to begin writing after this many bytes: a log of many operations is no burst then, which updates
/// would wait for.
const WRITE_OUT_BYTES: u64 = 256 << 10;

/// How a log keeps what was written to it when the power goes.
#[derive(Debug, Clone, Copy)]
pub struct Durability {
    /// Bytes at the end of the file that may be lost or damaged, at most. All before them is on the disk, and so is
    /// every file that was put aside, with its name.
    pub unsynced_max: u64,
    /// Has the disk take a file, or the names in a folder.
    pub sync: fn(&File) -> io::Result<()>,
}

impl Durability {
    /// With that many bytes at the end that may be lost.
    pub fn new(unsynced_max: u64) -> Self {
        Self { unsynced_max: unsynced_max.max(1), sync: File::sync_all }
    }
}

/// What a log file is configured with.
#[derive(Debug, Clone)]
pub struct LogFileSettings {
    /// Where the current file is.
    pub path: PathBuf,
    /// Permission bits of new files (`log-file-permissions`).
    pub mode: u32,
    /// Whether an existing file is continued at the start; otherwise it is emptied (`append`).
    pub append: bool,
    /// Pause between two looks at the policies (`time-interval`).
    pub check_interval: Duration,
    /// Any that applies rotates the file.
    pub rotation: Vec<RotationPolicy>,
    /// All are enforced after each rotation and each check.
    pub retention: Vec<RetentionPolicy>,
    /// How the disk is told to begin writing a range of the file, without waiting for it.
    pub write_out: Option<fn(&File, Range<u64>)>,
    /// What a power cut may take. `None`: whatever the system has not written yet.
    pub durability: Option<Durability>,
    /// What each new file begins with: the names of columns, say.
    pub head: Vec<u8>,
}

impl PartialEq for LogFileSettings {
    /// How the disk is told is not compared: it is the same everywhere.
    fn eq(&self, other: &Self) -> bool {
        let key = |it: &Self| {
            (it.path.clone(), it.mode, it.append, it.check_interval, it.rotation.clone(), it.retention.clone())
        };
        let bound = |it: &Self| it.durability.map(|durability| durability.unsynced_max);
        key(self) == key(other) && bound(self) == bound(other) && self.head == other.head
    }
}

impl LogFileSettings {
    /// Defaults of a `file-based-*-log-publisher`: mode 640, append, a check each 5 s, no policies.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            mode: 0o640,
            append: true,
            check_interval: Duration::from_secs(5),
            rotation: Vec::new(),
            retention: Vec::new(),
            write_out: None,
            durability: None,
            head: Vec::new(),
        }
    }
}

/// An open log file.
#[derive(Debug)]
pub struct LogFile {
    settings: LogFileSettings,
    zone: TimeZone,
    file: File,
    bytes: u64,
    /// The disk was told to write up to here.
    written_out: u64,
    /// The disk has everything up to here, if the log is durable.
    synced: u64,
    /// When the current file began, for the policies of time.
    begun: SystemTime,
    size_limit: Option<u64>,
}

impl LogFile {
    /// Opens or creates the file.
    pub fn open(settings: LogFileSettings, now: SystemTime) -> io::Result<Self> {
        Self::open_in_zone(settings, now, TimeZone::system())
    }

    fn open_in_zone(settings: LogFileSettings, now: SystemTime, zone: TimeZone) -> io::Result<Self> {
        if let Some(folder) = settings.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = open_file(&settings, settings.append)?;
        sync_folder(&settings)?;
        let bytes = file.metadata()?.len();
        let begun = if bytes == 0 { now } else { first_write(&file, now) };
        let size_limit = settings
            .rotation
            .iter()
            .filter_map(|policy| match policy {
                RotationPolicy::Size(bytes) => Some(*bytes),
                _ => None,
            })
            .min();
        let mut log = Self { settings, zone, file, bytes, written_out: bytes, synced: 0, begun, size_limit };
        // What a process before this one wrote may not be on the disk yet.
        log.sync()?;
        Ok(log)
    }

    /// Where the current file is.
    pub fn path(&self) -> &Path {
        &self.settings.path
    }

    /// Whether nothing is in the current file: it is new, or was put aside just now.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Pause between two calls of [`LogFile::check`].
    pub fn check_interval(&self) -> Duration {
        self.settings.check_interval
    }

    /// Appends whole lines, and rotates when the size limit is reached.
    pub fn write(&mut self, lines: &[u8], now: SystemTime) -> io::Result<()> {
        let Some(durability) = self.settings.durability else {
            self.append(lines)?;
            return self.rotate_if_full(now);
        };
        let piece_bytes = usize::try_from(durability.unsynced_max).unwrap_or(usize::MAX);
        for piece in lines.chunks(piece_bytes) {
            if self.bytes - self.synced + piece.len() as u64 > durability.unsynced_max {
                self.sync()?;
            }
            self.append(piece)?;
        }
        self.rotate_if_full(now)
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.bytes == 0 && !self.settings.head.is_empty() {
            self.file.write_all(&self.settings.head)?;
            self.bytes += self.settings.head.len() as u64;
        }
        self.file.write_all(lines)?;
        self.bytes += lines.len() as u64;
        if self.bytes - self.written_out >= WRITE_OUT_BYTES {
            if let Some(write_out) = self.settings.write_out {
                write_out(&self.file, self.written_out..self.bytes);
            }
            self.written_out = self.bytes;
        }
        Ok(())
    }

    /// Has the disk take what was written, if the log is durable.
    fn sync(&mut self) -> io::Result<()> {
        if let Some(durability) = self.settings.durability {
            (durability.sync)(&self.file)?;
            self.synced = self.bytes;
        }
        Ok(())
    }

    fn rotate_if_full(&mut self, now: SystemTime) -> io::Result<()> {
        if self.size_limit.is_some_and(|limit| self.bytes >= limit) {
            self.rotate(now)?;
        }
        Ok(())
    }

    /// Applies the policies of time and retention, and notices a file that was moved or deleted by others.
    pub fn check(&mut self, now: SystemTime) -> io::Result<()> {
        if !self.is_still_there() {
            self.reopen(now)?;
        }
        if self.bytes > 0 && self.settings.rotation.iter().any(|policy| self.is_due(policy, now)) {
            self.rotate(now)?;
        } else {
            self.retain()?;
        }
        Ok(())
    }

    /// Opens the file again under its name.
    pub fn reopen(&mut self, now: SystemTime) -> io::Result<()> {
        self.sync()?;
        self.file = open_file(&self.settings, true)?;
        sync_folder(&self.settings)?;
        self.bytes = self.file.metadata()?.len();
        self.written_out = self.bytes;
        self.sync()?;
        if self.bytes == 0 {
            self.begun = now;
        }
        Ok(())
    }

    /// Puts the current file aside and begins a new one.
    pub fn rotate(&mut self, now: SystemTime) -> io::Result<()> {
        // Before it has its name: a reader that finds the name relies on the whole file.
        self.sync()?;
        fs::rename(&self.settings.path, rotated::next_name(&self.settings.path, now)?)?;
        self.file = open_file(&self.settings, true)?;
        sync_folder(&self.settings)?;
        (self.bytes, self.written_out, self.synced) = (0, 0, 0);
        self.begun = now;
        self.retain()
    }

    fn is_still_there(&self) -> bool {
        let (Ok(named), Ok(open)) = (fs::metadata(&self.settings.path), self.file.metadata()) else { return false };
        (named.dev(), named.ino()) == (open.dev(), open.ino())
    }

    fn is_due(&self, policy: &RotationPolicy, now: SystemTime) -> bool {
        match policy {
            RotationPolicy::Size(bytes) => self.bytes >= *bytes,
            RotationPolicy::Interval(interval) => now.duration_since(self.begun).is_ok_and(|age| age >= *interval),
            RotationPolicy::TimesOfDay(times) => self.latest_of(times, now).is_some_and(|due| self.begun < due),
        }
    }

    /// The last moment not after `now` at which the local clock showed one of `times`.
    fn latest_of(&self, times: &[(u8, u8)], now: SystemTime) -> Option<SystemTime> {
        let zoned = Timestamp::try_from(now).ok()?.to_zoned(self.zone.clone());
        let days = [zoned.date(), zoned.date().yesterday().ok()?];
        let moments = days.into_iter().flat_map(|day| {
            times.iter().filter_map(move |&(hour, minute)| {
                let time = Time::new(hour.cast_signed(), minute.cast_signed(), 0, 0).ok()?;
                day.to_datetime(time).to_zoned(self.zone.clone()).ok()
            })
        });
        moments.filter(|moment| *moment <= zoned).max().map(|moment| SystemTime::from(moment.timestamp()))
    }

    fn retain(&self) -> io::Result<()> {
        if self.settings.retention.is_empty() {
            return Ok(());
        }
        let mut old = rotated::files(&self.settings.path)?;
        for policy in &self.settings.retention {
            let keep_from = match policy {
                RetentionPolicy::FileCount(count) => old.len().saturating_sub(*count),
                RetentionPolicy::DiskSpaceUsed(bytes_max) => over_budget(&old, *bytes_max),
                RetentionPolicy::FreeDiskSpace(bytes_min) => {
                    let free = crate::sys::free_disk_space(&self.settings.path)?;
                    missing_space(&old, bytes_min.saturating_sub(free))
                }
            };
            for file in old.drain(..keep_from) {
                fs::remove_file(file.path)?;
            }
        }
        Ok(())
    }
}

/// How many of the oldest files must go so that the rest fits into `bytes_max`.
fn over_budget(oldest_first: &[RotatedFile], bytes_max: u64) -> usize {
    let mut total: u64 = oldest_first.iter().map(|file| file.bytes).sum();
    let goes = |file: &&RotatedFile| {
        let over = total > bytes_max;
        total -= if over { file.bytes } else { 0 };
        over
    };
    oldest_first.iter().take_while(goes).count()
}

/// How many of the oldest files must go to win `bytes`.
fn missing_space(oldest_first: &[RotatedFile], bytes: u64) -> usize {
    let mut won = 0;
    let goes = |file: &&RotatedFile| {
        let wanted = won < bytes;
        won += file.bytes;
        wanted
    };
    oldest_first.iter().take_while(goes).count()
}

fn open_file(settings: &LogFileSettings, append: bool) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(settings.mode).open(&settings.path)?;
    if !append {
        file.set_len(0)?;
    }
    // The umask may have taken bits that the administrator asked for.
    if file.metadata()?.permissions().mode() & 0o777 != settings.mode & 0o777 {
        // Another owner's file stays as it is: writing works, and the mode is not ours to change.
        let _ = file.set_permissions(fs::Permissions::from_mode(settings.mode & 0o777));
    }
    Ok(file)
}

fn first_write(file: &File, now: SystemTime) -> SystemTime {
    file.metadata().and_then(|meta| meta.created().or_else(|_| meta.modified())).unwrap_or(now)
}

/// Has the disk take the names of the log's files, if the log is durable.
fn sync_folder(settings: &LogFileSettings) -> io::Result<()> {
    let Some(durability) = settings.durability else { return Ok(()) };
    (durability.sync)(&File::open(rotated::folder(&settings.path))?)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn open(dir: &Path, rotation: Vec<RotationPolicy>, retention: Vec<RetentionPolicy>) -> LogFile {
        let settings = LogFileSettings { rotation, retention, ..LogFileSettings::new(dir.join("access")) };
        LogFile::open_in_zone(settings, at(1_473_683_131), TimeZone::UTC).unwrap()
    }

    #[test]
    fn size_rotation_names_files_by_utc_second_and_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), vec![RotationPolicy::Size(8)], vec![]);
        log.write(b"1234\n", at(1_473_683_131)).unwrap();
        assert_eq!(names(dir.path()), ["access"]);
        log.write(b"5678\n", at(1_473_683_131)).unwrap();
        log.write(b"abcdefgh\n", at(1_473_683_131)).unwrap();
        log.write(b"tail\n", at(1_473_683_131)).unwrap();
        assert_eq!(names(dir.path()), ["access", "access.20160912122531Z", "access.20160912122531Z.001"]);
        assert_eq!(fs::read(dir.path().join("access.20160912122531Z")).unwrap(), b"1234\n5678\n");
        assert_eq!(fs::read(dir.path().join("access")).unwrap(), b"tail\n");
        let mode = fs::metadata(dir.path().join("access")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn interval_and_time_of_day() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), vec![RotationPolicy::Interval(Duration::from_secs(3600))], vec![]);
        log.write(b"x\n", at(1_473_683_140)).unwrap();
        log.check(at(1_473_683_131 + 3599)).unwrap();
        assert_eq!(names(dir.path()).len(), 1);
        log.check(at(1_473_683_131 + 3600)).unwrap();
        assert_eq!(names(dir.path()).len(), 2);
        log.check(at(1_473_683_131 + 9000)).unwrap();
        assert_eq!(names(dir.path()).len(), 2, "an empty file is not rotated");

        // Begun 12:25:31 UTC; 23:59 is 41,609 s later, and again a day after that.
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), vec![RotationPolicy::TimesOfDay(vec![(23, 59)])], vec![]);
        log.write(b"x\n", at(1_473_683_140)).unwrap();
        let due = 1_473_683_131 + 41_609;
        log.check(at(due - 1)).unwrap();
        assert_eq!(names(dir.path()).len(), 1);
        log.check(at(due)).unwrap();
        assert_eq!(names(dir.path()).len(), 2);
        log.write(b"x\n", at(due + 10)).unwrap();
        log.check(at(due + 100)).unwrap();
        assert_eq!(names(dir.path()).len(), 2);
        log.check(at(due + 86_400)).unwrap();
        assert_eq!(names(dir.path()).len(), 3);
    }

    #[test]
    fn retention_deletes_the_oldest_and_only_rotated_files() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["access.20160101000000Z", "access.20160102000000Z", "access.20160103000000Z"] {
            fs::write(dir.path().join(name), [0; 100]).unwrap();
        }
        for name in ["access.gz", "access.20160101", "access-notes.20160101000000Z", "errors.20160101000000Z"] {
            fs::write(dir.path().join(name), [0; 100]).unwrap();
        }
        let mut log = open(dir.path(), vec![], vec![RetentionPolicy::FileCount(2)]);
        log.check(at(1_473_683_140)).unwrap();
        assert!(!dir.path().join("access.20160101000000Z").exists());
        assert_eq!(names(dir.path()).len(), 7);
        let mut log = open(dir.path(), vec![], vec![RetentionPolicy::DiskSpaceUsed(199)]);
        log.check(at(1_473_683_140)).unwrap();
        assert!(!dir.path().join("access.20160102000000Z").exists());
        assert!(dir.path().join("access.20160103000000Z").exists());
        let mut log = open(dir.path(), vec![], vec![RetentionPolicy::FreeDiskSpace(1)]);
        log.check(at(1_473_683_140)).unwrap();
        assert!(dir.path().join("access.20160103000000Z").exists());
        let mut log = open(dir.path(), vec![], vec![RetentionPolicy::FreeDiskSpace(u64::MAX)]);
        log.check(at(1_473_683_140)).unwrap();
        assert_eq!(
            names(dir.path()),
            ["access", "access-notes.20160101000000Z", "access.20160101", "access.gz", "errors.20160101000000Z"]
        );
    }

    #[test]
    fn a_file_moved_by_others_is_begun_anew_at_the_next_check() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), vec![], vec![]);
        log.write(b"one\n", at(1_473_683_140)).unwrap();
        fs::rename(dir.path().join("access"), dir.path().join("access.1")).unwrap();
        log.check(at(1_473_683_141)).unwrap();
        log.write(b"two\n", at(1_473_683_142)).unwrap();
        assert_eq!(fs::read(dir.path().join("access")).unwrap(), b"two\n");
        assert_eq!(fs::read(dir.path().join("access.1")).unwrap(), b"one\n");
    }

    #[test]
    fn append_false_empties_the_file_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("access"), b"old\n").unwrap();
        let settings = LogFileSettings { append: false, ..LogFileSettings::new(dir.path().join("access")) };
        LogFile::open(settings, at(0)).unwrap().write(b"new\n", at(0)).unwrap();
        assert_eq!(fs::read(dir.path().join("access")).unwrap(), b"new\n");
    }

    /// More than one a second: names must not run ahead of the clock, or the next file is the oldest by its name.
    #[test]
    fn the_newest_files_stay_however_often_they_are_rotated() {
        let dir = tempfile::tempdir().unwrap();
        let rotation = vec![RotationPolicy::Size(1)];
        let mut log = open(dir.path(), rotation, vec![RetentionPolicy::FileCount(10)]);
        for number in 0..40 {
            // Twenty in one second, the others in the five that follow.
            let second = if number < 20 { 0 } else { (number - 15) / 5 };
            log.write(format!("{number}\n").as_bytes(), at(1_473_683_131 + second)).unwrap();
        }
        let kept = rotated::files(&dir.path().join("access")).unwrap();
        let texts: Vec<String> = kept.iter().map(|file| fs::read_to_string(&file.path).unwrap()).collect();
        assert_eq!(texts, (30..40).map(|number| format!("{number}\n")).collect::<Vec<_>>());
    }

    #[test]
    fn the_newest_files_stay_when_the_clock_is_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let retention = vec![RetentionPolicy::FileCount(2)];
        let mut log = open(dir.path(), vec![RotationPolicy::Size(1)], retention);
        for (number, second) in [5_000, 5_001, 10, 11, 12].into_iter().enumerate() {
            log.write(format!("{number}\n").as_bytes(), at(1_473_683_131 + second)).unwrap();
        }
        let kept = rotated::files(&dir.path().join("access")).unwrap();
        let texts: Vec<String> = kept.iter().map(|file| fs::read_to_string(&file.path).unwrap()).collect();
        assert_eq!(texts, ["3\n", "4\n"]);
        // The clock comes by again.
        log.write(b"5\n", at(1_473_683_131 + 6_000)).unwrap();
        assert_eq!(names(dir.path())[2], "access.20160912140531Z");
    }

    /// What was synced: inode, and the bytes that the file had.
    static SYNCED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

    fn note_sync(file: &File) -> io::Result<()> {
        let meta = file.metadata()?;
        SYNCED.lock().unwrap().push((meta.ino(), meta.len()));
        Ok(())
    }

    #[test]
    fn a_durable_log_is_on_the_disk_but_for_its_end_and_whole_when_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit");
        let settings = LogFileSettings {
            rotation: vec![RotationPolicy::Size(1_000)],
            durability: Some(Durability { unsynced_max: 100, sync: note_sync }),
            ..LogFileSettings::new(path.clone())
        };
        let mut log = LogFile::open_in_zone(settings, at(0), TimeZone::UTC).unwrap();
        let ino = |path: &Path| fs::metadata(path).unwrap().ino();
        let (first, folder) = (ino(&path), ino(dir.path()));
        let synced_bytes =
            |ino: u64| SYNCED.lock().unwrap().iter().filter(|(one, _)| *one == ino).map(|(_, at)| *at).max();
        let mut written = 0;
        for bytes in [60, 60, 350, 10] {
            log.write(&vec![b'x'; bytes], at(0)).unwrap();
            written += bytes as u64;
            assert!(written - synced_bytes(first).unwrap_or(0) <= 100, "{written}");
        }
        SYNCED.lock().unwrap().clear();
        log.write(&[b'x'; 600], at(0)).unwrap();
        assert_ne!(ino(&path), first, "it was put aside");
        assert_eq!(synced_bytes(first), Some(1_080));
        let inodes: HashSet<u64> = SYNCED.lock().unwrap().iter().map(|(ino, _)| *ino).collect();
        assert!(inodes.contains(&folder));
    }
}
