//! What a password is verified against where there is nothing to verify it against, so that a missing name takes as
//! long as a wrong password: the stored values of some account of the same backend.
//!
//! A name always gets those of the same account, chosen by a secret, so that its time is as steady as that of a name
//! that exists, and a server with passwords of several schemes has names of each kind of time. Whatever comes of the
//! comparison, nobody is let in. Where no account has a password, it is a value of the scheme that new passwords are
//! stored by.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::account::passwords_of_entry;
use arc_swap::ArcSwapOption;
use config::Config;
use password::{Parameters, Scheme, ScramHash};
use query::backend::{Backend, BackendIndex};
use query::facts::Facts;
use store::{EntryId, StoreError};

use crate::decoy_secret::DecoySecret;

/// When the system has no randomness to give.
const FIRST: &[u8] =
    b"{SSHA512}5IB4vKvtQsnhcQPoBXfnKcGftUVbYzQakhIQQhjOZrdI+eCwtiqiP7nnl/GeO3tQHX6tplnlPbJKYuVm9jL8vvr7/P3+/wEC";

/// Accounts of a backend whose values are used.
const SAMPLES: u64 = 32;

/// Entries that are looked at for each of them.
const LOOKS_PER_SAMPLE: usize = 4;

/// How long the values of these accounts are used before they are read again.
const SAMPLE_LIFETIME: Duration = Duration::from_secs(600);

/// The same where none was found: a new backend may have some soon.
const EMPTY_LIFETIME: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct Decoys {
    made: ArcSwapOption<(Scheme, Parameters, Vec<u8>)>,
    /// By backend.
    samples: Box<[ArcSwapOption<Sample>]>,
    secret: DecoySecret,
}

/// The stored values of some accounts of one backend.
struct Sample {
    accounts: Vec<Vec<Vec<u8>>>,
    taken: Instant,
    /// The last change that was seen.
    seen: u64,
}

/// A name that nobody can bind by.
#[derive(Clone, Copy)]
pub(super) struct NobodysName {
    /// That only this instance gives to the name.
    pub(super) number: u64,
    /// Where its entry would be.
    pub(super) backend: BackendIndex,
}

impl Decoys {
    pub(crate) fn new(config: &Config, backends: usize) -> Decoys {
        Decoys {
            made: ArcSwapOption::empty(),
            samples: (0..backends).map(|_| ArcSwapOption::empty()).collect(),
            secret: DecoySecret::new(config),
        }
    }

    /// The values for a name; `new` is how new passwords are stored.
    pub(super) fn of(
        &self,
        (facts, backends): (&Facts, &[Backend]),
        nobody: NobodysName,
        new: (Scheme, &Parameters),
    ) -> Vec<Vec<u8>> {
        // Names outside of all backends are like those of the first that has accounts.
        let other = (0..backends.len()).map(BackendIndex).filter(|at| *at != nobody.backend);
        let sample = std::iter::once(nobody.backend).chain(other).find_map(|at| {
            let sample = self.sample(facts, at, backends.get(at.0)?)?;
            (!sample.accounts.is_empty()).then_some(sample)
        });
        let chosen = sample.as_ref().and_then(|sample| {
            sample.accounts.get(usize::try_from(nobody.number % sample.accounts.len() as u64).ok()?)
        });
        chosen.cloned().unwrap_or_else(|| vec![self.made(new)])
    }

    /// A name that is normalized, or whatever the client sent, whose entry would be in that backend.
    pub(super) fn nobody(&self, name: &[u8], backend: BackendIndex) -> NobodysName {
        let mac = ScramHash::Sha256.hmac(self.secret.get(), &[b"decoy\0", name].concat());
        let number = mac.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).unwrap_or_default();
        NobodysName { number, backend }
    }

    fn sample(&self, facts: &Facts, at: BackendIndex, backend: &Backend) -> Option<Arc<Sample>> {
        let place = self.samples.get(at.0)?;
        let known = place.load_full();
        if let Some(known) = &known
            && (known.is_fresh() || known.seen == backend.store.last_change())
        {
            return Some(Arc::clone(known));
        }
        let sample = Arc::new(Sample::take(facts, backend).ok()?);
        place.store(Some(Arc::clone(&sample)));
        Some(sample)
    }

    /// A value of that scheme, with these costs. Nobody knows its password. It is made anew when the scheme or its cost
    /// is another one.
    pub(super) fn made(&self, (scheme, parameters): (Scheme, &Parameters)) -> Vec<u8> {
        if let Some(known) = self.made.load().as_deref()
            && (known.0, &known.1) == (scheme, parameters)
        {
            return known.2.clone();
        }
        let value = password::decoy(scheme, parameters).unwrap_or_else(|_| FIRST.to_vec());
        self.made.store(Some(Arc::new((scheme, *parameters, value.clone()))));
        value
    }
}

impl Sample {
    fn is_fresh(&self) -> bool {
        let lifetime = if self.accounts.is_empty() { EMPTY_LIFETIME } else { SAMPLE_LIFETIME };
        self.taken.elapsed() < lifetime
    }

    /// Accounts from all over the backend. The places where they are looked for stay the same until it has doubled.
    fn take(facts: &Facts, backend: &Backend) -> Result<Sample, StoreError> {
        let (taken, seen) = (Instant::now(), backend.store.last_change());
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let all = view.all()?;
        let mut end = SAMPLES;
        while all.iter_from(EntryId(end)).next().is_some() && end < u64::MAX / 2 {
            end *= 2;
        }
        let mut accounts = Vec::new();
        for place in 0..SAMPLES {
            let (from, to) = (end / SAMPLES * place, end / SAMPLES * (place + 1));
            for id in all.iter_from(EntryId(from)).take(LOOKS_PER_SAMPLE) {
                if id.0 >= to {
                    break;
                }
                let passwords = passwords_of_entry(facts, &view, id)?;
                if !passwords.is_empty() {
                    accounts.push(passwords);
                    break;
                }
            }
        }
        Ok(Sample { accounts, taken, seen })
    }
}
