//! Binds that were verified a moment ago, as the path of binds asks for them: the key, its rotation, and for whom
//! nothing is remembered.

use std::io;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use access::verified::{Claim, KEY_BYTES, LookUp, MacKey, Verification, VerifiedBinds, VerifiedLimits, Waiter};
use accounts::Moment;
use query::monitor_entry::MonitorEntry;
use zeroize::Zeroizing;

/// How long a key is used.
const KEY_LIFETIME: Duration = Duration::from_secs(3_600);

/// See the module.
pub(crate) struct RememberedBinds {
    /// None when the system has no randomness for a key: then nothing is remembered.
    binds: Option<VerifiedBinds>,
    rotate_at: Mutex<Instant>,
    make: OnceLock<MakeKey>,
}

/// What there is about a password.
pub(super) enum Remembered {
    /// It was right a moment ago.
    Right,
    /// Another bind verifies it, and the waiter is called.
    Waits,
    /// It has to be verified; what becomes of it is remembered there.
    Verify(Option<Verification>),
}

impl Default for RememberedBinds {
    fn default() -> Self {
        let binds = key_on_the_heap().map(|key| VerifiedBinds::new(key, VerifiedLimits::default()));
        RememberedBinds { binds, rotate_at: Mutex::new(Instant::now() + KEY_LIFETIME), make: OnceLock::new() }
    }
}

impl RememberedBinds {
    /// Asks for a password of an account with these stored ones, which were changed last at that time.
    pub(super) fn look_up(
        &self,
        uuid: &[u8; 16],
        (stored, changed): (&[Vec<u8>], Option<Moment>),
        password: &[u8],
        waiter: impl FnOnce() -> Waiter,
    ) -> Remembered {
        let Some(binds) = &self.binds else { return Remembered::Verify(None) };
        let now = Instant::now();
        self.rotate(binds, now);
        let changed = changed.unwrap_or_default().0.to_le_bytes();
        let claim = Claim { uuid, stored, changed: &changed, password };
        match binds.look_up(&claim, now, waiter) {
            LookUp::Verified => Remembered::Right,
            LookUp::Verify(verification) => Remembered::Verify(Some(verification)),
            LookUp::Waiting => Remembered::Waits,
        }
    }

    /// Takes another key when it is time: one that got known is of use for an hour at most.
    fn rotate(&self, binds: &VerifiedBinds, now: Instant) {
        let Ok(mut at) = self.rotate_at.try_lock() else { return };
        if now >= *at
            && let Some(key) = self.new_key()
        {
            *at = now + KEY_LIFETIME;
            binds.rotate(key);
        }
    }

    pub(crate) fn monitor_entry(&self) -> MonitorEntry {
        let counts = self.binds.as_ref().map(VerifiedBinds::counts).unwrap_or_default();
        MonitorEntry::new("Verified Binds")
            .with("verified-binds", counts.entries)
            .with("verified-hits", counts.hits)
            .with("verified-misses", counts.misses)
            .with("verified-shared", counts.shared)
            .with("verified-right", counts.right)
            .with("verified-wrong", counts.wrong)
            .with("verified-evicted", counts.evicted)
    }
}

impl RememberedBinds {
    /// Has the keys made there from now on; they are kept in memory that `make` gives, of so many bytes.
    pub(crate) fn keep_keys_in(&self, make: MakeKey) {
        if self.make.set(make).is_ok()
            && let (Some(binds), Some(key)) = (&self.binds, self.new_key())
        {
            binds.rotate(key);
        }
    }

    fn new_key(&self) -> Option<MacKey> {
        let mut fill = |key: &mut [u8]| getrandom::fill(key).map_err(|error| io::Error::other(error.to_string()));
        let made = self.make.get().and_then(|make| make(KEY_BYTES, &mut fill));
        made.and_then(|key| MacKey::new(Made(key)).ok()).or_else(key_on_the_heap)
    }
}

/// For who has no better memory.
fn key_on_the_heap() -> Option<MacKey> {
    let mut key = Zeroizing::new([0u8; KEY_BYTES]);
    getrandom::fill(&mut *key).ok()?;
    MacKey::new(Key(key)).ok()
}

/// Random bytes in memory that is neither swapped nor dumped.
pub type KeyMemory = Box<dyn AsRef<[u8]> + Send + Sync>;

/// Makes a key of so many random bytes; none when the system gives no such memory.
pub type MakeKey = fn(usize, Fill<'_>) -> Option<KeyMemory>;

/// Writes random bytes.
pub type Fill<'f> = &'f mut dyn FnMut(&mut [u8]) -> io::Result<()>;

struct Made(KeyMemory);

impl AsRef<[u8]> for Made {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// Wiped when it goes.
struct Key(Zeroizing<[u8; KEY_BYTES]>);

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &*self.0
    }
}
