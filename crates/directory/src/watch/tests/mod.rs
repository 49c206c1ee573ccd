//! Persistent searches of a directory: what is told of which change, to whom, and when not.

mod given;
mod hidden;
mod sight;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ldap::client::{self, Response, ServerMessage};
use ldap::controls::{PagedResults, PersistentSearch, SortKey};
use ldap::oids::control;
use ldap::{ControlBuf, DerefAliases, LdapResult, Message, ModifyOperation, ResultCode, Scope};
use proptest::prelude::*;

use super::{WatchOutput, WatchWaker};
use crate::search::tests::fixture::{Asked, Collector, Fixture, user};
use crate::search::{EntryWriter, SearchDone};
use crate::{Directory, Identity};
use query::encode::{EncodeError, ShownEntry};

const BASE: &str = "dc=example,dc=com";

/// Long enough that only a hanging test meets it.
const PATIENCE: Duration = Duration::from_secs(60);

fn ldif() -> String {
    "dn: dc=example,dc=com\nobjectClass: domain\n\n\
     dn: ou=People,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
     dn: ou=Old,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
     dn: uid=ann,ou=People,dc=example,dc=com\nobjectClass: account\ndescription: staff\n\n\
     dn: uid=bo,ou=People,dc=example,dc=com\nobjectClass: account\ndescription: guest\n\n"
        .to_owned()
}

fn fixture() -> Fixture {
    Fixture::new(&[BASE], config::default_indexes(), &ldif())
}

/// The client of one watch.
#[derive(Clone, Default)]
pub(crate) struct Client(Arc<(Mutex<Seen>, Condvar)>);

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    /// Bytes that were not taken yet.
    unread: usize,
    /// More than so many unread are too many.
    room: Option<usize>,
    is_cancelled: bool,
    waker: Option<WatchWaker>,
    done: Option<SearchDone>,
}

/// A change as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    change_type: u8,
    pub(crate) dn: String,
    previous_dn: Option<String>,
    number: i64,
    pub(crate) attributes: BTreeMap<String, Vec<String>>,
}

impl Told {
    fn value(&self, attribute: &str) -> &str {
        self.attributes.get(attribute).and_then(|values| values.first()).map_or("", String::as_str)
    }
}

impl WatchOutput for Client {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<(), EncodeError> {
        let mut seen = self.0.0.lock().unwrap();
        let before = seen.bytes.len();
        entry.put_message(7, &mut seen.bytes)?;
        seen.unread += seen.bytes.len() - before;
        self.0.1.notify_all();
        Ok(())
    }

    fn flush(&mut self) {}

    fn has_room(&self) -> bool {
        let seen = self.0.0.lock().unwrap();
        seen.room.is_none_or(|room| seen.unread <= room)
    }

    fn is_cancelled(&self) -> bool {
        self.0.0.lock().unwrap().is_cancelled
    }

    fn wake_by(&mut self, waker: WatchWaker) {
        self.0.0.lock().unwrap().waker = Some(waker);
    }

    fn finish(self: Box<Self>, done: SearchDone) {
        self.0.0.lock().unwrap().done = Some(done);
        self.0.1.notify_all();
    }
}

impl Client {
    /// A client that reads nothing by itself once `room` bytes wait for it.
    fn slow(room: usize) -> Client {
        let client = Client::default();
        client.0.0.lock().unwrap().room = Some(room);
        client
    }

    /// Reads everything that waits.
    fn read(&self) -> usize {
        let mut seen = self.0.0.lock().unwrap();
        let taken = std::mem::take(&mut seen.unread);
        let waker = seen.waker.clone();
        drop(seen);
        if let Some(waker) = waker {
            waker.has_room();
        }
        taken
    }

    fn cancel(&self) {
        let mut seen = self.0.0.lock().unwrap();
        seen.is_cancelled = true;
        let waker = seen.waker.clone();
        drop(seen);
        waker.unwrap().cancelled();
    }

