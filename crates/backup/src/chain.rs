//! Which backups bring back which moment: a full one, and the incremental ones that follow on it without gap.

use crate::error::BackupError;
use crate::manifest::{Kind, Manifest, Sealed};

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The newest that there is.
    Latest,
    /// That of the backup of this name.
    Backup(String),
    /// After the change of this number, of the newest data.
    Change(u64),
    /// After all changes that were made up to this time, in microseconds since 1970.
    Time(u64),
}

/// What is restored.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    /// The full backup.
    pub full: &'a Sealed,
    /// What follows on it, in order.
    pub further: Vec<&'a Sealed>,
    /// Where the replay ends.
    pub end: End,
}

/// Where the replay ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After this change.
    Change(u64),
    /// Before the first change that was made after this time, in microseconds since 1970.
    Time(u64),
}

impl<'a> Chain<'a> {
    /// Finds the backups for a moment. `place` is for messages.
    ///
    /// # Errors
    /// When there are none, or one is missing.
    pub fn find(all: &'a [Sealed], backend: &str, moment: &Moment, place: &str) -> Result<Chain<'a>, BackupError> {
        let own: Vec<&Sealed> = all.iter().filter(|sealed| sealed.manifest.backend == backend).collect();
        let no_full = || BackupError::NoFull { backend: backend.to_owned(), place: place.to_owned() };
        let newest = own.iter().max_by_key(|sealed| sealed.manifest.until_us).ok_or_else(no_full)?;
        match moment {
            Moment::Latest => {
                let full = newest_full(&own, |full| full.data == newest.manifest.data).ok_or_else(no_full)?;
                let further = follow(&own, full, None)?;
                let last = further.last().map_or(full.manifest.last_change, |last| last.manifest.last_change);
                Ok(Chain { full, further, end: End::Change(last) })
            }
            Moment::Backup(id) => {
                let not_there = || BackupError::NotThere {
                    backup: id.clone(),
                    backend: backend.to_owned(),
                    place: place.to_owned(),
                };
                let wanted = own.iter().find(|sealed| sealed.manifest.id == *id).ok_or_else(not_there)?;
                let end = End::Change(wanted.manifest.last_change);
                if wanted.manifest.kind == Kind::Full {
                    return Ok(Chain { full: wanted, further: Vec::new(), end });
                }
                let before = wanted.manifest.first_change - 1;
                let mut chain = Chain::to_change(&own, &wanted.manifest.data, before).ok_or_else(no_full)??;
                chain.further.push(wanted);
                Ok(Chain { end, ..chain })
            }
            Moment::Change(number) => Chain::to_change(&own, &newest.manifest.data, *number).ok_or_else(|| {
                BackupError::Chain(format!(
                    "no full backup of backend \"{backend}\" in {place} was made before change {number}"
                ))
            })?,
            Moment::Time(time_us) => Chain::to_time(&own, *time_us, backend, place),
        }
    }

    fn to_change(own: &[&'a Sealed], data: &str, number: u64) -> Option<Result<Chain<'a>, BackupError>> {
        let full = newest_full(own, |full| full.data == data && full.last_change <= number)?;
        let end = End::Change(number);
        Some(follow(own, full, Some(number)).map(|further| Chain { full, further, end }))
    }

    fn to_time(own: &[&'a Sealed], time_us: u64, backend: &str, place: &str) -> Result<Chain<'a>, BackupError> {
        let full = newest_full(own, |full| full.within_us <= time_us).ok_or_else(|| {
            BackupError::Chain(format!("no full backup of backend \"{backend}\" in {place} was made before that time"))
        })?;
        let mut further = follow(own, full, None)?;
        let until = |sealed: &Sealed| sealed.manifest.until_us;
        let short_of = [full].into_iter().chain(further.iter().copied());
        further.truncate(short_of.take_while(|sealed| until(sealed) < time_us).count());
        let reached = further.last().map_or(until(full), |last| until(last));
        if reached < time_us {
            return Err(BackupError::Chain(format!(
                "the backups of backend \"{backend}\" in {place} hold what was changed until {}: give that time, or an \
                 earlier one",
                TimeText(reached)
            )));
        }
        Ok(Chain { full, further, end: End::Time(time_us) })
    }

    /// What the next incremental backup follows on: the newest incremental one of the data that `latest` restores, so
    /// that no moment between it and a full backup made since is lost; the first full one where there is no other.
    #[must_use]
    pub fn next_follows_on(all: &'a [Sealed], latest: &Chain<'a>) -> &'a Manifest {
        let full = &latest.full.manifest;
        let own = all.iter().map(|sealed| &sealed.manifest);
        let own = own.filter(|own| own.backend == full.backend && own.data == full.data);
        let further = own.clone().filter(|own| own.kind != Kind::Full);
        let last = further.max_by_key(|own| (own.last_change, own.until_us));
        last.or_else(|| own.min_by_key(|own| own.last_change)).unwrap_or(full)
    }

    /// All of them, in order.
    pub fn all(&self) -> impl Iterator<Item = &'a Sealed> {
        [self.full].into_iter().chain(self.further.iter().copied())
    }
}

fn newest_full<'a>(own: &[&'a Sealed], is_right: impl Fn(&Manifest) -> bool) -> Option<&'a Sealed> {
    let fulls = own.iter().filter(|sealed| sealed.manifest.kind == Kind::Full && is_right(&sealed.manifest));
    fulls.copied().max_by_key(|sealed| (sealed.manifest.until_us, sealed.manifest.last_change))
}

