//! From values and assertions to normal forms: which code makes the form of which rule.

use super::invalid_value::InvalidValue;
use super::matching_rule::{Form, MatchingRule};
use super::{certificate, collation, date, number, structured};
use crate::prep::{self, Case};
use crate::schema::Schema;
use crate::syntax::is_numeric_oid;

impl MatchingRule {
    /// Appends the normal form of an attribute value.
    ///
    /// After an error `out` is as it was. A stored value without a normal form matches nothing by this rule.
    pub fn normalize(&self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        let start = out.len();
        let result = self.form.normalize(schema, value, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Appends the normal form of an assertion value: equal to that of the values it matches, for equality rules.
    pub fn normalize_assertion(&self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        self.check_assertion(schema, value)?;
        let start = out.len();
        let result = match self.form {
            Form::FirstOid => Form::Oid.normalize(schema, value, out),
            Form::FirstInteger => Form::Integer.normalize(schema, value, out),
            Form::FirstString => Form::CaseIgnore.normalize(schema, value, out),
            Form::CertificateExact => certificate::normalize_assertion(schema, value, out),
            Form::HistoricalCsn => Form::Csn.normalize(schema, value, out),
            form => form.normalize(schema, value, out),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Refuses an assertion value that is not of the syntax that the rule asserts: a filter with it is Undefined (RFC
    /// 4511 §4.5.1.7). Normal forms alone would not do, as they are made of stored values that are older than the
    /// checks, too.
    fn check_assertion(&self, schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
        let is_of_syntax = match self.form {
            // These have no normal form unless they are of the syntax; octets always are.
            Form::Octets
            | Form::UserPassword
            | Form::BitString
            | Form::GeneralizedTime
            | Form::UtcTime
            | Form::Dn
            | Form::UniqueMember
            | Form::Uuid
            | Form::HistoricalCsn
            | Form::CsnSid
            | Form::CertificateExact
            | Form::AuthPassword => true,
            // Text has a character at least; whether it is UTF-8, its preparation finds out.
            Form::CaseIgnore
            | Form::CaseExact
            | Form::DoubleMetaphone
            | Form::FirstString
            | Form::Collation(_)
            | Form::CollationPieces(_) => !value.is_empty() && (!self.is_ia5 || value.is_ascii()),
            Form::Integer | Form::FirstInteger => number::is_integer(value),
            Form::Numeric | Form::Telephone | Form::CaseIgnoreList | Form::Boolean | Form::Csn => false,
            // RFC 4517 §4.2.26: a name that nobody knows stands for no OID.
            Form::Oid | Form::FirstOid if !is_numeric_oid(value) && schema.oid_of(value).is_none() => {
                return Err(InvalidValue::NotA("a name that the schema knows, or an OID"));
            }
            Form::Oid | Form::FirstOid => true,
        };
        if is_of_syntax {
            return Ok(());
        }
        match schema.syntax(self.syntax.as_bytes()) {
            Some(syntax) => Ok(syntax.validate(schema, value)?),
            None => Ok(()),
        }
    }
}

impl Form {
    fn normalize(self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        match self {
            Form::CaseIgnore => Ok(prep::prepare(value, Case::Ignore, out)?),
            Form::CaseExact => Ok(prep::prepare(value, Case::Exact, out)?),
            Form::Numeric => Ok(prep::prepare_numeric(value, out)?),
            Form::Telephone => Ok(prep::prepare_telephone(value, out)?),
            Form::Octets | Form::UserPassword => {
                out.extend_from_slice(value);
                Ok(())
            }
            Form::Boolean => number::normalize_boolean(value, out),
            Form::Integer => number::normalize_integer(value, out),
            Form::BitString => number::normalize_bit_string(value, out),
            Form::Uuid => number::normalize_uuid(value, out),
            Form::Csn => number::normalize_csn(value, out),
            Form::HistoricalCsn => number::normalize_historical_csn(value, out),
            Form::CsnSid => number::normalize_csn_sid(value, out),
            Form::GeneralizedTime => date::normalize_generalized_time(value, out),
            Form::UtcTime => date::normalize_utc_time(value, out),
            Form::Dn => structured::normalize_dn(schema, value, out),
            Form::UniqueMember => structured::normalize_unique_member(schema, value, out),
            Form::Oid => structured::normalize_oid(schema, value, out),
            Form::CaseIgnoreList => structured::normalize_list(value, out),
            Form::FirstOid | Form::FirstInteger | Form::FirstString => {
                structured::normalize_first_component(self, schema, value, out)
            }
            Form::CertificateExact => certificate::normalize(schema, value, out),
            Form::AuthPassword => structured::normalize_auth_password(value, out),
            Form::DoubleMetaphone => structured::normalize_phonetic(value, out),
            Form::Collation(locale) => collation::normalize(locale, value, out),
            Form::CollationPieces(locale) => collation::normalize_whole_for_pieces(locale, value, out),
        }
    }
}
