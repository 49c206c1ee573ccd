//! The PROXY protocol, versions 1 and 2: a load balancer's word on who the client is.
//!
//! Parses bytes. Whether the sender may be believed is decided where connections are accepted.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use thiserror::Error;

/// Longest version 1 header, from the specification.
const V1_BYTES_MAX: usize = 107;
/// First bytes of a version 2 header.
const V2_SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Fixed part of a version 2 header.
const V2_FIXED: usize = 16;
/// Longest version 2 header taken: addresses (36 bytes) and some TLVs. A client certificate's name fits; a flood does
/// not.
const V2_BYTES_MAX: usize = 4096;

/// A header, as far as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// More bytes are needed.
    NeedMore,
    /// The header ends after `length` bytes.
    Complete {
        /// Bytes to skip.
        length: usize,
        /// Who the client is and where it connected to; `None` keeps the addresses of the socket (health checks).
        addresses: Option<Addresses>,
    },
}

/// The original connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The client.
    pub source: SocketAddr,
    /// What it connected to.
    pub destination: SocketAddr,
}

/// Why bytes are not a PROXY header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProxyError {
    /// Neither version's beginning.
    #[error("the connection does not begin with a PROXY protocol header")]
    NotAHeader,
    /// A version 1 line with something wrong in it.
    #[error("malformed PROXY protocol version 1 header")]
    BadV1,
    /// A version 2 header with something wrong in it.
    #[error("malformed PROXY protocol version 2 header")]
    BadV2,
    /// Longer than anything reasonable.
    #[error("PROXY protocol header is longer than {V2_BYTES_MAX} bytes")]
    TooLong,
}

/// Reads the header at the beginning of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Header, ProxyError> {
    if is_prefix_of_either(bytes, V2_SIGNATURE) {
        parse_v2(bytes)
    } else if is_prefix_of_either(bytes, b"PROXY ") {
        parse_v1(bytes)
    } else {
        Err(ProxyError::NotAHeader)
    }
}

fn is_prefix_of_either(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(a, b)| a == b)
}

fn parse_v1(bytes: &[u8]) -> Result<Header, ProxyError> {
    let window = bytes.get(..V1_BYTES_MAX).unwrap_or(bytes);
    let Some(end) = window.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() >= V1_BYTES_MAX { Err(ProxyError::BadV1) } else { Ok(Header::NeedMore) };
    };
    let line = window.get(..end).and_then(|line| std::str::from_utf8(line).ok()).ok_or(ProxyError::BadV1)?;
    let mut words = line.split(' ').skip(1);
    let family = words.next().ok_or(ProxyError::BadV1)?;
    let length = end + 2;
    if family == "UNKNOWN" {
        return Ok(Header::Complete { length, addresses: None });
    }
    let mut word = || words.next().ok_or(ProxyError::BadV1);
    let (source, destination, source_port, destination_port) = (word()?, word()?, word()?, word()?);
    if words.next().is_some() {
        return Err(ProxyError::BadV1);
    }
    let addresses = Addresses {
        source: SocketAddr::new(v1_ip(family, source)?, v1_port(source_port)?),
        destination: SocketAddr::new(v1_ip(family, destination)?, v1_port(destination_port)?),
    };
    Ok(Header::Complete { length, addresses: Some(addresses) })
}

fn v1_ip(family: &str, text: &str) -> Result<IpAddr, ProxyError> {
    let ip = match family {
        "TCP4" => text.parse::<Ipv4Addr>().map(IpAddr::V4).ok(),
        "TCP6" => text.parse::<Ipv6Addr>().map(IpAddr::V6).ok(),
        _ => None,
    };
    ip.ok_or(ProxyError::BadV1)
}

fn v1_port(text: &str) -> Result<u16, ProxyError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).ok_or(ProxyError::BadV1)
}

fn parse_v2(bytes: &[u8]) -> Result<Header, ProxyError> {
    let Some(fixed) = bytes.first_chunk::<V2_FIXED>() else { return Ok(Header::NeedMore) };
    let [.., version_command, family_protocol, high, low] = *fixed;
    if version_command >> 4 != 2 {
        return Err(ProxyError::BadV2);
    }
    let length = V2_FIXED + usize::from(u16::from_be_bytes([high, low]));
    if length > V2_BYTES_MAX {
        return Err(ProxyError::TooLong);
    }
    let Some(body) = bytes.get(V2_FIXED..length) else { return Ok(Header::NeedMore) };
    let addresses = match (version_command & 15, family_protocol) {
        // LOCAL: the proxy speaks for itself.
        (0, _) => None,
        (1, 0x11) => Some(v2_addresses::<4>(body)?),
        (1, 0x21) => Some(v2_addresses::<16>(body)?),
        // Other families (unix, datagram, unspecified) carry no address that we could use.
        (1, _) => None,
        _ => return Err(ProxyError::BadV2),
    };
    Ok(Header::Complete { length, addresses })
}

