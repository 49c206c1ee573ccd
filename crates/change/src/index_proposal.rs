//! Changes of a backend's indexes as the log keeps them: another set, a slice of building, numbers that are free.
//!
//! Knows bytes; what they do is `apply`'s and the store's business.
//!
//! ```text
//! 1 · length u32 · the configured indexes · names to build anew, a line each
//! 2 · work u64
//! 3 · numbers, u16 each                                                                   (integers little-endian)
//! ```

use store::IndexId;
use store::index::ConfiguredIndexes;

/// What becomes of the indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexProposal {
    /// These are the indexes from now on.
    Set {
        /// All of them.
        configured: ConfiguredIndexes,
        /// Those that are built anew although they were there, by name.
        anew: Vec<String>,
    },
    /// A slice of building: at most about so many keys. None only gives the fold something to do.
    Build {
        /// How many.
        work: u64,
    },
    /// Former indexes of which no row is left.
    Forget {
        /// Their numbers.
        numbers: Vec<IndexId>,
    },
}

impl IndexProposal {
    /// The bytes of the proposal's operation.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            IndexProposal::Set { configured, anew } => {
                let configured = configured.to_bytes();
                let mut out = vec![1];
                out.extend_from_slice(&u32::try_from(configured.len()).unwrap_or(u32::MAX).to_le_bytes());
                out.extend_from_slice(&configured);
                out.extend_from_slice(anew.join("\n").as_bytes());
                out
            }
            IndexProposal::Build { work } => [&[2][..], &work.to_le_bytes()].concat(),
            IndexProposal::Forget { numbers } => {
                let mut out = vec![3];
                numbers.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
                out
            }
        }
    }

    /// Reads [`IndexProposal::encode`]; `None` when the bytes are not that.
    pub fn decode(bytes: &[u8]) -> Option<IndexProposal> {
        match bytes.split_first()? {
            (1, rest) => {
                let (length, rest) = rest.split_first_chunk::<4>()?;
                let (configured, anew) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                let configured = ConfiguredIndexes::from_bytes(configured)?;
                let anew = std::str::from_utf8(anew).ok()?.lines().map(str::to_owned).collect();
                Some(IndexProposal::Set { configured, anew })
            }
            (2, work) => Some(IndexProposal::Build { work: u64::from_le_bytes(work.try_into().ok()?) }),
            (3, numbers) => {
                let (numbers, rest) = numbers.as_chunks::<2>();
                let numbers = numbers.iter().map(|number| IndexId(u16::from_le_bytes(*number))).collect();
                rest.is_empty().then_some(IndexProposal::Forget { numbers })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::Schema;
    use store::index::default_indexes;

    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        let configured = ConfiguredIndexes::new(&Schema::standard(), default_indexes()).unwrap();
        let anew = vec!["cn.caseIgnoreMatch".to_owned(), "sn.caseIgnoreMatch".to_owned()];
        let all = [
            IndexProposal::Set { configured: configured.clone(), anew },
            IndexProposal::Set { configured, anew: Vec::new() },
            IndexProposal::Build { work: 1_000 },
            IndexProposal::Forget { numbers: vec![IndexId(17), IndexId(300)] },
        ];
        for proposal in all {
            let bytes = proposal.encode();
            assert_eq!(IndexProposal::decode(&bytes), Some(proposal));
        }
        for bad in [&b""[..], b"\x04", b"\x02\x01", b"\x03\x01", b"\x01\xff\xff\xff\xff"] {
            assert_eq!(IndexProposal::decode(bad), None);
        }
    }
}
