//! What the server says in the error log, beside what the runtime says.

use runtime::log::message::{MessageKind, RUNTIME_MESSAGES};

runtime::message_kinds! {
    pub(crate) SERVER_MESSAGES;
    STARTED = 1, Core, Notice, "The server is ready.";
    STOPPING = 2, Core, Notice, "The server was asked to stop.";
    STOPPED = 3, Core, Notice, "The server has stopped.";
    START_FAILED = 4, Core, Error, "The server did not start.";
    FILE_LIMIT = 12, Core, Warning, "The system allows fewer open files than connections are allowed.";
    GROUP_MISSING = 13, Config, Warning, "A rule of limits names a group that does not exist, so it is about nobody.";
    DEFINITION_BROKEN = 14, Core, Warning, "An entry that gives something to others (group, role, Class of Service) \
        does not, or not as it is written.";
    STALL = 15, Core, Warning, "An operation waited long inside the server.";
    UPDATES_STOPPED = 16, Backend, Error, "A backend takes no more updates until the server is started again.";
    WRITER_HANGS = 19, Backend, Warning, "The writer of a backend has done one thing for long, and updates wait \
        behind it.";
    OPERATION_PANIC = 30, Core, Error, "An operation failed by a defect of the server; its client was told.";
    AUDIT_FAILING = 41, Log, Error, "An audit log cannot be written; it is tried again, and goes on where it ended.";
    AUDIT_INCOMPLETE = 42, Log, Error, "Changes are missing in an audit log: the history let them go before they were \
        written.";
    AUDIT_UNREADABLE = 43, Log, Error, "A change is damaged in the history and missing in an audit log.";
    AUDIT_BEGINS_ANEW = 44, Log, Notice, "An audit log goes on with lower numbers: the data was exchanged, by an \
        import for example.";
    AUDIT_WITHOUT_HISTORY = 45, Log, Warning, "An audit log has nothing to write, because no history of changes is \
        kept.";
    CONFIG_READ = 50, Config, Notice, "The configuration was read again and taken.";
    CONFIG_REFUSED = 51, Config, Error, "The configuration was read again and not taken: the server goes on with the \
        one before.";
    RESTART_NEEDED = 52, Config, Warning, "A property was changed that the server takes when it is started again.";
    CONFIG_CHANGED = 53, Config, Notice, "A change of the configuration has taken effect.";
    CONFIG_FAULT = 54, Config, Error, "A fault of the configuration; another message says what became of it.";
    GROUPS_UNREADABLE = 55, Config, Warning, "The groups that rules of limits name cannot be read.";
    INDEX_BUILD_BEGUN = 60, Backend, Notice, "Indexes are being built online.";
    INDEX_BUILD_COMPLETE = 61, Backend, Notice, "Indexes are complete, and searches use them.";
    INDEX_BUILD_FAILED = 62, Backend, Error, "Indexes cannot be built; it is tried again.";
    REBUILD_ASKED = 63, Task, Notice, "Indexes will be built anew because somebody asked for it.";
    REBUILD_NOT_NEEDED = 64, Task, Notice, "Somebody asked to build indexes anew, and none needs it.";
    REBUILD_REFUSED = 65, Task, Error, "Somebody asked to build indexes anew, and it is not possible.";
    TASK_BEGUN = 66, Task, Notice, "A task of cn=tasks began.";
    TASK_ENDED = 67, Task, Notice, "A task of cn=tasks ended; the message says how.";
    TASK_FAILED = 68, Task, Error, "A task of cn=tasks failed.";
    TASKS_NOT_WRITTEN = 69, Task, Error, "The file of the tasks cannot be written: tasks that wait do not begin.";
    SERVICE_MANAGER = 70, Core, Warning, "The service manager cannot be told the state of the server.";
    OPEN_FILES_UNKNOWN = 71, Core, Warning, "The limit of open files cannot be read or raised.";
    LOG_FAILING = 132, Log, Error, "Lines of a log are lost, because its disk is full or its receiver does not answer, \
        say; it is tried again with every line.";
    LOG_WORKS = 133, Log, Notice, "A log that could not be written is written again; it says itself how many lines are \
        missing.";
    HISTORY_TROUBLE = 46, Log, Warning, "Changes of the history are damaged, or old ones cannot be let go.";
    WATCH_TROUBLE = 47, Core, Warning, "Persistent searches wait, or one is ended because its client reads too slowly.";
    NOT_OBEYED = 48, Core, Warning, "Entries have attributes that other servers obey and this one does not yet.";
    NOT_OBEYED_UNCOUNTED = 49, Core, Warning, "The entries with attributes that are not obeyed cannot be counted.";
    EXPIRY_FAILED = 72, Core, Warning, "Dynamic entries whose time is over cannot be removed; it is tried again.";
    LOG_NOT_WRITTEN = 80, Backend, Error, "A backend cannot write its log, so it refuses updates: the disk is full, \
        say.";
    DATABASE_NOT_WRITTEN = 81, Backend, Error, "A backend cannot write its database; it is tried again, and updates \
        are slowed and refused in the end.";
    WRITTEN_AGAIN = 82, Backend, Notice, "A backend that could not write to its disk writes again.";
    INSTRUCTION_NOT_VALID = 84, Core, Warning, "An entry holds an access control instruction that is not valid: what \
        it covers is closed to everybody without the privilege bypass-acl.";
    INSTRUCTIONS_UNREADABLE = 85, Core, Warning, "Access control instructions of entries cannot be read.";
    INSTRUCTION_NAMES_NOTHING = 86, Core, Warning, "An access control instruction was written that names an attribute, \
        a user, a group or a role that is not there.";
    PROPOSAL_NOT_TRIED = 87, Core, Warning, "Proposed access control instructions of entries are not tried, because \
        their file is not valid any more.";
    INSTRUCTIONS_NOT_INDEXED = 88, Core, Warning, "The entries that hold access control instructions are found \
        without the presence index of aci: every entry is read when the server starts.";
    ACCOUNT_CLOCK_SET = 89, Core, Warning, "The local administrator set the clock by which accounts are judged ahead \
        or back.";
    ACCOUNT_EVENT = 110, Core, Notice, "Something happened to an account that a notification handler tells of.";
    NOTIFICATION_FAILED = 111, Core, Error, "A notification of an account was not sent.";
    SECOND_FACTOR = 112, Core, Warning, "One-time codes: the key of their secrets was made, is missing or is another \
        one, or somebody who knows a password guesses codes.";
    PASSWORD_ATTACK = 113, Core, Warning, "Passwords are being guessed: more wrong ones came from one address, or for \
        one name, than wrong-passwords-per-address or wrong-passwords-per-name allows within a minute.";
    PASSWORD_ATTACK_ENDED = 114, Core, Notice, "Passwords are no longer guessed as message 113 said.";
    PASSWORD_SERVER_DOWN = 115, Core, Warning, "Another server that checks passwords does not answer and is not asked.";
    PASSWORD_SERVER_BACK = 116, Core, Notice, "Another server that checks passwords answers again and is asked.";
    ROOT_ACCOUNT = 120, Core, Warning, "A root user is locked after wrong passwords, or the state of the root users \
        cannot be written.";
    TOKEN_KEYS = 125, Core, Warning, "The replaced key set of OAUTHBEARER cannot be used and the keys before it stay \
        in use, or it can be used again.";
    INSTRUCTIONS_OLDER = 126, Core, Notice, "A global access control instruction was written by an older setup and \
        does not allow what today's does.";
    SHARED_NAME = 129, Core, Warning, "Several entries have the name, or match the certificate, by which a user was \
        looked for: nobody can log in by it.";
    PASSWORD_SERVER_FILES = 131, Core, Notice, "Certificates or passwords for another server that checks passwords \
        were replaced: they are in use, or cannot be read and those before them stay in use.";
    BREACH_LIST = 127, Core, Notice, "A list of known passwords is in use.";
    BREACH_LIST_FAULT = 128, Core, Error, "A list of known passwords cannot be searched, so that new passwords are \
        refused.";
    EXPIRY_WARNINGS = 119, Core, Notice, "Users whose password will expire soon were looked for; they are told now.";
    CONFIG_NOT_KEPT = 56, Config, Error, "The history of the configuration cannot be written.";
    REPLAYED = 83, Backend, Notice, "The server had not stopped in order: changes were taken from the log of a \
        backend.";
}

