//! How the clients end: with a result code as exit status, also for mistakes on their own side, like those of OpenDJ.

use std::process::ExitCode;

use ldap::{LdapResult, ResultCode};
use outbound::OutboundError;

use crate::failure::{Failure, Outcome};
use crate::output::errln;

/// The connection was lost.
const SERVER_DOWN: u8 = 81;
/// Data that the tool itself works on is not what it should be.
pub const LOCAL_ERROR: u8 = 82;
/// A filter that is none.
pub const FILTER_ERROR: u8 = 87;
/// An option, or a file that an option names, makes no sense.
pub const PARAMETER_ERROR: u8 = 89;
/// The server cannot be reached.
pub const CONNECT_ERROR: u8 = 91;

/// What [`Failure::new`] says where nobody says more.
const UNSPECIFIED: u8 = 1;

/// The names that OpenDJ's tools print.
const NAMES: [(i32, &str); 45] = [
    (0, "Success"),
    (1, "Operations Error"),
    (2, "Protocol Error"),
    (3, "Time Limit Exceeded"),
    (4, "Size Limit Exceeded"),
    (5, "Compare False"),
    (6, "Compare True"),
    (7, "Authentication Method Not Supported"),
    (8, "Strong Authentication Required"),
    (10, "Referral"),
    (11, "Administrative Limit Exceeded"),
    (12, "Unavailable Critical Extension"),
    (13, "Confidentiality Required"),
    (14, "SASL Bind in Progress"),
    (16, "No Such Attribute"),
    (17, "Undefined Attribute Type"),
    (18, "Inappropriate Matching"),
    (19, "Constraint Violation"),
    (20, "Attribute or Value Exists"),
    (21, "Invalid Attribute Syntax"),
    (32, "No Such Entry"),
    (33, "Alias Problem"),
    (34, "Invalid DN Syntax"),
    (36, "Alias Dereferencing Problem"),
    (48, "Inappropriate Authentication"),
    (49, "Invalid Credentials"),
    (50, "Insufficient Access Rights"),
    (51, "Busy"),
    (52, "Unavailable"),
    (53, "Unwilling to Perform"),
    (54, "Loop Detected"),
    (60, "Sort Control Missing"),
    (61, "Offset Range Error"),
    (64, "Naming Violation"),
    (65, "Object Class Violation"),
    (66, "Not Allowed on Non-Leaf"),
    (67, "Not Allowed on RDN"),
    (68, "Entry Already Exists"),
    (69, "Object Class Modifications Prohibited"),
    (71, "Affects Multiple DSAs"),
    (76, "Virtual List View Error"),
    (80, "Other"),
    (122, "Assertion Failed"),
    (123, "Authorization Denied"),
    (16654, "No Operation"),
];

/// The exit status of a tool that ends with a result code: the code, as in OpenDJ's tools; 255 for codes above it.
pub fn of(code: ResultCode) -> u8 {
    u8::try_from(code.as_i32()).unwrap_or(u8::MAX)
}

/// The connection was lost.
pub fn lost(error: OutboundError) -> Failure {
    Failure::new(error).with_status(SERVER_DOWN)
}

/// What a client ends with: mistakes on its own side have a status that is no result code of a server.
pub fn of_client(outcome: Outcome) -> Outcome {
    outcome.map_err(|failure| match failure.status() {
        UNSPECIFIED => failure.with_status(PARAMETER_ERROR),
        _ => failure,
    })
}

/// Says that a request was refused, in the words of OpenDJ's tools; what the tool ends with.
pub fn refused(what: &str, result: &LdapResult) -> u8 {
    let LdapResult { code, matched_dn, message, referrals } = result;
    errln!("The LDAP {what} failed: {}", code_text(*code));
    if !message.is_empty() {
        errln!("Additional Information:  {message}");
    }
    if !matched_dn.is_empty() {
        errln!("Matched DN:  {matched_dn}");
    }
    for referral in referrals {
        errln!("Referral:  {referral}");
    }
    of(*code)
}

/// `32 (No Such Entry)`
pub fn code_text(code: ResultCode) -> String {
    let number = code.as_i32();
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("{number} ({name})"),
        None => code.to_string(),
    }
}

/// The first status that is not 0.
#[derive(Debug, Default)]
pub struct Worst(u8);

impl Worst {
    /// Something ended with this status; whether all is well until now.
    pub fn add(&mut self, status: u8) -> bool {
        if self.0 == 0 {
            self.0 = status;
        }
        self.0 == 0
    }

    /// What the tool ends with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.0)
    }
}
