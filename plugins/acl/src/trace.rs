//! Trace records of the nodes.

use net::prelude::*;

use super::meeting::Met;
use super::node::Found;
use super::packet::Matched;
use super::rule::Action;

/// The trace record of a node.
pub(super) struct Checked {
    version: u8,
    interface: u32,
    found: Found,
    met: Met,
    src: [u8; 16],
    dst: [u8; 16],
    protocol: u8,
    ports: (u16, u16),
    flags: u8,
}

impl Checked {
    pub fn of<V: Matched>(interface: u32, found: Found, met: Met, tuple: &V::Tuple) -> Self {
        let (src, dst, protocol, ports, flags) = V::show(tuple);
        let protocol = protocol.0;
        Self { version: V::NUMBER, interface, found, met, src, dst, protocol, ports, flags }
    }
}

/// An address of a version in the bytes of one of any.
pub(super) fn address(version: u8, bytes: &[u8; 16]) -> IpAddr {
    match (version, bytes.first_chunk::<4>()) {
        (4, Some(bytes)) => Ipv4Addr::from(*bytes).into(),
        _ => Ipv6Addr::from(*bytes).into(),
    }
}

impl Record for Checked {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, interface, found, protocol, ports, flags, .. } = self;
        let (src, dst) = (address(*version, &self.src), address(*version, &self.dst));
        write!(f, "  acl-plugin: sw_if_index {interface}, action: {}, ", found.action as u8)?;
        match self.met {
            Met::Nothing => {}
            Met::Existing => f.write_str("existing session, ")?,
            Met::New => f.write_str("new session, ")?,
            Met::Full => f.write_str("session table full, ")?,
            Met::Elsewhere => f.write_str("handed over, ")?,
        }
        match found.list {
            u32::MAX => f.write_str("match: none")?,
            list => write!(f, "match: acl {list} rule {}", found.rule)?,
        }
        let (from, to) = ports;
        write!(f, "\n   l3 ip{version} {src} -> {dst} l4 proto {protocol} ")?;
        write!(f, "port {from} -> {to} tcp flags {flags:02x}")
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let interface = names.name("interface", self.interface);
        let (list, rule) = (self.found.list, self.found.rule);
        let verdict = match self.found.action {
            Action::Deny => "denies",
            Action::Permit => "permits",
            Action::Reflect => "permits, with answers by a session,",
        };
        Some(vec![match list {
            u32::MAX => format!("no rule of the lists on {interface} matches: denied"),
            _ => format!("rule {rule} of list {list} on {interface} {verdict} it"),
        }])
    }
}
