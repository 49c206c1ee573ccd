//! Normal forms for people: keys of indexes as tools and explanations print them.
//!
//! What comes out is meant to be read, and names the same values when it is typed as a filter's assertion, as far as
//! the normal form still knows them. It refuses to be parsed again by programs.

use super::matching_rule::{Form, MatchingRule};
use super::{date, number};
use crate::display_text::display_text;
use crate::dn::NormalizedDn;
use crate::schema::Schema;

impl MatchingRule {
    /// A normal form of this rule as text: names instead of OIDs, in lower case; numbers, times, DNs and UUIDs as
    /// written in LDAP; text as it is. What cannot be shown is escaped as `\xx`.
    pub fn display_form(&self, schema: &Schema, normal: &[u8]) -> String {
        let other = match self.form {
            Form::Integer | Form::FirstInteger => {
                number::integer_of_normal_form(normal).map(|number| number.to_string())
            }
            Form::GeneralizedTime | Form::UtcTime => time(normal),
            Form::Uuid => uuid(normal),
            Form::Oid | Form::FirstOid => name_of(schema, normal),
            Form::Dn => Some(NormalizedDn::from_bytes(normal.to_vec()).to_string()),
            Form::UniqueMember => Some(unique_member(normal)),
            Form::CaseIgnoreList => Some(lines(normal)),
            Form::Octets | Form::UserPassword | Form::CertificateExact => None,
            _ => Some(display_text(normal)),
        };
        other.unwrap_or_else(|| display_text(normal))
    }
}

fn time(normal: &[u8]) -> Option<String> {
    let it = date::Fields::of_normal_form(normal)?;
    let fraction = display_text(normal.get(date::INSTANT_BYTES..)?);
    let dot = if fraction.is_empty() { "" } else { "." };
    Some(format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}{dot}{fraction}Z",
        it.year, it.month, it.day, it.hour, it.minute, it.second
    ))
}

fn uuid(normal: &[u8]) -> Option<String> {
    String::from_utf8(crate::uuid::text(normal.try_into().ok()?)).ok()
}

/// The primary name of an object class or attribute type, in lower case.
fn name_of(schema: &Schema, normal: &[u8]) -> Option<String> {
    let class = schema.object_class(normal).map(|class| class.name().to_lowercase());
    class.or_else(|| schema.attribute_type(normal).map(|attribute| attribute.name().to_lowercase()))
}

fn unique_member(normal: &[u8]) -> String {
    let dn_end = normal.iter().rposition(|byte| *byte == 0).map_or(0, |at| at + 1);
    let (dn, bits) = normal.split_at(dn_end);
    NormalizedDn::from_bytes(dn.to_vec()).to_string() + &display_text(bits)
}

fn lines(normal: &[u8]) -> String {
    normal.split(|byte| *byte == b'\n').map(display_text).collect::<Vec<_>>().join("$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_shown_as_they_were_written() {
        let schema = Schema::standard();
        for (rule, value, shown) in [
            ("caseIgnoreMatch", "Ann  TREE", "ann tree"),
            ("caseIgnoreMatch", "Zo\u{eb}", "zo\u{eb}"),
            ("caseIgnoreListMatch", "1 Elm St$Oak", "1 elm st$oak"),
            ("integerMatch", "-0017", "-17"),
            ("booleanMatch", "true", "TRUE"),
            ("generalizedTimeMatch", "20240131235959.5Z", "20240131235959.5Z"),
            ("generalizedTimeMatch", "202401312359+0100", "20240131225900Z"),
            ("uuidMatch", "0000002A-cafe-0000-0000-0123456789AB", "0000002a-cafe-0000-0000-0123456789ab"),
            ("objectIdentifierMatch", "inetOrgPerson", "inetorgperson"),
            ("objectIdentifierMatch", "2.5.4.3", "cn"),
            ("objectIdentifierMatch", "noSuchThing", "nosuchthing"),
            ("distinguishedNameMatch", "UID=Ann+cn=A, ou=P\\, Q,dc=Example", "cn=a+uid=ann,ou=p\\, q,dc=example"),
            ("uniqueMemberMatch", "cn=A,dc=B#'0101'B", "cn=a,dc=b#0101"),
            ("octetStringMatch", "a\u{1}b", "a\\01b"),
        ] {
            let rule = MatchingRule::find(rule).unwrap();
            let mut normal = Vec::new();
            rule.normalize(&schema, value.as_bytes(), &mut normal).unwrap();
            assert_eq!(rule.display_form(&schema, &normal), shown, "{}", rule.name());
        }
    }

    #[test]
    fn damaged_forms_are_shown_all_the_same() {
        let schema = Schema::standard();
        for rule in crate::rule::RULES {
            for bytes in [&b""[..], b"\x00", b"\xff\xfe", b"\x01", b"\x80\x01\x02\x00"] {
                let _ = rule.display_form(&schema, bytes);
            }
        }
        assert_eq!(display_text(b"a\xffb"), "a\\ffb");
    }
}
