//! The declarations: every class, every property, once.
//!
//! Names, defaults and ranges are OpenDJ's where OpenDJ has the property. A property is declared when something reads
//! it, never before.

mod access_control;
mod backend;
mod connection;
mod identity;
mod log;
mod log_criteria;
mod notification;
mod pass_through;
mod password_policy;
mod plugin;
mod sasl;
mod second_factor;
mod server;
mod shared;
mod storage_scheme;
mod virtual_attribute;

use crate::declare::Class;

/// The classes at the top of the file, in the order in which they are documented and written.
pub static CLASSES: [&Class; 26] = [
    &server::GLOBAL,
    &server::LIMITS,
    &access_control::ACCESS_CONTROL_HANDLER,
    &access_control::ROOT_DN,
    &server::ROOT_DN_USER,
    &backend::BACKEND,
    &server::CHANGELOG,
    &connection::CONNECTION_HANDLER,
    &connection::ADMINISTRATION_CONNECTOR,
    &connection::KEY_MANAGER_PROVIDER,
    &connection::TRUST_MANAGER_PROVIDER,
    &identity::IDENTITY_MAPPER,
    &sasl::SASL_MECHANISM_HANDLER,
    &sasl::CERTIFICATE_MAPPER,
    &password_policy::PASSWORD_POLICY,
    &password_policy::PASSWORD_VALIDATOR,
    &password_policy::PASSWORD_GENERATOR,
    &storage_scheme::PASSWORD_STORAGE_SCHEME,
    &notification::NOTIFICATION_HANDLER,
    &notification::MAIL_SERVER,
    &plugin::PLUGIN,
    &server::SCHEMA_PROVIDER,
    &virtual_attribute::VIRTUAL_ATTRIBUTE,
    &log::LOG_PUBLISHER,
    &log::LOG_ROTATION_POLICY,
    &log::LOG_RETENTION_POLICY,
];

/// The class at the top of the file of that name.
#[must_use]
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES.iter().copied().find(|class| class.name == name)
}
