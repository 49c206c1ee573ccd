//! `{ARGON2}$argon2id$v=19$m=…,t=…,p=…$salt$hash`: OpenLDAP's form, which is the PHC string. Argon2i and Argon2d are
//! read and written as well.
//!
//! The stored value says how much memory to take; what it may ask for is bounded here. A thread keeps the memory for
//! the next password, as taking 19 MiB anew each time costs a tenth of the hash.

use std::cell::RefCell;

use argon2::{Algorithm, Argon2, Block, Params, Version};

use super::argon_parameters::{Argon2Parameters, Argon2Variant};
use super::digest::{decode_base64, encode_base64};
use super::fault::Unverifiable;
use super::random::Random;

/// Longest salt or hash read. It bounds the stack buffers.
const PART_BYTES_MAX: usize = 128;
/// Bytes of hash in a new value.
const HASH_BYTES: usize = 32;
/// Most memory that a thread keeps, in blocks of a KiB.
const BLOCKS_KEPT_MAX: usize = 64 << 10;

thread_local! {
    /// The memory of the hash before.
    static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// A stored value that was read.
pub(super) struct Argon2Value {
    parameters: Argon2Parameters,
    version: Version,
    salt: [u8; PART_BYTES_MAX],
    salt_bytes: usize,
    hash: [u8; PART_BYTES_MAX],
    hash_bytes: usize,
}

impl Argon2Value {
    pub(super) fn read(body: &[u8]) -> Result<Argon2Value, Unverifiable> {
        let text = std::str::from_utf8(body).map_err(|_| Unverifiable::Damaged)?;
        Argon2Value::read_phc(text).ok_or(Unverifiable::Damaged)?
    }

    fn read_phc(text: &str) -> Option<Result<Argon2Value, Unverifiable>> {
        let mut fields = text.strip_prefix('$')?.split('$');
        let variant = Argon2Variant::from_phc(fields.next()?)?;
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
        let (mut salt, mut hash) = ([0u8; PART_BYTES_MAX], [0u8; PART_BYTES_MAX]);
        let salt_bytes = decode_base64(fields.next()?.as_bytes(), &mut salt)?.len();
        let hash_bytes = decode_base64(fields.next()?.as_bytes(), &mut hash)?.len();
        if fields.next().is_some() || hash_bytes < 16 || salt_bytes < argon2::MIN_SALT_LEN {
            return None;
        }
        Some(match Argon2Parameters::new(variant, memory, passes, lanes) {
            Ok(parameters) => Ok(Argon2Value { parameters, version, salt, salt_bytes, hash, hash_bytes }),
            Err(error) if error.is_too_much() => Err(Unverifiable::TooCostly),
            Err(_) => Err(Unverifiable::Damaged),
        })
    }

    pub(super) fn verify(&self, clear: &[u8]) -> bool {
        let mut computed = [0u8; PART_BYTES_MAX];
        let computed = &mut computed[..self.hash_bytes];
        derive(self.parameters, self.version, clear, &self.salt[..self.salt_bytes], computed).is_some()
            && super::same::same(&self.hash[..self.hash_bytes], computed)
    }
}

/// The body of a new value.
pub(super) fn encode(parameters: Argon2Parameters, clear: &[u8], salt: &[u8]) -> Option<Vec<u8>> {
    let mut hash = [0u8; HASH_BYTES];
    derive(parameters, Version::V0x13, clear, salt, &mut hash)?;
    Some(write(parameters, salt, &hash))
}

/// A body that costs what one with these parameters costs, and that no known password matches: `random` stands for
/// salt and hash.
pub(super) fn decoy(parameters: Argon2Parameters, random: &Random) -> Vec<u8> {
    write(parameters, &random[..16], &random[16..16 + HASH_BYTES])
}

fn write(parameters: Argon2Parameters, salt: &[u8], hash: &[u8]) -> Vec<u8> {
    let (memory, passes, lanes) = (parameters.memory_kib(), parameters.iterations(), parameters.lanes());
    let mut body = format!("${}$v=19$m={memory},t={passes},p={lanes}$", parameters.variant().phc()).into_bytes();
    body.extend_from_slice(without_padding(&encode_base64(salt)));
    body.push(b'$');
    body.extend_from_slice(without_padding(&encode_base64(hash)));
    body
}

fn derive(parameters: Argon2Parameters, version: Version, clear: &[u8], salt: &[u8], out: &mut [u8]) -> Option<()> {
    let algorithm = match parameters.variant() {
        Argon2Variant::Id => Algorithm::Argon2id,
        Argon2Variant::I => Algorithm::Argon2i,
        Argon2Variant::D => Algorithm::Argon2d,
    };
    let (memory, passes, lanes) = (parameters.memory_kib(), parameters.iterations(), parameters.lanes());
    let params = Params::new(memory, passes, lanes, Some(out.len())).ok()?;
    let blocks = params.block_count();
    let argon2 = Argon2::new(algorithm, version, params);
    let mut kept = MEMORY.take();
    if kept.len() < blocks {
        kept.resize_with(blocks, Block::new);
    }
    let result = argon2.hash_password_into_with_memory(clear, salt, out, &mut kept[..blocks]);
    if kept.len() <= BLOCKS_KEPT_MAX {
        MEMORY.set(kept);
    }
    result.ok()
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
