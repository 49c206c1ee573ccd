//! A client of the instance's own server, for tools that ask it something: one connection, one request at a time.
//!
//! Goes through the instance's socket, or its port on this machine. It refuses to encrypt, so it never leaves the
//! machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use config::{Config, Instance, ListenAddress};
use ldap::client::{self, Response, Search};
use ldap::ldif::LdifChange;
use ldap::transaction::EndTransaction;
use ldap::{ControlBuf, LdapResult, ResultCode, Scope, oids};
use outbound::{Connection, Patience};

use crate::failure::{Context, Failure};
use crate::instance;
use crate::server_options::ServerOptions;

/// A server that says nothing for so long is given up.
const SILENCE_MAX: Patience = Patience::Silence(Duration::from_secs(60));

/// What failed when no answer came.
const ASKING: &str = "asking the server";

/// A bound connection.
pub struct Client(Connection);

/// How an extended operation ended.
pub struct ExtendedAnswer {
    /// The result.
    pub result: LdapResult,
    /// What it answers.
    pub value: Option<Vec<u8>>,
}

/// An entry that a search found, as text: each attribute with its values.
pub struct Found {
    /// Its name.
    pub dn: String,
    attributes: Vec<(String, Vec<String>)>,
}

impl Found {
    /// The values of an attribute.
    pub fn values(&self, name: &str) -> &[String] {
        let found = self.attributes.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, values)| values.as_slice()).unwrap_or_default()
    }

    /// All attributes.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.attributes.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }
}

#[cfg(test)]
impl Found {
    /// An entry with a common name, for tests.
    pub fn of(name: &str, attributes: &[(&str, &str)]) -> Found {
        let first = [("cn", name)];
        let all = first.iter().chain(attributes);
        Found {
            dn: String::new(),
            attributes: all.map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect(),
        }
    }
}

impl Client {
    /// A connection that is bound already, to any server.
    pub fn over(connection: Connection) -> Self {
        Self(connection)
    }

    /// Connects to the server of the instance: as the options say, or as the local administrator if they name nobody.
    pub fn connect(config: &Config, options: &ServerOptions) -> Result<Self, Failure> {
        options.check_place(config)?;
        let Some(process) = instance::running(&config.instance) else {
            let instance = config.instance.directory().display();
            return Err(Failure::new(format_args!(
                "no server runs on {instance}: start it with pando start --instance {instance}"
            )));
        };
        if !options.has_credentials() {
            return Self::of_administrator(&config.instance, process);
        }
        let (dn, password) = options.credentials(config, true)?;
        let mut client = Self(connection(config)?);
        client.bind(&dn, &password)?;
        Ok(client)
    }

    /// Binds with a password.
    pub fn bind(&mut self, dn: &str, password: &str) -> Result<(), Failure> {
        let result = self.0.bind(dn, password.as_bytes()).context(ASKING)?;
        match result.code {
            ResultCode::SUCCESS => Ok(()),
            ResultCode::INVALID_CREDENTIALS => Err(Self::wrong_credentials(dn)),
            _ => Err(refusal(&format!("binding as {dn}"), &result)),
        }
    }

    /// The same message for a wrong name, too.
    pub fn wrong_credentials(dn: &str) -> Failure {
        Failure::new(format_args!(
            "the bind DN {dn} or its password is wrong: give others with --bindDN and --bindPasswordFile"
        ))
    }

    /// Connects to the server (`process`) through the socket for administrators, which needs no password: the server
    /// knows from the system whose process this is.
    pub fn of_administrator(instance: &Instance, process: u32) -> Result<Self, Failure> {
        let path = instance.administration_socket();
        match runtime::local_socket::connect(&path) {
            Ok(stream) => Ok(Self(Connection::over_local(stream, SILENCE_MAX))),
            Err(error) => Err(Failure::new(format_args!(
                "process {process} works on {}, but does not answer at {} ({error}): it is a tool, or a server that is \
                 starting or stopping; try again when it has finished",
                instance.directory().display(),
                path.display()
            ))),
        }
    }

    /// An extended operation; `intermediate` gets the values of what comes before its response.
    pub fn extended(
        &mut self,
        oid: &str,
        value: Option<&[u8]>,
        intermediate: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<ExtendedAnswer, Failure> {
        let mut answered = None;
        let mut each = |response: &Response<'_>| match response {
            Response::Intermediate { value, .. } => intermediate(*value),
            Response::Extended { value, .. } => answered = value.map(<[u8]>::to_vec),
            _ => {}
        };
        let result = self.0.extended(oid, value, &mut each).context(ASKING)?;
        Ok(ExtendedAnswer { result, value: answered })
    }