    fn wait<T>(&self, mut look: impl FnMut(&Seen) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.0.0.lock().unwrap();
        loop {
            if let Some(found) = look(&seen) {
                return found;
            }
            let left = until.checked_duration_since(Instant::now()).expect("nothing was told");
            seen = self.0.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// The changes up to the one that `is_last` says so of, when that is told.
    pub(crate) fn told_until(&self, is_last: impl Fn(&Told) -> bool) -> Vec<Told> {
        self.wait(|seen| Some(decode(&seen.bytes)).filter(|told| told.iter().any(&is_last)))
    }

    /// The first `count` changes, when they are told.
    fn told(&self, count: usize) -> Vec<Told> {
        self.wait(|seen| Some(decode(&seen.bytes)).filter(|told| told.len() >= count))
    }

    fn done(&self) -> SearchDone {
        self.wait(|seen| seen.done.clone())
    }
}

fn decode(mut rest: &[u8]) -> Vec<Told> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut all = Vec::new();
    while let Ok(ber::Frame::Complete(length)) = ber::frame(rest, usize::MAX) {
        let message = ServerMessage::decode(&rest[..length]).unwrap();
        assert_eq!(message.id, 7);
        let Response::SearchEntry(entry) = message.op else { panic!("{:?}", message.op) };
        let notification = message.controls.find(control::ENTRY_CHANGE_NOTIFICATION);
        let change = notification.map(|it| client::controls::EntryChange::decode(it.value).unwrap());
        all.push(Told {
            change_type: change.map_or(0, |change| change.change_type),
            dn: text(entry.dn),
            previous_dn: change.and_then(|change| change.previous_dn).map(text),
            number: change.and_then(|change| change.change_number).unwrap_or(0),
            attributes: entry
                .attributes
                .iter()
                .map(|it| (text(it.description), it.values.iter().map(text).collect()))
                .collect(),
        });
        rest = &rest[length..];
    }
    assert!(rest.is_empty(), "bytes left over");
    all
}

fn control(change_types: u8, changes_only: bool) -> [ControlBuf; 1] {
    [client::controls::persistent_search(PersistentSearch { change_types, changes_only, return_controls: true })]
}

/// Runs the first part and watches from then on; gives what the first part showed.
fn watch(fixture: &mut Fixture, asked: &Asked<'_>, client: &Client) -> Vec<Told> {
    let mut shown = Collector::default();
    watch_through(fixture, asked, client, &mut shown);
    decode(&shown.bytes)
}

fn watch_through(fixture: &mut Fixture, asked: &Asked<'_>, client: &Client, shown: &mut impl EntryWriter) {
    let mut plan = fixture.plan(asked);
    assert!(plan.is_persistent());
    let done = plan.run(&mut fixture.worker, shown);
    assert_eq!(done.result, LdapResult::success());
    fixture.directory.watch(plan, done, Box::new(client.clone()));
}

fn update(fixture: &Fixture, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    write(&mut bytes);
    fixture.update(&Message::decode(&bytes).unwrap());
}

fn add(fixture: &Fixture, dn: &str, description: &str) {
    let attributes = [(&b"objectClass"[..], [&b"account"[..]]), (b"description", [description.as_bytes()])];
    update(fixture, |out| client::add(out, 1, dn, attributes, &[]));
}

fn replace(fixture: &Fixture, dn: &str, value: &str) {
    let change = (ModifyOperation::Replace, &b"description"[..], [value.as_bytes()]);
    update(fixture, |out| client::modify(out, 1, dn, [change], &[]));
}

fn delete(fixture: &Fixture, dn: &str) {
    update(fixture, |out| client::delete(out, 1, dn, &[]));
}

fn rename(fixture: &Fixture, dn: &str, rdn: &str, superior: Option<&str>) {
    update(fixture, |out| client::modify_dn(out, 1, dn, rdn, true, superior, &[]));
}

fn brief(told: &[Told]) -> Vec<String> {
    told.iter().map(|it| format!("{} {} {}", it.change_type, it.dn, it.value("description"))).collect()
}

const ANN: &str = "uid=ann,ou=People,dc=example,dc=com";
const BO: &str = "uid=bo,ou=People,dc=example,dc=com";

#[test]
fn every_kind_of_change_is_told_in_order_with_its_number() {
    let mut fixture = fixture();
    let client = Client::default();
    let controls = control(15, false);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=account)") };
    let shown = watch(&mut fixture, &asked, &client);
    assert_eq!(brief(&shown), [format!("0 {ANN} staff"), format!("0 {BO} guest")]);
    add(&fixture, "uid=cy,ou=People,dc=example,dc=com", "new");
    replace(&fixture, "uid=cy,ou=People,dc=example,dc=com", "changed");
    rename(&fixture, "uid=cy,ou=People,dc=example,dc=com", "uid=di", Some("ou=Old,dc=example,dc=com"));
    delete(&fixture, "uid=di,ou=Old,dc=example,dc=com");
    let told = client.told(4);
    assert_eq!(
        brief(&told),
        [
            "1 uid=cy,ou=People,dc=example,dc=com new",
            "4 uid=cy,ou=People,dc=example,dc=com changed",
            "8 uid=di,ou=Old,dc=example,dc=com changed",
            "2 uid=di,ou=Old,dc=example,dc=com changed",
        ]
    );
    assert_eq!(told[2].previous_dn.as_deref(), Some("uid=cy,ou=People,dc=example,dc=com"));
    assert!(told.iter().all(|it| it.change_type == 8 || it.previous_dn.is_none()));
    assert_eq!((told[0].value("uid"), told[2].value("uid"), told[3].value("uid")), ("cy", "di", "di"));
    let last = i64::try_from(fixture.directory.history().bounds().last).unwrap();
    assert_eq!(told.iter().map(|it| it.number).collect::<Vec<_>>(), [last - 3, last - 2, last - 1, last]);
}

