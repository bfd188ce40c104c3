//! Bindings: matches and rewrites.

use net::prelude::*;

use super::Error;

/// Fields of a packet, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask(pub u32);

impl Mask {
    /// Source address.
    pub const SRC: Self = Self(1);
    /// Destination address.
    pub const DST: Self = Self(1 << 1);
    /// Source port.
    pub const SPORT: Self = Self(1 << 2);
    /// Destination port.
    pub const DPORT: Self = Self(1 << 3);
    /// A byte is copied.
    pub const COPY_BYTE: Self = Self(1 << 4);
    /// A byte becomes zero.
    pub const CLEAR_BYTE: Self = Self(1 << 5);
    /// Protocol.
    pub const PROTO: Self = Self(1 << 6);
    /// Fields that can be matched.
    const MATCHED: u32 = 0b100_1111;
    /// Fields that can be rewritten.
    const REWRITTEN: u32 = 0b11_1111;

    /// Whether a field is among these.
    #[inline(always)]
    pub fn has(self, field: Self) -> bool {
        self.0 & field.0 != 0
    }
    /// With a field more.
    pub fn with(self, field: Self) -> Self {
        Self(self.0 | field.0)
    }
    /// Whether ports are among these.
    pub fn has_ports(self) -> bool {
        self.has(Self::SPORT.with(Self::DPORT))
    }
}

/// Whether bindings match and rewrite the ports of a protocol.
#[inline(always)]
pub fn has_ports(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::TCP | Protocol::UDP)
}

/// Fields of a packet in the order addresses, protocol, ports; 0 for one that does not count.
pub type Key = (u32, u32, u8, u16, u16);

/// Match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Protocol.
    pub protocol: Protocol,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Mask.
    pub mask: Mask,
}

impl Match {
    /// The fields that count.
    #[inline(always)]
    pub fn key(&self) -> Key {
        let counts = |field, value: u32| if self.mask.has(field) { value } else { 0 };
        (
            counts(Mask::SRC, self.src.to_bits()),
            counts(Mask::DST, self.dst.to_bits()),
            counts(Mask::PROTO, self.protocol.0.into()) as u8,
            counts(Mask::SPORT, self.sport.into()) as u16,
            counts(Mask::DPORT, self.dport.into()) as u16,
        )
    }
}

/// Rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// New source address.
    pub src: Ipv4Addr,
    /// New destination address.
    pub dst: Ipv4Addr,
    /// New source port.
    pub sport: u16,
    /// New destination port.
    pub dport: u16,
    /// Fields to rewrite.
    pub mask: Mask,
    /// The byte that is copied, from the start of the IP header.
    pub from: u8,
    /// Position that it is copied to.
    pub to: u8,
    /// The byte that becomes zero.
    pub clear: u8,
}

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Match.
    pub matched: Match,
    /// Rewrite.
    pub rewrite: Rewrite,
}

impl Binding {
    /// The same with zeros in fields that do not count, as commands have it.
    pub(super) fn plain(&self) -> Self {
        let if_in = |mask: Mask, field| if mask.has(field) { u32::MAX } else { 0 };
        let addr =
            |mask, field, addr: Ipv4Addr| Ipv4Addr::from(addr.to_bits() & if_in(mask, field));
        let port = |mask, field, port: u16| port & if_in(mask, field) as u16;
        let byte = |mask, field, byte: u8| byte & if_in(mask, field) as u8;
        let (m, r) = (self.matched, self.rewrite);
        let matched = Match {
            src: addr(m.mask, Mask::SRC, m.src),
            dst: addr(m.mask, Mask::DST, m.dst),
            protocol: Protocol(byte(m.mask, Mask::PROTO, m.protocol.0)),
            sport: port(m.mask, Mask::SPORT, m.sport),
            dport: port(m.mask, Mask::DPORT, m.dport),
            mask: m.mask,
        };
        let rewrite = Rewrite {
            src: addr(r.mask, Mask::SRC, r.src),
            dst: addr(r.mask, Mask::DST, r.dst),
            sport: port(r.mask, Mask::SPORT, r.sport),
            dport: port(r.mask, Mask::DPORT, r.dport),
            mask: r.mask,
            from: byte(r.mask, Mask::COPY_BYTE, r.from),
            to: byte(r.mask, Mask::COPY_BYTE, r.to),
            clear: byte(r.mask, Mask::CLEAR_BYTE, r.clear),
        };
        Self { matched, rewrite }
    }
    /// Checks it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let (matched, rewrite) = (self.matched.mask, self.rewrite.mask);
        if matched.0 & !Mask::MATCHED != 0 {
            return Err(Error::Unfit("these fields cannot be matched"));
        }
        if rewrite.0 & !Mask::REWRITTEN != 0 {
            return Err(Error::Unfit("these fields cannot be rewritten"));
        }
        if matched == Mask::default() || rewrite == Mask::default() {
            return Err(Error::NoFields);
        }
        if matched.has(Mask::PROTO) && matched.has_ports() && !has_ports(self.matched.protocol) {
            return Err(Error::NoPorts);
        }
        Ok(())
    }
}
