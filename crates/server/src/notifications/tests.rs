//! Events from a directory to a web server and a mail server, and settings that cannot work.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use accounts::Moment;
use config::Config;

use super::*;

fn event(kind: AccountEventKind, handlers: &[&str]) -> AccountEvent {
    AccountEvent {
        kind,
        dn: "uid=ann,dc=example,dc=com".to_owned(),
        at: Moment(1_700_000_000_000),
        message: "The account is locked".to_owned(),
        properties: vec![("time-until-unlock", "5 minutes".to_owned())],
        handlers: handlers.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn config(folder: &Path, text: &str) -> Config {
    let text = format!("[backend.userRoot]\nbase-dn = \"dc=example,dc=com\"\n{text}");
    Config::parse(&text, &folder.join("pando.toml")).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Takes one POST after the other; gives their bodies.
fn web_server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
            if sender.send(String::from_utf8(body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

#[test]
fn only_the_handlers_of_the_policy_are_told_and_only_of_what_they_want() {
    let folder = tempfile::tempdir().unwrap();
    let (url, received) = web_server();
    let text = format!(
        "[account-status-notification-handler.hook]\ntype = \"webhook\"\nurl = \"{url}\"\n\
         account-status-notification-type = \"account-temporarily-locked\"\n"
    );
    let directory = Arc::new(Directory::open(&config(folder.path(), &text)).unwrap());
    let notifications = Notifications::start(&directory, ErrorLog::silent()).unwrap();
    notifications.happened(event(AccountEventKind::TemporarilyLocked, &["another"]));
    notifications.happened(event(AccountEventKind::Unlocked, &["hook"]));
    notifications.happened(event(AccountEventKind::TemporarilyLocked, &["hook"]));
    assert_eq!(
        received.recv().unwrap(),
        "{\"dn\":\"uid=ann,dc=example,dc=com\",\"message\":\"The account is locked\",\
         \"properties\":{\"time-until-unlock\":\"5 minutes\"},\"time\":1700000000000,\
         \"type\":\"account-temporarily-locked\"}"
    );
    let off = text.replace("url =", "enabled = false\nurl =");
    assert_eq!(notifications.set(&config(folder.path(), &off)), Ok(true));
    assert_eq!(notifications.set(&config(folder.path(), &off)), Ok(false));
    notifications.happened(event(AccountEventKind::TemporarilyLocked, &["hook"]));
    assert_eq!(notifications.set(&config(folder.path(), &text)), Ok(true));
    assert!(received.try_recv().is_err(), "a handler that is not enabled tells nobody");
}

struct Entry(&'static str);

impl Attributes for Entry {
    fn first(&self, name: &str) -> String {
        if name == "mail" { self.0.to_owned() } else { String::new() }
    }
}

fn texts(folder: &Path, more: &str) -> Result<MailTexts, String> {
    let text = format!(
        "[mail-server.one]\nsmtp-server = \"mail.example.com:25\"\n\
         [account-status-notification-handler.mail]\ntype = \"smtp\"\nmail-server = \"one\"\n\
         sender-address = \"directory@example.com\"\n{more}"
    );
    let config = config(folder, &text);
    let NotificationWay::Mail(handler) = &config.notification_handlers[0].way else { panic!("no mail") };
    MailTexts::new(handler, folder)
}

#[test]
fn mail_goes_to_the_user_and_to_others() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("locked.txt"), "Dear user, %%notification-property:time-until-unlock%%.").unwrap();
    let more = "email-address-attribute-type = \"mail\"\nrecipient-address = \"helpdesk@example.com\"\n\
                message-subject = \"account-temporarily-locked: Locked\"\n\
                message-template-file = \"account-temporarily-locked:locked.txt\"\n";
    let texts_with = |more: &str| texts(folder.path(), more).unwrap();
    let mail = texts_with(more).message(&event(AccountEventKind::TemporarilyLocked, &[]), &Entry("ann@example.com"));
    let mail = mail.unwrap();
    assert_eq!(mail.recipients, ["ann@example.com", "helpdesk@example.com"]);
    assert_eq!((mail.subject.as_str(), mail.body.as_str()), ("Locked", "Dear user, 5 minutes."));
    let other = texts_with(more).message(&event(AccountEventKind::Unlocked, &[]), &Entry("")).unwrap();
    assert_eq!(other.recipients, ["helpdesk@example.com"]);
    assert_eq!(other.subject, "The account is locked");
    let strict = format!("{more}send-message-without-end-user-address = false\n");
    assert!(texts_with(&strict).message(&event(AccountEventKind::Unlocked, &[]), &Entry("")).is_none());
}

#[test]
fn settings_that_cannot_work_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.txt"), "%%nothing%%").unwrap();
    let to_help = "recipient-address = \"helpdesk@example.com\"\n";
    for (more, told) in [
        (String::new(), "nobody gets its mail"),
        ("recipient-address = \"helpdesk\"\n".to_owned(), "\"helpdesk\" is no mail address"),
        (format!("{to_help}message-subject = \"Locked\"\n"), "must be KIND:TEXT"),
        (format!("{to_help}message-subject = \"locked:Locked\"\n"), "is no notification type"),
        (format!("{to_help}message-template-file = \"password-reset:none.txt\"\n"), "none.txt"),
        (format!("{to_help}message-template-file = \"password-reset:bad.txt\"\n"), "%%nothing%% is not known"),
    ] {
        let fault = texts(folder.path(), &more).err().unwrap();
        assert!(fault.contains(told), "{fault}");
    }
    let whole = |server: &str| {
        let text = format!(
            "[mail-server.one]\n{server}\n[account-status-notification-handler.mail]\ntype = \"smtp\"\n\
             mail-server = \"one\"\nsender-address = \"directory@example.com\"\n{to_help}"
        );
        check(&config(folder.path(), &text))
    };
    assert_eq!(whole("smtp-server = \"mail.example.com:25\""), Ok(()));
    let login = "smtp-server = \"mail.example.com:25\"\nsmtp-user = \"pando\"";
    fs::write(folder.path().join("pw"), "secret\n").unwrap();
    let clear = format!("{login}\nsmtp-password-file = \"pw\"");
    assert!(whole(&clear).unwrap_err().contains("need TLS or STARTTLS"));
    assert_eq!(whole(&format!("{clear}\nsmtp-security = \"start-tls\"")), Ok(()));
    fs::write(folder.path().join("pw"), "").unwrap();
    assert!(whole(&format!("{clear}\nsmtp-security = \"tls\"")).unwrap_err().contains("no first line"));
}