#[test]
fn only_the_kinds_and_the_form_that_were_asked_for() {
    let mut fixture = fixture();
    let deletes = Client::default();
    let bare = Client::default();
    let controls = control(2, true);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") };
    assert_eq!(watch(&mut fixture, &asked, &deletes), []);
    let plain = PersistentSearch { change_types: 15, changes_only: true, return_controls: false };
    let controls = [client::controls::persistent_search(plain)];
    let asked = Asked { controls: &controls, attributes: &["1.1"], ..Asked::new(BASE, "(uid=*)") };
    assert_eq!(watch(&mut fixture, &asked, &bare), []);
    // The name is told as it is stored.
    replace(&fixture, "UID=Ann, ou=people,dc=example,dc=com", "other");
    assert_eq!(bare.told(1)[0].dn, ANN);
    delete(&fixture, ANN);
    assert_eq!(brief(&deletes.told(1)), [format!("2 {ANN} other")]);
    let told = bare.told(2);
    assert!(told.iter().all(|it| it.change_type == 0 && it.attributes.is_empty() && it.dn == ANN));
}

/// The rules of OpenDJ's `PersistentSearch`.
#[test]
fn entries_that_come_into_and_leave_the_result() {
    let mut fixture = fixture();
    let client = Client::default();
    let controls = control(15, true);
    let people = "ou=People,dc=example,dc=com";
    let asked = Asked { controls: &controls, scope: Scope::SingleLevel, ..Asked::new(people, "(description=staff)") };
    watch(&mut fixture, &asked, &client);
    replace(&fixture, BO, "staff");
    // It matched before, and is told as it is now; then it is of no concern.
    replace(&fixture, BO, "guest");
    replace(&fixture, BO, "nobody");
    // Out of scope and in again: both are told. An entry below is not in scope.
    rename(&fixture, ANN, "uid=ann", Some("ou=Old,dc=example,dc=com"));
    replace(&fixture, "uid=ann,ou=Old,dc=example,dc=com", "staff");
    rename(&fixture, "uid=ann,ou=Old,dc=example,dc=com", "uid=eve", Some(people));
    add(&fixture, "uid=low,uid=eve,ou=People,dc=example,dc=com", "staff");
    replace(&fixture, "uid=eve,ou=People,dc=example,dc=com", "end");
    let told = client.told(5);
    assert_eq!(
        brief(&told),
        [
            format!("4 {BO} staff"),
            format!("4 {BO} guest"),
            "8 uid=ann,ou=Old,dc=example,dc=com staff".to_owned(),
            "8 uid=eve,ou=People,dc=example,dc=com staff".to_owned(),
            "4 uid=eve,ou=People,dc=example,dc=com end".to_owned(),
        ]
    );
}

