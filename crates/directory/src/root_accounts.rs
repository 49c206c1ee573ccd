//! The state of the root users' accounts: they have no entry, so it is in a file of its own, `db/root-accounts.ldif`.
//!
//! It is changed in memory at once and written by a thread that writes all that has come meanwhile together. Who has to
//! be sure that a change is never forgotten is told when it is on disk; nobody else waits.
//!
//! A password of the configuration that is another than the one the state belongs to begins a new state.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use access::account_state::moment;
use accounts::{AccountState, Lock, Moment, StateChange, TimeFormat, apply_change};
use ldap::ldif::{AttributeLine, LdifEntry, Reader, Writer};
use query::notices::{NoticeKind, Notices};
use schema::{NormalizedDn, Schema};

use crate::root_users::RootUsers;

/// Told when a change is on disk, or why it is not. Called on the writing thread: must be quick.
pub type RootStateWritten = Box<dyn FnOnce(io::Result<()>) + Send>;

/// The attribute with the stored password that a state belongs to.
const PASSWORD: &str = "userPassword";

const ALWAYS: &[u8] = b"000001010000Z";

/// See the module.
pub struct RootAccounts {
    shared: Arc<Shared>,
}

struct Shared {
    file: PathBuf,
    notices: Arc<Notices>,
    kept: Mutex<Kept>,
    /// Something is to be written, or it ends.
    wake: Condvar,
}

