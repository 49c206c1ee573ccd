//! What `cn=monitor` tells at one moment, and what happened between two of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ldap::Scope;
use serde_json::Value;

use crate::client::{Client, Found};
use crate::failure::Failure;

/// Entry of the connections, which the event loops tell for whoever asks next.
const CONNECTIONS: &str = "cn=Client Connections,cn=monitor";
/// So long the loops have for it.
const TELL: Duration = Duration::from_millis(30);

/// `cn=monitor` at one moment.
pub struct Sample {
    at: Instant,
    entries: Vec<Found>,
}

/// What happened between two samples.
pub struct Interval<'s> {
    before: &'s Sample,
    now: &'s Sample,
}

/// How the operations of one kind went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Each second.
    pub rate: f64,
    /// Since the server started.
    pub total: u64,
    /// Of those that ended in between, if any did, in ms: mean and percentiles.
    pub times: Option<Latencies>,
}

/// In ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latencies {
    pub mean: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
}

#[cfg(test)]
impl Sample {
    pub fn of(entries: Vec<Found>) -> Sample {
        Sample { at: Instant::now(), entries }
    }
}

impl Sample {
    /// Asks the server.
    pub fn take(client: &mut Client) -> Result<Sample, Failure> {
        client.search(CONNECTIONS, Scope::BaseObject, "(objectClass=*)", &["1.1"])?;
        std::thread::sleep(TELL);
        let entries = client.search("cn=monitor", Scope::WholeSubtree, "(objectClass=*)", &[])?;
        if entries.is_empty() {
            return Err(Failure::new("the server shows no cn=monitor to this user: bind as a root user"));
        }
        Ok(Sample { at: Instant::now(), entries })
    }

    /// The entry with that common name.
    pub fn entry(&self, name: &str) -> Option<&Found> {
        self.entries.iter().find(|entry| entry.values("cn").iter().any(|own| own.eq_ignore_ascii_case(name)))
    }

    /// A number of an entry; 0 if it is not told.
    pub fn number(&self, name: &str, attribute: &str) -> u64 {
        self.entry(name).map_or(0, |entry| number(entry, attribute))
    }

    /// The first value of an entry.
    pub fn text(&self, name: &str, attribute: &str) -> &str {
        self.entry(name).map_or("", |entry| text(entry, attribute))
    }

    /// The backends, by name.
    pub fn backends(&self) -> impl Iterator<Item = (&str, &Found)> {
        let is_one = |entry: &&Found| !entry.values("writer-state").is_empty();
        self.entries.iter().filter(is_one).map(|entry| (text(entry, "ds-backend-id"), entry))
    }

    /// Values that are JSON.
    pub fn objects(&self, name: &str, attribute: &str) -> Vec<Value> {
        let values = self.entry(name).map(|entry| entry.values(attribute)).unwrap_or_default();
        values.iter().filter_map(|value| serde_json::from_str(value).ok()).collect()
    }

    /// How many operations of a kind took how long.
    fn histogram(&self, kind: &str) -> BTreeMap<u64, u64> {
        let values = self.entry("Operations").map(|entry| entry.values("operation-times")).unwrap_or_default();
        let own = values.iter().find_map(|value| value.strip_prefix(kind)?.strip_prefix(' '));
        let bucket = |word: &str| {
            let (bound, count) = word.split_once(':')?;
            Some((bound.parse().ok()?, count.parse().ok()?))
        };
        own.unwrap_or_default().split(' ').filter_map(bucket).collect()
    }
}

/// The first value of an attribute; empty if there is none.
pub fn text<'e>(entry: &'e Found, attribute: &str) -> &'e str {
    entry.values(attribute).first().map(String::as_str).unwrap_or_default()
}

/// The number that an attribute has; 0 if there is none.
pub fn number(entry: &Found, attribute: &str) -> u64 {
    text(entry, attribute).parse().unwrap_or(0)
}

impl<'s> Interval<'s> {
    pub fn new(before: &'s Sample, now: &'s Sample) -> Interval<'s> {
        Interval { before, now }
    }

    /// How long it is.
    pub fn seconds(&self) -> f64 {
        self.now.at.saturating_duration_since(self.before.at).as_secs_f64().max(0.001)
    }

    /// By how much a count grew. A server that began anew counts from 0.
    pub fn grown(&self, name: &str, attribute: &str) -> u64 {
        let (before, now) = (self.before.number(name, attribute), self.now.number(name, attribute));
        now.checked_sub(before).unwrap_or(now)
    }

    /// The same, each second.
    pub fn rate(&self, name: &str, attribute: &str) -> f64 {
        self.grown(name, attribute) as f64 / self.seconds()
    }

    /// Growth of what is told as a mean and a count: the mean of what came in between.
    pub fn mean_between(&self, name: &str, mean: &str, count: &str) -> Option<f64> {
        let sum = |sample: &Sample| sample.number(name, mean) as f64 * sample.number(name, count) as f64;
        let more = self.grown(name, count);
        (more > 0).then(|| ((sum(self.now) - sum(self.before)) / more as f64).max(0.0))
    }

    /// How the operations of a kind went.
    pub fn operations(&self, kind: &str) -> Times {
        let (before, now) = (self.before.histogram(kind), self.now.histogram(kind));
        let ended = now.iter().map(|(bound, count)| {
            let old = before.get(bound).copied().unwrap_or(0);
            (*bound, count.checked_sub(old).unwrap_or(*count))
        });
        let ended: Vec<(u64, u64)> = ended.filter(|(_, count)| *count > 0).collect();
        let count: u64 = ended.iter().map(|(_, count)| count).sum();
        Times {
            rate: count as f64 / self.seconds(),
            total: now.values().sum(),
            times: (count > 0).then(|| latencies(&ended, count)),
        }
    }
}

fn latencies(ended: &[(u64, u64)], count: u64) -> Latencies {
    let ms = |ns: u64| ns as f64 / 1e6;
    let within = |share: f64| {
        let rank = (count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bound = ended.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        ms(bound.map_or(0, |(bound, _)| *bound))
    };
    let sum: f64 = ended.iter().map(|(bound, count)| ms(*bound) * *count as f64).sum();
    Latencies { mean: sum / count as f64, p50: within(0.5), p99: within(0.99), p999: within(0.999) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(times: &str, count: u64, mean: u64, at: Instant) -> Sample {
        let entries = vec![
            Found::of("Operations", &[("operation-times", times)]),
            Found::of("x Backend", &[("batches", &count.to_string()), ("commit-time-mean-us", &mean.to_string())]),
        ];
        Sample { at, entries }
    }

    #[test]
    fn an_interval_has_the_times_of_what_ended_in_it() {
        let begun = Instant::now();
        let before = sample("search 1000000:90 5000000:10", 10, 100, begun);
        let now = sample("search 1000000:180 5000000:19 900000000:1", 30, 300, begun + Duration::from_secs(2));
        let interval = Interval::new(&before, &now);
        let search = interval.operations("search");
        assert_eq!((search.rate, search.total), (50.0, 200));
        let times = search.times.unwrap();
        assert_eq!((times.p50, times.p99, times.p999), (1.0, 5.0, 900.0));
        assert_eq!(times.mean, (90.0 + 45.0 + 900.0) / 100.0);
        assert_eq!(interval.operations("modify"), Times::default());
        // 30 * 300 - 10 * 100 over 20.
        assert_eq!(interval.mean_between("x Backend", "commit-time-mean-us", "batches"), Some(400.0));
        // A server that began anew.
        assert_eq!(Interval::new(&now, &before).grown("x Backend", "batches"), 10);
    }
}