#[test]
fn of_a_moved_subtree_only_its_top_is_told() {
    let mut fixture = fixture();
    let client = Client::default();
    let controls = control(15, true);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=*)") };
    watch(&mut fixture, &asked, &client);
    rename(&fixture, "ou=People,dc=example,dc=com", "ou=Folk", None);
    replace(&fixture, "uid=ann,ou=Folk,dc=example,dc=com", "moved");
    let told = client.told(2);
    assert_eq!(told[0].dn, "ou=Folk,dc=example,dc=com");
    assert_eq!(told[0].previous_dn.as_deref(), Some("ou=People,dc=example,dc=com"));
    assert_eq!(brief(&told)[1], "4 uid=ann,ou=Folk,dc=example,dc=com moved");
}

/// A client that reads late is told every change with the entry as it was then, once, and no more waits for it than it
/// has room for.
#[test]
fn a_slow_client_is_behind_and_catches_up() {
    let mut fixture = fixture();
    let client = Client::slow(2_000);
    let other = Client::default();
    let controls = control(15, true);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") };
    watch(&mut fixture, &asked, &client);
    watch(&mut fixture, &asked, &other);
    let count = 300;
    for number in 0..count {
        replace(&fixture, ANN, &format!("{number}"));
    }
    delete(&fixture, ANN);
    let expected: Vec<String> = (0..count).map(|number| format!("4 {ANN} {number}")).collect();
    let last = format!("2 {ANN} {}", count - 1);
    let expected: Vec<String> = expected.into_iter().chain([last]).collect();
    assert_eq!(brief(&other.told(count + 1)), expected);
    // One entry may go over what there is room for.
    let most = 2_000 + 1_000;
    while client.told(1).len() < expected.len() {
        let taken = client.read();
        assert!(taken <= most, "{taken}");
        std::thread::yield_now();
    }
    assert_eq!(brief(&client.told(count + 1)), expected);
}

/// Writes in the middle of the first part, so that it is shown over several snapshots.
struct Meddler<'f> {
    fixture: &'f Fixture,
    shown: Vec<u8>,
    steps: Vec<Step>,
    pieces: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Add(u16, u8),
    Replace(u16, u8),
    Delete(u16),
    Rename(u16, u16),
}

impl EntryWriter for Meddler<'_> {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        entry.put_message(7, &mut self.shown)?;
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        ldap::encode::search_reference(&mut self.shown, 7, urls.iter().map(String::as_str), &[]);
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn should_pause(&mut self) -> bool {
        self.pieces += 1;
        true
    }

    fn pause(&mut self) {
        let count = self.steps.len().min(7);
        self.steps.drain(..count).for_each(|step| step.take(self.fixture));
    }
}

impl Step {
    /// Those that cannot be are no updates.
    fn take(&self, fixture: &Fixture) {
        let mut bytes = Vec::new();
        let dn = |number: u16| format!("uid=u{number},dc=example,dc=com");
        let value = |value: u8| value.to_string();
        match self {
            Step::Add(number, description) => {
                let value = value(*description);
                let attributes = [(&b"objectClass"[..], [&b"account"[..]]), (b"description", [value.as_bytes()])];
                client::add(&mut bytes, 1, &dn(*number), attributes, &[]);
            }
            Step::Replace(number, description) => {
                let value = value(*description);
                let change = (ModifyOperation::Replace, &b"description"[..], [value.as_bytes()]);
                client::modify(&mut bytes, 1, &dn(*number), [change], &[]);
            }
            Step::Rename(number, to) => {
                client::modify_dn(&mut bytes, 1, &dn(*number), &format!("uid=u{to}"), true, None, &[])
            }
            Step::Delete(number) => client::delete(&mut bytes, 1, &dn(*number), &[]),
        }
        fixture.try_update(&Message::decode(&bytes).unwrap());
    }
}

const PEOPLE: u16 = 400;

fn step() -> impl Strategy<Value = Step> {
    let number = 0..PEOPLE + 100;
    prop_oneof![
        (number.clone(), any::<u8>()).prop_map(|(number, value)| Step::Add(number, value % 4)),
        (number.clone(), any::<u8>()).prop_map(|(number, value)| Step::Replace(number, value % 4)),
        (number.clone(), any::<u8>()).prop_map(|(number, value)| Step::Replace(number, value % 4)),
        number.clone().prop_map(Step::Delete),
        (number.clone(), number).prop_map(|(number, to)| Step::Rename(number, to)),
    ]
}

