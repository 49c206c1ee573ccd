//! `{ARGON2}$argon2id$v=19$m=…,t=…,p=…$salt$hash`: OpenLDAP's form, which is the PHC string. Argon2i and Argon2d are
//! read as well.
//!
//! The stored value says how much memory to take; what it may ask for is bounded here.

use argon2::{Algorithm, Argon2, Params, Version};

use super::digest::{decode_base64, encode_base64};

/// Most memory that a stored value may ask for, in KiB: one GiB.
const MEMORY_KIB_MAX: u32 = 1 << 20;
/// Most passes over that memory.
const PASSES_MAX: u32 = 64;
/// Most memory times passes, in KiB: some seconds of one core.
const WORK_KIB_MAX: u64 = 8 << 20;
/// Longest salt or hash read. It bounds the stack buffers.
const PART_BYTES_MAX: usize = 128;
/// Bytes of hash in a new value.
const HASH_BYTES: usize = 32;
/// Cost of a new value: OWASP's first recommendation (19 MiB, two passes, one lane).
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);

pub(super) fn verify(body: &[u8], clear: &[u8]) -> bool {
    verify_phc(body, clear).unwrap_or(false)
}

pub(super) fn encode(clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, Some(HASH_BYTES)).ok()?;
    let mut hash = [0u8; HASH_BYTES];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(clear, salt, &mut hash).ok()?;
    let mut body = format!("$argon2id$v=19$m={memory},t={passes},p={lanes}$").into_bytes();
    body.extend_from_slice(without_padding(&encode_base64(salt)));
    body.push(b'$');
    body.extend_from_slice(without_padding(&encode_base64(&hash)));
    Some(body)
}

fn verify_phc(body: &[u8], clear: &[u8]) -> Option<bool> {
    let text = std::str::from_utf8(body).ok()?;
    let mut fields = text.strip_prefix('$')?.split('$');
    let algorithm = Algorithm::new(fields.next()?).ok()?;
    let mut field = fields.next()?;
    // Strings from before version 1.3 have no version field and mean 1.0.
    let version = match field.strip_prefix("v=") {
        Some(number) => {
            field = fields.next()?;
            Version::try_from(number.parse::<u32>().ok()?).ok()?
        }
        None => Version::V0x10,
    };
    let (memory, passes, lanes) = costs(field)?;
    if memory > MEMORY_KIB_MAX || passes > PASSES_MAX || u64::from(memory) * u64::from(passes) > WORK_KIB_MAX {
        return None;
    }
    let (mut salt, mut expected, mut computed) = ([0u8; PART_BYTES_MAX], [0u8; PART_BYTES_MAX], [0u8; PART_BYTES_MAX]);
    let salt = decode_base64(fields.next()?.as_bytes(), &mut salt)?;
    let expected = decode_base64(fields.next()?.as_bytes(), &mut expected)?;
    if fields.next().is_some() || expected.len() < 16 {
        return None;
    }
    let computed = computed.get_mut(..expected.len())?;
    let params = Params::new(memory, passes, lanes, Some(expected.len())).ok()?;
    Argon2::new(algorithm, version, params).hash_password_into(clear, salt, computed).ok()?;
    Some(super::same::same(expected, computed))
}

/// `m=…,t=…,p=…`; key ids and associated data are not read.
fn costs(field: &str) -> Option<(u32, u32, u32)> {
    let mut parts = field.split(',');
    let memory = parts.next()?.strip_prefix("m=")?.parse().ok()?;
    let passes = parts.next()?.strip_prefix("t=")?.parse().ok()?;
    let lanes = parts.next()?.strip_prefix("p=")?.parse().ok()?;
    parts.next().is_none().then_some((memory, passes, lanes))
}

fn without_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b'=').map_or(0, |last| last + 1);
    &text[..end]
}
