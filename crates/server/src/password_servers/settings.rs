//! From the configuration to how other servers are connected to: passwords and certificates are read here.

use config::{PassThroughServers, RemoteTls, SecretSource, TlsBegins};
use durable::FileStamp;
use outbound::{Credentials, PoolSettings, Security, Settings, TlsRules, Trust};
use runtime::client_certificates::revocation_lists;
use runtime::secret_file;
use runtime::tls::suite_name;
use zeroize::Zeroizing;

/// How the servers of a policy are connected to.
///
/// # Errors
/// When a password or a certificate cannot be read.
pub(super) fn pool_settings(servers: &PassThroughServers) -> Result<PoolSettings, String> {
    let failed = |reason: String| format!("The password policy \"{}\": {reason}", servers.policy);
    let security = match &servers.tls {
        Some(tls) => security(tls).map_err(failed)?,
        None => Security::Plain,
    };
    let credentials = servers.search_bind.as_ref().map(|bind| {
        let password = secret(&bind.password)?;
        Ok(Credentials { dn: bind.dn.clone(), password: password.as_bytes().to_vec().into() })
    });
    Ok(PoolSettings {
        primary: servers.primary.clone(),
        secondary: servers.secondary.clone(),
        connections: Settings {
            security,
            source: servers.source,
            connect_timeout: servers.timeout,
            answer_timeout: servers.timeout,
            keep_alive: servers.keep_alive,
            no_delay: servers.no_delay,
        },
        credentials: credentials.transpose().map_err(failed)?,
    })
}

/// The files that [`pool_settings`] reads, as they are now.
pub(super) fn stamps(servers: &PassThroughServers) -> Vec<Option<FileStamp>> {
    let tls = servers.tls.iter().flat_map(|tls| tls.trusted.iter().flatten().chain(&tls.revoked));
    let password = servers.search_bind.iter().filter_map(|bind| match &bind.password {
        SecretSource::File(path) => Some(path),
        SecretSource::Written(_) | SecretSource::Variable(_) => None,
    });
    tls.chain(password).map(|path| FileStamp::of(path)).collect()
}

fn security(tls: &RemoteTls) -> Result<Security, String> {
    let trust = tls.trusted.clone().map_or(Trust::System, Trust::Issuers);
    let mut revoked = Vec::new();
    for path in &tls.revoked {
        revoked.extend(revocation_lists(path).map_err(|error| error.to_string())?);
    }
    let is_chosen = |suite| tls.cipher_suites.is_empty() || tls.cipher_suites.contains(&suite_name(suite));
    let rules = TlsRules { tls12: tls.tls12, tls13: tls.tls13, offers: &is_chosen, revoked, identity: None };
    let config = trust.client_config(rules).map_err(|error| error.to_string())?;
    Ok(match tls.begins {
        TlsBegins::AtOnce => Security::Tls(config),
        TlsBegins::AfterStartTls => Security::StartTls(config),
    })
}

fn secret(source: &SecretSource) -> Result<Zeroizing<String>, String> {
    let password = match source {
        SecretSource::Written(secret) => Zeroizing::new(secret.expose().to_owned()),
        SecretSource::File(path) => {
            let line = secret_file::first_line(path, secret_file::CONFIGURED);
            let line = line.map_err(|error| format!("{}: {error}", path.display()))?;
            line.ok_or_else(|| format!("{}: the file has no first line", path.display()))?
        }
        SecretSource::Variable(name) => {
            let value = std::env::var(name).map_err(|error| format!("the variable {name}: {error}"))?;
            Zeroizing::new(value)
        }
    };
    match password.is_empty() {
        true => Err("the password of mapped-search-bind-dn is empty".to_owned()),
        false => Ok(password),
    }
}
