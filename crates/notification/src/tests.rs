//! A mail server and a web server of a few lines, and senders that fail as told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;

fn message(recipients: &[&str]) -> Message {
    Message {
        recipients: recipients.iter().map(|&it| it.to_owned()).collect(),
        subject: "Your password expires on Friday".to_owned(),
        body: "Change it with passwd.\n".to_owned(),
        is_html: false,
        json: serde_json::json!({ "type": "password-expiring", "dn": "uid=ann,dc=example,dc=com" }),
    }
}

/// Answers one mail after the other; gives what came of each.
fn mail_server(refuses: &'static str) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            sender.send(take_mail(stream.unwrap(), refuses)).unwrap();
        }
    });
    (port, receiver)
}

fn take_mail(mut stream: TcpStream, refuses: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut seen = String::new();
    stream.write_all(b"220 mail.example.com ESMTP\r\n").unwrap();
    let mut in_data = false;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return seen;
        }
        seen.push_str(&line);
        let answer: &[u8] = match line.trim_end() {
            "." if in_data => {
                in_data = false;
                b"250 taken\r\n"
            }
            _ if in_data => continue,
            "DATA" => {
                in_data = true;
                b"354 go on\r\n"
            }
            "QUIT" => b"221 bye\r\n",
            line if !refuses.is_empty() && line.starts_with("RCPT") => refuses.as_bytes(),
            _ => b"250 well\r\n",
        };
        stream.write_all(answer).unwrap();
    }
}

fn mailer(port: u16, protection: Protection) -> Result<Mailer, MailerError> {
    Mailer::new(&MailerSettings {
        host: "127.0.0.1".to_owned(),
        port,
        protection,
        trusted: None,
        login: None,
        sender: "Directory <directory@example.com>".to_owned(),
    })
}

#[test]
fn mail_reaches_all_its_recipients() {
    let (port, received) = mail_server("");
    let mailer = mailer(port, Protection::Plain).unwrap();
    mailer.send(&message(&["ann@example.com", "helpdesk@example.com"])).unwrap();
    drop(mailer);
    let mail = received.recv().unwrap();
    for part in [
        "MAIL FROM:<directory@example.com>",
        "RCPT TO:<ann@example.com>",
        "RCPT TO:<helpdesk@example.com>",
        "Subject: Your password expires on Friday",
        "Change it with passwd.",
    ] {
        assert!(mail.contains(part), "{part} in {mail}");
    }
}

#[test]
fn a_mail_server_that_refuses_for_now_is_asked_again() {
    for (refuses, may_pass) in [("450 later\r\n", true), ("550 no such user\r\n", false)] {
        let (port, _received) = mail_server(refuses);
        let fault = mailer(port, Protection::Plain).unwrap().send(&message(&["ann@example.com"])).unwrap_err();
        assert_eq!(fault.may_pass, may_pass, "{fault}");
    }
}

#[test]
fn a_mail_server_without_starttls_gets_no_mail() {
    let (port, received) = mail_server("");
    mailer(port, Protection::StartTls).unwrap().send(&message(&["ann@example.com"])).unwrap_err();
    assert!(!received.recv().unwrap().contains("RCPT"));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let settings = |sender: &str, login: bool| MailerSettings {
        host: "127.0.0.1".to_owned(),
        port: 25,
        protection: Protection::Plain,
        trusted: None,
        login: login.then(|| ("ann".to_owned(), "secret".to_owned().into())),
        sender: sender.to_owned(),
    };
    assert!(matches!(Mailer::new(&settings("nobody", false)), Err(MailerError::Sender(_))));
    assert!(matches!(Mailer::new(&settings("a@example.com", true)), Err(MailerError::LoginInClear)));
    assert_eq!(address_fault("ann@example.com"), None);
    assert!(address_fault("ann").unwrap().starts_with("\"ann\" is no mail address"));
}

/// Answers each POST with that status; gives the requests.
fn web_server(status: &'static str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut request, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                request.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            request.push_str(&String::from_utf8(body).unwrap());
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            sender.send(request).unwrap();
        }
    });
    (url, receiver)
}