fn many() -> String {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for number in 0..PEOPLE {
        let value = number % 4;
        ldif.push_str(&format!("dn: uid=u{number},dc=example,dc=com\nobjectClass: account\ndescription: {value}\n\n"));
    }
    ldif
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever happens while the first part runs and afterwards: what was shown and what was told together are the
    /// directory, and each change is told once.
    #[test]
    fn nothing_is_left_out_and_nothing_told_twice(
        steps in prop::collection::vec(step(), 0..60),
        later in prop::collection::vec(step(), 0..20),
        filter in prop::sample::select(vec![
            "(objectClass=account)", "(description=1)", "(!(description=2))", "(&(description=3)(uid=*))",
        ]),
    ) {
        let mut fixture = Fixture::new(&[BASE], config::default_indexes(), &many());
        let client = Client::default();
        let controls = control(15, false);
        let asked = Asked { controls: &controls, ..Asked::new(BASE, filter) };
        let mut plan = fixture.plan(&asked);
        let mut worker = std::mem::take(&mut fixture.worker);
        let mut meddler = Meddler { fixture: &fixture, shown: Vec::new(), steps, pieces: 0 };
        let done = plan.run(&mut worker, &mut meddler);
        let (shown, rest) = (decode(&meddler.shown), meddler.steps);
        fixture.worker = worker;
        fixture.directory.watch(plan, done, Box::new(client.clone()));
        rest.iter().chain(&later).for_each(|step| step.take(&fixture));
        // The end, for whoever waits for it.
        Step::Add(9_999, 1).take(&fixture);
        Step::Replace(9_999, 3).take(&fixture);
        delete(&fixture, "uid=u9999,dc=example,dc=com");
        let is_last = |it: &Told| {
            it.dn.starts_with("uid=u9999,") && (it.change_type == 2 || filter == "(description=1)")
        };
        let told = client.wait(|seen| Some(decode(&seen.bytes)).filter(|told| told.last().is_some_and(is_last)));
        let matches = |entry: &Told| match filter {
            "(description=1)" => entry.value("description") == "1",
            "(!(description=2))" => entry.value("description") != "2",
            "(&(description=3)(uid=*))" => entry.value("description") == "3",
            _ => true,
        };
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        known.extend(shown.iter().map(|entry| (entry.dn.clone(), entry.value("description").to_owned())));
        let mut last = 0;
        for change in &told {
            prop_assert!(change.number > last, "{} after {last}", change.number);
            last = change.number;
            let was = known.get(&change.dn).cloned();
            match change.change_type {
                1 => prop_assert!(was.is_none(), "an added entry was known: {change:?}"),
                2 => prop_assert!(was.is_some(), "a deleted entry was not known: {change:?}"),
                8 => drop(known.remove(change.previous_dn.as_deref().unwrap())),
                _ => {}
            }
            if change.change_type == 2 || !matches(change) {
                known.remove(&change.dn);
            } else {
                known.insert(change.dn.clone(), change.value("description").to_owned());
            }
        }
        let all = fixture.search(&Asked::new(BASE, filter)).unwrap().entries;
        let all: BTreeMap<String, String> = all.into_iter()
            .map(|(dn, it)| (dn, it.get("description").map_or_else(String::new, |values| values[0].clone())))
            .collect();
        known.remove("uid=u9999,dc=example,dc=com");
        prop_assert_eq!(known, all);
    }
}

