//! Tells the Kerberos library of the system, which has one file of keys for the whole process, what the configuration
//! says.

use config::Config;

/// Has tickets checked with the keys that the configuration names.
///
/// # Errors
/// When the library does not take them.
#[cfg(feature = "gssapi")]
pub(crate) fn set(config: &Config) -> Result<(), String> {
    let used = config.sasl_handlers.iter().filter(|handler| handler.enabled).find_map(|handler| match &handler.kind {
        config::SaslKind::Gssapi(settings) => Some(settings.keytab.as_deref()),
        _ => None,
    });
    match used {
        Some(keytab) => runtime::kerberos::use_keytab(keytab).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

/// Without Kerberos there is nothing to tell; the directory refuses a handler that would need it.
#[cfg(not(feature = "gssapi"))]
pub(crate) fn set(_: &Config) -> Result<(), String> {
    Ok(())
}