/// What follows on `full` without gap: up to `number`, or as far as it goes.
fn follow<'a>(own: &[&'a Sealed], full: &'a Sealed, number: Option<u64>) -> Result<Vec<&'a Sealed>, BackupError> {
    let mut further: Vec<&Sealed> = Vec::new();
    let mut at = &full.manifest;
    while number.is_none_or(|number| at.last_change < number) {
        let follows = |next: &Manifest| {
            let fits = match (&next.digest_before, &at.digest) {
                (Some(before), Some(last)) if next.first_change == at.last_change + 1 => before == last,
                _ => true,
            };
            let goes_on = next.last_change > at.last_change || next.until_us > at.until_us;
            next.data == at.data
                && next.kind != Kind::Full
                && next.first_change <= at.last_change + 1
                && next.last_change >= at.last_change
                && goes_on
                && fits
        };
        let next = own.iter().filter(|sealed| follows(&sealed.manifest));
        match next.max_by_key(|sealed| (sealed.manifest.last_change, sealed.manifest.until_us)) {
            Some(next) => {
                further.push(next);
                at = &next.manifest;
            }
            None => break,
        }
    }
    match number {
        Some(number) if at.last_change < number => {
            let gap = BackupError::Chain(format!(
                "the backups of backend \"{}\" do not have the changes {} to {number}: a backup is missing, or they \
                 were not made yet",
                at.backend,
                at.last_change + 1,
            ));
            Err(gap)
        }
        _ => Ok(further),
    }
}

/// A time for people: UTC, to the second, with a fraction when there is one.
pub struct TimeText(pub u64);

