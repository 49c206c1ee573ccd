//! Operations of an access log, each with who asked for it and over which connection.
//!
//! Follows binds. Of connections that began before the log does, nobody knows who they are: their operations are
//! counted and left out.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use access::Authentication;
use ldap::Scope;
use ldap::oids::extended;
use logstat::clock::Clock;
use logstat::line::opendj::{OpenDjLine, Part};

use crate::tools::access::searching::Asked;

/// Bits that are taken for the encryption of a TLS connection: the log has no number.
pub const TLS_BITS: u32 = 256;

/// Requests of one connection that wait for their answers.
const PENDING_MAX: usize = 100_000;

/// Who asked, over which connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Empty: anonymous.
    pub dn: String,
    pub ip: Option<IpAddr>,
    pub is_encrypted: bool,
    pub authentication: Authentication,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Search(Asked),
    Compare { dn: String, attribute: String },
    Add { dn: String },
    Modify { dn: String },
    Delete { dn: String },
    ModifyDn { dn: String, new_rdn: String, delete_old_rdn: bool, new_superior: Option<String> },
    Extended { oid: String },
}

/// One operation that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub connection: u64,
    pub operation: u64,
    /// Seconds since 1970; none when the log writes times in another way.
    pub unix_seconds: Option<i64>,
    pub client: Client,
    pub request: Request,
    /// The result code that was sent.
    pub result: i32,
}

/// What was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Lines that are none of an access log.
    pub other_lines: u64,
    /// Operations of connections that began before the log.
    pub unknown_client: u64,
    /// Searches whose filter is not in the log as a whole.
    pub cut_filter: u64,
}

struct Connection {
    /// None: it began before the log.
    client: Option<Client>,
    pending: HashMap<u64, Option<Request>>,
    /// How the bind that waits for its answer authenticates.
    binding: Authentication,
}

/// Turns lines into operations.
#[derive(Default)]
pub struct Follower {
    clock: Clock,
    connections: HashMap<u64, Connection>,
    pub left_out: LeftOut,
}

impl Follower {
    /// Takes a line; gives the operation that it ends.
    pub fn line(&mut self, line: &str) -> Option<Logged> {
        let Some(line) = OpenDjLine::parse(line.as_bytes()) else {
            self.left_out.other_lines += u64::from(!line.trim().is_empty());
            return None;
        };
        let number: u64 = line.number("conn")?;
        if line.get("type") == Some("internal") {
            return None;
        }
        match line.kind {
            b"CONNECT" => drop(self.connections.insert(number, Connection::begun(&line))),
            b"DISCONNECT" => drop(self.connections.remove(&number)),
            _ => {
                let unknown = || Connection { client: None, pending: HashMap::new(), binding: Authentication::None };
                let connection = self.connections.entry(number).or_insert_with(unknown);
                let unix_seconds = line.unix_seconds(&mut self.clock);
                let logged = connection.operation(&line, number, &mut self.left_out)?;
                return Some(Logged { unix_seconds, ..logged });
            }
        }
        None
    }
}

impl Connection {
    fn begun(line: &OpenDjLine<'_>) -> Connection {
        let from = line.get("from").and_then(|from| from.parse::<SocketAddr>().ok());
        let client = Client {
            dn: String::new(),
            ip: from.map(|from| from.ip()),
            is_encrypted: line.get("protocol") == Some("LDAPS"),
            authentication: Authentication::None,
        };
        Connection { client: Some(client), pending: HashMap::new(), binding: Authentication::None }
    }

    fn operation(&mut self, line: &OpenDjLine<'_>, connection: u64, left_out: &mut LeftOut) -> Option<Logged> {
        let operation: u64 = line.number("op")?;
        if line.kind == b"BIND" {
            self.bind(line);
            return None;
        }
        if line.part != Part::Response {
            let request = request(line, left_out);
            if self.pending.len() < PENDING_MAX {
                self.pending.insert(operation, request);
            }
        }
        let result: i32 = line.number("result")?;
        let request = self.pending.remove(&operation)??;
        if let Request::Extended { oid } = &request
            && oid == extended::START_TLS
            && result == 0
            && let Some(client) = &mut self.client
        {
            client.is_encrypted = true;
        }
        let Some(client) = &self.client else {
            left_out.unknown_client += 1;
            return None;
        };
        // Proxied authorization: decided as the other user.
        let dn = line.get("authzDN").unwrap_or(&client.dn).to_owned();
        let client = Client { dn, ..client.clone() };
        Some(Logged { connection, operation, unix_seconds: None, client, request, result })
    }

    fn bind(&mut self, line: &OpenDjLine<'_>) {
        if line.part != Part::Response {
            self.binding = match (line.get("type"), line.get("mechanism")) {
                (Some("SASL"), Some("EXTERNAL")) => match self.client.as_ref().and_then(|client| client.ip) {
                    Some(_) => Authentication::ClientCertificate,
                    None => Authentication::LocalSocket,
                },
                (Some("SASL"), Some(mechanism)) => Authentication::Sasl(mechanism.into()),
                _ => Authentication::Simple,
            };
        }
        let Some(result) = line.number::<i32>("result") else { return };
        let dn = line.get("authDN").filter(|_| result == 0).unwrap_or_default().to_owned();
        // A bind says who it is, also of a connection that began before the log.
        let unknown = Client { dn: String::new(), ip: None, is_encrypted: false, authentication: Authentication::None };
        let client = self.client.get_or_insert(unknown);
        client.authentication = if dn.is_empty() { Authentication::None } else { self.binding.clone() };
        client.dn = dn;
    }
}