#[derive(Default)]
struct Kept {
    accounts: BTreeMap<NormalizedDn, RootAccount>,
    /// Changes there were, and how many of them are on disk.
    changes: u64,
    written: u64,
    /// With the number of changes that have to be on disk.
    waiting: Vec<(u64, RootStateWritten)>,
    thread: Option<std::thread::JoinHandle<()>>,
    is_failing: bool,
    ends: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RootAccount {
    dn: String,
    password: Vec<u8>,
    state: AccountState,
}

impl RootAccounts {
    /// Reads the file, if it is there.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn open(file: &Path, schema: &Schema, notices: &Arc<Notices>) -> io::Result<RootAccounts> {
        let accounts = match std::fs::read(file) {
            Ok(bytes) => read(&bytes, schema).map_err(|problem| {
                let text = format!("{problem}. Remove the file to begin without failures and locks of root users");
                io::Error::new(io::ErrorKind::InvalidData, text)
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        let kept = Mutex::new(Kept { accounts, ..Kept::default() });
        let (file, notices) = (file.to_owned(), Arc::clone(notices));
        Ok(RootAccounts { shared: Arc::new(Shared { file, kept, notices, wake: Condvar::new() }) })
    }

    /// Takes the root users of a configuration: states of others go, and one begins for each that is new or has another
    /// password.
    pub(crate) fn set_users(&self, users: &RootUsers, now: Moment) {
        let kept = &mut *self.shared.lock();
        let before = std::mem::take(&mut kept.accounts);
        for user in users.users.iter().filter(|user| user.name == user.account) {
            let known = before.get(&user.name).filter(|known| known.password == user.password);
            let account = known.cloned().unwrap_or_else(|| RootAccount {
                dn: user.dn.to_string(),
                password: user.password.clone(),
                state: AccountState { created: Some(now), password_changed: Some(now), ..AccountState::default() },
            });
            kept.accounts.insert(user.name.clone(), account);
        }
        if before != kept.accounts {
            self.shared.changed(kept, None);
        }
    }

    /// The state of a root user's account.
    pub fn state(&self, name: &NormalizedDn) -> AccountState {
        self.shared.lock().accounts.get(name).map(|account| account.state.clone()).unwrap_or_default()
    }

    /// Changes it at once; `done` is called when the change is on disk.
    pub fn change(&self, name: &NormalizedDn, changes: &[StateChange], done: Option<RootStateWritten>) {
        let kept = &mut *self.shared.lock();
        if let Some(account) = kept.accounts.get_mut(name) {
            let was_locked = account.state.lock.is_some();
            let is_changed = changes.iter().fold(false, |any, change| apply_change(&mut account.state, change) | any);
            if is_changed {
                let locked = (!was_locked && account.state.lock.is_some()).then(|| told_of_lock(account));
                self.shared.changed(kept, done);
                if let Some(sentence) = locked {
                    self.shared.notices.warn(NoticeKind::RootAccount, &sentence);
                }
                return;
            }
        }
        match done {
            // What was changed before is still on its way.
            Some(done) if kept.written < kept.changes => kept.waiting.push((kept.changes, done)),
            Some(done) => done(Ok(())),
            None => {}
        }
    }

    /// Has an administrator's change made at once, on the state as it is; gives what `edit` gives beside the new state,
    /// and whether the account is kept out from now on: its sessions end.
    pub(crate) fn edit<T, E>(
        &self,
        name: &NormalizedDn,
        edit: impl FnOnce(&AccountState) -> Result<(AccountState, T), E>,
    ) -> Result<(T, bool), E> {
        let kept = &mut *self.shared.lock();
        let Some(account) = kept.accounts.get_mut(name) else {
            return edit(&AccountState::default()).map(|(_, told)| (told, false));
        };
        let (new, told) = edit(&account.state)?;
        let keeps_out = |state: &AccountState| state.is_disabled || state.lock == Some(Lock::UntilUnlocked);
        let is_kept_out = keeps_out(&new) && !keeps_out(&account.state);
        if new != account.state {
            account.state = new;
            self.shared.changed(kept, None);
        }
        Ok((told, is_kept_out))
    }

    /// Whether the last change could not be written.
    pub(crate) fn is_failing(&self) -> bool {
        self.shared.lock().is_failing
    }

    /// Writes what is not on disk yet and ends the thread.
    pub fn close(&self) {
        let thread = {
            let kept = &mut *self.shared.lock();
            kept.ends = true;
            self.shared.wake.notify_all();
            kept.thread.take()
        };
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(self: &Arc<Self>, kept: &mut Kept, done: Option<RootStateWritten>) {
        kept.changes += 1;
        kept.waiting.extend(done.map(|done| (kept.changes, done)));
        if kept.thread.is_none() && !kept.ends {
            let own = Arc::clone(self);
            let started = std::thread::Builder::new().name("root-accounts".to_owned()).spawn(move || own.run());
            match started {
                Ok(thread) => kept.thread = Some(thread),
                // The next change tries again.
                Err(error) => tell(std::mem::take(&mut kept.waiting), &Err(error)),
            }
        }
        self.wake.notify_all();
    }

    fn run(&self) {
        let mut kept = self.lock();
        loop {
            while kept.written == kept.changes && !kept.ends {
                kept = self.wake.wait(kept).unwrap_or_else(PoisonError::into_inner);
            }
            let target = kept.changes;
            if kept.written == target {
                return;
            }
            let bytes = written(&kept.accounts);
            drop(kept);
            let permissions = Some(Permissions::from_mode(0o600));
            let result = bytes.and_then(|bytes| durable::replace_file(&self.file, &bytes, permissions));
            kept = self.lock();
            // After a failure the next change tries again.
            kept.written = target;
            let begins_to_fail = result.is_err() && !kept.is_failing;
            kept.is_failing = result.is_err();
            let (told, later) =
                std::mem::take(&mut kept.waiting).into_iter().partition(|(change, _)| *change <= target);
            kept.waiting = later;
            let ends = kept.ends && result.is_err();
            drop(kept);
            if let (Err(error), true) = (&result, begins_to_fail) {
                let sentence = format!("{} cannot be written: {error}", self.file.display());
                self.notices.warn(NoticeKind::RootAccount, &sentence);
            }
            tell(told, &result);
            if ends {
                return;
            }
            kept = self.lock();
        }
    }
}

fn told_of_lock(account: &RootAccount) -> String {
    let (dn, count) = (&account.dn, account.state.failures.len());
    format!("The root user \"{dn}\" is locked after {count} wrong passwords: pando account unlock \"{dn}\" ends that")
}

fn tell(waiting: Vec<(u64, RootStateWritten)>, result: &io::Result<()>) {
    for (_, done) in waiting {
        done(match result {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        });
    }
}

impl Drop for RootAccounts {
    fn drop(&mut self) {
        self.close();
    }
}

fn written(accounts: &BTreeMap<NormalizedDn, RootAccount>) -> io::Result<Vec<u8>> {
    let mut out = Writer::new(Vec::new());
    out.comment("The state of the root users' accounts. The server writes this file: do not change it.");
    for account in accounts.values() {
        out.begin(&account.dn);
        out.line(PASSWORD.as_bytes(), &account.password);
        each_line(&account.state, |name, value| out.line(name.as_bytes(), value));
        out.end()?;
    }
    let mut bytes = out.finish()?;
    bytes.flush()?;
    Ok(bytes)
}

/// The state as attributes.
fn each_line(state: &AccountState, mut line: impl FnMut(&str, &[u8])) {
    let format = TimeFormat::generalized();
    let text = |time: Moment| {
        let mut out = Vec::new();
        format.write(time, &mut out);
        out
    };
    for (name, time) in [
        ("createTimestamp", state.created),
        ("pwdChangedTime", state.password_changed),
        ("pwdStartTime", state.start),
        ("pwdEndTime", state.end),
        ("pwdAccountTmpLockoutEnd", state.delayed_until),
        ("ds-pwp-warned-time", state.warned),
        ("ds-pwp-password-changed-by-required-time", state.met_deadline),
        ("pwdLastSuccess", state.last_login),
    ] {
        time.into_iter().for_each(|time| line(name, &text(time)));
    }
    match state.lock {
        Some(Lock::UntilUnlocked) => line("pwdAccountLockedTime", ALWAYS),
        Some(Lock::Since(since)) => line("pwdAccountLockedTime", &text(since)),
        None => {}
    }
    state.failures.iter().for_each(|time| line("pwdFailureTime", &text(*time)));
    state.grace_uses.iter().for_each(|time| line("pwdGraceUseTime", &text(*time)));
    for (name, is_true) in [("pwdReset", state.must_change), ("ds-pwp-account-disabled", state.is_disabled)] {
        if is_true {
            line(name, b"TRUE");
        }
    }
}

fn read(bytes: &[u8], schema: &Schema) -> Result<BTreeMap<NormalizedDn, RootAccount>, String> {
    let mut reader = Reader::new(bytes);
    let mut entry = LdifEntry::default();
    let mut accounts = BTreeMap::new();
    while reader.next_into(&mut entry).map_err(|error| error.to_string())? {
        let name = NormalizedDn::parse(schema, entry.dn.as_bytes()).map_err(|error| error.to_string())?;
        let mut account = RootAccount { dn: entry.dn.clone(), password: Vec::new(), state: AccountState::default() };
        entry.iter().try_for_each(|line| take(&mut account, line))?;
        accounts.insert(name, account);
    }
    Ok(accounts)
}

fn take(account: &mut RootAccount, line: AttributeLine<'_>) -> Result<(), String> {
    let (name, value) = (String::from_utf8_lossy(line.description), line.value);
    let state = &mut account.state;
    let time = || moment(value).ok_or_else(|| format!("line {}: {name} is not a time", line.line));
    match &*name {
        PASSWORD => account.password = value.to_vec(),
        "createTimestamp" => state.created = Some(time()?),
        "pwdChangedTime" => state.password_changed = Some(time()?),
        "pwdStartTime" => state.start = Some(time()?),
        "pwdEndTime" => state.end = Some(time()?),
        "pwdAccountTmpLockoutEnd" => state.delayed_until = Some(time()?),
        "ds-pwp-warned-time" => state.warned = Some(time()?),
        "ds-pwp-password-changed-by-required-time" => state.met_deadline = Some(time()?),
        "pwdLastSuccess" => state.last_login = Some(time()?),
        "pwdAccountLockedTime" if value == ALWAYS => state.lock = Some(Lock::UntilUnlocked),
        "pwdAccountLockedTime" => state.lock = Some(Lock::Since(time()?)),
        "pwdFailureTime" => state.failures.push(time()?),
        "pwdGraceUseTime" => state.grace_uses.push(time()?),
        "pwdReset" => state.must_change = true,
        "ds-pwp-account-disabled" => state.is_disabled = true,
        _ => return Err(format!("line {}: {name} is not known here", line.line)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use accounts::LockRules;
    use accounts::second_factor::Tokens;
    use config::Config;

    use super::*;

    fn users(password: &str) -> RootUsers {
        let text = format!("[root-dn-user.a]\nalternate-bind-dn = \"cn=a\"\npassword = \"{{SSHA}}{password}\"\n");
        RootUsers::new(&Config::parse(&text, Path::new("pando.toml")).unwrap(), &Schema::standard()).unwrap()
    }

    fn opened(file: &Path, password: &str, now: u64) -> RootAccounts {
        let accounts = RootAccounts::open(file, &Schema::standard(), &Arc::default()).unwrap();
        accounts.set_users(&users(password), Moment(now));
        accounts
    }

    fn name() -> NormalizedDn {
        NormalizedDn::parse(&Schema::standard(), b"CN=A").unwrap()
    }

    /// Changes and waits until they are on disk; nothing is closed, as when the process is killed.
    fn change(accounts: &RootAccounts, changes: &[StateChange]) {
        let (done, told) = channel();
        accounts.change(&name(), changes, Some(Box::new(move |result| done.send(result.is_ok()).unwrap())));
        assert!(told.recv_timeout(Duration::from_secs(20)).unwrap());
    }

    fn failure(at: u64) -> StateChange {
        StateChange::CountFailure { at: Moment(at), rules: LockRules { count: 2, ..LockRules::default() } }
    }

    #[test]
    fn what_is_told_as_written_is_there_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("db/root-accounts.ldif");
        let accounts = opened(&file, "b25l", 5_000);
        change(&accounts, &[failure(6_000)]);
        change(&accounts, &[failure(7_000), StateChange::Warned { at: Moment(7_500) }]);
        // Nothing changes any more: whoever waits is told all the same.
        change(&accounts, &[failure(8_000)]);
        let expected = AccountState {
            created: Some(Moment(5_000)),
            password_changed: Some(Moment(5_000)),
            failures: vec![Moment(6_000), Moment(7_000)],
            lock: Some(Lock::Since(Moment(7_000))),
            warned: Some(Moment(7_500)),
            ..AccountState::default()
        };
        assert_eq!(accounts.state(&name()), expected);
        assert_eq!(opened(&file, "b25l", 9_000).state(&name()), expected);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // Another password begins a new state.
        let anew = AccountState {
            created: Some(Moment(9_000)),
            password_changed: Some(Moment(9_000)),
            ..AccountState::default()
        };
        assert_eq!(opened(&file, "dHdv", 9_000).state(&name()), anew);
    }

    #[test]
    fn every_part_of_a_state_comes_back() {
        let time = |ms: u64| Some(Moment(ms));
        let state = AccountState {
            created: time(1),
            password_changed: time(2),
            password_reset: None,
            is_disabled: true,
            last_disabled: None,
            start: time(3),
            end: time(4),
            lock: Some(Lock::UntilUnlocked),
            failures: vec![Moment(5), Moment(6)],
            delayed_until: time(7),
            must_change: true,
            grace_uses: vec![Moment(8)],
            warned: time(9),
            met_deadline: time(10),
            tokens: Tokens::default(),
            last_login: time(11),
        };
        let account = RootAccount { dn: "cn=a".to_owned(), password: b"{SSHA}b25l".to_vec(), state };
        let accounts = BTreeMap::from([(name(), account)]);
        assert_eq!(read(&written(&accounts).unwrap(), &Schema::standard()), Ok(accounts));
    }

    #[test]
    fn a_damaged_file_is_told_and_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("root-accounts.ldif");
        for (text, told) in [
            ("dn: cn=a\npwdFailureTime: noon\n", "line 2: pwdFailureTime is not a time. Remove the file"),
            ("dn: cn=a\ncn: a\n", "line 2: cn is not known here. Remove the file"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = RootAccounts::open(&file, &Schema::standard(), &Arc::default()).err().unwrap().to_string();
            assert!(error.starts_with(told), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
    }
}
