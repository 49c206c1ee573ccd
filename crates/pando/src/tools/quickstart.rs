//! `quickstart`: from nothing to a running directory with people in it, in one command.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use clap::Args;
use config::{Config, Instance, ListenAddress};
use directory::Profile;
use password::Scheme;

use super::setup::{self, Certificate, Data, Plan};
use super::{made_password, start};
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;

const BASE_DN: &str = "dc=example,dc=com";
const ROOT_DN: &str = "cn=Directory Manager";
const SAMPLE_PEOPLE: u64 = 10_000;

#[derive(Debug, Args)]
pub struct Options {
    /// Port for LDAP of a new instance [default: 1389, or the next free one of 2389, 3389, …]
    #[arg(short = 'p', long = "port", alias = "ldapPort", value_name = "PORT")]
    port: Option<u16>,
    /// Sample people in a new instance [default: 10000]
    #[arg(short = 'd', long = "sampleData", value_name = "NUMBER")]
    sample_data: Option<u64>,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let instance = Instance::new(directory);
    let config = if instance.config_file().exists() {
        let config = instance::open(directory)?;
        refuse_for(&config, options)?;
        config
    } else {
        make(&instance, options)?
    };
    if let Some(process) = instance::running(&instance) {
        outln!("The server is running already (process {process}).\n{}", what_to_try(&config));
        return Ok(std::process::ExitCode::SUCCESS);
    }
    start::serve(&config, &what_to_try(&config), false)
}

/// Refuses options that an instance which is there does not follow.
fn refuse_for(config: &Config, options: &Options) -> Result<(), Failure> {
    let directory = config.instance.directory().display();
    if options.sample_data.is_some() {
        return Err(Failure::new(format_args!(
            "{directory} has an instance already, and --sampleData is for a new one; leave it out, or choose another \
             --instance"
        )));
    }
    let Some(port) = options.port else { return Ok(()) };
    let ports: Vec<u16> = ldap_addresses(config).map(|address| address.port()).collect();
    if ports.contains(&port) {
        return Ok(());
    }
    let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
    Err(Failure::new(format_args!(
        "{directory} has an instance already, which listens at port {}; leave --port out, or choose another --instance",
        ports.join(" and ")
    )))
}

fn make(instance: &Instance, options: &Options) -> Result<Config, Failure> {
    setup::refuse_existing(instance.directory())?;
    let people = options.sample_data.unwrap_or(SAMPLE_PEOPLE);
    let addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let is_free = |port: u16| setup::is_free(&addresses, port);
    let ldap_port = match options.port {
        Some(port) if is_free(port) && port > 0 => port,
        Some(port) => return Err(Failure::new(format_args!("port {port} is in use or not allowed for you"))),
        None => setup::free_port(1389, &[], &is_free)?,
    };
    let ldaps_port = setup::free_port(1636, &[ldap_port], &is_free)?;
    outln!("Making an instance with {people} sample people in {} ...", instance.directory().display());
    let password = made_password::make()?;
    let plan = Plan {
        base_dns: vec![BASE_DN.to_owned()],
        backend_id: "userRoot".to_owned(),
        root_dn: ROOT_DN.to_owned(),
        root_password: password.clone(),
        access_profile: Profile::Addressbook,
        password_scheme: Scheme::Argon2,
        listen_addresses: addresses,
        ldap_port,
        ldaps_port: Some(ldaps_port),
        http_port: None,
        administration_port: None,
        certificate: Certificate::SelfSigned,
        data: Data::Sample(people),
        quiet: false,
    };
    let config = setup::make(instance.directory(), &plan)?;
    made_password::keep(instance, &password)?;
    Ok(config)
}

/// Where the instance listens for LDAP without TLS.
fn ldap_addresses(config: &Config) -> impl Iterator<Item = SocketAddr> {
    let handlers = config.handlers.iter().filter(|handler| handler.enabled && !handler.use_ssl);
    handlers.flat_map(|handler| &handler.listen).filter_map(|listen| match listen {
        ListenAddress::Tcp(address) => Some(*address),
        ListenAddress::Local(_) => None,
    })
}

/// A search that works as printed, if the instance was made here.
fn what_to_try(config: &Config) -> String {
    let address = ldap_addresses(config).next();
    let file = config.instance.made_password();
    let base_dn = config.backends.first().and_then(|backend| backend.base_dns.first());
    let (Some(address), Some(base_dn)) = (address, base_dn) else { return String::new() };
    let url = if address.ip().is_unspecified() {
        format!("ldap://127.0.0.1:{}", address.port())
    } else {
        format!("ldap://{address}")
    };
    match fs::read_to_string(&file) {
        Ok(password) => format!(
            "\nTry it from another terminal:\n\n  ldapsearch -x -H {url} -D \"{ROOT_DN}\" -w {} -b {base_dn} \
             '(uid=user.10)'\n\n\
             The password of {ROOT_DN} is kept in {}.\nEvery sample person's password is \"password\". Ctrl-C stops \
             the server.\n",
            password.trim(),
            file.display()
        ),
        Err(_) => format!(
            "\nTry it from another terminal:\n\n  ldapsearch -x -H {url} -D \"{ROOT_DN}\" -W -b {base_dn}\n\n\
             Ctrl-C stops the server.\n"
        ),
    }
}