    /// All entries that a search finds.
    pub fn search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
    ) -> Result<Vec<Found>, Failure> {
        let (result, entries) = self.try_search(base, scope, filter, attributes)?;
        match result.code {
            ResultCode::SUCCESS => Ok(entries),
            _ => Err(refusal(&format!("searching below {base}"), &result)),
        }
    }

    /// How a search ended, and the entries that it found.
    pub fn try_search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
    ) -> Result<(LdapResult, Vec<Found>), Failure> {
        let filter = ldap::filter::parse(filter).map_err(Failure::new)?;
        let search = Search::new(base, scope, &filter, attributes);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut entries = Vec::new();
        let mut each = |response: &Response<'_>| {
            if let Response::SearchEntry(entry) = response {
                let attributes = entry.attributes.iter();
                let attributes = attributes.map(|it| (text(it.description), it.values.iter().map(text).collect()));
                entries.push(Found { dn: text(entry.dn), attributes: attributes.collect() });
            }
        };
        let result = self.0.search(&search, &mut each).context(ASKING)?;
        Ok((result, entries))
    }

    /// Does what a change record says; how it ended.
    pub fn change(&mut self, change: &LdifChange) -> Result<LdapResult, Failure> {
        let mut request = Vec::new();
        client::change(&mut request, self.0.next_id(), change, &[]);
        self.0.ask(&request, &mut |_| {}).context(ASKING)
    }

    /// Does what change records say, all or none, in a transaction (RFC 5805). When it is none: the place of the record
    /// that was refused, if one was, and how it ended.
    pub fn change_all<'c>(
        &mut self,
        changes: impl IntoIterator<Item = &'c LdifChange>,
    ) -> Result<Result<(), (Option<usize>, LdapResult)>, Failure> {
        let started = self.extended(oids::extended::START_TRANSACTION, None, &mut |_| {})?;
        if !started.result.is_success() {
            return Ok(Err((None, started.result)));
        }
        let identifier = started.value.unwrap_or_default();
        let mut request = Vec::new();
        let control = ControlBuf::new(oids::control::TRANSACTION_SPECIFICATION, Some(identifier.clone())).critical();
        let first = self.0.next_id();
        for (at, change) in changes.into_iter().enumerate() {
            request.clear();
            client::change(&mut request, self.0.next_id(), change, std::slice::from_ref(&control));
            let result = self.0.ask(&request, &mut |_| {}).context(ASKING)?;
            if !result.is_success() {
                // What is refused here ends nothing by itself.
                self.end(&identifier, false)?;
                return Ok(Err((Some(at), result)));
            }
        }
        let (result, failed) = self.end(&identifier, true)?;
        let place = failed.and_then(|id| usize::try_from(id - first).ok());
        Ok(if result.is_success() { Ok(()) } else { Err((place, result)) })
    }

    /// Ends a transaction; gives the message id of the update that was refused, if one was.
    fn end(&mut self, identifier: &[u8], commit: bool) -> Result<(LdapResult, Option<i32>), Failure> {
        let value = EndTransaction { commit, identifier }.encode();
        let answer = self.extended(oids::extended::END_TRANSACTION, Some(&value), &mut |_| {})?;
        let failed = answer.value.as_deref().and_then(ldap::transaction::decode_failed);
        Ok((answer.result, failed))
    }
}

/// A failure that says what the server answered to `what`.
pub fn refusal(what: &str, result: &LdapResult) -> Failure {
    Failure::new(format_args!("{what}: {result}"))
}

/// Through the socket if there is one, else through a port that needs no TLS.
fn connection(config: &Config) -> Result<Connection, Failure> {
    let handlers = || config.handlers.iter().filter(|handler| handler.enabled);
    let socket = handlers().flat_map(|handler| &handler.listen).find_map(|listen| match listen {
        ListenAddress::Local(path) => Some(path),
        ListenAddress::Tcp(_) => None,
    });
    if let Some(path) = socket {
        let stream = runtime::local_socket::connect(path).context(path.display())?;
        return Ok(Connection::over_local(stream, SILENCE_MAX));
    }
    let plain = handlers().filter(|handler| !handler.use_ssl).flat_map(|handler| &handler.listen);
    let address = plain.filter_map(|listen| match listen {
        ListenAddress::Tcp(address) => Some(*address),
        ListenAddress::Local(_) => None,
    });
    let address = address.map(reachable).next().ok_or_else(|| {
        Failure::new(
            "the server has neither an LDAPI nor an LDAP connection handler: enable one, this tool speaks no TLS",
        )
    })?;
    let stream = TcpStream::connect(address).context(address)?;
    Ok(Connection::over_tcp(stream, SILENCE_MAX))
}

/// Where a server that listens everywhere is reached from here.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_asked_here() {
        for (listens, asked) in
            [("0.0.0.0:389", "127.0.0.1:389"), ("[::]:389", "[::1]:389"), ("10.0.0.1:389", "10.0.0.1:389")]
        {
            assert_eq!(reachable(listens.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