/// All kinds of messages, by their numbers.
pub fn all_messages() -> Vec<MessageKind> {
    let mut all = [RUNTIME_MESSAGES, SERVER_MESSAGES].concat();
    all.sort_by_key(|kind| kind.id);
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_number_means_one_thing() {
        let all = all_messages();
        for pair in all.windows(2) {
            assert!(pair[0].id < pair[1].id, "{:?} and {:?} have one number", pair[0].meaning, pair[1].meaning);
            assert_ne!(pair[0].meaning, pair[1].meaning);
        }
    }

    /// `PANDO_WRITE_DOCS=1 cargo test -p server messages` writes the page.
    #[test]
    fn the_page_says_what_each_number_means() {
        let row = |kind: &MessageKind| {
            let (category, severity) = (kind.category.name(), kind.severity.name());
            format!("| {} | {category} | {severity} | {} |\n", kind.id, kind.meaning)
        };
        let rows: String = all_messages().iter().map(row).collect();
        let page = format!(
            "# Messages of the error log\n\n\
             `logs/errors` has one line for each message: the time, `category=`, `severity=`, `msgID=`, `msg=`. A \
             number means one thing and\n\
             keeps its meaning. This page is written by a test (`crates/server/src/messages.rs`).\n\n\
             | msgID | category | severity | meaning |\n|---|---|---|---|\n{rows}"
        );
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/messages.md");
        if std::env::var_os("PANDO_WRITE_DOCS").is_some() {
            std::fs::write(&file, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), page, "PANDO_WRITE_DOCS=1 writes it anew");
    }
}
