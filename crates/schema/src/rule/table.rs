//! The built-in matching rules: RFC 4517, 4523, 4530, 3112, the bit rules of Active Directory, and those of OpenLDAP
//! and OpenDJ that their schemas name.

use super::matching_rule::{Form, MatchingRule, RuleRole, Trial};
use crate::syntax::oid;

const fn equality(oid: &'static str, names: &'static [&'static str], syntax: &'static str, form: Form) -> MatchingRule {
    MatchingRule { oid, names, syntax, role: RuleRole::Equality, form, trial: Trial::Equal, is_ia5: false }
}

const fn ordering(oid: &'static str, names: &'static [&'static str], syntax: &'static str, form: Form) -> MatchingRule {
    MatchingRule { oid, names, syntax, role: RuleRole::Ordering, form, trial: Trial::Ordering, is_ia5: false }
}

const fn substring(oid: &'static str, names: &'static [&'static str], form: Form) -> MatchingRule {
    MatchingRule {
        oid,
        names,
        syntax: oid::SUBSTRING_ASSERTION,
        role: RuleRole::Substring,
        form,
        trial: Trial::Substrings,
        is_ia5: false,
    }
}

const fn extensible(
    oid: &'static str,
    names: &'static [&'static str],
    syntax: &'static str,
    form: Form,
    trial: Trial,
) -> MatchingRule {
    MatchingRule { oid, names, syntax, role: RuleRole::Extensible, form, trial, is_ia5: false }
}

/// The same rule for IA5 strings.
const fn ia5(rule: MatchingRule) -> MatchingRule {
    MatchingRule { is_ia5: true, ..rule }
}

/// Every rule that the server can apply.
///
/// Of RFC 4523 only `certificateExactMatch` takes a component assertion; the exact rules for pairs and lists and the
/// algorithm rule compare the encoded values, as their equality would.
pub static RULES: &[MatchingRule] = &[
    equality("2.5.13.0", &["objectIdentifierMatch"], oid::OID, Form::Oid),
    equality("2.5.13.1", &["distinguishedNameMatch"], oid::DN, Form::Dn),
    equality("2.5.13.2", &["caseIgnoreMatch"], oid::DIRECTORY_STRING, Form::CaseIgnore),
    ordering("2.5.13.3", &["caseIgnoreOrderingMatch"], oid::DIRECTORY_STRING, Form::CaseIgnore),
    substring("2.5.13.4", &["caseIgnoreSubstringsMatch"], Form::CaseIgnore),
    equality("2.5.13.5", &["caseExactMatch"], oid::DIRECTORY_STRING, Form::CaseExact),
    ordering("2.5.13.6", &["caseExactOrderingMatch"], oid::DIRECTORY_STRING, Form::CaseExact),
    substring("2.5.13.7", &["caseExactSubstringsMatch"], Form::CaseExact),
    equality("2.5.13.8", &["numericStringMatch"], oid::NUMERIC_STRING, Form::Numeric),
    ordering("2.5.13.9", &["numericStringOrderingMatch"], oid::NUMERIC_STRING, Form::Numeric),
    substring("2.5.13.10", &["numericStringSubstringsMatch"], Form::Numeric),
    equality("2.5.13.11", &["caseIgnoreListMatch"], oid::POSTAL_ADDRESS, Form::CaseIgnoreList),
    substring("2.5.13.12", &["caseIgnoreListSubstringsMatch"], Form::CaseIgnoreList),
    equality("2.5.13.13", &["booleanMatch"], oid::BOOLEAN, Form::Boolean),
    equality("2.5.13.14", &["integerMatch"], oid::INTEGER, Form::Integer),
    ordering("2.5.13.15", &["integerOrderingMatch"], oid::INTEGER, Form::Integer),
    equality("2.5.13.16", &["bitStringMatch"], oid::BIT_STRING, Form::BitString),
    equality("2.5.13.17", &["octetStringMatch"], oid::OCTET_STRING, Form::Octets),
    ordering("2.5.13.18", &["octetStringOrderingMatch"], oid::OCTET_STRING, Form::Octets),
    substring("2.5.13.19", &["octetStringSubstringsMatch"], Form::Octets),
    equality("2.5.13.20", &["telephoneNumberMatch"], oid::TELEPHONE_NUMBER, Form::Telephone),
    substring("2.5.13.21", &["telephoneNumberSubstringsMatch"], Form::Telephone),
    equality("2.5.13.22", &["presentationAddressMatch"], oid::PRESENTATION_ADDRESS, Form::CaseIgnore),
    equality("2.5.13.23", &["uniqueMemberMatch"], oid::NAME_AND_OPTIONAL_UID, Form::UniqueMember),
    equality("2.5.13.24", &["protocolInformationMatch"], oid::PROTOCOL_INFORMATION, Form::CaseIgnore),
    equality("2.5.13.25", &["uTCTimeMatch"], oid::UTC_TIME, Form::UtcTime),
    ordering("2.5.13.26", &["uTCTimeOrderingMatch"], oid::UTC_TIME, Form::UtcTime),
    equality("2.5.13.27", &["generalizedTimeMatch"], oid::GENERALIZED_TIME, Form::GeneralizedTime),
    ordering("2.5.13.28", &["generalizedTimeOrderingMatch"], oid::GENERALIZED_TIME, Form::GeneralizedTime),
    equality("2.5.13.29", &["integerFirstComponentMatch"], oid::INTEGER, Form::FirstInteger),
    equality("2.5.13.30", &["objectIdentifierFirstComponentMatch"], oid::OID, Form::FirstOid),
    equality("2.5.13.31", &["directoryStringFirstComponentMatch"], oid::DIRECTORY_STRING, Form::FirstString),
    extensible("2.5.13.32", &["wordMatch"], oid::DIRECTORY_STRING, Form::CaseIgnore, Trial::Word),
    extensible("2.5.13.33", &["keywordMatch"], oid::DIRECTORY_STRING, Form::CaseIgnore, Trial::Keyword),
    equality("2.5.13.34", &["certificateExactMatch"], oid::CERTIFICATE_EXACT_ASSERTION, Form::CertificateExact),
    equality("2.5.13.36", &["certificatePairExactMatch"], oid::CERTIFICATE_PAIR, Form::Octets),
    equality("2.5.13.38", &["certificateListExactMatch"], oid::CERTIFICATE_LIST, Form::Octets),
    equality("2.5.13.40", &["algorithmIdentifierMatch"], oid::ALGORITHM_IDENTIFIER, Form::Octets),
    ia5(equality("1.3.6.1.4.1.1466.109.114.1", &["caseExactIA5Match"], oid::IA5_STRING, Form::CaseExact)),
    ia5(equality("1.3.6.1.4.1.1466.109.114.2", &["caseIgnoreIA5Match"], oid::IA5_STRING, Form::CaseIgnore)),
    ia5(substring("1.3.6.1.4.1.1466.109.114.3", &["caseIgnoreIA5SubstringsMatch"], Form::CaseIgnore)),
    ia5(substring("1.3.6.1.4.1.4203.1.2.1", &["caseExactIA5SubstringsMatch"], Form::CaseExact)),
    equality("1.3.6.1.4.1.4203.1.2.2", &["authPasswordExactMatch"], oid::AUTH_PASSWORD, Form::AuthPassword),
    extensible(
        "1.3.6.1.4.1.4203.1.2.3",
        &["authPasswordMatch"],
        oid::OCTET_STRING,
        Form::AuthPassword,
        Trial::Password,
    ),
    equality("1.3.6.1.1.16.2", &["uuidMatch"], oid::UUID, Form::Uuid),
    ordering("1.3.6.1.1.16.3", &["uuidOrderingMatch"], oid::UUID, Form::Uuid),
    equality("1.3.6.1.4.1.4203.666.11.2.2", &["CSNMatch"], oid::CSN, Form::Csn),
    ordering("1.3.6.1.4.1.4203.666.11.2.3", &["CSNOrderingMatch"], oid::CSN, Form::Csn),
    equality("1.3.6.1.4.1.4203.666.11.2.5", &["CSNSIDMatch"], oid::CSN_SID, Form::CsnSid),
    extensible("1.2.840.113556.1.4.803", &["integerBitAndMatch"], oid::INTEGER, Form::Integer, Trial::BitsAll),
    extensible("1.2.840.113556.1.4.804", &["integerBitOrMatch"], oid::INTEGER, Form::Integer, Trial::BitsAny),
    extensible("1.2.840.113556.1.4.1941", &["inChainMatch"], oid::DN, Form::Dn, Trial::InChain),
    MatchingRule {
        oid: "1.3.6.1.4.1.26027.1.4.1",
        names: &["ds-mr-double-metaphone-approx"],
        syntax: oid::DIRECTORY_STRING,
        role: RuleRole::Approximate,
        form: Form::DoubleMetaphone,
        trial: Trial::Equal,
        is_ia5: false,
    },
    equality("1.3.6.1.4.1.26027.1.4.2", &["ds-mr-user-password-exact"], oid::OCTET_STRING, Form::UserPassword),
    MatchingRule {
        oid: "1.3.6.1.4.1.26027.1.4.3",
        names: &["ds-mr-user-password-equality"],
        syntax: oid::OCTET_STRING,
        role: RuleRole::Equality,
        form: Form::UserPassword,
        trial: Trial::Password,
        is_ia5: false,
    },
    ordering(
        "1.3.6.1.4.1.26027.1.4.4",
        &["changeSequenceNumberOrderingMatch", "historicalCsnOrderingMatch"],
        oid::OCTET_STRING,
        Form::HistoricalCsn,
    ),
    extensible(
        "1.3.6.1.4.1.26027.1.4.5",
        &["relativeTimeGTOrderingMatch", "relativeTimeOrderingMatch.gt"],
        oid::GENERALIZED_TIME,
        Form::GeneralizedTime,
        Trial::LaterThanNow,
    ),
    extensible(
        "1.3.6.1.4.1.26027.1.4.6",
        &["relativeTimeLTOrderingMatch", "relativeTimeOrderingMatch.lt"],
        oid::GENERALIZED_TIME,
        Form::GeneralizedTime,
        Trial::EarlierThanNow,
    ),
    extensible(
        "1.3.6.1.4.1.26027.1.4.7",
        &["partialDateAndTimeMatchingRule"],
        oid::GENERALIZED_TIME,
        Form::GeneralizedTime,
        Trial::PartialDate,
    ),
];