fn webhook(url: &str, authorization: Option<&str>) -> Result<Webhook, WebhookError> {
    let authorization = authorization.map(|text| text.to_owned().into());
    Webhook::new(&WebhookSettings { url: url.to_owned(), authorization, trusted: None })
}

#[test]
fn a_web_server_gets_the_json() {
    let (url, received) = web_server("204 No Content");
    webhook(&url, None).unwrap().send(&message(&[])).unwrap();
    let request = received.recv().unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("{\"dn\":\"uid=ann,dc=example,dc=com\",\"type\":\"password-expiring\"}"), "{request}");
}

#[test]
fn what_a_web_server_answers_decides_on_another_try() {
    for (status, may_pass) in [
        ("404 Not Found", false),
        ("429 Too Many Requests", true),
        ("503 Service Unavailable", true),
        ("302 Found", false),
    ] {
        let (url, _received) = web_server(status);
        let sent = webhook(&url, None).unwrap().send(&message(&[]));
        assert_eq!(sent.map_err(|fault| fault.may_pass), Err(may_pass), "{status}");
    }
}

#[test]
fn a_webhook_needs_a_url_and_encryption_for_secrets() {
    assert!(matches!(webhook("ldap://example.com/", None), Err(WebhookError::Url(_))));
    assert!(matches!(webhook("nonsense", None), Err(WebhookError::Url(_))));
    assert!(matches!(webhook("http://example.com/", Some("Bearer x")), Err(WebhookError::AuthorizationInClear)));
    assert!(webhook("https://example.com/", Some("Bearer x")).is_ok());
}

/// Fails so many times before it sends.
struct Failing {
    left: AtomicUsize,
    may_pass: bool,
    sent: Arc<AtomicUsize>,
}

impl Sender for Failing {
    fn send(&self, _message: &Message) -> Result<(), SendFault> {
        let fails = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if fails {
            return Err(SendFault { problem: "down".to_owned(), may_pass: self.may_pass });
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

const PAUSES: &[Duration] = &[Duration::from_millis(1), Duration::from_millis(1)];

fn outcome(failures: usize, may_pass: bool) -> (Counts, usize, Vec<SendFault>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let faults = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&faults);
    let sender = Failing { left: AtomicUsize::new(failures), may_pass, sent: Arc::clone(&sent) };
    let outbox =
        Outbox::start("outbox", sender, PAUSES, move |_, fault| told.lock().unwrap().push(fault.clone())).unwrap();
    assert!(outbox.offer(message(&[])));
    let counts = loop {
        let counts = outbox.counts();
        if counts.sent + counts.failed == 1 {
            break counts;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let faults = faults.lock().unwrap().clone();
    (counts, sent.load(Ordering::Relaxed), faults)
}

#[test]
fn a_message_is_tried_again_and_then_given_up_with_a_word() {
    let sent = Counts { sent: 1, ..Counts::default() };
    let failed = Counts { failed: 1, ..Counts::default() };
    assert_eq!(outcome(2, true), (sent, 1, vec![]));
    let fault = |may_pass| SendFault { problem: "down".to_owned(), may_pass };
    assert_eq!(outcome(3, true), (failed, 0, vec![fault(true)]));
    assert_eq!(outcome(1, false), (failed, 0, vec![fault(false)]));
}

/// A mail server that hangs keeps nobody waiting, and its messages do not pile up for ever.
#[test]
fn a_full_queue_drops_and_counts() {
    struct Stuck(Mutex<Receiver<()>>);
    impl Sender for Stuck {
        fn send(&self, _message: &Message) -> Result<(), SendFault> {
            let _ = self.0.lock().unwrap().recv();
            Ok(())
        }
    }
    let (release, stuck) = channel();
    let outbox = Outbox::start("outbox", Stuck(Mutex::new(stuck)), PAUSES, |_, _| {}).unwrap();
    assert!(outbox.offer(message(&[])));
    while outbox.counts().waiting > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..QUEUE_MAX {
        assert!(outbox.offer(message(&[])));
    }
    assert!(!outbox.offer(message(&[])));
    assert_eq!(outbox.counts(), Counts { sent: 0, failed: 0, dropped: 1, waiting: QUEUE_MAX });
    drop(release);
}
