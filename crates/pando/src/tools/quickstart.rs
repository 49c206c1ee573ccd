//! `quickstart`: from nothing to a running directory with people in it, in one command.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use clap::Args;
use config::{Config, Instance, ListenAddress};

use super::{
    setup::{self, Certificate, Data, Plan},
    start,
};
use crate::{
    failure::{Context, Failure, Outcome},
    instance,
    output::outln,
};

const BASE_DN: &str = "dc=example,dc=com";
const ROOT_DN: &str = "cn=Directory Manager";

/// File, in `keys/`, that keeps the password that was made up.
const PASSWORD_FILE: &str = "quickstart.password";

#[derive(Debug, Args)]
pub struct Options {
    /// Sample people in a new instance
    #[arg(short = 'd', long = "sampleData", value_name = "NUMBER", default_value_t = 10_000)]
    sample_data: u64,
}

/// Where the password is that was made up for the root user.
pub fn password_file(instance: &Instance) -> PathBuf {
    instance.keys().join(PASSWORD_FILE)
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let instance = Instance::new(directory);
    if let Some(process) = instance::running(&instance) {
        let config = instance::open(directory)?;
        outln!("The server is running already (process {process}).\n{}", what_to_try(&config));
        return Ok(std::process::ExitCode::SUCCESS);
    }
    let config = if instance.config_file().exists() {
        instance::open(directory)?
    } else {
        make(&instance, options.sample_data)?
    };
    start::serve(&config, &what_to_try(&config), false)
}

fn make(instance: &Instance, people: u64) -> Result<Config, Failure> {
    outln!("Making an instance with {people} sample people in {} ...", instance.directory().display());
    let password = String::from_utf8(password::generate().context("password")?).map_err(Failure::new)?;
    let addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let plan = Plan {
        base_dns: vec![BASE_DN.to_owned()],
        backend_id: "userRoot".to_owned(),
        root_dn: ROOT_DN.to_owned(),
        root_password: password.clone(),
        listen_addresses: addresses,
        ldap_port: setup::free_port(1389, &[], &is_free)?,
        ldaps_port: Some(setup::free_port(1636, &[], &is_free)?),
        certificate: Certificate::SelfSigned,
        data: Data::Sample(people),
        quiet: false,
    };
    let config = setup::make(instance.directory(), &plan)?;
    let file = password_file(instance);
    let permissions = Some(fs::Permissions::from_mode(0o600));
    durable::replace_file(&file, format!("{password}\n").as_bytes(), permissions).context(file.display())?;
    Ok(config)
}

/// A search that works as printed, if the instance was made here.
fn what_to_try(config: &Config) -> String {
    let ldap = config
        .handlers
        .iter()
        .filter(|handler| handler.enabled && !handler.use_ssl)
        .flat_map(|handler| &handler.listen);
    let address =
        ldap.filter_map(|listen| if let ListenAddress::Tcp(address) = listen { Some(*address) } else { None }).next();
    let file = password_file(&config.instance);
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
