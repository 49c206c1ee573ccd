//! Where the Kerberos library of the system finds the keys of this server.
#![allow(unsafe_code, reason = "one call into the Kerberos library; the block says why it is sound")]

use std::ffi::{CString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

// The crate libgssapi has no name for this function.
#[link(name = "gssapi_krb5")]
unsafe extern "C" {
    /// gssapi/gssapi_krb5.h
    fn krb5_gss_register_acceptor_identity(keytab: *const c_char) -> u32;
}

/// Tickets are checked with the keys in this file from now on, by the whole process; none: in that of the system.
///
/// # Errors
/// When the library does not take it.
pub fn use_keytab(path: Option<&Path>) -> io::Result<()> {
    let path = path.map(|path| CString::new(path.as_os_str().as_bytes())).transpose()?;
    let text = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
    // SAFETY: the library copies the text, which is ended by NUL and lives until the end of this function, and keeps
    // the copy behind a lock; no text stands for the file that the library goes by itself.
    match unsafe { krb5_gss_register_acceptor_identity(text) } {
        0 => Ok(()),
        _ => Err(io::Error::other("the Kerberos library does not take the file of keys")),
    }
}
