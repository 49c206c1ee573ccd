//! The whole configuration of an instance.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::PasswordPolicy;
use durable::ReadBound;
use password::{Parameters, Scheme};

use crate::changed::{Changes, changes};
use crate::check::check;
use crate::declarations::CLASSES;
use crate::declare::Variant;
use crate::error::{ConfigError, ConfigErrors, Places};
use crate::identity_mapper::{self, IdentityMapper};
use crate::instance::Instance;
use crate::load::{FILE_BYTES_MAX, objects};
use crate::log_publisher::{AccessLogConfig, AuditLogConfig, ErrorLogConfig};
use crate::log_reading::{self, LogPublishers};
use crate::notification::{self, MailServer, NotificationHandler};
use crate::object::Object;
use crate::pass_through::{self, PassThroughServers, SaslauthdConfig};
use crate::password_policy::{self, PasswordValidator, Policies};
use crate::plugin::{PluginConfig, plugins, plugins_text};
use crate::read::{self, Get};
use crate::sasl_handler::{self, CertificateMapper, SaslHandler};
use crate::step::Step;
use crate::storage_scheme::{self, ImportedPasswords};
use crate::views::{
    AccessControlConfig, BackendConfig, ChangelogConfig, GlobalConfig, HttpHandler, LdapHandler, LimitsRule,
    RootDefaults, RootDn, SchemaConfig,
};
use crate::virtual_attribute::{self, VirtualAttributeConfig};

/// A configuration without faults.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it belongs to.
    pub instance: Instance,
    /// `[global]`
    pub global: GlobalConfig,
    /// `[limits.*]`, in the order of the file.
    pub limits: Vec<LimitsRule>,
    /// `[access-control-handler]`
    pub access_control: AccessControlConfig,
    /// `[root-dn]`
    pub root_defaults: RootDefaults,
    /// `[root-dn-user.*]`
    pub root_users: Vec<RootDn>,
    /// `[identity-mapper.*]`
    pub identity_mappers: Vec<IdentityMapper>,
    /// `[sasl-mechanism-handler.*]`
    pub sasl_handlers: Vec<SaslHandler>,
    /// `[certificate-mapper.*]`
    pub certificate_mappers: Vec<CertificateMapper>,
    /// `[virtual-attribute.*]`
    pub virtual_attributes: Vec<VirtualAttributeConfig>,
    /// `[backend.*]`
    pub backends: Vec<BackendConfig>,
    /// `[changelog]`
    pub changelog: ChangelogConfig,
    /// `[connection-handler.*]` of LDAP, and the `[administration-connector]`
    pub handlers: Vec<LdapHandler>,
    /// `[connection-handler.*]` of HTTP
    pub http_handlers: Vec<HttpHandler>,
    /// The password policy of entries for which nothing says another.
    pub default_policy: Arc<PasswordPolicy>,
    /// The other `[password-policy.*]`
    pub other_policies: Vec<Arc<PasswordPolicy>>,
    /// `[password-validator.*]`
    pub password_validators: Vec<PasswordValidator>,
    /// `[password-policy.*]` of type `ldap-pass-through`: the servers
    pub pass_through_servers: Vec<PassThroughServers>,
    /// `saslauthd-socket` of `[global]`
    pub saslauthd: Option<SaslauthdConfig>,
    /// `[password-storage-scheme.*]`: what new passwords cost.
    pub password_parameters: Parameters,
    /// `key-file` of `[password-storage-scheme.*]`
    pub password_key_files: Vec<PathBuf>,
    /// `[plugin.*]` of type `password-policy-import`
    pub imported_passwords: ImportedPasswords,
    /// `[account-status-notification-handler.*]`
    pub notification_handlers: Vec<NotificationHandler>,
    /// `[mail-server.*]`
    pub mail_servers: Vec<MailServer>,
    /// `[plugin.*]`, the enabled ones in the order of the file.
    pub plugins: Vec<PluginConfig>,
    /// The same as text with every default written out, which [`Config::parse`] reads.
    pub plugins_text: String,
    /// `[schema-provider.*]`
    pub schema: SchemaConfig,
    /// `[log-publisher.*]` of a type of access log
    pub access_logs: Vec<AccessLogConfig>,
    /// `[log-publisher.*]` of type `file-based-audit`
    pub audit_logs: Vec<AuditLogConfig>,
    /// `[log-publisher.*]` of a type of error log
    pub error_logs: Vec<ErrorLogConfig>,
    /// Everything, as the file has it.
    objects: Vec<Object>,
}

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name, as the file spells it.
    pub name: String,
    /// Its `type`; empty where the class has one kind of object only.
    pub type_name: &'static str,
}

