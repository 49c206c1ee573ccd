//! From what a client sends to the name of an entry: by identity mappers, certificates and users of the system.

use config::{CertificateMapping, CertificateValidation, ExternalSettings};
use ldap::FilterBuf;
use ldap::controls::AuthorizationId;
use schema::NormalizedDn;

use super::certificate::{fingerprint, subject, subject_values};
use crate::directory::Directory;
use crate::identity_mappers::Mapper;
use crate::search::RequestTime;

impl Directory {
    /// The entry of a user by what a client calls the user: `dn:NAME`, `u:NAME`, or `NAME` alone.
    ///
    /// # Errors
    /// Why nobody is meant, for the log.
    pub(super) fn claimed_name(&self, mapper: &Mapper, id: &str, time: RequestTime) -> Result<NormalizedDn, String> {
        let user = match AuthorizationId::parse(id.as_bytes()) {
            Some(AuthorizationId::Anonymous) => return Err("The name is empty".to_owned()),
            Some(AuthorizationId::Dn(dn)) => return self.parsed(&String::from_utf8_lossy(dn)),
            Some(AuthorizationId::User(user)) => user,
            None => id.as_bytes(),
        };
        match self.mapped_user(mapper, user, time) {
            Ok(Some(dn)) => self.parsed(&dn),
            Ok(None) => Err("There is no user of this name".to_owned()),
            Err(fault) => Err(ldap::LdapResult::from(fault).message),
        }
    }

    pub(super) fn parsed(&self, dn: &str) -> Result<NormalizedDn, String> {
        NormalizedDn::parse(&self.schema(), dn.as_bytes()).map_err(|error| format!("\"{dn}\" is not a name: {error}"))
    }

    /// The entry of the owner of a certificate.
    ///
    /// # Errors
    /// Why nobody is meant, for the log.
    pub(super) fn owner_of(
        &self,
        certificate: &[u8],
        settings: &ExternalSettings,
        time: RequestTime,
    ) -> Result<NormalizedDn, String> {
        let subject = || subject(certificate).ok_or_else(|| "The certificate has no subject that is a name".to_owned());
        let sasl = self.sasl.load();
        let mapper = sasl.certificate_mapper(settings);
        let filter = match mapper.map(|mapper| &mapper.kind) {
            None | Some(CertificateMapping::SubjectIsName) => return self.parsed(&subject()?),
            Some(CertificateMapping::Subject(attribute)) => {
                FilterBuf::all_of([(attribute.as_str(), subject()?.as_bytes())])
            }
            Some(CertificateMapping::Fingerprint { attribute, algorithm }) => {
                FilterBuf::all_of([(attribute.as_str(), fingerprint(certificate, *algorithm).as_bytes())])
            }
            Some(CertificateMapping::Attributes(pairs)) => self.same_attributes(certificate, pairs)?,
        };
        let bases = mapper.map(|mapper| mapper.base_dns.as_slice()).unwrap_or_default();
        self.only_entry(&filter, bases, time)
    }

    /// The filter of entries that have the attributes of the subject.
    fn same_attributes(&self, certificate: &[u8], pairs: &[(String, String)]) -> Result<FilterBuf, String> {
        let schema = self.schema();
        let mut wanted = Vec::new();
        for (subject, entry) in pairs {
            let values = subject_values(certificate, &schema, subject).unwrap_or_default();
            if values.is_empty() {
                return Err(format!("The subject of the certificate has no {subject}"));
            }
            wanted.extend(values.into_iter().map(|value| (entry.as_str(), value)));
        }
        Ok(FilterBuf::all_of(wanted.iter().map(|(attribute, value)| (*attribute, value.as_bytes()))))
    }

    /// The entry of a user of the system.
    ///
    /// # Errors
    /// Why nobody is meant, for the log.
    pub(super) fn user_of_system(&self, uid: u32, gid: u32, time: RequestTime) -> Result<NormalizedDn, String> {
        let (uid, gid) = (uid.to_string(), gid.to_string());
        self.only_entry(&FilterBuf::all_of([("uidNumber", uid.as_bytes()), ("gidNumber", gid.as_bytes())]), &[], time)
    }

    fn only_entry(&self, filter: &FilterBuf, bases: &[String], time: RequestTime) -> Result<NormalizedDn, String> {
        match self.one_entry(filter, bases, time) {
            Ok(Some(dn)) => self.parsed(&dn),
            Ok(None) => Err(format!("No entry matches {filter}")),
            Err(fault) => Err(format!("{fault}: {filter}")),
        }
    }

    /// Whether the entry holds the certificate as the policy asks for.
    pub(super) fn holds_certificate(&self, name: &str, certificate: &[u8], settings: &ExternalSettings) -> bool {
        if settings.validation == CertificateValidation::Never {
            return true;
        }
        let found = self.attributes_of(name, &[&settings.certificate_attribute]);
        let mut held = found.iter().flat_map(|(_, values)| values).peekable();
        let holds_any = held.peek().is_some();
        held.any(|value| value == certificate)
            || (!holds_any && settings.validation == CertificateValidation::IfPresent)
    }
}