fn v2_addresses<const N: usize>(body: &[u8]) -> Result<Addresses, ProxyError>
where
    IpAddr: From<[u8; N]>,
{
    let (source, rest) = body.split_first_chunk::<N>().ok_or(ProxyError::BadV2)?;
    let (destination, rest) = rest.split_first_chunk::<N>().ok_or(ProxyError::BadV2)?;
    let (source_port, rest) = rest.split_first_chunk::<2>().ok_or(ProxyError::BadV2)?;
    let (destination_port, _tlvs) = rest.split_first_chunk::<2>().ok_or(ProxyError::BadV2)?;
    Ok(Addresses {
        source: SocketAddr::new(IpAddr::from(*source), u16::from_be_bytes(*source_port)),
        destination: SocketAddr::new(IpAddr::from(*destination), u16::from_be_bytes(*destination_port)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn complete(length: usize, source: &str, destination: &str) -> Result<Header, ProxyError> {
        let addresses = Addresses { source: source.parse().unwrap(), destination: destination.parse().unwrap() };
        Ok(Header::Complete { length, addresses: Some(addresses) })
    }

    fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = V2_SIGNATURE.to_vec();
        bytes.extend([0x20 | command, family]);
        bytes.extend((body.len() as u16).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn version_1() {
        let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 51000 389\r\n0\x0c";
        assert_eq!(parse(line), complete(45, "192.0.2.7:51000", "198.51.100.1:389"));
        let line = b"PROXY TCP6 2001:db8::7 2001:db8::1 51000 636\r\n";
        assert_eq!(parse(line), complete(line.len(), "[2001:db8::7]:51000", "[2001:db8::1]:636"));
        assert_eq!(parse(b"PROXY UNKNOWN\r\n"), Ok(Header::Complete { length: 15, addresses: None }));
        assert_eq!(parse(b"PROXY UNKNOWN x y z\r\n"), Ok(Header::Complete { length: 21, addresses: None }));
        for bad in [
            "PROXY TCP4 192.0.2.7 198.51.100.1 51000\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 51000 389 1\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 51000 70000\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 +1 389\r\n",
            "PROXY TCP4 192.0.2.7 198.51.100.1 01 389\r\n",
            "PROXY TCP4 2001:db8::7 198.51.100.1 1 389\r\n",
            "PROXY UDP4 192.0.2.7 198.51.100.1 1 389\r\n",
            "PROXY  TCP4 192.0.2.7 198.51.100.1 1 389\r\n",
        ] {
            assert_eq!(parse(bad.as_bytes()), Err(ProxyError::BadV1), "{bad}");
        }
        assert_eq!(parse(&[b"PROXY TCP4 ".as_slice(), &[b'1'; 96]].concat()), Err(ProxyError::BadV1));
    }

    #[test]
    fn version_2() {
        let body = [192, 0, 2, 7, 198, 51, 100, 1, 0xc7, 0x38, 1, 0x85];
        assert_eq!(parse(&v2(1, 0x11, &body)), complete(28, "192.0.2.7:51000", "198.51.100.1:389"));
        let mut with_tlv = body.to_vec();
        with_tlv.extend([4, 0, 1, 9]);
        assert_eq!(parse(&v2(1, 0x11, &with_tlv)), complete(32, "192.0.2.7:51000", "198.51.100.1:389"));
        let mut six = [0u8; 36];
        six[15] = 1;
        six[31] = 2;
        six[33] = 7;
        six[35] = 9;
        assert_eq!(parse(&v2(1, 0x21, &six)), complete(52, "[::1]:7", "[::2]:9"));
        assert_eq!(parse(&v2(0, 0, &[])), Ok(Header::Complete { length: 16, addresses: None }));
        assert_eq!(parse(&v2(1, 0x31, &[0; 216])), Ok(Header::Complete { length: 232, addresses: None }));
        assert_eq!(parse(&v2(1, 0x11, &body[..11])), Err(ProxyError::BadV2));
        assert_eq!(parse(&v2(2, 0x11, &body)), Err(ProxyError::BadV2));
        assert_eq!(parse(&v2(1, 0x11, &[0; 5000])), Err(ProxyError::TooLong));
        let mut wrong_version = v2(1, 0x11, &body);
        wrong_version[12] = 0x11;
        assert_eq!(parse(&wrong_version), Err(ProxyError::BadV2));
    }

    #[test]
    fn anything_else_is_refused_at_the_first_byte() {
        for bytes in [b"0".as_slice(), b"\x30\x0c\x02\x01\x01", b"PRIX", b"\r\n\r\nQ", b"\x16\x03\x01"] {
            assert_eq!(parse(bytes), Err(ProxyError::NotAHeader));
        }
    }

    proptest! {
        #[test]
        fn byte_by_byte_needs_more_until_complete(ports in any::<(u16, u16)>(), binary: bool) {
            let header = if binary {
                let mut body = vec![192, 0, 2, 7, 198, 51, 100, 1];
                body.extend(ports.0.to_be_bytes());
                body.extend(ports.1.to_be_bytes());
                v2(1, 0x11, &body)
            } else {
                format!("PROXY TCP4 192.0.2.7 198.51.100.1 {} {}\r\n", ports.0, ports.1).into_bytes()
            };
            for length in 0..header.len() {
                prop_assert_eq!(parse(&header[..length]), Ok(Header::NeedMore));
            }
            let source = format!("192.0.2.7:{}", ports.0);
            prop_assert_eq!(parse(&header), complete(header.len(), &source, &format!("198.51.100.1:{}", ports.1)));
        }

        #[test]
        fn never_panics(bytes: Vec<u8>, signature: bool) {
            let mut all = if signature { V2_SIGNATURE.to_vec() } else { b"PROXY ".to_vec() };
            all.extend(bytes);
            let _ = parse(&all);
        }
    }
}
