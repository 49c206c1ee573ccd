//! `status`: whether the server runs, where it listens, what it holds. Needs no password: it looks at the files and at
//! the system.
//! Works whatever the configuration says, and says what is wrong with it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use config::{BackendConfig, Config, HttpHandler, Instance, LdapHandler, ListenAddress};
use ldap::Scope;
use schema::Schema;

use crate::authorize::authorize;
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::table::Table;
use crate::terminal::bytes_text;

#[derive(Debug, Args)]
pub struct Options {
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
    /// Only say whether the server does its work, and what keeps it from that: status 0, else 1
    #[arg(long = "healthy", conflicts_with = "json")]
    healthy: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// Everything that is shown.
struct Status {
    instance: Instance,
    process: Option<u32>,
    /// What is wrong with the configuration; then there is nothing of what it would say.
    faults: Option<String>,
    connections: usize,
    root_users: Vec<String>,
    handlers: Vec<Handler>,
    backends: Vec<Backend>,
}

struct Handler {
    name: String,
    address: String,
    protocol: &'static str,
    state: &'static str,
}

struct Backend {
    id: String,
    base_dns: Vec<String>,
    entries: Entries,
    bytes: u64,
}

/// What a backend holds.
enum Entries {
    NoData,
    Count(u64),
    /// Why the number is not known.
    Unreadable(String),
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let instance = instance::find(directory)?;
    let owner = Owner::of(directory)?;
    let config = Config::load(&instance.config_file());
    if options.server.is_given() {
        authorize(&instance::open(directory)?, &options.server, true)?;
    }
    if options.healthy {
        return healthy(&instance);
    }
    let status = match config {
        Ok(config) => look(&config),
        Err(faults) => Status {
            process: instance::running(&instance),
            instance,
            faults: Some(faults.to_string()),
            connections: 0,
            root_users: Vec::new(),
            handlers: Vec::new(),
            backends: Vec::new(),
        },
    };
    owner.settle(directory)?;
    if options.json {
        print_json(&status)
    } else {
        print_text(&status)
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks the server, as the local administrator.
fn healthy(instance: &Instance) -> Outcome {
    let Some(process) = instance::running(instance) else {
        return Err(Failure::new(format_args!("no server runs on {}", instance.directory().display())));
    };
    let mut client = Client::of_administrator(instance, process)?;
    let found = client.search("cn=Health,cn=monitor", Scope::BaseObject, "(objectClass=*)", &["healthy", "trouble"])?;
    let troubles: Vec<&String> = found.iter().flat_map(|entry| entry.values("trouble")).collect();
    if found.iter().any(|entry| entry.values("healthy") == ["TRUE"]) {
        outln!("healthy");
        return Ok(ExitCode::SUCCESS);
    }
    troubles.iter().for_each(|trouble| outln!("{trouble}"));
    Ok(ExitCode::FAILURE)
}

fn look(config: &Config) -> Status {
    let process = instance::running(&config.instance);
    let schema = instance::schema(config);
    let backend = |backend: &BackendConfig| Backend {
        id: backend.id.clone(),
        base_dns: backend.base_dns.clone(),
        entries: match &schema {
            _ if !store::database_path(&backend.directory).exists() => Entries::NoData,
            Ok(schema) => match count(config, backend, schema) {
                Ok(count) => Entries::Count(count),
                Err(failure) => Entries::Unreadable(failure.to_string()),
            },
            Err(failure) => Entries::Unreadable(failure.to_string()),
        },
        bytes: folder_bytes(&backend.directory),
    };
    Status {
        instance: config.instance.clone(),
        process,
        faults: schema.as_ref().err().map(ToString::to_string),
        connections: if process.is_some() { connections(config) } else { 0 },
        root_users: config.root_users.iter().flat_map(|user| user.bind_dns.clone()).collect(),
        handlers: config
            .handlers
            .iter()
            .flat_map(|handler| listed(handler, process.is_some()))
            .chain(config.http_handlers.iter().flat_map(|handler| listed_http(handler, process.is_some())))
            .collect(),
        backends: config.backends.iter().map(backend).collect(),
    }
}

fn count(config: &Config, backend: &BackendConfig, schema: &Arc<Schema>) -> Result<u64, Failure> {
    instance::reader(config, backend, schema)?.snapshot()?.entry_count().map_err(Failure::new)
}

fn listed(handler: &LdapHandler, running: bool) -> Vec<Handler> {
    let protocol = match handler.listen.first() {
        Some(ListenAddress::Local(_)) => "LDAPI",
        _ if handler.use_ssl => "LDAPS",
        _ if handler.allow_start_tls => "LDAP (StartTLS)",
        _ => "LDAP",
    };
    let state = state(handler.enabled, running);
    let entry = |listen: &ListenAddress| Handler {
        name: handler.name.clone(),
        address: match listen {
            ListenAddress::Tcp(address) => address.to_string(),
            ListenAddress::Local(path) => path.display().to_string(),
        },
        protocol,
        state,
    };
    handler.listen.iter().map(entry).collect()
}

fn listed_http(handler: &HttpHandler, running: bool) -> impl Iterator<Item = Handler> {
    let protocol = if handler.use_ssl { "HTTPS" } else { "HTTP" };
    let state = state(handler.enabled, running);
    let entry = move |at: &SocketAddr| Handler { name: handler.name.clone(), address: at.to_string(), protocol, state };
    handler.listen.iter().map(entry)
}

fn state(is_enabled: bool, running: bool) -> &'static str {
    match (is_enabled, running) {
        (false, _) => "Disabled",
        (true, true) => "Listening",
        (true, false) => "Stopped",
    }
}

/// Clients that are connected, as the system counts them.
fn connections(config: &Config) -> usize {
    let tables: Vec<String> =
        ["/proc/net/tcp", "/proc/net/tcp6"].iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    let unix = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let listens = config.handlers.iter().filter(|handler| handler.enabled).flat_map(|handler| &handler.listen);
    listens
        .map(|listen| match listen {
            ListenAddress::Tcp(address) => tables.iter().map(|table| established(table, address.port())).sum(),
            // The table has the path as the server wrote it, which may have begun elsewhere.
            ListenAddress::Local(path) => {
                let paths = [Some(path.clone()), fs::canonicalize(path).ok()]
                    .map(|path| path.map(|path| path.display().to_string()));
                connected(&unix, &paths.into_iter().flatten().collect::<Vec<_>>())
            }
        })
        .sum()
}

/// Lines of `/proc/net/tcp` whose local port is `port` and whose state is "established" (01).
fn established(table: &str, port: u16) -> usize {
    let suffix = format!(":{port:04X}");
    let is_client = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        matches!(fields.as_slice(), [_, local, _, "01"] if local.ends_with(&suffix))
    };
    table.lines().skip(1).filter(is_client).count()
}

/// Lines of `/proc/net/unix` with one of these paths whose state is "connected" (03).
fn connected(table: &str, paths: &[String]) -> usize {
    let is_client = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields.as_slice(), [_, _, _, _, _, "03", _, found] if paths.iter().any(|path| path == found))
    };
    table.lines().skip(1).filter(is_client).count()
}

