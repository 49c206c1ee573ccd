//! Controls (RFC 4511 §4.1.11): the list on a message, and the values of those that this project speaks.

mod account_usability;
mod effective_rights;
mod password_policy;
mod proxied;
mod values;

pub use crate::limits::CONTROLS_MAX;
pub use account_usability::{AccountUsability, NotAvailable, UnlockedWhen};
pub use effective_rights::{EFFECTIVE_RIGHTS_ATTRIBUTES_MAX, EffectiveRightsRequest, RightsSubject};
pub use password_policy::{PasswordPolicyResponse, PolicyError, PolicyWarning};
pub use proxied::{AuthorizationId, decode_proxied_authorization, decode_proxied_authorization_v1, name_after_dn};
pub use values::*;

use ber::{BOOLEAN, OCTET_STRING, Reader, SEQUENCE, Tag, Writer};

use crate::DecodeError;

/// Tag of the controls of an LDAPMessage.
pub const CONTROLS_TAG: Tag = 0xa0;

/// One control of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control<'a> {
    /// Its OID.
    pub oid: &'a [u8],
    /// Whether the operation must fail when the control cannot be honoured.
    pub critical: bool,
    /// What it says; its form depends on the OID.
    pub value: Option<&'a [u8]>,
}

/// The controls of a message, checked and still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Controls<'a>(&'a [u8]);

impl<'a> Controls<'a> {
    /// No controls.
    pub const fn none() -> Self {
        Self(&[])
    }

    /// Checks the content of the controls element.
    pub fn decode(content: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(content);
        let mut count = 0;
        while !reader.is_empty() {
            decode_one(&mut reader)?;
            count += 1;
            if count > CONTROLS_MAX {
                return Err(DecodeError::TooManyControls);
            }
        }
        Ok(Self(content))
    }

    /// The controls in the order in which they were sent.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Control<'a>> + Clone {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || if reader.is_empty() { None } else { decode_one(&mut reader).ok() })
    }

    /// The control with this OID.
    pub fn find(self, oid: &str) -> Option<Control<'a>> {
        self.iter().find(|c| c.oid == oid.as_bytes())
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The content of a controls element without those for which `drop` says so; [`Controls::decode`] reads
    /// it.
    pub fn encoded_without(self, mut drop: impl FnMut(&Control<'a>) -> bool) -> Vec<u8> {
        let mut kept = Vec::with_capacity(self.0.len());
        let mut reader = Reader::new(self.0);
        while !reader.is_empty() {
            let Ok((_, whole)) = reader.raw_element() else { break };
            if decode_one(&mut Reader::new(whole)).is_ok_and(|control| !drop(&control)) {
                kept.extend_from_slice(whole);
            }
        }
        kept
    }

    /// The content of the controls element.
    pub fn encoded(self) -> &'a [u8] {
        self.0
    }
}

fn decode_one<'a>(reader: &mut Reader<'a>) -> Result<Control<'a>, DecodeError> {
    let mut inner = reader.sequence()?;
    let oid = inner.octets()?;
    let critical = inner.peek_tag() == Some(BOOLEAN) && inner.boolean()?;
    let value = inner.optional(OCTET_STRING)?;
    inner.finish_extensible(&[])?;
    Ok(Control { oid, critical, value })
}

/// A control that owns its bytes: of a response, or of a request that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlBuf {
    /// Its OID.
    pub oid: String,
    /// Whether the operation must fail when the control cannot be honoured.
    pub critical: bool,
    /// What it says.
    pub value: Option<Vec<u8>>,
}

impl ControlBuf {
    /// A control that is not critical.
    pub fn new(oid: &str, value: Option<Vec<u8>>) -> Self {
        Self { oid: oid.to_owned(), critical: false, value }
    }

    /// The same, critical.
    pub fn critical(mut self) -> Self {
        self.critical = true;
        self
    }
}

/// Appends the controls element; nothing when there are none.
pub fn put_controls(out: &mut Writer<'_>, controls: &[ControlBuf]) {
    if !controls.is_empty() {
        put_control_list(out, CONTROLS_TAG, controls);
    }
}

/// Appends a list of controls under `tag`.
pub fn put_control_list(out: &mut Writer<'_>, tag: Tag, controls: &[ControlBuf]) {
    let list = out.begin(tag);
    for control in controls {
        let one = out.begin(SEQUENCE);
        out.octets(OCTET_STRING, control.oid.as_bytes());
        if control.critical {
            out.boolean(BOOLEAN, true);
        }
        if let Some(value) = &control.value {
            out.octets(OCTET_STRING, value);
        }
        out.end(one);
    }
    out.end(list);
}
