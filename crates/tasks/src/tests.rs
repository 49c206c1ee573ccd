//! Schedules, the life of tasks, what the book keeps, and clocks that are set.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use crate::file::{self, Pages};
use crate::work::{Kind, RebuildWhich, Work, WorkFault};
use crate::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn next(schedule: &str, after: &str, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap();
    let next = Schedule::parse(schedule).unwrap().next_after(at(after), &zone);
    next.map(|time| time.to_string()).unwrap_or_default()
}

#[test]
fn schedules_say_when_they_come_next() {
    for (schedule, after, expected) in [
        ("* * * * *", "2026-11-23T19:00:30Z", "2026-11-23T19:01:00Z"),
        ("0 2 * * *", "2026-11-23T02:00:00Z", "2026-11-24T02:00:00Z"),
        ("*/15 8-9 * * mon-fri", "2026-11-20T09:46:00Z", "2026-11-23T08:00:00Z"),
        ("30 1 1,15 * *", "2026-11-16T00:00:00Z", "2026-12-01T01:30:00Z"),
        ("0 2 1-7 * 0", "2026-11-02T00:00:00Z", "2026-12-06T02:00:00Z"),
        ("0 2 1-7 * 7", "2026-11-02T00:00:00Z", "2026-12-06T02:00:00Z"),
        ("0 0 29 feb *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("5/20 0 31 12 *", "2026-12-31T00:05:00Z", "2026-12-31T00:25:00Z"),
        ("0 0 30 2 *", "2026-01-01T00:00:00Z", ""),
    ] {
        assert_eq!(next(schedule, after, "UTC"), expected, "{schedule} after {after}");
    }
}

#[test]
fn a_clock_change_by_law_gives_each_time_once() {
    // In 2026 Paris skips 2:00 to 3:00 on 29 March, and has it twice on 25 October.
    assert_eq!(next("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Paris"), "2026-03-29T01:30:00Z");
    assert_eq!(next("30 2 * * *", "2026-03-29T01:30:00Z", "Europe/Paris"), "2026-03-30T00:30:00Z");
    assert_eq!(next("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Paris"), "2026-10-25T00:30:00Z");
    assert_eq!(next("30 2 * * *", "2026-10-25T00:30:00Z", "Europe/Paris"), "2026-10-26T01:30:00Z");
}

#[test]
fn what_is_no_schedule_says_why() {
    for (schedule, reason) in [
        ("* * * *", "\"* * * *\" has 4 fields"),
        ("60 * * * *", "\"60\" is no minute: write 0 to 59"),
        ("* 5-3 * * *", "\"5-3\" is no hour: write 0 to 23"),
        ("* * 0 * *", "\"0\" is no day of the month: write 1 to 31"),
        ("* * * foo *", "\"foo\" is no month: write 1 to 12"),
        ("* * * * 8", "\"8\" is no day of the week: write 0 to 7"),
        ("*/0 * * * *", "\"*/0\" is no minute"),
        ("+5 * * * *", "\"+5\" is no minute"),
        (", * * * *", "\",\" is no minute"),
    ] {
        let error = Schedule::parse(schedule).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_schedule_or_an_error(text in "[*/,0-9a-z -]{0,20}", after in 0_i64..4_000_000_000) {
        if let Ok(schedule) = Schedule::parse(&text) {
            let after = Timestamp::from_second(after).unwrap();
            let next = schedule.next_after(after, &TimeZone::get("Europe/Paris").unwrap());
            prop_assert!(next.is_none_or(|next| next > after));
        }
    }
}

#[test]
fn start_times_are_local_or_utc() {
    let zone = TimeZone::get("Europe/Paris").unwrap();
    for (text, expected) in [
        ("0", Some(None)),
        ("20261123200000", Some(Some(at("2026-11-23T19:00:00Z")))),
        ("20261123200000Z", Some(Some(at("2026-11-23T20:00:00Z")))),
        ("20261123200000.123Z", Some(Some(at("2026-11-23T20:00:00Z")))),
        ("20261323200000", None),
        ("tomorrow", None),
        ("202611232000", None),
    ] {
        assert_eq!(parse_start(text, &zone), expected, "{text}");
    }
}

fn export() -> Attributes {
    Attributes::from_iter([
        ("objectClass", "ds-task"),
        ("objectClass", "ds-task-export"),
        ("ds-task-class-name", "org.opends.server.tasks.ExportTask"),
        ("ds-task-export-backend-id", "userRoot"),
        ("ds-task-export-ldif-file", "/tmp/out.ldif"),
    ])
}

#[test]
fn attributes_say_what_is_to_be_done() {
    let Work::Export(work) = Work::read(&export()).unwrap() else { panic!() };
    assert_eq!((work.backend.as_str(), work.operational, work.append), ("userRoot", true, false));
    let with = |name: &str, value: &str| {
        let mut attributes = export();
        attributes.add(name, [value.to_owned()]);
        Work::read(&attributes).map(|work| work.kind()).map_err(|fault| fault.to_string())
    };
    assert_eq!(with("ds-task-export-sign-hash", "FALSE"), Ok(Kind::Export));
    for (name, value, fault) in [
        ("ds-task-export-sign-hash", "true", "this server does not do what ds-task-export-sign-hash \"true\" asks for"),
        ("ds-task-notify-on-error", "a@example.com", "this server does not do what ds-task-notify-on-error"),
        ("ds-task-import-append", "true", "a task of the class ds-task-export has no attribute ds-task-import-append"),
        ("ds-task-export-compress-ldif", "maybe", "\"maybe\" cannot be ds-task-export-compress-ldif"),
        ("ds-task-export-backend-id", "other", "ds-task-export-backend-id takes one value"),
        ("objectClass", "ds-task-import", "\"ds-task-import\" cannot be objectClass"),
    ] {
        let told = with(name, value).unwrap_err();
        assert!(told.starts_with(fault), "{told}");
    }
    let rebuild = |index: &str| {
        Work::read(&Attributes::from_iter([
            ("ds-task-class-name", "RebuildTask"),
            ("ds-task-rebuild-base-dn", "dc=example,dc=com"),
            ("ds-task-rebuild-index", index),
        ]))
    };
    let base_dn = "dc=example,dc=com".to_owned();
    assert_eq!(rebuild("REBUILD_ALL"), Ok(Work::Rebuild { base_dn: base_dn.clone(), which: RebuildWhich::All }));
    let named = RebuildWhich::Named(vec!["cn".to_owned()]);
    assert_eq!(rebuild("cn"), Ok(Work::Rebuild { base_dn, which: named }));
    let unknown = Attributes::from_iter([("ds-task-class-name", "org.example.Nothing")]);
    assert!(matches!(Work::read(&unknown), Err(WorkFault::UnknownClass(_))));
}

struct Desk {
    folder: tempfile::TempDir,
    book: TaskBook,
    now: Timestamp,
}

fn open(folder: &Path) -> TaskBook {
    TaskBook::open(folder.join("tasks.json")).unwrap().in_zone(TimeZone::UTC)
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let book = open(folder.path());
        Desk { folder, book, now: at("2026-11-23T19:00:00Z") }
    }

    fn task(&self, id: &str) -> Task {
        Task::new(id, export(), "cn=Directory Manager", self.now)
    }

    fn add(&self, task: Task) {
        self.book.add(task, self.now).unwrap();
    }

    /// The tasks that begin now.
    fn begin(&self) -> Vec<String> {
        let now = self.now;
        let clock = &|| now;
        let mut begun = Vec::new();
        while self.book.look(now) {
            let Waiting::Run(run) = self.book.next(clock) else { panic!() };
            begun.push(run.task.id);
        }
        begun
    }

    fn state(&self, id: &str) -> State {
        self.book.task(id).unwrap().state
    }

    fn reopen(&mut self) {
        self.book = open(self.folder.path());
    }
}

#[test]
fn a_task_runs_at_its_time_and_is_kept_for_a_day() {
    let mut desk = Desk::new();
    desk.add(Task { start: Some(at("2026-11-23T19:10:00Z")), ..desk.task("later") });
    desk.add(desk.task("now"));
    assert_eq!(desk.begin(), ["now"]);
    assert_eq!(desk.state("later"), State::WaitingOnStartTime);
    desk.book.log("now", Severity::Notice, "two\nlines", desk.now);
    desk.book.end("now", State::CompletedSuccessfully, desk.now).unwrap();
    desk.now = at("2026-11-23T19:10:00Z");
    assert_eq!(desk.begin(), ["later"]);
    // What the server that ended did not complete is over.
    desk.reopen();
    desk.book.begin(desk.now).unwrap();
    assert_eq!(desk.state("later"), State::StoppedByShutdown);
    assert_eq!(desk.book.task("now").unwrap().messages.len(), 1);
    desk.now = at("2026-11-24T19:05:00Z");
    desk.begin();
    assert_eq!(desk.book.scheduled().iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["later"]);
    assert!(matches!(desk.book.cancel("later", desk.now), Err(TaskRefusal::Ended { .. })));
    desk.book.remove("later", desk.now).unwrap();
    assert!(matches!(desk.book.cancel("later", desk.now), Err(TaskRefusal::Unknown(_))));
}

#[test]
fn a_task_waits_for_others_and_does_what_is_said_when_they_fail() {
    let desk = Desk::new();
    desk.add(desk.task("first"));
    for (id, action) in [
        ("none", None),
        ("process", Some(DependencyAction::Process)),
        ("disable", Some(DependencyAction::Disable)),
        ("cancel", Some(DependencyAction::Cancel)),
    ] {
        desk.add(Task { dependencies: vec!["first".to_owned()], on_failure: action, ..desk.task(id) });
        assert_eq!(desk.state(id), State::WaitingOnDependency);
    }
    desk.add(Task { dependencies: vec!["cancel".to_owned()], ..desk.task("last") });
    let refused = desk.book.add(Task { dependencies: vec!["no".to_owned()], ..desk.task("x") }, desk.now);
    assert!(matches!(refused, Err(TaskRefusal::UnknownDependency(_))));
    assert!(matches!(desk.book.add(desk.task("first"), desk.now), Err(TaskRefusal::Exists(_))));
    assert_eq!(desk.begin(), ["first"]);
    assert!(matches!(desk.book.remove("first", desk.now), Err(TaskRefusal::Running(_))));
    desk.book.end("first", State::StoppedByError, desk.now).unwrap();
    assert_eq!(desk.begin(), ["process"]);
    let states = ["none", "disable", "cancel", "last"].map(|id| desk.state(id));
    let cancelled = State::CanceledBeforeStarting;
    assert_eq!(states, [cancelled, State::Disabled, cancelled, cancelled]);
}

#[test]
fn a_task_is_cancelled_before_and_while_it_runs() {
    let desk = Desk::new();
    desk.add(desk.task("one"));
    desk.add(Task { start: Some(at("2026-11-23T20:00:00Z")), ..desk.task("two") });
    desk.begin();
    desk.book.cancel("one", desk.now).unwrap();
    desk.book.cancel("two", desk.now).unwrap();
    assert_eq!((desk.state("one"), desk.state("two")), (State::Running, State::CanceledBeforeStarting));
    assert!(desk.book.task("one").unwrap().is_cancelled());
}

fn nightly(desk: &Desk) -> Recurring {
    Recurring {
        id: "nightly".to_owned(),
        attributes: export(),
        schedule: Schedule::parse("0 2 * * *").unwrap(),
        on_failure: None,
        dependencies: Vec::new(),
        by: "cn=Directory Manager".to_owned(),
        made: desk.now,
        last: None,
    }
}

fn waiting(desk: &Desk) -> Vec<String> {
    desk.book.scheduled().into_iter().filter(|task| task.state.is_pending()).map(|task| task.id).collect()
}

#[test]
fn a_recurring_task_comes_once_each_time_whatever_the_clock_does() {
    let mut desk = Desk::new();
    desk.book.add_recurring(nightly(&desk), desk.now).unwrap();
    assert_eq!(waiting(&desk), ["nightly-20261124020000"]);
    // The clock is set back before it, and it comes when the clock shows its time.
    desk.now = at("2026-11-23T18:00:00Z");
    assert_eq!(desk.begin(), [""; 0]);
    desk.now = at("2026-11-24T02:00:00Z");
    assert_eq!(desk.begin(), ["nightly-20261124020000"]);
    assert_eq!(waiting(&desk), [""; 0]);
    desk.book.end("nightly-20261124020000", State::CompletedSuccessfully, desk.now).unwrap();
    // An hour back after it: the same time comes again, the task does not; not over a restart either.
    desk.now = at("2026-11-24T01:30:00Z");
    assert_eq!(desk.begin(), [""; 0]);
    desk.reopen();
    desk.book.begin(desk.now).unwrap();
    desk.now = at("2026-11-24T02:00:00Z");
    assert_eq!(desk.begin(), [""; 0]);
    assert_eq!(waiting(&desk), ["nightly-20261125020000"]);
    // The server was off at its time: it runs once when the server is back, not once for each time.
    desk.now = at("2026-11-28T12:00:00Z");
    assert_eq!(desk.begin(), ["nightly-20261125020000"]);
    desk.book.end("nightly-20261125020000", State::CompletedSuccessfully, desk.now).unwrap();
    assert_eq!(waiting(&desk), ["nightly-20261129020000"]);
}

#[test]
fn a_clock_that_was_years_ahead_does_not_hold_a_schedule_up() {
    let mut desk = Desk::new();
    desk.now = at("2036-01-01T00:00:00Z");
    desk.book.add_recurring(nightly(&desk), desk.now).unwrap();
    desk.now = at("2026-11-23T19:00:00Z");
    assert_eq!(desk.begin(), [""; 0]);
    desk.now = at("2026-11-24T02:00:00Z");
    assert_eq!(desk.begin().len(), 1);
}

#[test]
fn a_removed_schedule_takes_its_waiting_task_along() {
    let desk = Desk::new();
    desk.book.add_recurring(nightly(&desk), desk.now).unwrap();
    assert!(matches!(desk.book.add_recurring(nightly(&desk), desk.now), Err(TaskRefusal::Exists(_))));
    desk.book.remove_recurring("nightly", desk.now).unwrap();
    assert_eq!(desk.state("nightly-20261124020000"), State::CanceledBeforeStarting);
    let never = Recurring { schedule: Schedule::parse("0 0 31 4 *").unwrap(), ..nightly(&desk) };
    assert!(matches!(desk.book.add_recurring(never, desk.now), Err(TaskRefusal::Never(_))));
}

#[test]
fn a_book_that_cannot_be_written_refuses_and_forgets_nothing() {
    let desk = Desk::new();
    desk.add(desk.task("one"));
    std::fs::create_dir(desk.folder.path().join("tasks.json.new")).unwrap();
    assert!(matches!(desk.book.add(desk.task("two"), desk.now), Err(TaskRefusal::File(_))));
    let now = desk.now;
    assert!(matches!(desk.book.next(&|| now), Waiting::Trouble(_)));
    assert_eq!(desk.book.scheduled().len(), 1);
    assert_ne!(desk.state("one"), State::Running);
}

#[test]
fn another_file_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.json");
    for content in ["", "{}", "{\"format\":2,\"scheduled\":[],\"recurring\":[]}"] {
        std::fs::write(&file, content).unwrap();
        let told = TaskBook::open(file.clone()).unwrap_err().to_string();
        assert!(told.contains("move it away"), "{told}");
    }
}

