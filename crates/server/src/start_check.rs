//! Whether a server could start with a configuration: everything that a start opens is tried, and nothing is left open
//! or changed.
//!
//! Tools ask before they change the file, and a running server before it takes the file again: what a start would
//! refuse must not count as taken.

use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use config::{Config, ListenAddress};
use directory::OpenError;
use runtime::listener::{ListenAt, check_port_is_free};
use runtime::local_socket;
use store::StoreError;
use thiserror::Error;

use crate::notifications;
use crate::password_servers;
use crate::settings::{Settings, SettingsError};

/// Why a server would not start.
#[derive(Debug, Error)]
pub enum StartCheckError {
    /// The schema, or something in the configuration that depends on it.
    #[error(transparent)]
    Directory(#[from] OpenError),
    /// Certificates and formats.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A notification handler.
    #[error("{0}")]
    Notification(String),
    /// Another server that checks passwords.
    #[error("{0}")]
    PasswordServer(String),
    /// A listener.
    #[error("a server could not listen on {at}: {error}")]
    Listen {
        /// Where.
        at: String,
        /// What the system says.
        error: io::Error,
    },
    /// A log, or the folder of a backend.
    #[error("a server could not write {path}: {error}", path = path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Which server has the instance open while this is asked.
#[derive(Debug)]
pub enum Beside<'c> {
    /// None.
    Nobody,
    /// This process, with the configuration that it started with: what it has open is not tried again.
    ThisProcess(&'c Config),
    /// Another process, which has ports open that are free for its successor; it checks the rest itself.
    AnotherProcess,
}

/// Tries everything that a start opens.
///
/// # Errors
/// The first that a start would refuse.
pub fn check_start(config: &Config, beside: &Beside<'_>) -> Result<(), StartCheckError> {
    let schema = query::configured::load_schema(config).map_err(OpenError::from)?;
    directory::check_configuration(config, &schema)?;
    let settings = Settings::from_config(config)?;
    notifications::check(config).map_err(StartCheckError::Notification)?;
    password_servers::check(config).map_err(StartCheckError::PasswordServer)?;
    let http = settings.http.listeners.iter().map(|listener| ListenAt::Tcp(listener.at));
    for at in settings.listeners.iter().map(|listener| listener.network.at.clone()).chain(http) {
        match check_listener(&at, beside) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && matches!(beside, Beside::AnotherProcess) => {}
            checked => checked.map_err(|error| StartCheckError::Listen { at: at.to_string(), error })?,
        }
    }
    for path in settings.logs.files() {
        check_file(path).map_err(|error| StartCheckError::Write { path: path.clone(), error })?;
    }
    let is_open = |folder: &Path| match beside {
        Beside::ThisProcess(own) => own.backends.iter().any(|own| own.enabled && own.directory == folder),
        Beside::Nobody | Beside::AnotherProcess => false,
    };
    for backend in config.backends.iter().filter(|own| own.enabled && !is_open(&own.directory)) {
        if store::database_path(&backend.directory).exists() {
            let failed = |error: StoreError| OpenError::Store { backend: backend.id.clone(), error };
            directory::open_read_only(config, backend, &schema)?.snapshot().map_err(failed)?;
        } else {
            check_folder(&backend.directory)
                .map_err(|error| StartCheckError::Write { path: backend.directory.clone(), error })?;
        }
    }
    Ok(())
}

/// A port that this process has will be free for one that starts after it, whatever the address.
fn check_listener(at: &ListenAt, beside: &Beside<'_>) -> io::Result<()> {
    let own: Vec<ListenAddress> = match beside {
        Beside::ThisProcess(own) => {
            let handlers = own.handlers.iter().filter(|handler| handler.enabled);
            let administration = ListenAddress::Local(own.instance.administration_socket());
            let http = own.http_handlers.iter().filter(|handler| handler.enabled);
            let http = http.flat_map(|handler| handler.listen.iter().map(|at| ListenAddress::Tcp(*at)));
            handlers.flat_map(|handler| handler.listen.clone()).chain([administration]).chain(http).collect()
        }
        Beside::Nobody | Beside::AnotherProcess => Vec::new(),
    };
    match at {
        ListenAt::Tcp(address) => {
            let is_own = |other: &ListenAddress| match other {
                ListenAddress::Tcp(other) => other.port() == address.port(),
                ListenAddress::Local(_) => false,
            };
            if own.iter().any(is_own) { check_address(*address) } else { check_port_is_free(*address) }
        }
        ListenAt::Path(path) => {
            let is_own = |other: &ListenAddress| matches!(other, ListenAddress::Local(other) if other == path);
            check_socket(path, own.iter().any(is_own))
        }
    }
}

/// Whether the address belongs to this machine.
fn check_address(address: SocketAddr) -> io::Result<()> {
    std::net::UdpSocket::bind(SocketAddr::new(address.ip(), 0)).map(drop)
}

fn check_socket(path: &Path, is_own: bool) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    match fs::symlink_metadata(path) {
        _ if is_own => Ok(()),
        Ok(found) if !found.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "the path exists and is not a socket"))
        }
        Ok(_) if local_socket::connect(path).is_ok() => {
            Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens on the socket"))
        }
        // A start makes the socket, but no folder for it.
        _ => check_new_file(path.parent().unwrap_or(Path::new("."))),
    }
}

