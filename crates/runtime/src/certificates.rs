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

/// How long before its end the expiry of a certificate is reported.
const EXPIRES_SOON_DAYS: u64 = 30;

/// One certificate and when its end was told last.
struct Watched {
    acceptor: Arc<TlsAcceptor>,
    told: Option<SystemTime>,
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

    /// Once a day, while there is something to tell.
    fn tell_end(&mut self, now: SystemTime, errors: &ErrorLog) {
        let was_told = self.told.is_some_and(|told| now.duration_since(told).is_ok_and(|age| age < DAY));
        let Some(end) = self.acceptor.expires_at().filter(|_| !was_told) else { return };
        let file = self.acceptor.files().certificate.display();
        match end.duration_since(now) {
            Err(_) => {
                let text = format_args!("The certificate in {file} expired on {}: replace it", date_of(end));
                errors.report(message::CERTIFICATE_EXPIRED, text);
            }
            Ok(left) if left < DAY * EXPIRES_SOON_DAYS as u32 => {
                let (days, date) = (left.as_secs() / DAY.as_secs(), date_of(end));
                let text = format_args!("The certificate in {file} expires in {days} days, on {date}: replace it");
                errors.report(message::CERTIFICATE_EXPIRES, text);
            }
            Ok(_) => return,
        }
        self.told = Some(now);
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
    use crate::log::error::ErrorLogSettings;
    use crate::log::file::LogFileSettings;
    use crate::log::writer::LogThreadBuilder;
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

    fn told(days: i64) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("errors");
        let mut builder = LogThreadBuilder::default();
        let errors = ErrorLog::open(&mut builder, ErrorLogSettings::new(LogFileSettings::new(path.clone()))).unwrap();
        let thread = builder.start().unwrap();
        let mut watched = Watched { acceptor: acceptor(dir.path(), days), told: None };
        let now = SystemTime::now();
        // The second look comes too early to tell it again, the third a day later.
        for hours in [0, 5, 25] {
            watched.look(now + Duration::from_secs(hours * 3600), &errors);
        }
        thread.flush();
        std::fs::read_to_string(path).unwrap().lines().map(|line| line[29..].to_owned()).collect()
    }

    #[test]
    fn a_certificate_that_expires_is_told_once_a_day() {
        let soon = told(10);
        assert_eq!(soon.len(), 2, "{soon:?}");
        for line in soon {
            assert!(line.starts_with("category=PROTOCOL severity=WARNING msgID=22 msg=The certificate in "), "{line}");
            assert!(line.contains(" days, on 2"), "{line}");
        }
        let late = told(-3);
        assert_eq!(late.len(), 2, "{late:?}");
        assert!(late[0].starts_with("category=PROTOCOL severity=ERROR msgID=23 msg=The certificate in "), "{late:?}");
        assert_eq!(told(300), Vec::<String>::new());
    }
}