#[test]
fn refused_where_it_cannot_be() {
    let mut fixture = Fixture::with(&[BASE], config::default_indexes(), &ldif(), |config| {
        config.global.persistent_searches_max = Some(1);
    });
    let controls = control(15, true);
    let mut refusal = |asked: &Asked<'_>| fixture.search(asked).unwrap_err();
    let root_dse = Asked { controls: &controls, scope: Scope::BaseObject, ..Asked::new("", "(objectClass=*)") };
    assert_eq!(refusal(&root_dse).code, ResultCode::UNWILLING_TO_PERFORM);
    let monitor = Asked { controls: &controls, ..Asked::new("cn=monitor", "(objectClass=*)") };
    assert_eq!(refusal(&monitor).code, ResultCode::UNWILLING_TO_PERFORM);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=*)") };
    let anonymous =
        Asked { identity: Identity::Anonymous, ..Asked { controls: &controls, ..Asked::new(BASE, "(uid=*)") } };
    assert_eq!(refusal(&anonymous).code, ResultCode::NO_SUCH_OBJECT);
    let nowhere = Asked { controls: &controls, ..Asked::new("ou=None,dc=example,dc=com", "(uid=*)") };
    assert_eq!(refusal(&nowhere).code, ResultCode::NO_SUCH_OBJECT);
    let paged = PagedResults { size: 3, cookie: b"" }.encode();
    let key = SortKey { attribute: b"uid", ordering_rule: None, reverse: false };
    for other in [ControlBuf::new(control::PAGED_RESULTS, Some(paged)), client::controls::sort_request(&[key])] {
        let both = [controls[0].clone(), other];
        let asked = Asked { controls: &both, ..Asked::new(BASE, "(uid=*)") };
        assert_eq!(refusal(&asked).code, ResultCode::PROTOCOL_ERROR);
    }
    // None of these has kept the only place.
    let first = Client::default();
    watch(&mut fixture, &asked, &first);
    assert_eq!(fixture.search(&asked).unwrap_err().code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    first.cancel();
    assert_eq!(first.done().result.code, ResultCode::CANCELED);
    drop(first);
    let until = Instant::now() + PATIENCE;
    while fixture.search(&asked).is_err() {
        assert!(Instant::now() < until, "the place is not given back");
        std::thread::yield_now();
    }
}

#[test]
fn the_size_limit_counts_everything_that_is_sent() {
    let mut fixture = fixture();
    let client = Client::default();
    let controls = control(15, false);
    let asked = Asked { controls: &controls, size_limit: 3, ..Asked::new(BASE, "(objectClass=account)") };
    assert_eq!(watch(&mut fixture, &asked, &client).len(), 2);
    replace(&fixture, ANN, "1");
    replace(&fixture, ANN, "2");
    replace(&fixture, ANN, "3");
    let done = client.done();
    assert_eq!((done.result.code, done.entries_sent), (ResultCode::SIZE_LIMIT_EXCEEDED, 3));
    assert_eq!(brief(&client.told(1)), [format!("4 {ANN} 1")]);
}

#[test]
fn passwords_are_told_to_root_only() {
    let mut fixture = fixture();
    let (by_root, by_user) = (Client::default(), Client::default());
    let controls = control(15, true);
    let filter = "(|(uid=ann)(userPassword=*))";
    watch(&mut fixture, &Asked { controls: &controls, ..Asked::new(BASE, filter) }, &by_root);
    watch(&mut fixture, &Asked { controls: &controls, identity: user(), ..Asked::new(BASE, filter) }, &by_user);
    let change =
        (ModifyOperation::Replace, &b"userPassword"[..], [&b"{SSHA}IStkQQBTjJRsdGi9ZVx/QiV+fTeuUzPHWpJ9Nw=="[..]]);
    for dn in [BO, ANN] {
        let class = (ModifyOperation::Add, &b"objectClass"[..], [&b"simpleSecurityObject"[..]]);
        update(&fixture, |out| client::modify(out, 1, dn, [class, change], &[]));
    }
    let told = by_root.told(2);
    assert!(told.iter().all(|it| it.value("userPassword").starts_with("{SSHA}")));
    // The filter tells a user nothing about passwords either.
    let told = by_user.told(1);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].dn.as_str(), told[0].value("userPassword")), (ANN, ""));
}

#[test]
fn groups_count_as_they_are_now() {
    let staff = "cn=staff,dc=example,dc=com";
    let ldif = format!("{}dn: {staff}\nobjectClass: groupOfNames\nmember: {ANN}\n\n", ldif());
    let mut fixture = Fixture::new(&[BASE], config::default_indexes(), &ldif);
    let client = Client::default();
    let controls = control(15, false);
    let filter = format!("(isMemberOf={staff})");
    let asked = Asked { controls: &controls, attributes: &["isMemberOf", "description"], ..Asked::new(BASE, &filter) };
    assert_eq!(brief(&watch(&mut fixture, &asked, &client)), [format!("0 {ANN} staff")]);
    let everything = Client::default();
    watch(&mut fixture, &Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=*)") }, &everything);
    replace(&fixture, BO, "still a guest");
    // All watches are told a change together: this one was judged before BO becomes a member.
    everything.told(1);
    let member = (ModifyOperation::Add, &b"member"[..], [BO.as_bytes()]);
    update(&fixture, |out| client::modify(out, 1, staff, [member], &[]));
    replace(&fixture, BO, "one of us");
    let told = client.told(1);
    assert_eq!(brief(&told), [format!("4 {BO} one of us")]);
    assert_eq!(told[0].value("isMemberOf"), staff);
}