fn folder_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        // What is allocated, not the length: a preallocated file may have holes.
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(bytes).sum()
}

fn print_text(status: &Status) {
    outln!("          --- Server Status ---");
    outln!("Server Run Status:    {}", if status.process.is_some() { "Started" } else { "Stopped" });
    if let Some(process) = status.process {
        outln!("Process:              {process}");
        outln!("Open Connections:     {}", status.connections);
    }
    outln!("\n          --- Server Details ---");
    outln!("Version:              Pando {}", env!("CARGO_PKG_VERSION"));
    outln!("Instance Path:        {}", status.instance.directory().display());
    outln!("Administrative Users: {}", status.root_users.join(", "));
    if let Some(faults) = &status.faults {
        outln!("\n          --- Configuration ---");
        outln!("The file is not valid: a server does not start with it, and a running one does not take it.\n{faults}");
    }
    outln!("\n          --- Connection Handlers ---");
    let mut table = Table::new(&["Name", "Address", "Protocol", "State"]);
    for handler in &status.handlers {
        table.row(vec![
            handler.name.clone(),
            handler.address.clone(),
            handler.protocol.to_owned(),
            handler.state.to_owned(),
        ]);
    }
    table.print();
    outln!("\n          --- Data Sources ---");
    let mut table = Table::new(&["Backend ID", "Base DN", "Entries", "Size"]);
    for backend in &status.backends {
        let entries = match &backend.entries {
            Entries::NoData => "no data yet".to_owned(),
            Entries::Count(count) => count.to_string(),
            Entries::Unreadable(reason) => reason.replace('\n', "; "),
        };
        let base_dns: Vec<String> = backend.base_dns.iter().map(|base_dn| instance::shown_base_dn(base_dn)).collect();
        table.row(vec![backend.id.clone(), base_dns.join("; "), entries, bytes_text(backend.bytes)]);
    }
    table.print();
}

fn print_json(status: &Status) {
    let value = serde_json::json!({
        "running": status.process.is_some(),
        "process": status.process,
        "connections": status.connections,
        "version": env!("CARGO_PKG_VERSION"),
        "instance": status.instance.directory(),
        "configurationFaults": status.faults,
        "handlers": status.handlers.iter().map(|handler| serde_json::json!({
            "name": handler.name, "address": handler.address, "protocol": handler.protocol, "state": handler.state,
        })).collect::<Vec<_>>(),
        "backends": status.backends.iter().map(|backend| serde_json::json!({
            "id": backend.id, "baseDNs": backend.base_dns, "entries": backend.entries.count(),
            "error": backend.entries.error(), "bytes": backend.bytes,
        })).collect::<Vec<_>>(),
    });
    outln!("{value:#}");
}

impl Entries {
    fn count(&self) -> Option<u64> {
        if let Self::Count(count) = self { Some(*count) } else { None }
    }

    fn error(&self) -> Option<&str> {
        if let Self::Unreadable(reason) = self { Some(reason) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_from_the_systems_tables() {
        let tcp = "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:056D 00000000:0000 0A 0\n   \
            1: 0100007F:056D 0100007F:9C40 01 0\n   2: 0100007F:9C40 0100007F:056D 01 0\n";
        assert_eq!(established(tcp, 1389), 1);
        let unix = "Num       RefCount Protocol Flags    Type St Inode Path\n0: 2 0 00010000 0001 01 10 /i/ldapi\n\
            1: 3 0 0 0001 03 11 /i/ldapi\n2: 3 0 0 0001 03 12\n";
        assert_eq!(connected(unix, &["/i/ldapi".to_owned()]), 1);
    }
}
