//! Where clients come from: ranges of addresses, and patterns of host names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses that agree with `network` where `mask` has a bit. An IPv4 address in an IPv6 one (`::ffff:192.0.2.1`) is
/// the IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpRange {
    /// IPv4; the mask may have gaps.
    V4 {
        /// The address, without the bits that the mask leaves out.
        network: Ipv4Addr,
        /// The bits that count.
        mask: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// The address, without the bits after the prefix.
        network: Ipv6Addr,
        /// How many bits count, from the left: at most 128.
        prefix: u8,
    },
}

impl IpRange {
    /// The addresses that agree with `address` where `mask` has a bit.
    #[must_use]
    pub fn v4(address: Ipv4Addr, mask: Ipv4Addr) -> IpRange {
        IpRange::V4 { network: address & mask, mask }
    }

    /// The addresses that agree with `address` in the first `prefix` bits; of IPv4 addresses when it is one in an IPv6
    /// address and the prefix says so.
    #[must_use]
    pub fn v6(address: Ipv6Addr, prefix: u8) -> IpRange {
        let prefix = prefix.min(128);
        match address.to_ipv4_mapped() {
            Some(address) if prefix >= 96 => IpRange::v4(address, v4_mask(prefix - 96)),
            _ => IpRange::V6 { network: address & v6_mask(prefix), prefix },
        }
    }

    /// Whether `address` is one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (*self, address.to_canonical()) {
            (IpRange::V4 { network, mask }, IpAddr::V4(address)) => address & mask == network,
            (IpRange::V6 { network, prefix }, IpAddr::V6(address)) => address & v6_mask(prefix) == network,
            _ => false,
        }
    }

    /// Whether some address is in both.
    #[must_use]
    pub fn overlaps(&self, other: &IpRange) -> bool {
        match (*self, *other) {
            (IpRange::V4 { network, mask }, IpRange::V4 { network: others, mask: others_mask }) => {
                network & others_mask == others & mask
            }
            (IpRange::V6 { network, prefix }, IpRange::V6 { network: others, prefix: others_prefix }) => {
                let mask = v6_mask(prefix.min(others_prefix));
                network & mask == others & mask
            }
            _ => false,
        }
    }
}

/// The mask of the first `prefix` bits.
fn v4_mask(prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0))
}

fn v6_mask(prefix: u8) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0))
}

/// Host names: `host.example.com`, `*.example.com`, `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DnsPattern {
    /// How many labels at the beginning are `*`. With any, the host name has at least so many labels before `suffix`.
    pub wildcards: usize,
    /// What follows them, in lower case; empty for `*`.
    pub suffix: String,
}

impl DnsPattern {
    /// Whether `host` is one of them; upper and lower case are the same.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        let Some(at) = host.len().checked_sub(self.suffix.len()).filter(|at| host.is_char_boundary(*at)) else {
            return false;
        };
        let (labels, suffix) = host.split_at(at);
        if !suffix.eq_ignore_ascii_case(&self.suffix) {
            return false;
        }
        if self.wildcards == 0 {
            return labels.is_empty();
        }
        let labels = match self.suffix.is_empty() {
            true => labels,
            false => match labels.strip_suffix('.') {
                Some(labels) => labels,
                None => return false,
            },
        };
        !labels.is_empty() && labels.split('.').count() >= self.wildcards
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_what_agrees_with_its_mask() {
        let range = IpRange::v4(Ipv4Addr::new(192, 0, 2, 77), v4_mask(26));
        assert_eq!(
            range,
            IpRange::V4 { network: Ipv4Addr::new(192, 0, 2, 64), mask: Ipv4Addr::new(255, 255, 255, 192) }
        );
        assert!(range.contains(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 127))));
        assert!(!range.contains(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 128))));
        assert!(range.contains(IpAddr::V6(Ipv4Addr::new(192, 0, 2, 65).to_ipv6_mapped())));
        let all = IpRange::v4(Ipv4Addr::LOCALHOST, v4_mask(0));
        assert!(all.contains(IpAddr::V4(Ipv4Addr::BROADCAST)) && !all.contains(IpAddr::V6(Ipv6Addr::LOCALHOST)));
        let mapped = IpRange::v6(Ipv4Addr::LOCALHOST.to_ipv6_mapped(), 128);
        assert_eq!(mapped, IpRange::v4(Ipv4Addr::LOCALHOST, v4_mask(32)));
        let documentation = IpRange::v6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 32);
        assert!(documentation.contains(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 2))));
        assert!(!documentation.contains(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb9, 0, 0, 0, 0, 0, 1))));
    }

    #[test]
    fn wildcards_stand_for_whole_labels() {
        let pattern = |wildcards, suffix: &str| DnsPattern { wildcards, suffix: suffix.to_owned() };
        assert!(pattern(0, "a.example.com").matches("A.Example.com."));
        assert!(!pattern(0, "example.com").matches("a.example.com"));
        assert!(pattern(1, "example.com").matches("a.b.example.com"));
        assert!(!pattern(1, "example.com").matches("example.com"));
        assert!(!pattern(1, "example.com").matches("badexample.com"));
        assert!(!pattern(2, "example.com").matches("a.example.com"));
        assert!(pattern(1, "").matches("host"));
    }
}
