//! Address masks of `allowed-client`, `denied-client` and `proxy-protocol-allowed-client`: who a socket may come from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network: an address and how many of its first bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressMask {
    network: Ipv6Addr,
    bits: u32,
}

impl AddressMask {
    /// Reads `192.0.2.7`, `192.0.2.0/24`, `192.0.2.*`, `2001:db8::/32`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u32>().ok()?)),
            None => (text, None),
        };
        if address.contains('*') {
            return if prefix.is_none() { Self::parse_stars(address) } else { None };
        }
        let ip: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
        let (width, offset) = if ip.is_ipv4() { (32, 96) } else { (128, 0) };
        let bits = prefix.unwrap_or(width);
        (bits <= width).then(|| Self { network: as_v6(ip), bits: bits + offset })
    }

    /// Whether the mask covers `address`.
    pub fn contains(&self, address: IpAddr) -> bool {
        let difference = u128::from(self.network) ^ u128::from(as_v6(address));
        self.bits == 0 || difference >> (128 - self.bits) == 0
    }

    /// `192.0.2.*` and `10.*.*.*`: stars at the end stand for octets.
    fn parse_stars(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let fixed = parts.iter().take_while(|part| **part != "*").count();
        if parts.len() != 4 || parts.iter().skip(fixed).any(|part| *part != "*") {
            return None;
        }
        let mut octets = [0u8; 4];
        for (octet, part) in octets.iter_mut().zip(&parts).take(fixed) {
            *octet = part.parse().ok()?;
        }
        Some(Self { network: as_v6(IpAddr::V4(Ipv4Addr::from(octets))), bits: 96 + 8 * fixed as u32 })
    }
}

/// IPv4 addresses are compared in their mapped form, which is also how a dual-stack socket shows them.
fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(four) => four.to_ipv6_mapped(),
        IpAddr::V6(six) => six,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        let cases = [
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.8", false),
            ("192.0.2.0/24", "192.0.2.200", true),
            ("192.0.2.0/24", "192.0.3.1", false),
            ("192.0.2.0/24", "::ffff:192.0.2.3", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("192.0.*.*", "192.0.99.1", true),
            ("192.0.*.*", "192.1.0.1", false),
            ("2001:db8::/32", "2001:db8:5::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "192.0.2.7", true),
        ];
        for (mask, address, inside) in cases {
            let found = AddressMask::parse(mask).unwrap().contains(address.parse().unwrap());
            assert_eq!(found, inside, "{mask} {address}");
        }
        for bad in ["", "example", "192.0.2.0/33", "192.*.2.0", "*.*.*.*/8", "192.0.2", "::/129", "1.2.3.*.*"] {
            assert_eq!(AddressMask::parse(bad), None, "{bad}");
        }
    }
}
