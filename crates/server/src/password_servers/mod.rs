//! Other servers that check passwords: one pool of threads for each, so that one that hangs holds up nobody but those
//! whose passwords it checks.
//!
//! A thread that waits for the network has no place in its pool ([`runtime::pool::Turn::wait`]): places are for what is
//! computed. Servers that do not answer are tried again every few seconds; the error log has a line when one goes, and
//! one when it is back.

mod lane;
mod remote_directory;
mod saslauthd;
mod settings;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use config::{Config, PassThroughServers, SaslauthdConfig};
use directory::{Directory, Elsewhere, RemoteDone, RemoteJob};
use durable::FileStamp;
use outbound::{Change, PoolSettings};
use query::monitor_entry::MonitorEntry;
use runtime::log::error::ErrorLog;
use runtime::periodic::Periodic;

use self::lane::Lane;
use self::remote_directory::RemoteDirectory;
use self::saslauthd::Saslauthd;
use self::settings::{pool_settings, stamps};
use crate::messages;

/// How often servers that are down are tried (OpenDJ's).
const CHECK_PAUSE: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct PasswordServers {
    current: Arc<ArcSwap<Current>>,
    /// For a policy whose servers are not known.
    unknown: Lane,
    /// For `{SASL}` values where saslauthd is not used.
    without_saslauthd: Lane,
    errors: ErrorLog,
    _check: Periodic,
}

/// Those of a configuration.
#[derive(Default)]
struct Current {
    directories: Vec<RemoteOf>,
    saslauthd: Option<(SaslauthdConfig, Lane, Arc<Saslauthd>)>,
}

/// The other directory of a policy.
#[derive(Clone)]
struct RemoteOf {
    servers: PassThroughServers,
    /// The files as they were read.
    stamps: Vec<Option<FileStamp>>,
    lane: Lane,
    remote: Arc<RemoteDirectory>,
}

/// The servers of a policy, and what was read for them from files as they were.
type CheckedServers = (PassThroughServers, PoolSettings, Vec<Option<FileStamp>>);

/// A configuration whose servers can be connected to, as far as that can be said without doing so.
#[derive(Default)]
pub(crate) struct Checked(Vec<CheckedServers>, Option<SaslauthdConfig>);

/// Reads what other servers need: passwords, certificates.
///
/// # Errors
/// When something cannot be read.
pub(crate) fn check(config: &Config) -> Result<Checked, String> {
    let directories = config.pass_through_servers.iter().map(|servers| {
        // Before the files are read: what changes meanwhile is read again.
        let stamps = stamps(servers);
        Ok((servers.clone(), pool_settings(servers)?, stamps))
    });
    Ok(Checked(directories.collect::<Result<_, String>>()?, config.saslauthd.clone()))
}

impl PasswordServers {
    /// Connects to nobody yet.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(checked: Checked, errors: ErrorLog) -> io::Result<PasswordServers> {
        let current: Arc<ArcSwap<Current>> = Arc::default();
        let (tried, told) = (Arc::clone(&current), errors.clone());
        let check = Periodic::start("password servers", CHECK_PAUSE, move || {
            take_replaced_files(&tried, &told);
            for it in &tried.load().directories {
                if it.remote.needs_check() {
                    let remote = Arc::clone(&it.remote);
                    it.lane.run(move || remote.check_servers());
                }
            }
        })?;
        let (unknown, without_saslauthd) = (Lane::unknown(), Lane::without_saslauthd());
        let servers = PasswordServers { current, unknown, without_saslauthd, errors, _check: check };
        servers.set(checked);
        Ok(servers)
    }

    /// Takes others; whether they differ. Connections to those that stay are kept.
    pub(crate) fn set(&self, checked: Checked) -> bool {
        let before = self.current.load_full();
        let Checked(directories, saslauthd) = checked;
        let known = before.directories.iter().map(|it| (&it.servers, &it.stamps));
        let is_same = known.eq(directories.iter().map(|(it, _, stamps)| (it, stamps)))
            && before.saslauthd.as_ref().map(|(it, ..)| it) == saslauthd.as_ref();
        if is_same {
            return false;
        }
        let directories = directories.into_iter().map(|(servers, pool, stamps)| {
            let known = before.directories.iter().find(|it| it.servers == servers && it.stamps == stamps);
            known.cloned().unwrap_or_else(|| RemoteOf::new((servers, pool, stamps), &self.errors))
        });
        let directories = directories.collect();
        self.current.store(Arc::new(Current { directories, saslauthd: saslauthd.map(|it| self.saslauthd(it)) }));
        true
    }

    fn saslauthd(&self, settings: SaslauthdConfig) -> (SaslauthdConfig, Lane, Arc<Saslauthd>) {
        let (errors, who) = (self.errors.clone(), format!("saslauthd at {}", settings.socket.display()));
        let tell = move |problem: Option<String>| report(&errors, &who, problem.as_deref());
        let saslauthd = Arc::new(Saslauthd::new(settings.clone(), tell));
        (settings, Lane::new(Arc::clone(&saslauthd) as _), saslauthd)
    }

    /// Has the password of a bind checked. `done` is told how long it waited for a thread; it gets none when too many
    /// wait.
    pub(crate) fn check(
        &self,
        job: Box<RemoteJob>,
        directory: &Arc<Directory>,
        done: impl FnOnce(Option<RemoteDone>, Duration) + Send + 'static,
    ) {
        let current = self.current.load();
        let lane = match job.elsewhere() {
            Elsewhere::Directory(policy) => {
                let found = current.directories.iter().find(|it| it.servers.policy == policy);
                found.map_or(&self.unknown, |it| &it.lane)
            }
            Elsewhere::Saslauthd => current.saslauthd.as_ref().map_or(&self.without_saslauthd, |(_, lane, _)| lane),
        };
        let directory = Arc::clone(directory);
        let asked = Instant::now();
        lane.submit(move |asking| {
            let waited = asked.elapsed();
            done(asking.map(|asking| job.run(&directory, asking)), waited);
        });
    }

    /// For `cn=monitor`.
    pub(crate) fn monitor_entries(&self) -> Vec<MonitorEntry> {
        let current = self.current.load();
        let directory = |it: &RemoteOf| {
            let entry = MonitorEntry::new(&format!("Pass-Through {}", it.servers.name));
            let servers = it.remote.servers().into_iter().map(|member| {
                let list = if member.is_primary { "primary" } else { "secondary" };
                let state = member.problem.map_or("up".to_owned(), |problem| format!("down ({problem})"));
                format!("{} {list} {state} idle-connections={}", member.server, member.idle)
            });
            let mut entry = it.lane.counts(entry);
            entry.attributes.push(("servers".to_owned(), servers.collect()));
            entry
        };
        let mut entries: Vec<MonitorEntry> = current.directories.iter().map(directory).collect();
        entries.extend(current.saslauthd.iter().map(|(settings, lane, saslauthd)| {
            let state = if saslauthd.is_down() { "down" } else { "up" };
            lane.counts(MonitorEntry::new("Saslauthd"))
                .with("servers", format_args!("{} {state}", settings.socket.display()))
        }));
        entries
    }

    /// Nobody is asked any more.
    pub(crate) fn stop(&self) {
        let current = self.current.swap(Arc::default());
        current.directories.iter().map(|it| &it.lane).for_each(Lane::stop);
        current.saslauthd.iter().for_each(|(_, lane, _)| lane.stop());
        [&self.unknown, &self.without_saslauthd].into_iter().for_each(Lane::stop);
    }
}