#[test]
fn the_book_stays_small() {
    let mut desk = Desk::new();
    let start = Some(at("2027-01-01T00:00:00Z"));
    let scheduled = (0..500).map(|number| Task { start, ..desk.task(&number.to_string()) }).collect();
    file::write(&desk.folder.path().join("tasks.json"), &Pages { scheduled, ..Pages::default() }).unwrap();
    desk.reopen();
    assert!(matches!(desk.book.add(desk.task("more"), desk.now), Err(TaskRefusal::TooMany(500))));
    desk.book.cancel("7", desk.now).unwrap();
    desk.add(desk.task("more"));
    assert!(desk.book.task("7").is_none());
    for number in 0..100 {
        desk.book.log("more", Severity::Notice, &format!("{number}{}", "ö".repeat(2000)), desk.now);
    }
    let messages = desk.book.task("more").unwrap().messages;
    assert_eq!(messages.len(), 50);
    assert!(messages[9].contains("msgCount=9 ") && messages[10].contains("msgCount=60 ") && messages[49].len() < 1200);
    let mut large = desk.task("large");
    large.attributes.add("ds-task-export-exclude-filter", ["x".repeat(20_000)]);
    assert!(matches!(desk.book.add(large, desk.now), Err(TaskRefusal::TooLarge { .. })));
}
