//! `setup`: makes an instance, from options or by asking.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, fs};

use clap::Args;
use config::{Config, Instance, Setup, default_indexes};
use directory::Profile;
use jobs::files::Target;
use password::{Argon2Parameters, Scheme};
use store::bulk::LdifSource;

use super::encode_password::scheme_of;
use super::{certificate, import_ldif, sample};
use crate::failure::{Context, Failure, Outcome};
use crate::output::{errln, outln};
use crate::owner::Owner;
use crate::password_file::first_line;
use crate::{instance, terminal};

/// Ports unless told otherwise.
const LDAP_PORT: u16 = 1389;
const LDAPS_PORT: u16 = 1636;
/// How long verifying a password may take on this machine: nobody notices, and a guesser gets 25 tries a second from a
/// core.
const HASH_TIME: Duration = Duration::from_millis(40);

/// The file that says that everything beside it is what a setup has made so far: the next one begins anew.
const UNFINISHED: &str = "setup.unfinished";

#[derive(Debug, Args)]
pub struct Options {
    /// Base DN of the backend; may be given several times
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dns: Vec<String>,
    /// DN of the root user, who may do everything
    #[arg(short = 'D', long = "rootUserDN", alias = "rootUserDn", value_name = "DN")]
    root_dn: Option<String>,
    /// Password of the root user; other users of the machine can see it here; "-" asks for it
    #[arg(short = 'w', long = "rootUserPassword", value_name = "PASSWORD")]
    root_password: Option<String>,
    /// File whose first line is the password
    #[arg(short = 'j', long = "rootUserPasswordFile", value_name = "FILE", conflicts_with = "root_password")]
    root_password_file: Option<PathBuf>,
    /// Port for LDAP [default: 1389]
    #[arg(short = 'p', long = "ldapPort", value_name = "PORT")]
    ldap_port: Option<u16>,
    /// Port for LDAP over TLS [default: 1636]
    #[arg(short = 'Z', long = "ldapsPort", value_name = "PORT")]
    ldaps_port: Option<u16>,
    /// Port for /alive, /healthy and /metrics over HTTP [default: none]
    #[arg(long = "httpPort", value_name = "PORT")]
    http_port: Option<u16>,
    /// Port for administrators: LDAP over TLS with a certificate of its own, which is made [default: no such port]
    #[arg(long = "adminConnectorPort", value_name = "PORT")]
    administration_port: Option<u16>,
    /// No LDAPS, no StartTLS and no certificate
    #[arg(long = "noTls", conflicts_with_all = ["ldaps_port", "certificate_file"])]
    no_tls: bool,
    /// Allow StartTLS (allowed unless --noTls is given)
    #[arg(short = 'q', long = "enableStartTLS", conflicts_with = "no_tls")]
    start_tls: bool,
    /// Make a self-signed certificate (made unless --useCertificate or --noTls is given)
    #[arg(long = "generateSelfSignedCertificate", conflicts_with_all = ["no_tls", "certificate_file"])]
    self_signed: bool,
    /// Certificate in PEM, followed by those of its issuers
    #[arg(long = "useCertificate", value_name = "FILE", requires = "key_file")]
    certificate_file: Option<PathBuf>,
    /// Private key in PEM
    #[arg(long = "usePrivateKey", value_name = "FILE", requires = "certificate_file")]
    key_file: Option<PathBuf>,
    /// Addresses to listen on, several with commas between them; "0.0.0.0" or "::" for all [default: 127.0.0.1]
    #[arg(long = "listenAddress", value_name = "ADDRESS", value_delimiter = ',')]
    listen_addresses: Vec<IpAddr>,
    /// Who may do what without the privileges of a root user, as docs/access-control.md describes: closed, addressbook,
    /// opendj-compatible or posix-logins
    #[arg(long = "accessProfile", value_name = "PROFILE", default_value_t = AccessProfile::default())]
    access_profile: AccessProfile,
    /// Scheme in which new passwords are stored: a name or prefix of `encode-password -l`. What Argon2 costs is fitted
    /// to this machine
    #[arg(long = "defaultPasswordStorageScheme", value_name = "SCHEME", default_value = "Argon2")]
    password_scheme: String,
    /// Name of the backend
    #[arg(long = "backendID", alias = "backendId", value_name = "ID", default_value = "userRoot")]
    backend_id: String,
    /// Create the entry of the base DN
    #[arg(short = 'a', long = "addBaseEntry", conflicts_with_all = ["sample_data", "ldif_files"])]
    add_base_entry: bool,
    /// Create this many sample people, and groups of them
    #[arg(short = 'd', long = "sampleData", value_name = "NUMBER", conflicts_with = "ldif_files")]
    sample_data: Option<u64>,
    /// Import this file; may be given several times
    #[arg(short = 'l', long = "ldifFile", value_name = "FILE")]
    ldif_files: Vec<PathBuf>,
    /// Write entries that cannot be imported to this file, and go on
    #[arg(short = 'R', long = "rejectFile", value_name = "FILE", requires = "ldif_files")]
    reject_file: Option<PathBuf>,
    /// Do not check that the ports are free
    #[arg(short = 'S', long = "skipPortCheck")]
    skip_port_check: bool,
    /// Ask nothing; options that are not given have their defaults
    #[arg(short = 'n', long = "no-prompt")]
    no_prompt: bool,
    /// Do not start the server afterwards (setup never does)
    #[arg(short = 'O', long = "doNotStart", hide = true)]
    do_not_start: bool,
    /// As in OpenDJ: no graphical interface (there is none)
    #[arg(long = "cli", hide = true)]
    cli: bool,
    /// As in OpenDJ: nothing to accept
    #[arg(long = "acceptLicense", hide = true)]
    accept_license: bool,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

/// A profile as an option.
#[derive(Debug, Clone, Copy, Default)]
struct AccessProfile(Profile);

impl fmt::Display for AccessProfile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.name())
    }
}

