//! Controls that are given on the command line, in the form that OpenDJ's tools take.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use durable::ReadBound;
use ldap::client::controls;
use ldap::oids::control;
use ldap::{ControlBuf, FilterBuf};

/// Longest value that is read from a file.
const VALUE_BYTES_MAX: u64 = 1 << 20;

/// Names that stand for OIDs.
const NAMES: [(&str, &str); 18] = [
    ("accountusable", control::ACCOUNT_USABILITY),
    ("accountusability", control::ACCOUNT_USABILITY),
    ("authorizationidentity", control::AUTHORIZATION_IDENTITY_REQUEST),
    ("authzid", control::AUTHORIZATION_IDENTITY_REQUEST),
    ("effectiverights", control::GET_EFFECTIVE_RIGHTS),
    ("geteffectiverights", control::GET_EFFECTIVE_RIGHTS),
    ("managedsait", control::MANAGE_DSA_IT),
    ("no-op", control::NO_OP),
    ("noop", control::NO_OP),
    ("passwordpolicy", control::PASSWORD_POLICY),
    ("pwpolicy", control::PASSWORD_POLICY),
    ("realattributesonly", control::REAL_ATTRIBUTES_ONLY),
    ("realattrsonly", control::REAL_ATTRIBUTES_ONLY),
    ("relax", control::RELAX),
    ("subtreedelete", control::SUBTREE_DELETE),
    ("treedelete", control::SUBTREE_DELETE),
    ("virtualattributesonly", control::VIRTUAL_ATTRIBUTES_ONLY),
    ("virtualattrsonly", control::VIRTUAL_ATTRIBUTES_ONLY),
];

/// Any control.
#[derive(Debug, Args)]
pub struct ControlOptions {
    /// Use a request control: its OID, or a name such as noop or managedsait; whether it is critical; its value
    #[arg(short = 'J', long = "control", value_name = "OID[:true|false[:VALUE|::BASE64|:<FILE]]",
          value_parser = parse_control)]
    pub controls: Vec<ControlBuf>,
}

/// Controls that searches, changes and comparisons have in common.
#[derive(Debug, Args)]
pub struct CommonControlOptions {
    #[command(flatten)]
    any: ControlOptions,
    /// Use the proxied authorization control: act as this user (dn:NAME or u:USER)
    #[arg(short = 'Y', long = "proxyAs", value_name = "AUTHZID")]
    proxy_as: Option<String>,
    /// Use the assertion control: do nothing unless the entry matches
    #[arg(long = "assertionFilter", value_name = "FILTER", value_parser = parse_filter)]
    assertion_filter: Option<FilterBuf>,
}

impl CommonControlOptions {
    /// All of them.
    pub fn controls(&self) -> Vec<ControlBuf> {
        let proxied = self
            .proxy_as
            .as_ref()
            .map(|user| ControlBuf::new(control::PROXIED_AUTHORIZATION, Some(user.clone().into_bytes())).critical());
        let assertion = self.assertion_filter.as_ref().map(controls::assertion);
        self.any.controls.iter().cloned().chain(proxied).chain(assertion).collect()
    }
}

/// A filter as people write it.
pub fn parse_filter(text: &str) -> Result<FilterBuf, String> {
    ldap::filter::parse(text).map_err(|error| error.to_string())
}

/// `OID[:true|false[:VALUE|::BASE64|:<FILE]]`
pub fn parse_control(text: &str) -> Result<ControlBuf, String> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    let is_oid = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, oid)| *oid);
    let oid = known.or_else(|| is_oid.then_some(name)).ok_or_else(|| {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("a control is an OID, or one of {}", names.join(", "))
    })?;
    let Some(rest) = rest else { return Ok(ControlBuf::new(oid, None)) };
    let (criticality, value) = rest.split_once(':').map_or((rest, None), |(word, value)| (word, Some(value)));
    let critical = match criticality.to_ascii_lowercase().as_str() {
        "true" => true,
        "false" => false,
        _ => return Err(format!("behind {name} comes true or false: whether the control is critical")),
    };
    let value = value.map(parse_value).transpose()?;
    Ok(ControlBuf { oid: oid.to_owned(), critical, value })
}

/// What stands behind the colon of `name:value`: a text, `:BASE64`, or `<FILE`.
pub fn parse_value(text: &str) -> Result<Vec<u8>, String> {
    if let Some(encoded) = text.strip_prefix(':') {
        return BASE64.decode(encoded.trim_start()).map_err(|_| format!("\"{encoded}\" is not base64"));
    }
    match text.strip_prefix('<') {
        Some(path) => {
            ReadBound::stream(VALUE_BYTES_MAX).read(Path::new(path)).map_err(|error| format!("{path}: {error}"))
        }
        None => Ok(text.as_bytes().to_vec()),
    }
}