impl std::fmt::Display for TimeText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        let (seconds, fraction) = (self.0 / 1_000_000, self.0 % 1_000_000);
        store::record::write_seconds(seconds.min(253_402_300_799), &mut text);
        let text = String::from_utf8_lossy(&text);
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        write!(f, "{}-{}-{}T{}:{}:{}", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 12), part(12, 14))?;
        if fraction > 0 { write!(f, ".{fraction:06}Z") } else { f.write_str("Z") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::FORMAT;
    use crate::retention::Retention;

    fn backup(id: &str, data: &str, changes: (u64, u64), until_us: u64) -> Sealed {
        let kind = if id.starts_with('F') { Kind::Full } else { Kind::Incremental };
        let manifest = Manifest {
            format: FORMAT,
            program: "0".to_owned(),
            id: id.to_owned(),
            backend: "userRoot".to_owned(),
            base_dns: Vec::new(),
            kind,
            data: data.to_owned(),
            database_format: 2,
            rules: 1,
            base: None,
            first_change: changes.0,
            last_change: changes.1,
            digest_before: None,
            digest: None,
            until_us,
            within_us: until_us,
            made_us: until_us,
            seal: None,
            parts: Vec::new(),
        };
        Manifest::read(id, &manifest.write(None).unwrap()).unwrap()
    }

    /// Two lives of one backend, the second after a restore.
    fn all() -> Vec<Sealed> {
        vec![
            backup("F1", "a", (8, 10), 1_000),
            backup("i1", "a", (11, 20), 2_000),
            backup("i2", "a", (21, 30), 3_000),
            backup("F2", "a", (31, 30), 3_500),
            backup("i3", "a", (31, 40), 4_000),
            backup("F3", "b", (15, 14), 5_000),
            backup("j1", "b", (15, 18), 6_000),
        ]
    }

    fn names(all: &[Sealed], moment: Moment) -> String {
        match Chain::find(all, "userRoot", &moment, "there") {
            Ok(chain) => chain.all().map(|sealed| sealed.manifest.id.as_str()).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn each_moment_has_its_chain() {
        let all = all();
        for (moment, chain) in [
            (Moment::Latest, "F3 j1"),
            (Moment::Backup("F1".to_owned()), "F1"),
            (Moment::Backup("i2".to_owned()), "F1 i1 i2"),
            (Moment::Backup("i3".to_owned()), "F2 i3"),
            (Moment::Change(16), "F3 j1"),
            (Moment::Time(1_000), "F1"),
            (Moment::Time(2_500), "F1 i1 i2"),
            (Moment::Time(3_600), "F2 i3"),
            (Moment::Time(5_500), "F3 j1"),
        ] {
            assert_eq!(names(&all, moment.clone()), chain, "{moment:?}");
        }
        for (moment, word) in [
            (Moment::Backup("none".to_owned()), "there is no backup \"none\""),
            (Moment::Change(13), "was made before change 13"),
            (Moment::Change(19), "do not have the changes 19 to 19"),
            (Moment::Time(999), "was made before that time"),
            (Moment::Time(4_500), "until 1970-01-01T00:00:00.004000Z"),
            (Moment::Time(6_001), "until 1970-01-01T00:00:00.006000Z"),
        ] {
            assert!(names(&all, moment.clone()).contains(word), "{moment:?}: {}", names(&all, moment.clone()));
        }
    }

    #[test]
    fn records_go_on_across_a_full_backup() {
        let mut all = all();
        all.truncate(4);
        let latest = Chain::find(&all, "userRoot", &Moment::Latest, "there").unwrap();
        assert_eq!(latest.full.manifest.id, "F2");
        assert_eq!(Chain::next_follows_on(&all, &latest).id, "i2");
        let fulls = [all[0].clone(), all[3].clone()];
        let latest = Chain::find(&fulls, "userRoot", &Moment::Latest, "there").unwrap();
        assert_eq!(Chain::next_follows_on(&fulls, &latest).id, "F1");
        // Changes 31 to 35 came before a full backup, and are in the next incremental one, too.
        all.push(backup("F4", "a", (36, 35), 3_700));
        all.push(backup("i4", "a", (31, 40), 4_000));
        assert_eq!(names(&all, Moment::Time(3_600)), "F2 i4");
        assert_eq!(names(&all, Moment::Time(3_800)), "F4 i4");
    }

    #[test]
    fn a_missing_or_foreign_link_ends_a_chain() {
        let mut broken = all();
        broken.remove(1);
        assert!(names(&broken, Moment::Backup("i2".to_owned())).contains("do not have the changes 11 to 20"));
        let mut foreign = all();
        foreign[0].manifest.digest = Some("one".to_owned());
        foreign[1].manifest.digest_before = Some("other".to_owned());
        assert!(names(&foreign, Moment::Backup("i2".to_owned())).contains("do not have the changes 11 to 20"));
        assert!(names(&[], Moment::Latest).contains("there is no full backup"));
    }

    #[test]
    fn retention_breaks_no_chain() {
        let all = all();
        let goes = |retention: Retention, now_us: u64| {
            let surplus = retention.surplus(&all, "userRoot", now_us);
            surplus.iter().map(|manifest| manifest.id.as_str()).collect::<Vec<_>>().join(" ")
        };
        let count = |count| Retention { full_backups: Some(count), ..Retention::default() };
        assert_eq!(goes(Retention::default(), 9_000), "");
        assert_eq!(goes(count(3), 9_000), "");
        assert_eq!(goes(count(2), 9_000), "F1 i1 i2");
        assert_eq!(goes(count(1), 9_000), "F1 i1 i2 F2 i3");
        assert_eq!(goes(count(0), 9_000), "F1 i1 i2 F2 i3");
        let age = |us| Retention { age: Some(std::time::Duration::from_micros(us)), ..Retention::default() };
        // Any moment since 3_400 needs F1; since 3_600 it needs F2.
        assert_eq!(goes(age(5_600), 9_000), "");
        assert_eq!(goes(age(5_400), 9_000), "F1 i1 i2");
        assert_eq!(goes(age(1), 9_000), "F1 i1 i2 F2 i3");
    }
}
