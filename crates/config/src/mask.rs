//! Sets of IP addresses: one address, a network, an IPv4 pattern.
//!
//! Refuses host names: a name server must not decide who may connect.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A set of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressMask {
    /// Addresses whose first `prefix` bits are those of `network`.
    Network {
        /// The network; IPv4 addresses stay IPv4.
        network: IpAddr,
        /// Number of bits that count.
        prefix: u8,
    },
    /// Four octets; `None` is `*`.
    Pattern([Option<u8>; 4]),
}

impl AddressMask {
    /// Reads `192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32` or `192.0.*.*`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains('*') {
            return parse_pattern(text);
        }
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().ok()?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= bits)?,
            None => bits,
        };
        Some(AddressMask::Network { network, prefix })
    }

    /// Whether `address` is in the set. An IPv4 address that arrives on an IPv6 socket counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match (self, address) {
            (AddressMask::Network { network: IpAddr::V4(network), prefix }, IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(*prefix)).unwrap_or(0);
                (u32::from(*network) ^ u32::from(address)) & mask == 0
            }
            (AddressMask::Network { network: IpAddr::V6(network), prefix }, IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(*prefix)).unwrap_or(0);
                (bits(*network) ^ bits(address)) & mask == 0
            }
            (AddressMask::Pattern(octets), IpAddr::V4(address)) => {
                octets.iter().zip(address.octets()).all(|(wanted, octet)| wanted.is_none_or(|wanted| wanted == octet))
            }
            _ => false,
        }
    }
}

fn bits(address: Ipv6Addr) -> u128 {
    u128::from(address)
}

fn parse_pattern(text: &str) -> Option<AddressMask> {
    let mut octets = [None; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        match parts.next()? {
            "*" => {}
            number => *octet = Some(number.parse().ok()?),
        }
    }
    parts.next().is_none().then_some(AddressMask::Pattern(octets))
}

impl fmt::Display for AddressMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressMask::Network { network, prefix } if *prefix == if network.is_ipv4() { 32 } else { 128 } => {
                write!(f, "{network}")
            }
            AddressMask::Network { network, prefix } => write!(f, "{network}/{prefix}"),
            AddressMask::Pattern(octets) => {
                for (place, octet) in octets.iter().enumerate() {
                    if place > 0 {
                        f.write_str(".")?;
                    }
                    match octet {
                        Some(octet) => write!(f, "{octet}")?,
                        None => f.write_str("*")?,
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership() {
        for (mask, inside, outside) in [
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("192.0.2.0/24", "192.0.2.200", "192.0.3.1"),
            ("0.0.0.0/0", "203.0.113.9", "2001:db8::1"),
            ("10.*.2.*", "10.9.2.1", "10.9.3.1"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("127.0.0.1", "::ffff:127.0.0.1", "::1"),
        ] {
            let parsed = AddressMask::parse(mask).unwrap();
            assert_eq!(parsed.to_string(), mask);
            assert!(parsed.contains(inside.parse().unwrap()), "{mask} {inside}");
            assert!(!parsed.contains(outside.parse().unwrap()), "{mask} {outside}");
        }
        for bad in ["", "ldap.example.com", "10.0.0.0/33", "10.*", "10.*.*.*.*", "1.2.3.256/8"] {
            assert_eq!(AddressMask::parse(bad), None, "{bad}");
        }
    }
}
