//! How values of sample data are written.

/// How a value is meant to stand in LDIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// Text.
    Plain,
    /// The text is base64 already (`attribute:: value`).
    Base64,
    /// The text is a URL (`attribute:< value`).
    Url,
}