impl FromStr for AccessProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Profile::NAMES.iter().map(|(_, name)| *name).collect();
        Profile::parse(text).map(Self).ok_or_else(|| format!("it must be one of {}", names.join(", ")))
    }
}

/// Everything decided.
#[derive(Debug)]
pub struct Plan {
    pub base_dns: Vec<String>,
    pub backend_id: String,
    pub root_dn: String,
    pub root_password: String,
    pub access_profile: Profile,
    pub password_scheme: Scheme,
    pub listen_addresses: Vec<IpAddr>,
    pub ldap_port: u16,
    pub ldaps_port: Option<u16>,
    pub http_port: Option<u16>,
    pub administration_port: Option<u16>,
    pub certificate: Certificate,
    pub data: Data,
    pub quiet: bool,
}

/// Where certificate and key come from.
#[derive(Debug, PartialEq)]
pub enum Certificate {
    None,
    SelfSigned,
    Files { certificate: PathBuf, key: PathBuf },
}

/// What the new backend holds.
#[derive(Debug)]
pub enum Data {
    Nothing,
    BaseEntries,
    Sample(u64),
    Files { files: Vec<PathBuf>, reject_file: Option<PathBuf> },
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    refuse_existing(directory)?;
    let plan = decide(options)?;
    let config = make(directory, &plan)?;
    if !plan.quiet {
        outln!("{}", passwords_line(&config, plan.password_scheme));
        outln!("Made the instance {}. Start it:\n\n  pando start --instance {0}", directory.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// How new passwords are stored.
fn passwords_line(config: &Config, scheme: Scheme) -> String {
    let name = scheme.config_name();
    let argon2 = config.password_parameters.argon2();
    let cost = match scheme {
        Scheme::Argon2 => format!(" ({} MiB, {} passes)", argon2.memory_kib() >> 10, argon2.iterations()),
        _ => String::new(),
    };
    let imported = match config.import_scheme() == scheme {
        true => String::new(),
        false => format!("; clear ones in imported files with {}", config.import_scheme().config_name()),
    };
    format!("New passwords are stored with {name}{cost}{imported} (docs/passwords.md).")
}

/// A folder with an instance, or with anything else, is not ours to fill.
pub fn refuse_existing(directory: &Path) -> Result<(), Failure> {
    let file = Instance::new(directory).config_file();
    if file.exists() {
        return Err(Failure::new(format_args!(
            "{} has an instance already ({}); choose another --instance",
            directory.display(),
            file.display()
        )));
    }
    if !directory.exists() {
        return Ok(());
    }
    let is_unfinished = directory.join(UNFINISHED).exists();
    let folders = Instance::new(directory).folders();
    let is_own = |other: &fs::DirEntry| is_unfinished && folders.contains(&other.path());
    let mut others = fs::read_dir(directory).context(directory.display())?.flatten();
    // A file system of its own brings the first of these along.
    let is_ours = |other: &fs::DirEntry| ["lost+found", UNFINISHED].iter().any(|name| other.file_name() == *name);
    match others.find(|other| !is_ours(other) && !is_own(other)) {
        None => Ok(()),
        Some(other) => Err(Failure::new(format_args!(
            "{} holds other things ({}); choose a new or an empty folder with --instance",
            directory.display(),
            other.file_name().display()
        ))),
    }
}

fn decide(options: &Options) -> Result<Plan, Failure> {
    let asking = !options.no_prompt && terminal::is_interactive();
    let given_or_asked = |given: Option<&String>, question: &str, default: &str| match given {
        Some(given) => dn(given),
        None if asking => terminal::ask_until(question, default, dn),
        None => dn(default),
    };
    let base_dns = match options.base_dns.as_slice() {
        [] => vec![given_or_asked(None, "Base DN", "dc=example,dc=com")?],
        given => given.iter().map(|given| base_dn(options, given)).collect::<Result<_, _>>()?,
    };
    let root_dn = given_or_asked(options.root_dn.as_ref(), "Root user DN", "cn=Directory Manager")?;
    let root_password = root_password(options, asking)?;
    let listen_addresses = match options.listen_addresses.as_slice() {
        [] => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        given => given.to_vec(),
    };
    let Ports { ldap_port, ldaps_port, http_port } = ports(options, asking, &listen_addresses)?;
    let certificate = match (&options.certificate_file, &options.key_file) {
        _ if options.no_tls => Certificate::None,
        (Some(certificate), Some(key)) => {
            Certificate::Files { certificate: absolute(certificate)?, key: absolute(key)? }
        }
        _ => Certificate::SelfSigned,
    };
    Ok(Plan {
        base_dns,
        backend_id: options.backend_id.clone(),
        root_dn,
        root_password,
        access_profile: options.access_profile.0,
        password_scheme: scheme_of(&options.password_scheme)?,
        ldap_port,
        ldaps_port,
        http_port,
        administration_port: administration_port(
            options,
            &listen_addresses,
            &[Some(ldap_port), ldaps_port, http_port],
        )?,
        listen_addresses,
        certificate,
        data: data(options),
        quiet: options.quiet,
    })
}

/// The name, if it is one of an entry.
fn dn(text: &str) -> Result<String, Failure> {
    match ldap::Dn::parse(text) {
        Ok(dn) if !dn.is_root() => Ok(text.to_owned()),
        _ => Err(Failure::new(format_args!("\"{text}\" is not a DN such as dc=example,dc=com"))),
    }
}

/// A base DN that is given: the empty one, too, unless an entry of that name would have to be made.
fn base_dn(options: &Options, text: &str) -> Result<String, Failure> {
    if !text.trim().is_empty() {
        return dn(text);
    }
    if options.base_dns.len() > 1 {
        return Err(Failure::new("the base DN \"\" holds every name: give no other --baseDN beside it"));
    }
    match data(options) {
        Data::Nothing | Data::Files { .. } => Ok(String::new()),
        Data::BaseEntries | Data::Sample(_) => Err(Failure::new(
            "the base DN \"\" has no entry of its own: give a file with entries (--ldifFile), or no data at all",
        )),
    }
}

/// Where a new instance listens.
struct Ports {
    ldap_port: u16,
    ldaps_port: Option<u16>,
    http_port: Option<u16>,
}

fn administration_port(
    options: &Options,
    addresses: &[IpAddr],
    others: &[Option<u16>],
) -> Result<Option<u16>, Failure> {
    let Some(port) = options.administration_port else { return Ok(None) };
    if others.contains(&Some(port)) {
        return Err(Failure::new(format_args!(
            "port {port} is given twice: the administration connector needs its own"
        )));
    }
    wanted_port(port, &|port| options.skip_port_check || is_free(addresses, port)).map(Some)
}

fn ports(options: &Options, asking: bool, addresses: &[IpAddr]) -> Result<Ports, Failure> {
    let check = |port| options.skip_port_check || is_free(addresses, port);
    let ldap_port = match options.ldap_port {
        None if asking => {
            let default = free_port(LDAP_PORT, &[], &check)?.to_string();
            terminal::ask_until("LDAP port", &default, |answer| {
                let port = answer.parse().map_err(|_| Failure::new(format_args!("\"{answer}\" is not a port")))?;
                wanted_port(port, &check)
            })?
        }
        None => free_port(LDAP_PORT, &[], &check)?,
        Some(port) => wanted_port(port, &check)?,
    };
    let ldaps_port = match options.ldaps_port {
        _ if options.no_tls => None,
        None => Some(free_port(LDAPS_PORT, &[ldap_port], &check)?),
        Some(port) if port == ldap_port => return Err(given_twice(port, "LDAP and LDAPS")),
        Some(port) => Some(wanted_port(port, &check)?),
    };
    let http_port = match options.http_port {
        None => None,
        Some(port) if port == ldap_port || Some(port) == ldaps_port => return Err(given_twice(port, "LDAP and HTTP")),
        Some(port) => Some(wanted_port(port, &check)?),
    };
    Ok(Ports { ldap_port, ldaps_port, http_port })
}

fn given_twice(port: u16, protocols: &str) -> Failure {
    Failure::new(format_args!("port {port} is given for both {protocols}: choose two ports"))
}

fn data(options: &Options) -> Data {
    match (options.sample_data, options.ldif_files.as_slice()) {
        (Some(count), _) => Data::Sample(count),
        (None, []) if options.add_base_entry => Data::BaseEntries,
        (None, []) => Data::Nothing,
        (None, files) => Data::Files { files: files.to_vec(), reject_file: options.reject_file.clone() },
    }
}

fn root_password(options: &Options, asking: bool) -> Result<String, Failure> {
    let password = match (&options.root_password, &options.root_password_file) {
        (Some(password), _) if password != "-" => password.clone(),
        (None, Some(file)) => first_line(file)?,
        (given, _) if given.is_some() || asking => return asked_password(),
        _ => {
            return Err(Failure::new(
                "the root user needs a password: give --rootUserPasswordFile FILE or --rootUserPassword PASSWORD",
            ));
        }
    };
    long_enough(password)
}

/// Asks a person until the password is long enough and the same twice; anything else says it once.
fn asked_password() -> Result<String, Failure> {
    if !terminal::is_interactive() {
        return long_enough(terminal::ask_password("Root user password")?);
    }
    loop {
        match long_enough(terminal::ask_password("Root user password")?) {
            Err(failure) => errln!("{failure}"),
            Ok(password) if terminal::ask_password("The same again")? == password => return Ok(password),
            Ok(_) => errln!("the two passwords differ"),
        }
    }
}

fn long_enough(password: String) -> Result<String, Failure> {
    directory::hashed_root_password(password.as_bytes()).map_err(Failure::new)?;
    Ok(password)
}

fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    fs::canonicalize(file).context(file.display())
}

pub fn is_free(addresses: &[IpAddr], port: u16) -> bool {
    addresses.iter().all(|address| TcpListener::bind((*address, port)).is_ok())
}

fn wanted_port(port: u16, check: &dyn Fn(u16) -> bool) -> Result<u16, Failure> {
    match port {
        0 => Err(Failure::new("0 is not a port")),
        port if check(port) => Ok(port),
        port => Err(Failure::new(format_args!(
            "port {port} is in use or not allowed for you; choose another, or say --skipPortCheck"
        ))),
    }
}

/// The first free port of `start`, `start` + 1000, …
pub fn free_port(start: u16, taken: &[u16], check: &dyn Fn(u16) -> bool) -> Result<u16, Failure> {
    let mut ports =
        (0..60).filter_map(|thousands: u16| start.checked_add(thousands * 1000)).filter(|port| !taken.contains(port));
    ports
        .find(|port| check(*port))
        .ok_or_else(|| Failure::new(format_args!("none of the ports {start}, {}, … is free", u32::from(start) + 1000)))
}

/// Makes the instance. The configuration is written last, so that one that is there is complete.
pub fn make(directory: &Path, plan: &Plan) -> Result<Config, Failure> {
    let instance = Instance::new(directory);
    let existed = directory.exists();
    make_folder(directory, 0o750)?;
    let owner = Owner::of(directory)?;
    let unfinished = directory.join(UNFINISHED);
    // What a setup left that was interrupted.
    remove_parts(&instance).context(directory.display())?;
    durable::replace_file(&unfinished, b"", None).context(unfinished.display())?;
    let config = fill(&instance, plan).inspect_err(|_| {
        // What is half made is removed; what was there before stays.
        let _ = match existed {
            true => remove_parts(&instance).and_then(|()| fs::remove_file(&unfinished)),
            false => fs::remove_dir_all(directory),
        };
    })?;
    fs::remove_file(&unfinished).context(unfinished.display())?;
    owner.settle(directory)?;
    Ok(config)
}

fn remove_parts(instance: &Instance) -> std::io::Result<()> {
    instance.folders().iter().filter(|folder| folder.exists()).try_for_each(fs::remove_dir_all)
}

fn fill(instance: &Instance, plan: &Plan) -> Result<Config, Failure> {
    for folder in instance.folders() {
        make_folder(&folder, if folder == instance.logs() || folder == instance.schema() { 0o750 } else { 0o700 })?;
    }
    let key_pair = match &plan.certificate {
        Certificate::None => None,
        Certificate::SelfSigned => {
            certificate::make(&instance.keys(), "server", &plan.listen_addresses)?;
            Some(("keys/server.crt".to_owned(), "keys/server.key".to_owned()))
        }
        Certificate::Files { certificate, key } => Some((certificate.display().to_string(), key.display().to_string())),
    };
    if plan.administration_port.is_some() {
        certificate::make(&instance.keys(), "admin", &plan.listen_addresses)?;
    }
    let encoded = directory::hashed_root_password(plan.root_password.as_bytes()).map_err(Failure::new)?;
    let argon2 =
        (plan.password_scheme == Scheme::Argon2).then(|| Argon2Parameters::tuned(HASH_TIME, Argon2Parameters::measure));
    let text = Setup {
        password_scheme: plan.password_scheme,
        argon2,
        backend_id: plan.backend_id.clone(),
        base_dns: plan.base_dns.clone(),
        indexes: default_indexes(),
        root_dn: plan.root_dn.clone(),
        root_password: encoded,
        global_acis: plan.access_profile.acis(),
        listen_addresses: plan.listen_addresses.clone(),
        ldap_port: Some(plan.ldap_port),
        ldaps_port: plan.ldaps_port,
        http_port: plan.http_port,
        administration_port: plan.administration_port,
        start_tls: key_pair.is_some(),
        local_socket: true,
        key_pair,
    }
    .to_toml();
    let config = Config::parse(&text, &instance.config_file())?;
    import(&config, plan)?;
    let file = instance.config_file();
    let permissions = fs::Permissions::from_mode(0o600);
    durable::replace_file(&file, text.as_bytes(), Some(permissions)).context(file.display())?;
    Ok(config)
}

fn make_folder(folder: &Path, mode: u32) -> Result<(), Failure> {
    durable::make_folder_with_mode(folder, mode).context(folder.display())
}

fn import(config: &Config, plan: &Plan) -> Result<(), Failure> {
    let backend = instance::backend(config, Some(&plan.backend_id))?;
    let made = |name: &str, text: String| {
        let total = text.len() as u64;
        LdifSource::from_reader(name, Box::new(std::io::Cursor::new(text)), Some(total)).map_err(Failure::new)
    };
    let mut job = jobs::import::Import::default();
    match &plan.data {
        Data::Nothing => return Ok(()),
        Data::BaseEntries => {
            let entries =
                plan.base_dns.iter().map(|base_dn| sample::base_entry(base_dn)).collect::<Result<Vec<_>, _>>()?;
            job.sources.push(made("base entries", entries.concat())?);
        }
        Data::Sample(count) => {
            for base_dn in &plan.base_dns {
                job.sources.push(made("sample data", sample::people(base_dn, *count)?)?);
            }
        }
        Data::Files { files, reject_file } => {
            for file in files {
                job.sources.push(LdifSource::open(file).map_err(Failure::new)?);
            }
            job.reject_file.clone_from(reject_file);
        }
    }
    let schema = instance::schema(config)?;
    import_ldif::import(Target { config, backend, schema: &schema }, job, plan.quiet).map(|_| ())
}