/// What a line asks for; none when nothing of it is decided by instructions, or it cannot be told.
fn request(line: &OpenDjLine<'_>, left_out: &mut LeftOut) -> Option<Request> {
    let text = |name: &str| line.get(name).unwrap_or_default().to_owned();
    let dn = text("dn");
    Some(match line.kind {
        b"SEARCH" => {
            let filter = text("filter");
            // A filter that is too long for a line ends so.
            if ldap::filter::parse(&filter).is_err() {
                left_out.cut_filter += 1;
                return None;
            }
            let attributes = match line.get("attrs")? {
                "ALL" | "" => Vec::new(),
                list => list.split(',').map(str::to_owned).collect(),
            };
            let scope = match line.get("scope")? {
                "base" => Scope::BaseObject,
                "one" => Scope::SingleLevel,
                "sub" => Scope::WholeSubtree,
                _ => Scope::SubordinateSubtree,
            };
            Request::Search(Asked { base: text("base"), scope, filter, attributes })
        }
        b"COMPARE" => Request::Compare { dn, attribute: text("attr") },
        b"ADD" => Request::Add { dn },
        b"MODIFY" => Request::Modify { dn },
        b"DELETE" => Request::Delete { dn },
        b"MODIFYDN" => Request::ModifyDn {
            dn,
            new_rdn: text("newRDN"),
            delete_old_rdn: line.get("deleteOldRDN") == Some("true"),
            new_superior: line.get("newSuperior").map(str::to_owned),
        },
        b"EXTENDED" => Request::Extended { oid: text("oid") },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(lines: &[&str]) -> (Vec<Logged>, LeftOut) {
        let mut follower = Follower::default();
        let found = lines.iter().filter_map(|line| follower.line(&format!("[21/Nov/2026:15:24:23 +0000] {line}")));
        let found = found.collect();
        (found, follower.left_out)
    }

    #[test]
    fn operations_know_who_asked() {
        let (found, left_out) = follow(&[
            "CONNECT conn=7 from=192.0.2.9:5000 to=192.0.2.1:636 protocol=LDAPS",
            "SEARCH REQ conn=7 op=0 msgID=1 base=\"\" scope=base filter=\"(objectclass=*)\" attrs=\"ALL\"",
            "SEARCH RES conn=7 op=0 msgID=1 result=0 nentries=1 etime=0",
            "BIND REQ conn=7 op=1 msgID=2 version=3 type=SASL mechanism=PLAIN dn=\"\"",
            "BIND RES conn=7 op=1 msgID=2 result=0 authDN=\"uid=ann,o=x\" etime=1",
            "MODIFY REQ conn=7 op=2 msgID=3 dn=\"uid=ann,o=x\"",
            "MODIFY type=internal conn=7 op=2 msgID=3 dn=\"cn=g,o=x\" result=0",
            "COMPARE REQ conn=7 op=3 msgID=4 dn=\"uid=bob,o=x\" attr=cn",
            "COMPARE RES conn=7 op=3 msgID=4 result=50 etime=0",
            "MODIFY RES conn=7 op=2 msgID=3 result=0 etime=3",
            "DISCONNECT conn=7 reason=\"Client Unbind\"",
        ]);
        assert_eq!(left_out, LeftOut::default());
        let what: Vec<(u64, &str, i32)> =
            found.iter().map(|logged| (logged.operation, logged.client.dn.as_str(), logged.result)).collect();
        assert_eq!(what, [(0, "", 0), (3, "uid=ann,o=x", 50), (2, "uid=ann,o=x", 0)]);
        let client = &found[1].client;
        assert_eq!((client.ip, client.is_encrypted), (Some("192.0.2.9".parse().unwrap()), true));
        assert_eq!(client.authentication, Authentication::Sasl("PLAIN".into()));
        assert_eq!(found[2].request, Request::Modify { dn: "uid=ann,o=x".to_owned() });
    }

    #[test]
    fn combined_lines_are_whole_operations() {
        let (found, _) = follow(&[
            "CONNECT conn=1 from=uid:0,pid:9 to=x protocol=LDAPI",
            "BIND conn=1 op=0 msgID=1 version=3 type=SASL mechanism=EXTERNAL dn=\"\" result=0 authDN=\"cn=root\"",
            "SEARCH conn=1 op=1 msgID=2 base=\"o=x\" scope=sub filter=\"(cn=a)\" attrs=\"cn,sn\" result=0 nentries=3",
        ]);
        let Request::Search(asked) = &found[0].request else { panic!() };
        assert_eq!((&*asked.filter, asked.attributes.len(), asked.scope), ("(cn=a)", 2, Scope::WholeSubtree));
        assert_eq!(found[0].client.authentication, Authentication::LocalSocket);
    }

    #[test]
    fn what_cannot_be_told_is_counted() {
        let (found, left_out) = follow(&[
            "DELETE REQ conn=3 op=9 msgID=9 dn=\"o=x\"",
            "DELETE RES conn=3 op=9 msgID=9 result=0 etime=1",
            "CONNECT conn=4 from=127.0.0.1:1 to=127.0.0.1:2 protocol=LDAP",
            "SEARCH REQ conn=4 op=0 msgID=1 base=\"\" scope=sub filter=\"(|(cn=a)...)\" attrs=\"ALL\"",
            "SEARCH RES conn=4 op=0 msgID=1 result=0 etime=1",
        ]);
        assert!(found.is_empty());
        assert_eq!((left_out.unknown_client, left_out.cut_filter), (1, 1));
    }
}