/// Whether a file can be written, or made where there is none, with its folder.
fn check_file(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(_) => check_folder(path.parent().unwrap_or(Path::new("."))),
    }
}

/// Whether files can be made in a folder, or the folder itself can be made.
fn check_folder(folder: &Path) -> io::Result<()> {
    let existing = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    check_new_file(existing.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

fn check_new_file(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".pando-{}", std::process::id()));
    File::create_new(&file)?;
    fs::remove_file(file)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn config(folder: &Path, text: &str) -> Config {
        Config::parse(text, &folder.join("pando.toml")).unwrap()
    }

    fn handler(port: u16) -> String {
        format!("[connection-handler.a]\ntype = \"ldap\"\nlisten-port = {port}\n")
    }

    #[test]
    fn what_a_start_would_refuse_is_named_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let free = handler(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
        let tls = "use-ssl = true\nkey-manager-provider = \"k\"\n[key-manager-provider.k]\n";
        for (text, word) in [
            (String::new(), "no connection handler"),
            (handler(port), "could not listen on 127.0.0.1"),
            (format!("{free}listen-address = \"192.0.2.1\""), "could not listen on 192.0.2.1"),
            (format!("{free}{tls}"), "keys/server.crt"),
            (
                format!("{free}[log-publisher.a]\ntype = \"file-based-error\"\nlog-file = \"file/errors\""),
                "file/errors",
            ),
            (format!("{free}[backend.a]\nbase-dn = \"dc=a\"\ndb-directory = \"file\""), "file/a"),
            (
                format!(
                    "{free}[backend.a]\nbase-dn = \"dc=a\"\n[backend.a.index.noSuchType]\nindex-type = \"equality\""
                ),
                "noSuchType",
            ),
            ("[connection-handler.a]\ntype = \"ldapi\"\nlisten-path = \"file\"".to_owned(), "not a socket"),
            ("[connection-handler.a]\ntype = \"ldapi\"\nlisten-path = \"none/x\"".to_owned(), "none/x"),
        ] {
            let told = check_start(&config(folder.path(), &text), &Beside::Nobody)
                .map_or_else(|error| error.to_string(), |()| "nothing".into());
            assert!(told.contains(word), "{text}: {told}");
        }
        let own = config(folder.path(), &handler(port));
        check_start(&own, &Beside::ThisProcess(&own)).unwrap();
        check_start(&own, &Beside::AnotherProcess).unwrap();
        check_start(&config(folder.path(), &free), &Beside::Nobody).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// A named pipe would keep the server waiting, a device fill its memory.
    #[test]
    fn only_regular_files_are_read_for_the_configuration() {
        const HANDLER: &str = "[connection-handler.a]\ntype = \"ldapi\"\nlisten-path = \"socket\"\n";
        const TLS: &str = "[connection-handler.b]\ntype = \"ldap\"\nlisten-port = 1\nuse-ssl = true\n\
                           key-manager-provider = \"k\"\nssl-client-auth-policy = \"required\"\n\
                           trust-manager-provider = \"t\"\n";
        const MAIL: &str = "[account-status-notification-handler.m]\ntype = \"smtp\"\nmail-server = \"s\"\n\
                            sender-address = \"a@example.com\"\nrecipient-address = \"b@example.com\"\n";
        const SERVER: &str = "[mail-server.s]\nsmtp-server = \"mail.example.com:25\"\n";
        const REMOTE: &str = "[password-policy.p]\ntype = \"ldap-pass-through\"\n\
                              primary-remote-ldap-server = \"ldap.example.com:636\"\nuse-ssl = true\n";
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(made.unwrap().success());
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("own.crt"), own.cert.pem()).unwrap();
        fs::write(folder.path().join("own.key"), own.signing_key.serialize_pem()).unwrap();
        let store = "[trust-manager-provider.t]\n";
        let key = "[key-manager-provider.k]\npem-certificate-file = \"own.crt\"\npem-private-key-file = \"own.key\"\n";
        let certified = "[key-manager-provider.k]\npem-certificate-file = \"own.crt\"\n";
        let trust = format!("{store}trust-store-file = \"own.crt\"\n");
        for text in [
            format!("{TLS}{trust}[key-manager-provider.k]\npem-certificate-file = \"FILE\"\n"),
            format!("{TLS}{trust}{certified}pem-private-key-file = \"FILE\"\n"),
            format!(
                "{TLS}{trust}[key-manager-provider.k]\nkey-store-file = \"FILE\"\nkey-store-pin-file = \"own.crt\"\n"
            ),
            format!("{TLS}{key}{store}trust-store-file = \"FILE\"\n"),
            format!("{TLS}{key}{trust}revocation-list-file = \"FILE\"\n"),
            "[sasl-mechanism-handler.o]\ntype = \"oauthbearer\"\ntoken-issuer = \"i\"\ntoken-audience = \"a\"\n\
             user-name-claim = \"c\"\nkey-set-file = \"FILE\"\n"
                .to_owned(),
            "[password-storage-scheme.AES]\ntype = \"aes\"\nkey-file = \"FILE\"\n".to_owned(),
            format!("{MAIL}message-template-file = \"password-expiring:FILE\"\n{SERVER}"),
            format!("{MAIL}{SERVER}smtp-security = \"tls\"\ntrusted-certificate-file = \"FILE\"\n"),
            format!("{MAIL}{SERVER}smtp-security = \"tls\"\nsmtp-user = \"u\"\nsmtp-password-file = \"FILE\"\n"),
            "[account-status-notification-handler.w]\ntype = \"webhook\"\nurl = \"https://a.example.com/\"\n\
             trusted-certificate-file = \"FILE\"\n"
                .to_owned(),
            "[account-status-notification-handler.w]\ntype = \"webhook\"\nurl = \"https://a.example.com/\"\n\
             authorization-file = \"FILE\"\n"
                .to_owned(),
            format!("{REMOTE}trust-manager-provider = \"t\"\n{store}trust-store-file = \"FILE\"\n"),
            format!(
                "{REMOTE}mapping-policy = \"mapped-search\"\nmapped-attribute = \"uid\"\n\
                 mapped-search-base-dn = \"dc=a\"\nmapped-search-bind-dn = \"cn=a\"\n\
                 mapped-search-bind-password-file = \"FILE\"\n"
            ),
        ] {
            for (file, kind) in [("pipe", "a pipe"), ("/dev/zero", "a device")] {
                let text = format!("{HANDLER}{}", text.replace("FILE", file));
                let told = check_start(&config(folder.path(), &text), &Beside::Nobody).unwrap_err().to_string();
                assert!(told.contains(&format!("it is {kind}: name a regular file")), "{text}: {told}");
                assert!(told.contains(file), "{text}: {told}");
            }
        }
    }
}
