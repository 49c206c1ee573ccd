//! Which rule goes with which: by name, by family, and by syntax where an attribute type names none.

use super::collation;
use super::matching_rule::{Form, MatchingRule, RuleRole, Trial};
use super::table::RULES;
use crate::syntax::{Syntax, oid};

impl MatchingRule {
    /// The built-in rule of that name or OID, collation rules aside. [`Schema::matching_rule`] is faster and knows
    /// those too.
    pub fn find(name: &str) -> Option<&'static MatchingRule> {
        RULES.iter().find(|rule| rule.oid == name || rule.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// The rule whose name an index of these normal forms bears, so that rules with the same forms share one: the
    /// equality rule of the family, where there is one.
    pub fn keyed_by(&'static self) -> &'static MatchingRule {
        let equality = match self.form {
            Form::Collation(locale) => collation::equality_of(locale),
            _ => self.relative(RuleRole::Equality),
        };
        equality.filter(|rule| self.trial != Trial::Substrings && rule.is_exact()).unwrap_or(self)
    }

    /// The rule of another role that works on the same normal form.
    pub(crate) fn relative(&self, role: RuleRole) -> Option<&'static MatchingRule> {
        let same_case_rules = |rule: &&MatchingRule| rule.role == role && rule.form == self.form;
        RULES.iter().find(same_case_rules)
    }
}

/// Rules that go with a syntax where an attribute type names none, as in OpenDJ: without them such an attribute could
/// neither be searched nor lose single values.
impl Syntax {
    pub(crate) fn default_equality(&self) -> Option<&'static MatchingRule> {
        let rule = match self.oid() {
            oid::DN => "distinguishedNameMatch",
            oid::BIT_STRING => "bitStringMatch",
            oid::BOOLEAN => "booleanMatch",
            oid::CERTIFICATE => "certificateExactMatch",
            oid::GENERALIZED_TIME => "generalizedTimeMatch",
            oid::IA5_STRING => "caseIgnoreIA5Match",
            oid::INTEGER => "integerMatch",
            oid::NAME_AND_OPTIONAL_UID => "uniqueMemberMatch",
            oid::NUMERIC_STRING => "numericStringMatch",
            oid::OID => "objectIdentifierMatch",
            oid::POSTAL_ADDRESS => "caseIgnoreListMatch",
            oid::TELEPHONE_NUMBER => "telephoneNumberMatch",
            oid::UTC_TIME => "uTCTimeMatch",
            oid::UUID => "uuidMatch",
            oid::CSN => "CSNMatch",
            oid::AUTH_PASSWORD => "authPasswordExactMatch",
            oid::USER_PASSWORD => "ds-mr-user-password-exact",
            oid::OCTET_STRING => "octetStringMatch",
            _ if self.human_readable => "caseIgnoreMatch",
            _ => "octetStringMatch",
        };
        MatchingRule::find(rule)
    }

    pub(crate) fn default_approximate(&self) -> Option<&'static MatchingRule> {
        let sounds = matches!(self.oid(), oid::DIRECTORY_STRING | oid::IA5_STRING | oid::PRINTABLE_STRING);
        MatchingRule::find("ds-mr-double-metaphone-approx").filter(|_| sounds)
    }
}