#[test]
fn all_backends_below_the_base_are_watched() {
    let other = "dc=other";
    let ldif = format!("{}####\ndn: dc=other\nobjectClass: domain\n\n", ldif());
    let mut fixture = Fixture::with(&[BASE], config::default_indexes(), &ldif, |config| {
        let mut second = config.backends[0].clone();
        second.id = "second".to_owned();
        second.base_dns = vec![other.to_owned()];
        second.directory.set_file_name("second");
        config.backends.push(second);
    });
    let (everything, one) = (Client::default(), Client::default());
    let controls = control(15, true);
    let names_only = ["description"];
    let asked = Asked { controls: &controls, attributes: &names_only, ..Asked::new("", "(description=*)") };
    watch(&mut fixture, &asked, &everything);
    watch(&mut fixture, &Asked { controls: &controls, ..Asked::new(other, "(description=*)") }, &one);
    replace(&fixture, ANN, "first");
    add(&fixture, "uid=zoe,dc=other", "second");
    replace(&fixture, ANN, "third");
    replace(&fixture, "uid=zoe,dc=other", "fourth");
    let told = everything.told(4);
    assert_eq!(
        brief(&told).iter().map(|it| it.rsplit(' ').next().unwrap()).collect::<Vec<_>>(),
        ["first", "second", "third", "fourth"]
    );
    // Attributes have other numbers in the other backend.
    assert!(told.iter().all(|it| it.attributes.len() == 1));
    assert_eq!(one.told(2).len(), 2);
}

#[test]
fn another_schema_is_taken_over() {
    let mut fixture = fixture();
    let client = Client::default();
    let controls = control(15, true);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(favouriteTree=*)") };
    watch(&mut fixture, &asked, &client);
    let definition =
        &b"( 1.3.6.1.4.1.99999.1 NAME 'favouriteTree' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"
            [..];
    let change = (ModifyOperation::Add, &b"attributeTypes"[..], [definition]);
    update(&fixture, |out| client::modify(out, 1, "cn=schema", [change], &[]));
    let changes = [
        (ModifyOperation::Add, &b"objectClass"[..], [&b"extensibleObject"[..]]),
        (ModifyOperation::Add, b"favouriteTree", [b"aspen"]),
    ];
    update(&fixture, |out| client::modify(out, 1, ANN, changes, &[]));
    assert_eq!(client.told(1)[0].value("favouriteTree"), "aspen");
}

#[test]
fn all_end_with_the_directory() {
    let mut fixture = fixture();
    let client = Client::default();
    let controls = control(15, true);
    let asked = Asked { controls: &controls, ..Asked::new(BASE, "(objectClass=*)") };
    watch(&mut fixture, &asked, &client);
    let monitor = |directory: &Directory| directory.watches.monitor_entry().attributes;
    let named = monitor(&fixture.directory).into_iter().find(|(name, _)| name == "persistentSearch").unwrap().1;
    assert_eq!(
        named,
        ["conn=1 op=3 authDN=\"cn=Directory Manager\" changeTypes=15 base=\"dc=example,dc=com\" scope=sub \
             filter=\"(objectClass=*)\""]
    );
    fixture.directory.end_watches();
    assert_eq!(client.done().result.code, ResultCode::UNAVAILABLE);
    // Who comes too late is told at once.
    let late = Client::default();
    watch(&mut fixture, &asked, &late);
    assert_eq!(late.done().result.code, ResultCode::UNAVAILABLE);
    fixture.directory.close().unwrap();
    assert!(monitor(&fixture.directory).iter().all(|(name, _)| name != "persistentSearch"));
}
