//! Controls of operations that read: which are taken, and the answer to a critical one that is not (RFC 4511 §4.1.11).
//!
//! Knows the controls' meaning for search and compare; updates have their own list.

use ldap::{Controls, Filter, LdapResult, ResultCode, oids::control};

/// What the controls of a search or compare ask for.
#[derive(Debug, Default)]
pub struct ReadControls<'a> {
    /// Referral objects are ordinary entries (RFC 3296).
    pub manage_dsa_it: bool,
    /// Only subentries (`true`), or only others (`false`), in one-level and subtree searches (RFC 3672).
    pub subentries: Option<bool>,
    /// A filter that the base entry must match (RFC 4528).
    pub assertion: Option<Filter<'a>>,
}

impl<'a> ReadControls<'a> {
    /// Reads the controls of a search (`is_search`) or compare.
    ///
    /// # Errors
    /// The result to send when a critical control is not taken, or one that is taken has a value it must not have.
    pub fn read(controls: &Controls<'a>, is_search: bool) -> Result<ReadControls<'a>, LdapResult> {
        let mut wanted = ReadControls::default();
        for item in controls.iter() {
            let oid = std::str::from_utf8(item.oid).unwrap_or_default();
            match oid {
                control::MANAGE_DSA_IT => wanted.manage_dsa_it = true,
                // This server is no copy (RFC 6171 §3).
                control::DONT_USE_COPY => {}
                control::SUBENTRIES if is_search => wanted.subentries = Some(boolean(item.value, "subentries")?),
                control::ASSERTION => wanted.assertion = Some(filter(item.value)?),
                _ if item.critical => {
                    let message =
                        format!("The control {} is critical, and this operation does not take it", shown(item.oid));
                    return Err(LdapResult::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, message));
                }
                _ => {}
            }
        }
        Ok(wanted)
    }
}

fn boolean(value: Option<&[u8]>, name: &str) -> Result<bool, LdapResult> {
    let read = |value| {
        let mut reader = ber::Reader::new(value);
        reader.boolean().and_then(|it| reader.finish().map(|()| it))
    };
    value.map(read).and_then(Result::ok).ok_or_else(|| malformed(name))
}

fn filter(value: Option<&[u8]>) -> Result<Filter<'_>, LdapResult> {
    let read = |value| {
        let mut reader = ber::Reader::new(value);
        Filter::decode(&mut reader).ok().filter(|_| reader.is_empty())
    };
    value.and_then(read).ok_or_else(|| malformed("assertion"))
}

fn malformed(name: &str) -> LdapResult {
    LdapResult::new(ResultCode::PROTOCOL_ERROR, format!("The value of the {name} control is malformed"))
}

fn shown(oid: &[u8]) -> String {
    String::from_utf8_lossy(oid.get(..oid.len().min(64)).unwrap_or_default()).into_owned()
}
