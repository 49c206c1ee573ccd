//! Attributes with which other servers promise something that Pando says by others. A warning tells those who bring
//! them; `pando convert-accounts` writes those that are obeyed.
//!
//! Knows names and words; who is told, and when, is decided elsewhere.

use schema::Schema;

/// An attribute that is stored and shown, but not obeyed.
#[derive(Debug, PartialEq, Eq)]
pub struct NotObeyed {
    /// Its name.
    pub attribute: &'static str,
    /// What does not happen: the end of a sentence that begins with the attribute.
    pub what: &'static str,
}

const fn row(attribute: &'static str, what: &'static str) -> NotObeyed {
    NotObeyed { attribute, what }
}

const POLICY: &str = "selects no password policy (ds-pwp-password-policy-dn does)";

/// All of them.
pub const NOT_OBEYED: [NotObeyed; 4] = [
    row("pwdPolicySubentry", POLICY),
    row("passwordPolicySubentry", POLICY),
    row("passwordExpirationTime", "does not end the password (pwdChangedTime and max-password-age do)"),
    row("accountUnlockTime", "does not lock the account (pwdAccountLockedTime does)"),
];

/// What to do about it.
pub const REMEDY: &str = "pando convert-accounts writes LDIF of other servers with what is obeyed";

impl NotObeyed {
    /// The row of an attribute description (with or without options), if it has one.
    #[must_use]
    pub fn find(schema: &Schema, description: &[u8]) -> Option<&'static NotObeyed> {
        let name = schema.type_of_description(description)?.name();
        Self::of(name)
    }

    /// The row of a type, by its name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static NotObeyed> {
        NOT_OBEYED.iter().find(|row| row.attribute.eq_ignore_ascii_case(name))
    }

    /// What is said where entries have it.
    #[must_use]
    pub fn sentence(&self, entries: u64) -> String {
        let Self { attribute, what } = self;
        match entries {
            1 => format!("1 entry has the attribute {attribute}, which is not obeyed: it {what}; {REMEDY}"),
            _ => format!("{entries} entries have the attribute {attribute}, which is not obeyed: it {what}; {REMEDY}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::Schema;

    use super::*;

    #[test]
    fn descriptions_are_found_in_any_spelling() {
        let schema = Schema::standard();
        for known in ["accountUnlockTime", "ACCOUNTUNLOCKTIME", "accountUnlockTime;lang-en", "2.16.840.1.113730.3.1.95"]
        {
            assert_eq!(
                NotObeyed::find(&schema, known.as_bytes()).map(|row| row.attribute),
                Some("accountUnlockTime"),
                "{known}"
            );
        }
        assert_eq!(NotObeyed::find(&schema, b"cn"), None);
        for obeyed in ["aci", "ds-privilege-name", "ds-pwp-account-disabled", "pwdReset", "ds-pwp-password-policy-dn"] {
            assert_eq!(NotObeyed::find(&schema, obeyed.as_bytes()), None, "{obeyed} is obeyed");
        }
        let sentence = |count| NotObeyed::of("accountUnlockTime").unwrap().sentence(count);
        assert!(sentence(1).starts_with("1 entry has the attribute accountUnlockTime, which is not obeyed: it "));
        assert!(sentence(2).starts_with("2 entries have the attribute accountUnlockTime, "));
    }
}
