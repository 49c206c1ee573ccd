//! scrypt (RFC 7914) in the three forms that others write: `{SCRYPT}$scrypt$ln=…,r=…,p=…$salt$hash` (passlib and most
//! libraries), `{SCRYPT}$s0$params$salt$hash` (Java), `{CRYPT}$7$…` (libxcrypt). Never written.

use super::digest::decode_base64;
use super::fault::Unverifiable;
use super::itoa64;
use super::limits::MEMORY_BYTES_MAX;
use super::same::same;

/// Longest salt or hash read. It bounds the stack buffers.
const PART_BYTES_MAX: usize = 128;
/// Most work, as bytes of memory times lanes: some seconds of one core.
const WORK_BYTES_MAX: u64 = 4 << 30;

/// A stored value that was read.
pub(super) struct ScryptValue {
    params: scrypt::Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl ScryptValue {
    /// What stands behind `{SCRYPT}`.
    pub(super) fn read(body: &[u8]) -> Result<ScryptValue, Unverifiable> {
        let text = std::str::from_utf8(body).map_err(|_| Unverifiable::Damaged)?;
        let fields: Vec<&str> = text.split('$').collect();
        let (costs, salt, hash) = match fields.as_slice() {
            ["", "scrypt", costs, salt, hash] => (phc_costs(costs), salt, hash),
            ["", "s0", costs, salt, hash] => (packed_costs(costs), salt, hash),
            _ => return Err(Unverifiable::Damaged),
        };
        let costs = costs.ok_or(Unverifiable::Damaged)?;
        let part = |text: &str| {
            let mut buffer = [0u8; PART_BYTES_MAX];
            decode_base64(text.as_bytes(), &mut buffer).map(<[u8]>::to_vec)
        };
        let parts = part(salt).zip(part(hash)).ok_or(Unverifiable::Damaged)?;
        ScryptValue::checked(costs, parts.0, parts.1)
    }

    /// A whole `$7$` text: one character for log2 N, five for r, five for p, then the salt as it is, `$`, the hash.
    pub(super) fn read_crypt(text: &str) -> Result<ScryptValue, Unverifiable> {
        let parts = text.strip_prefix("$7$").and_then(|rest| rest.rsplit_once('$'));
        let (setting, hash) = parts.ok_or(Unverifiable::Damaged)?;
        let number = |text: Option<&[u8]>| {
            text?.iter().rev().try_fold(0u32, |number, byte| Some((number << 6) | u32::from(itoa64::value(*byte)?)))
        };
        let setting = setting.as_bytes();
        let costs = number(setting.get(..1)).zip(number(setting.get(1..6))).zip(number(setting.get(6..11)));
        let ((ln, r), p) = costs.ok_or(Unverifiable::Damaged)?;
        let salt = setting.get(11..).unwrap_or_default().to_vec();
        let hash = itoa64::decode(hash.as_bytes()).ok_or(Unverifiable::Damaged)?;
        ScryptValue::checked((ln, r, p), salt, hash)
    }

    fn checked((ln, r, p): (u32, u32, u32), salt: Vec<u8>, hash: Vec<u8>) -> Result<ScryptValue, Unverifiable> {
        if r == 0 || p == 0 || !(1..=63).contains(&ln) || !(16..=PART_BYTES_MAX).contains(&hash.len()) {
            return Err(Unverifiable::Damaged);
        }
        let memory = 128u64.saturating_mul(u64::from(r)).saturating_mul(1 << ln);
        if memory > MEMORY_BYTES_MAX || memory.saturating_mul(u64::from(p)) > WORK_BYTES_MAX {
            return Err(Unverifiable::TooCostly);
        }
        let params = scrypt::Params::new(ln as u8, r, p).map_err(|_| Unverifiable::Damaged)?;
        Ok(ScryptValue { params, salt, hash })
    }

    pub(super) fn verify(&self, clear: &[u8]) -> bool {
        let mut computed = [0u8; PART_BYTES_MAX];
        let computed = &mut computed[..self.hash.len()];
        scrypt::scrypt(clear, &self.salt, &self.params, computed).is_ok() && same(&self.hash, computed)
    }
}

/// `ln=…,r=…,p=…`
fn phc_costs(text: &str) -> Option<(u32, u32, u32)> {
    let mut parts = text.split(',');
    let mut part = |name: &str| parts.next()?.strip_prefix(name)?.parse().ok();
    let costs = (part("ln=")?, part("r=")?, part("p=")?);
    parts.next().is_none().then_some(costs)
}

/// Hexadecimal: log2 N in two bytes, r and p in one each.
fn packed_costs(text: &str) -> Option<(u32, u32, u32)> {
    let packed = u32::from_str_radix(text, 16).ok()?;
    Some((packed >> 16, (packed >> 8) & 0xff, packed & 0xff))
}
