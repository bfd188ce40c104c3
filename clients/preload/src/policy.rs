//! Addresses and ports that are left to the kernel: `LDP_KERNEL`.
//!
//! Words such as `192.0.2.0/24`, `2001:db8::/32`, `:22`, `udp:53`, `tcp:10.0.0.1`. Without the
//! variable it is `:53`, so that names are resolved as before.
#![forbid(unsafe_code)]

use std::net::{IpAddr, SocketAddr};

/// The words without the variable.
const DEFAULT: &str = ":53";

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    is_udp: Option<bool>,
    port: Option<u16>,
    prefix: Option<(IpAddr, u8)>,
}

/// All words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy(Vec<Rule>);

impl Policy {
    /// Reads the words.
    ///
    /// # Errors
    /// The word that is none.
    pub fn parse(text: Option<&str>) -> Result<Self, String> {
        let words = text.unwrap_or(DEFAULT).split([' ', ',']).filter(|word| !word.is_empty());
        let rules = words.map(|word| rule(word).ok_or_else(|| word.to_owned()));
        rules.collect::<Result<_, _>>().map(Self)
    }
    /// Whether an endpoint is left to the kernel.
    pub fn is_kernels(&self, is_udp: bool, end: SocketAddr) -> bool {
        self.0.iter().any(|rule| {
            rule.is_udp.is_none_or(|is| is == is_udp)
                && rule.port.is_none_or(|port| port == end.port())
                && rule.prefix.is_none_or(|prefix| is_in(end.ip(), prefix))
        })
    }
}

fn rule(word: &str) -> Option<Rule> {
    let (is_udp, rest) = match word.split_once(':') {
        Some(("tcp", rest)) => (Some(false), rest),
        Some(("udp", rest)) => (Some(true), rest),
        _ => (None, word),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok(),
        None if is_udp.is_some() => rest.parse().ok(),
        None => None,
    };
    if port.is_some() {
        return Some(Rule { is_udp, port, prefix: None });
    }
    let (ip, len) = rest.split_once('/').map_or((rest, None), |(ip, len)| (ip, Some(len)));
    let ip: IpAddr = ip.parse().ok()?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let len = len.map_or(Some(most), |len| len.parse().ok().filter(|len| *len <= most))?;
    Some(Rule { is_udp, port: None, prefix: Some((ip, len)) })
}

fn is_in(ip: IpAddr, (of, len): (IpAddr, u8)) -> bool {
    let same = |a: u128, b: u128, width: u32| len == 0 || (a ^ b) >> (width - u32::from(len)) == 0;
    match (ip, of) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_of_addresses_ports_and_protocols() {
        let policy = Policy::parse(Some("192.0.2.0/24 :22,udp:53 tcp:2001:db8::/32")).unwrap();
        let is = |is_udp, end: &str| policy.is_kernels(is_udp, end.parse().unwrap());
        assert!(is(false, "192.0.2.255:80") && !is(false, "192.0.3.0:80"));
        assert!(is(true, "10.0.0.1:22") && is(true, "10.0.0.1:53") && !is(false, "10.0.0.1:53"));
        assert!(is(false, "[2001:db8::1]:1") && !is(true, "[2001:db8::1]:1"));
        for wrong in ["10.0.0.0/33", "x", "tcp:", ":70000"] {
            assert_eq!(Policy::parse(Some(&format!(":1 {wrong}"))), Err(wrong.to_owned()));
        }
        let default = Policy::parse(None).unwrap();
        assert!(default.is_kernels(true, "10.0.0.1:53".parse().unwrap()));
        assert_eq!(Policy::parse(Some("")), Ok(Policy::default()));
    }
}
