//! The self-signed certificate of a new instance.

use std::fs::{self, Permissions};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, date_time_ymd};

use crate::failure::{Context, Failure};

/// Writes `NAME.crt` and `NAME.key` into a directory, for this machine's names and the addresses it listens at.
pub fn make(keys: &Path, name: &str, listen: &[IpAddr]) -> Result<(), Failure> {
    let host = host_name();
    let mut names = vec![host.clone(), "localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(listen.iter().filter(|address| !address.is_unspecified()).map(ToString::to_string));
    if listen.iter().any(IpAddr::is_unspecified) {
        names.extend(outward_address().map(|address| address.to_string()));
    }
    names.sort();
    names.dedup();
    let mut params = CertificateParams::new(names).context("certificate")?;
    params.distinguished_name.push(DnType::CommonName, host);
    params.distinguished_name.push(DnType::OrganizationName, "Pando Self-Signed Certificate");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Who wants an end date has a certificate of an authority; this one must not stop a server some day.
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2099, 12, 31);
    let key = KeyPair::generate().context("private key")?;
    let certificate = params.self_signed(&key).context("certificate")?;
    write(&keys.join(format!("{name}.key")), &key.serialize_pem(), 0o600)?;
    write(&keys.join(format!("{name}.crt")), &certificate.pem(), 0o644)
}

fn write(file: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    durable::replace_file(file, text.as_bytes(), Some(Permissions::from_mode(mode))).context(file.display())
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    // A name with other characters is no DNS name, and a certificate cannot hold it.
    let usable = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    if usable { name.to_owned() } else { "localhost".to_owned() }
}

/// The address from which this machine reaches others. Connecting a datagram socket sends nothing.
fn outward_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip())
}
