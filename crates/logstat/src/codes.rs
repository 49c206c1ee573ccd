//! What codes of access logs mean.

/// A letter of `notes=`.
pub(crate) fn note(letter: char) -> &'static str {
    match letter {
        'A' => "no index at all",
        'B' => "too many operations of its connection",
        'F' => {
            "a flag: 389 DS sets it where the filter has an attribute that the schema does not; not an unindexed search"
        }
        'M' => "bind with several factors",
        'N' => "not a synchronous operation",
        'P' => "paged",
        'U' => "no index for all or a part of the filter",
        _ => "",
    }
}

/// Why a connection ended, as DSEE and 389 DS write it.
pub(crate) fn end(code: &str) -> &'static str {
    match code {
        "A1" => "the client broke the connection off",
        "B1" => "not LDAP: a wrong tag",
        "B2" => "a message that is too long",
        "B3" => "a message that is damaged",
        "B4" => "the answer could not be written",
        "P1" => "closed by a plugin",
        "P2" => "closed by the server, or damaged",
        "P3" | "P4" => "a wrong header of the PROXY protocol",
        "R1" => "the connection was reset",
        "S1" => "the security layer of SASL failed",
        "T1" => "idle for too long",
        "T2" => "the client did not read for too long",
        "T3" => "a paged search took too long",
        "U1" => "the client unbound",
        _ => "",
    }
}