impl RemoteOf {
    fn new((servers, pool, stamps): CheckedServers, errors: &ErrorLog) -> RemoteOf {
        let (errors, policy) = (errors.clone(), servers.name.clone());
        let tell = move |change: &Change| {
            let who = format!("the server {} of the password policy \"{policy}\"", change.server);
            report(&errors, &who, change.problem.as_deref());
        };
        let remote = Arc::new(RemoteDirectory::new(pool, tell));
        RemoteOf { servers, stamps, lane: Lane::new(Arc::clone(&remote) as _), remote }
    }

    /// The same, with what the files hold now. Files that cannot be read are told of once.
    fn renewed(&self, errors: &ErrorLog) -> RemoteOf {
        let stamps = stamps(&self.servers);
        if stamps == self.stamps {
            return self.clone();
        }
        let who = format!("the servers of the password policy \"{}\"", self.servers.name);
        match pool_settings(&self.servers) {
            Ok(pool) => {
                let text = format_args!("Files for {who} were replaced and are in use");
                errors.report(messages::PASSWORD_SERVER_FILES, text);
                RemoteOf::new((self.servers.clone(), pool, stamps), errors)
            }
            Err(problem) => {
                let text =
                    format_args!("Files for {who} were replaced and cannot be used, those before stay: {problem}");
                errors.report(messages::PASSWORD_SERVER_FILES, text);
                RemoteOf { stamps, ..self.clone() }
            }
        }
    }
}

/// Reads replaced certificates, revocation lists and passwords.
fn take_replaced_files(current: &ArcSwap<Current>, errors: &ErrorLog) {
    let before = current.load_full();
    if before.directories.iter().all(|it| it.stamps == stamps(&it.servers)) {
        return;
    }
    let directories = before.directories.iter().map(|it| it.renewed(errors)).collect();
    let after = Arc::new(Current { directories, saslauthd: before.saslauthd.clone() });
    // Whoever took another configuration meanwhile has read the files as they are now.
    current.compare_and_swap(&before, after);
}

/// One line when a server goes, one when it is back.
fn report(errors: &ErrorLog, who: &str, problem: Option<&str>) {
    match problem {
        Some(problem) => {
            let text = format_args!("{who} is not asked for passwords until it answers again: {problem}");
            errors.report(messages::PASSWORD_SERVER_DOWN, text);
        }
        None => errors.report(messages::PASSWORD_SERVER_BACK, format_args!("{who} is asked for passwords again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_certificates_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("issuers.pem");
        let write = |name: &str| {
            let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            std::fs::write(&file, made.cert.pem()).unwrap();
        };
        write("one.example");
        let text = "[password-policy.p]\ntype = \"ldap-pass-through\"\nuse-ssl = true\nmapping-policy = \"unmapped\"\n\
                    primary-remote-ldap-server = \"127.0.0.1:1\"\ntrust-manager-provider = \"t\"\n\
                    [trust-manager-provider.t]\ntrust-store-file = \"issuers.pem\"\n";
        let config = Config::parse(text, &folder.path().join("pando.toml")).unwrap();
        let servers = PasswordServers::start(Checked::default(), ErrorLog::silent()).unwrap();
        assert!(servers.set(check(&config).unwrap()));
        assert!(!servers.set(check(&config).unwrap()), "nothing changed");
        let remote = || Arc::clone(&servers.current.load().directories[0].remote);
        let look = || take_replaced_files(&servers.current, &servers.errors);
        let first = remote();
        look();
        assert!(Arc::ptr_eq(&first, &remote()));
        std::fs::write(&file, "no certificate").unwrap();
        look();
        assert!(Arc::ptr_eq(&first, &remote()), "what cannot be read changes nothing");
        write("another-name.example");
        look();
        assert!(!Arc::ptr_eq(&first, &remote()));
        write("a-third-and-longer-name.example");
        assert!(servers.set(check(&config).unwrap()), "a reload takes replaced files at once");
        servers.stop();
    }
}