impl Config {
    /// Reads `pando.toml`; the instance is the folder that holds it.
    pub fn load(file: &Path) -> Result<Self, ConfigErrors> {
        Self::parse(&Self::text_of(file)?, file)
    }

    /// The text of the file, for [`Config::parse`].
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text_of(file: &Path) -> Result<String, ConfigErrors> {
        let bound = ReadBound::file(FILE_BYTES_MAX as u64);
        bound.text(file).map_err(|error| unreadable(file, &error))
    }

    /// Reads the text of `file`, which is opened for nothing.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigErrors> {
        let (objects, mut errors) = objects(text);
        // A file with faults inside objects would show every consequence of them again.
        if errors.is_empty() {
            errors = check(&objects, text);
        }
        if !errors.is_empty() {
            errors.sort_by_key(|error| (error.line, error.column));
            return Err(ConfigErrors { file: file.to_owned(), errors });
        }
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let policies = password_policy::policies(&objects, directory).map_err(|faults| {
            let errors = faults.into_iter().map(|(offset, message)| Places(text).at(offset, message)).collect();
            ConfigErrors { file: file.to_owned(), errors }
        })?;
        Ok(Self::from_objects(&objects, directory, text, policies))
    }

    fn from_objects(objects: &[Object], directory: &Path, text: &str, policies: Policies) -> Self {
        let of = |class: &'static str| objects.iter().filter(move |object| object.class.name == class);
        let LogPublishers { access: access_logs, audit: audit_logs, error: error_logs } =
            log_reading::publishers(objects, directory);
        let first_or_defaults = |class: &'static str| of(class).next().cloned().or_else(|| defaults_of(class));
        let empty = Object::with_defaults(CLASSES[0], &CLASSES[0].variants[0], "");
        Self {
            instance: Instance::new(directory),
            global: read::global(&first_or_defaults("global").unwrap_or(empty.clone()), directory),
            limits: of("limits").map(|object| read::limits_rule(object, directory)).collect(),
            identity_mappers: of("identity-mapper").map(identity_mapper::read).collect(),
            sasl_handlers: of("sasl-mechanism-handler")
                .map(|object| sasl_handler::handler(object, directory))
                .collect(),
            certificate_mappers: of("certificate-mapper").map(sasl_handler::certificate_mapper).collect(),
            virtual_attributes: of("virtual-attribute")
                .map(|object| virtual_attribute::read(object, &Places(text)))
                .collect(),
            access_control: read::access_control(
                &first_or_defaults("access-control-handler").unwrap_or(empty.clone()),
                directory,
            ),
            root_defaults: read::root_defaults(&first_or_defaults("root-dn").unwrap_or(empty.clone()), directory),
            root_users: of("root-dn-user")
                .map(|object| read::root_dn(object, directory, policies.of_root_user(object)))
                .collect(),
            backends: of("backend").map(|object| read::backend(object, directory)).collect(),
            changelog: read::changelog(&first_or_defaults("changelog").unwrap_or(empty.clone()), directory),
            handlers: of("connection-handler")
                .filter(|object| object.variant.type_name != "http")
                .map(|object| read::handler(object, directory, objects))
                .chain(
                    of("administration-connector")
                        .filter_map(|object| read::administration_connector(object, directory, objects)),
                )
                .collect(),
            http_handlers: of("connection-handler")
                .filter(|object| object.variant.type_name == "http")
                .map(|object| read::http_handler(object, directory, objects))
                .collect(),
            password_parameters: storage_scheme::parameters(objects),
            password_key_files: storage_scheme::key_files(objects, directory),
            imported_passwords: storage_scheme::imported_passwords(objects),
            default_policy: policies.default,
            other_policies: policies.others,
            password_validators: policies.validators,
            pass_through_servers: pass_through::servers(objects, directory, password_policy::dn_of),
            saslauthd: of("global")
                .next()
                .and_then(|object| pass_through::saslauthd(&Get { object, instance: directory })),
            notification_handlers: of("account-status-notification-handler")
                .map(|object| notification::read_handler(object, directory))
                .collect(),
            mail_servers: of("mail-server").map(|object| notification::read_mail_server(object, directory)).collect(),
            plugins: plugins(objects, text),
            plugins_text: plugins_text(objects),
            schema: read::schema(&first_or_defaults("schema-provider").unwrap_or(empty), directory),
            access_logs,
            audit_logs,
            error_logs,
            objects: objects.to_vec(),
        }
    }

    /// How clear passwords in imported files are stored.
    #[must_use]
    pub fn import_scheme(&self) -> Scheme {
        let own = self.imported_passwords.scheme.filter(|_| self.imported_passwords.enabled);
        own.or(self.default_policy.default_schemes.first().copied()).unwrap_or(Scheme::SaltedSha512)
    }

    /// What differs in `new`: what a server that runs with this configuration takes, and what takes a restart.
    #[must_use]
    pub fn changes_to(&self, new: &Self) -> Changes {
        changes(&self.objects, &new.objects)
    }

    /// The objects of a class inside another object (a path of classes and names; empty for the top of the file), in
    /// the order of the file.
    #[must_use]
    pub fn list(&self, above: &[Step<'_>], class: &str) -> Option<Vec<Listed>> {
        let objects = match above {
            [] => &self.objects,
            above => &self.object(above)?.children,
        };
        let objects = objects.iter().filter(|object| object.class.name == class);
        let listed = |object: &Object| Listed { name: object.name.clone(), type_name: object.variant.type_name };
        Some(objects.map(listed).collect())
    }

    /// The properties of an object (a path of classes and names) with their values: those of the file, else the
    /// defaults.
    #[must_use]
    pub fn properties_of(&self, path: &[Step<'_>]) -> Option<Vec<(&'static str, Vec<String>)>> {
        let object = match path {
            // The only one of its class is there though the file may leave it out.
            [(class, "")] if self.object(path).is_none() => &defaults_of(class)?,
            path => self.object(path)?,
        };
        let texts = |name| object.values(name).iter().map(ToString::to_string).collect();
        Some(object.variant.properties.iter().map(|property| (property.name, texts(property.name))).collect())
    }

    /// The kind of an object.
    #[must_use]
    pub fn variant_of(&self, path: &[Step<'_>]) -> Option<&'static Variant> {
        match path {
            [(class, "")] if self.object(path).is_none() => defaults_of(class).map(|object| object.variant),
            path => self.object(path).map(|object| object.variant),
        }
    }

    /// Whether the file sets a property of an object itself.
    #[must_use]
    pub fn sets(&self, path: &[Step<'_>], property: &str) -> bool {
        self.object(path).is_some_and(|object| object.settings.contains_key(property))
    }

    /// Whether a property of an object has the same values in both, secrets included.
    #[must_use]
    pub fn has_same_values(&self, other: &Self, path: &[Step<'_>], property: &str) -> bool {
        let values = |config: &Self| config.object(path).map(|object| object.values(property));
        values(self) == values(other)
    }

    fn object(&self, path: &[Step<'_>]) -> Option<&Object> {
        let mut objects = &self.objects;
        let mut found: Option<&Object> = None;
        for (class, name) in path {
            let is_it = |object: &&Object| object.class.name == *class && object.name.eq_ignore_ascii_case(name);
            found = Some(objects.iter().find(is_it)?);
            objects = &found?.children;
        }
        found
    }

    /// Who goes by a password policy without naming it, as the end of "is …": without its table, the policy would be
    /// the built-in one of that name.
    pub(crate) fn user_of_policy(&self, name: &str) -> Option<&'static str> {
        let dn = password_policy::dn_of(name);
        let is_it = |policy: &PasswordPolicy| policy.dn.eq_ignore_ascii_case(&dn);
        if is_it(&self.default_policy) {
            return Some("the policy of all users for whom nothing says another (default-password-policy of [global])");
        }
        let is_of_root = self.root_users.iter().any(|user| is_it(&user.policy));
        is_of_root.then_some("the policy of root users (password-policy of [root-dn-user.NAME])")
    }

    /// The backend of that id, in any case.
    #[must_use]
    pub fn backend(&self, id: &str) -> Option<&BackendConfig> {
        self.backends.iter().find(|backend| backend.id.eq_ignore_ascii_case(id))
    }
}

fn defaults_of(class: &str) -> Option<Object> {
    let class = crate::declarations::class(class)?;
    Some(Object::with_defaults(class, class.variants.first()?, ""))
}

fn unreadable(file: &Path, error: &io::Error) -> ConfigErrors {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "the file does not exist: `pando setup` sets up an instance".to_owned(),
        _ => format!("cannot read the file: {error}"),
    };
    ConfigErrors { file: PathBuf::from(file), errors: vec![ConfigError { line: 0, column: 0, message }] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use ldap::Scope;

    use super::*;
    use crate::log_publisher::{RetentionPolicy, RotationPolicy};
    use crate::views::{DnScope, IndexKind, LimitsSubject, Severity};

    fn errors(text: &str) -> String {
        Config::parse(text, Path::new("pando.toml")).unwrap_err().to_string()
    }

    /// Each fault: the file, then what is reported, wholly.
    #[test]
    fn faults_show_file_line_column_and_what_is_allowed() {
        let cases: Vec<&str> = include_str!("config_faults.txt").split("\n\n").collect();
        assert!(cases.len() > 30, "{}", cases.len());
        for case in cases {
            let (text, expected) = case.split_once("\n=> ").unwrap();
            assert_eq!(errors(text), expected.trim_end(), "{text}");
        }
    }

    #[test]
    fn permissions_are_octal_however_they_are_written() {
        for written in ["\"604\"", "604", "0o604", "\"0604\""] {
            let text = format!("[log-publisher.a]\ntype = \"file-based-error\"\nlog-file-permissions = {written}\n");
            let config = Config::parse(&text, Path::new("pando.toml")).unwrap();
            assert_eq!(config.error_logs[0].destination.file().unwrap().mode, 0o604, "{written}");
            let shown = config.properties_of(&[("log-publisher", "a")]).unwrap();
            let shown = shown.into_iter().find(|(name, _)| *name == "log-file-permissions").unwrap();
            assert_eq!(shown.1, ["604"], "{written}");
        }
        for wrong in ["0x184", "-604", "648", "6"] {
            let text = format!("[log-publisher.a]\ntype = \"file-based-error\"\nlog-file-permissions = {wrong}\n");
            assert!(errors(&text).contains("permission bits in octal"), "{wrong}");
        }
    }

    /// Whatever is wrong with a password, it is not shown.
    #[test]
    fn passwords_are_in_no_message() {
        for wrong in ["[\"hidden1\", \"hidden2\"]", "{ hidden1 = 1 }", "1979-05-27", "\"\""] {
            let told = errors(&format!("[root-dn-user.a]\nalternate-bind-dn = \"cn=a\"\npassword = {wrong}\n"));
            assert!(told.contains("\"password\"") && !told.contains("hidden"), "{told}");
        }
    }

    #[test]
    fn all_faults_are_reported_at_once_in_order() {
        let text = "[global]\nsize-limit = \"many\"\ntime-limt = 3\n[nonsense]\n[backend.a]\nbase-dn = 7\n";
        let lines: Vec<String> =
            errors(text).lines().map(|line| line.split(": ").next().unwrap_or("").to_owned()).collect();
        assert_eq!(lines, ["pando.toml:2:14", "pando.toml:3:1", "pando.toml:4:2", "pando.toml:6:11"]);
    }

    #[test]
    fn a_file_that_is_not_there_says_what_to_do() {
        let error = Config::load(Path::new("nowhere/pando.toml")).unwrap_err().to_string();
        assert_eq!(error, "nowhere/pando.toml: the file does not exist: `pando setup` sets up an instance");
    }

    #[test]
    fn an_empty_file_is_all_defaults() {
        let config = Config::parse("", Path::new("inst/pando.toml")).unwrap();
        assert_eq!(config.global.size_limit, Some(1000));
        assert_eq!(config.global.time_limit, Some(Duration::from_secs(60)));
        assert_eq!(config.global.idle_time_limit, None);
        assert!(config.global.check_schema && config.schema.strict_country_string && !config.schema.strict_jpeg_photos);
        assert_eq!(config.default_policy.default_schemes, [Scheme::SaltedSha512]);
        assert_eq!(config.instance.db(), Path::new("inst/db"));
        assert!(config.backends.is_empty() && config.handlers.is_empty());
    }

    #[test]
    fn rules_keep_their_order_and_what_they_do_not_say() {
        let text = r#"
            [limits.staff]
            type = "group"
            group-dn = ["cn=staff,dc=example,dc=com", "cn=tools,dc=example,dc=com"]
            size-limit-hard = 0
            time-limit = "5 m"
            unindexed-search = true
            [limits.all]
            type = "everyone"
            size-limit = 10
            idle-time-limit = 0
            [limits.people]
            type = "dn"
            user-dn = "ou=People,dc=example,dc=com"
            scope = "one"
            allow-paged-results = false
        "#;
        let config = Config::parse(text, Path::new("pando.toml")).unwrap();
        let [staff, all, people] = config.limits.as_slice() else { panic!("three rules") };
        assert_eq!((staff.size_limit, staff.size_limit_hard), (None, Some(0)));
        assert_eq!((staff.time_limit, staff.unindexed_search), (Some(Duration::from_secs(300)), true));
        assert_eq!((all.size_limit, all.idle_time_limit), (Some(10), Some(Duration::ZERO)));
        assert!(all.allow_paged_results && !all.unindexed_search && all.subject == LimitsSubject::Everyone);
        let below = LimitsSubject::Dn { dns: vec!["ou=People,dc=example,dc=com".into()], scope: DnScope::One };
        assert_eq!((&people.subject, people.allow_paged_results), (&below, false));
        assert_eq!(staff.name, "staff", "not sorted by name");
    }

    #[test]
    fn the_example_of_the_documentation_is_read() {
        let page = include_str!("../../../docs/limits.md");
        let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        assert_eq!(Config::parse(example, Path::new("pando.toml")).unwrap().limits.len(), 5);
    }

    #[test]
    fn views_have_references_resolved_and_limits_inherited() {
        let text = r#"
            [backend.userRoot]
            base-dn = "dc=example,dc=com"
            index-entry-limit = 0
            [backend.userRoot.index]
            cn = { index-type = ["substring", "equality", "equality"], substring-length = 4 }
            sn = { index-type = "approximate", index-entry-limit = "9000" }
            [backend.userRoot.index.mail]
            index-type = ["equality", "extensible"]
            index-extensible-matching-rule = ["fr", "2.5.13.5"]
            confidentiality-enabled = true
            [backend.userRoot.vlv-index.people]
            base-dn = "ou=People,dc=example,dc=com"
            scope = "single-level"
            filter = "(objectClass=person)"
            sort-order = "+sn -givenName"
            [log-publisher."Errors"]
            type = "file-based-error"
            log-file = "/var/log/pando/errors"
            log-file-permissions = 600
            default-severity = "all"
            override-severity = ["TLS=none", "Store = error,debug"]
            rotation-policy = ["Nightly"]
            retention-policy = ["Few", "Space"]
            [log-rotation-policy.Nightly]
            type = "fixed-time"
            time-of-day = ["0230", "14:30"]
            [log-retention-policy.Few]
            type = "file-count"
            number-of-files = 3
            [log-retention-policy.Space]
            type = "free-disk-space"
            free-disk-space = "1.5 gib"
        "#;
        let config = Config::parse(text, Path::new("pando.toml")).unwrap();
        let [cn, sn, mail] = config.backends[0].indexes.as_slice() else { panic!("three indexes") };
        assert_eq!((mail.extensible_rules.join(" ").as_str(), mail.is_confidential), ("fr 2.5.13.5", true));
        assert_eq!(config.backends[0].index_secret, Path::new("./keys/index.secret"));
        let [people] = config.backends[0].vlv_indexes.as_slice() else { panic!("one list") };
        assert_eq!((people.name.as_str(), people.scope), ("people", Scope::SingleLevel));
        assert_eq!((people.filter.as_str(), people.sort_order.as_str()), ("(objectClass=person)", "+sn -givenName"));
        assert_eq!(
            (cn.kinds.as_slice(), cn.entry_limit, cn.substring_length),
            ([IndexKind::Equality, IndexKind::Substring].as_slice(), 0, 4)
        );
        assert_eq!((sn.kinds.as_slice(), sn.entry_limit), ([IndexKind::Approximate].as_slice(), 9000));
        let log = &config.error_logs[0];
        let file = log.destination.file().unwrap();
        assert_eq!((file.path.as_path(), file.mode), (Path::new("/var/log/pando/errors"), 0o600));
        assert_eq!(log.severities.len(), Severity::ALL.len());
        assert_eq!(log.overrides[0], ("tls".into(), BTreeSet::new()));
        assert_eq!(log.overrides[1], ("store".into(), [Severity::Error, Severity::Debug].into()));
        assert_eq!(file.rotation, [RotationPolicy::TimesOfDay(vec![(2, 30), (14, 30)])]);
        assert_eq!(file.retention, [RetentionPolicy::FileCount(3), RetentionPolicy::FreeDiskSpace(1_610_612_736)]);
    }

    proptest::proptest! {
        /// Whatever the file holds, reading it ends in a configuration or in faults with places inside the text.
        #[test]
        fn no_text_breaks_the_reader(
            text in "(\\[(global|backend\\.a|backend\\.a\\.index|log-publisher\\.b)\\]|\
                     (size-limit|type|base-dn|cn|é) = \
                     ([0-9]{1,20}|\"[a-z=, ]{0,9}\"|\\{ \\}|\\[1, \"x\"\\]|1e9|true)|#.*|\n){0,12}",
        ) {
            if let Err(errors) = Config::parse(&text, Path::new("pando.toml")) {
                for error in errors.errors {
                    assert!(error.line >= 1 && error.line <= text.lines().count() + 1);
                }
            }
        }
    }
}
