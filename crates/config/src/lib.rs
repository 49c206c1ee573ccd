//! Configuration: what can be set, declared once, and the text file in which it is set.
//!
//! From the declarations in [`CLASSES`] come the parsing of `pando.toml` with errors that show file, line, column and
//! what is allowed, the typed views that the server reads, the file that `setup` writes and the reference manual. This
//! crate does not know what any property does.

mod array;
mod changed;
mod check;
mod component;
mod config;
mod declarations;
mod declare;
mod differences;
mod dn;
mod dynamic_entries;
mod edit;
mod edited_object;
mod error;
mod history;
mod identity_mapper;
mod instance;
mod lines;
mod load;
mod log_publisher;
mod log_reading;
pub mod mapping;
mod mask;
mod notification;
mod object;
mod pass_through;
mod password_policy;
mod plugin;
mod privileges;
mod read;
mod reference;
mod sasl_handler;
mod secret;
mod set_expression;
mod step;
mod storage_scheme;
mod syntax;
mod template;
mod units;
mod value;
#[cfg(any(test, feature = "variations"))]
pub mod variations;
mod views;
mod virtual_attribute;
mod write;

pub use changed::{AtRestart, Changes};
pub use component::{Component, capitalized};
pub use config::{Config, Listed};
pub use declarations::{CLASSES, class};
pub use declare::{Applier, Class, Default, Effect, Property, Variant};
pub use differences::{Difference, Fate, ValueDifference, differences};
pub use dynamic_entries::{DynamicEntries, LIFETIME_SECONDS_MAX};
pub use edit::{Change, Edit, EditError};
pub use error::{ConfigError, ConfigErrors};
pub use history::{ConfigHistory, VERSIONS_MAX, Version};
pub use identity_mapper::{IdentityMapper, Rewriting};
pub use instance::Instance;
pub use log_publisher::{
    AccessLogConfig, AccessLogFilter, AccessLogFormat, AuditLogConfig, CsvLogFormat, ErrorLogConfig, FilteringPolicy,
    LogCriteria, LogDestination, LogFileConfig, LogQueueConfig, LogRecordType, RetentionPolicy, RotationPolicy,
    TextLogFormat,
};
pub use mask::AddressMask;
pub use notification::{MailHandler, MailServer, NotificationHandler, NotificationWay, WebhookHandler};
pub use object::{Object, Setting};
pub use pass_through::{PassThroughServers, RemoteTls, SaslauthdConfig, SearchBind, SecretSource, TlsBegins};
pub use password_policy::PasswordValidator;
pub use plugin::{Constraint, PluginConfig, PluginKind, ReferentialIntegrity};
pub use privileges::PRIVILEGES;
pub use reference::reference_manual;
pub use sasl_handler::{
    CertificateMapper, CertificateMapping, CertificateValidation, ExternalSettings, FingerprintAlgorithm,
    GssapiSettings, OauthSettings, SaslHandler, SaslKind,
};
pub use secret::{HIDDEN, Secret};
pub use set_expression::{SetExpression, SetExpressionError, SetOperator};
pub use step::Step;
pub use storage_scheme::ImportedPasswords;
pub use syntax::Syntax;
pub use template::{Template, TemplateFault, TemplatePart};
pub use units::{Unit, duration_text, parse_duration, parse_size, size_text, size_units, time_units};
pub use value::{PATTERN_BYTES_MAX, Value};
pub use views::{
    AccessControlConfig, BackendConfig, Behavior, ChangelogConfig, ClientTrust, ConflictBehavior, DnScope,
    EtimeResolution, GlobalConfig, HttpHandler, IndexConfig, IndexKind, LdapHandler, LimitsRule, LimitsSubject,
    ListenAddress, ProposalMode, RootDefaults, RootDn, SchemaConfig, Severity, TlsConfig, VlvIndexConfig, Writability,
};
pub use virtual_attribute::{GivenTo, ListAttribute, VirtualAttributeConfig, VirtualAttributeKind};
pub use write::{CommentedAci, IMPORTED_SCHEME, Setup, default_indexes};
