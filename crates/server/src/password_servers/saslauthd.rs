//! Asks saslauthd whether the password of a `{SASL}` value is right.

use std::sync::atomic::{AtomicBool, Ordering};

use config::SaslauthdConfig;
use directory::{RemoteAccount, RemotePasswords, RemoteQuestion, RemoteVerdict};
use outbound::{OutboundError, saslauthd};

/// As PAM names what asks.
const SERVICE: &str = "ldap";

/// See the module.
pub(super) struct Saslauthd {
    settings: SaslauthdConfig,
    is_down: AtomicBool,
    tell: Box<dyn Fn(Option<String>) + Send + Sync>,
}

impl Saslauthd {
    /// `tell` is called with the problem when it does not answer, and with none when it answers again.
    pub(super) fn new(settings: SaslauthdConfig, tell: impl Fn(Option<String>) + Send + Sync + 'static) -> Saslauthd {
        Saslauthd { settings, is_down: AtomicBool::new(false), tell: Box::new(tell) }
    }

    /// Whether it answered last.
    pub(super) fn is_down(&self) -> bool {
        self.is_down.load(Ordering::Acquire)
    }

    fn ask(&self, user: &[u8], password: &[u8]) -> Result<Option<bool>, OutboundError> {
        // As Cyrus SASL splits it: at the last one.
        let (user, realm) = match user.iter().rposition(|byte| *byte == b'@') {
            Some(at) => (user.get(..at).unwrap_or_default(), user.get(at + 1..).unwrap_or_default()),
            None => (user, &b""[..]),
        };
        let question = saslauthd::Question { user, password, service: SERVICE, realm };
        saslauthd::ask(saslauthd::connect(&self.settings.socket)?, &question, self.settings.timeout)
    }
}

impl RemotePasswords for Saslauthd {
    fn check(&self, question: &RemoteQuestion<'_>) -> RemoteVerdict {
        let RemoteAccount::Saslauthd { user } = question.account else {
            return RemoteVerdict::Unavailable("The question is not for saslauthd".to_owned());
        };
        let answer = self.ask(user, question.password);
        let problem = answer.as_ref().err().map(ToString::to_string);
        if self.is_down.swap(problem.is_some(), Ordering::AcqRel) != problem.is_some() {
            (self.tell)(problem);
        }
        let user = String::from_utf8_lossy(user);
        match answer {
            Ok(Some(true)) => RemoteVerdict::Right,
            Ok(Some(false)) => RemoteVerdict::Wrong(format!("saslauthd says that the password of {user} is wrong")),
            Ok(None) => RemoteVerdict::Unavailable(format!("saslauthd says neither yes nor no of {user}")),
            Err(error) => RemoteVerdict::Unavailable(format!("saslauthd cannot be asked: {error}")),
        }
    }
}
