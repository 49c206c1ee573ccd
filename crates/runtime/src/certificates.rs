//! The watch over certificates: changed files are served at once, and an expiry is reported before it comes.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::log::error::ErrorLog;
use crate::log::message;
use crate::periodic::Periodic;
use crate::tls::{Reload, TlsAcceptor};

/// Pause between two looks at the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

const DAY: Duration = Duration::from_secs(86_400);

/// How many days before its end the expiry of a certificate is reported, once each.
const REPORTED_DAYS: [u32; 3] = [30, 7, 1];

/// Stands for the reports of a certificate that has expired.
const EXPIRED: usize = REPORTED_DAYS.len() + 1;

/// One certificate, and what was told of its end.
struct Watched {
    acceptor: Arc<TlsAcceptor>,
    told: Option<Told>,
}

/// What was told of the end of a certificate, and when.
#[derive(Clone, Copy)]
struct Told {
    /// How many of the days in [`REPORTED_DAYS`] had come.
    reports: usize,
    at: SystemTime,
}

/// Looks at the files of certificates now and from time to time; `None` when there is nothing to look at.
///
/// # Errors
/// When no thread can be started.
pub fn watch(acceptors: Vec<Arc<TlsAcceptor>>, errors: ErrorLog) -> io::Result<Option<Periodic>> {
    let mut watched: Vec<Watched> = Vec::new();
    for acceptor in acceptors {
        if !watched.iter().any(|known| Arc::ptr_eq(&known.acceptor, &acceptor)) {
            watched.push(Watched { acceptor, told: None });
        }
    }
    if watched.is_empty() {
        return Ok(None);
    }
    watched.iter_mut().for_each(|one| one.tell_end(SystemTime::now(), &errors));
    let look = move || watched.iter_mut().for_each(|one| one.look(SystemTime::now(), &errors));
    Periodic::start("certificates", CHECK_INTERVAL, look).map(Some)
}

impl Watched {
    fn look(&mut self, now: SystemTime, errors: &ErrorLog) {
        let file = self.acceptor.files().certificate.display();
        match self.acceptor.reload_if_changed() {
            Reload::Unchanged => {}
            Reload::Replaced => {
                self.told = None;
                let text = format_args!("The new certificate in {file} is served from now on");
                errors.report(message::CERTIFICATE_LOADED, text);
            }
            Reload::Refused(error) => errors.report(
                message::CERTIFICATE_BAD,
                format_args!("The new certificate is not usable, the one before is served: {error}"),
            ),
        }
        self.tell_end(now, errors);
    }

    /// Once for each of the days before the end; once a day after it.
    fn tell_end(&mut self, now: SystemTime, errors: &ErrorLog) {
        let Some(end) = self.acceptor.expires_at() else { return };
        let left = end.duration_since(now).ok();
        let reports = REPORTED_DAYS.iter().filter(|days| left.is_none_or(|left| left < DAY * **days)).count();
        let is_new = match self.told {
            None => reports > 0,
            Some(told) if left.is_none() && told.reports == EXPIRED => {
                now.duration_since(told.at).is_ok_and(|age| age >= DAY)
            }
            Some(_) if left.is_none() => true,
            Some(told) => reports > told.reports,
        };
        if !is_new {
            return;
        }
        let (file, date) = (self.acceptor.files().certificate.display(), date_of(end));
        match left.map(|left| left.as_secs() / DAY.as_secs()) {
            None => {
                let text = format_args!("The certificate in {file} expired on {date}: replace it");
                errors.report(message::CERTIFICATE_EXPIRED, text);
            }
            Some(0) => {
                let text = format_args!("The certificate in {file} expires within a day, on {date}: replace it");
                errors.report(message::CERTIFICATE_EXPIRES, text);
            }
            Some(days) => {
                let text = format_args!("The certificate in {file} expires in {days} days, on {date}: replace it");
                errors.report(message::CERTIFICATE_EXPIRES, text);
            }
        }
        let reports = if left.is_none() { EXPIRED } else { reports };
        self.told = Some(Told { reports, at: now });
    }
}

fn date_of(time: SystemTime) -> String {
    let second = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = jiff::Timestamp::from_second(i64::try_from(second).unwrap_or(i64::MAX)).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::log::error::{ErrorEnd, Selection, drop_note};
    use crate::log::file::{LogFile, LogFileSettings};
    use crate::log::writer::{Destination, LogWriter, Overload};
    use crate::tls::TlsSettings;
    use crate::tls_keys::CertificateFiles;

    /// A certificate that ends so many days after now.
    fn acceptor(dir: &Path, days: i64) -> Arc<TlsAcceptor> {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(["one.example".to_owned()]).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let date = jiff::Timestamp::from_second(now + days * 86_400).unwrap().to_zoned(jiff::tz::TimeZone::UTC).date();
        params.not_after = rcgen::date_time_ymd(date.year().into(), date.month() as u8, date.day() as u8);
        let files = CertificateFiles::pem(dir.join("cert.pem"), dir.join("key.pem"));
        std::fs::write(&files.certificate, params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(&files.private_key, key.serialize_pem()).unwrap();
        Arc::new(TlsAcceptor::new(&TlsSettings::new(files)).unwrap())
    }

    /// What is told of a certificate at looks that many hours after now.
    fn told(days: i64, hours: &[u64]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("errors");
        let file = LogFile::open(LogFileSettings::new(path.clone()), SystemTime::now()).unwrap();
        let destination = Destination { target: Box::new(file), note: drop_note() };
        let writer = LogWriter::start("log", destination, Arc::new(|news| panic!("{news}"))).unwrap();
        let errors = ErrorLog::silent();
        let selection = Selection::default();
        errors.set(vec![ErrorEnd { sink: writer.sink(Overload::Drop, 1 << 20), selection }]);
        let mut watched = Watched { acceptor: acceptor(dir.path(), days), told: None };
        let now = SystemTime::now();
        for hours in hours {
            watched.look(now + Duration::from_secs(hours * 3600), &errors);
        }
        writer.flush();
        std::fs::read_to_string(path).unwrap().lines().map(|line| line[29..].to_owned()).collect()
    }

    #[test]
    fn a_certificate_that_expires_is_told_30_7_and_1_days_before() {
        let days = |days: &[u64]| days.iter().map(|day| day * 24).collect::<Vec<_>>();
        // It ends at the beginning of the 40th day from now, so that between 39 and 40 days are left.
        let lines = told(40, &days(&[0, 5, 9, 10, 11, 25, 33, 34, 36, 38, 39]));
        let told_days: Vec<&str> = lines
            .iter()
            .map(|line| {
                assert!(
                    line.starts_with("category=PROTOCOL severity=WARNING msgID=22 msg=The certificate in "),
                    "{line}"
                );
                assert!(line.contains(", on 2"), "{line}");
                if line.contains("expires within a day") { "1" } else { &line[line.find("in ").unwrap()..] }
            })
            .collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(told_days[2], "1", "{lines:?}");
        assert_eq!(told(300, &days(&[0, 100])), Vec::<String>::new());
    }

    #[test]
    fn a_certificate_that_has_expired_is_told_once_a_day() {
        let late = told(-3, &[0, 5, 25]);
        assert_eq!(late.len(), 2, "{late:?}");
        assert!(late[0].starts_with("category=PROTOCOL severity=ERROR msgID=23 msg=The certificate in "), "{late:?}");
        // The last day was told an hour before: that it is over is told all the same.
        let over = told(1, &[0, 24]);
        assert!(over.len() == 2 && over[1].contains("severity=ERROR"), "{over:?}");
    }
}
