//! Binds that were verified a moment ago, as the path of binds asks for them: the key, its rotation, and for whom
//! nothing is remembered.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use access::verified::{Claim, LookUp, MacKey, Verification, VerifiedBinds, VerifiedLimits};
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
}

/// What there is about a password.
pub(super) enum Remembered {
    /// It was right a moment ago.
    Right,
    /// It has to be verified; what becomes of it is remembered there.
    Verify(Option<Verification>),
}

impl Default for RememberedBinds {
    fn default() -> Self {
        let binds = new_key().map(|key| VerifiedBinds::new(key, VerifiedLimits::default()));
        RememberedBinds { binds, rotate_at: Mutex::new(Instant::now() + KEY_LIFETIME) }
    }
}

impl RememberedBinds {
    /// Asks for a password of an account with these stored ones, which were changed last at that time.
    pub(super) fn look_up(
        &self,
        uuid: &[u8; 16],
        (stored, changed): (&[Vec<u8>], Option<Moment>),
        password: &[u8],
    ) -> Remembered {
        let Some(binds) = &self.binds else { return Remembered::Verify(None) };
        let now = Instant::now();
        self.rotate(binds, now);
        let changed = changed.unwrap_or_default().0.to_le_bytes();
        let claim = Claim { uuid, stored, changed: &changed, password };
        // Who comes while the same password is being verified verifies it, too: that is rare, and waits for nobody.
        match binds.look_up(&claim, now, || Box::new(|_| {})) {
            LookUp::Verified => Remembered::Right,
            LookUp::Verify(verification) => Remembered::Verify(Some(verification)),
            LookUp::Waiting => Remembered::Verify(None),
        }
    }

    /// Takes another key when it is time: one that got known is of use for an hour at most.
    fn rotate(&self, binds: &VerifiedBinds, now: Instant) {
        let Ok(mut at) = self.rotate_at.try_lock() else { return };
        if now >= *at
            && let Some(key) = new_key()
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
            .with("verified-right", counts.right)
            .with("verified-wrong", counts.wrong)
            .with("verified-evicted", counts.evicted)
    }
}

fn new_key() -> Option<MacKey> {
    let mut key = Zeroizing::new([0u8; 32]);
    getrandom::fill(&mut *key).ok()?;
    MacKey::new(Key(key)).ok()
}

/// Wiped when it goes.
struct Key(Zeroizing<[u8; 32]>);

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &*self.0
    }
}
