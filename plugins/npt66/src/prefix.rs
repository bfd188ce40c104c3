//! The translation of addresses between two prefixes (RFC 6296 section 3).

use std::net::Ipv6Addr;

use wire::prefix::Ip6Prefix;

/// Two prefixes of the same hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Inside prefix.
    pub internal: Ip6Prefix,
    /// Outside prefix.
    pub external: Ip6Prefix,
    /// Added to a word, in ones' complement, when the prefix becomes the external one.
    adjustment: u16,
}

/// The address has no word that could take up the difference of the prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMappable;

impl Binding {
    /// A binding of two networks.
    pub fn new(internal: Ip6Prefix, external: Ip6Prefix) -> Self {
        let (inside, outside) = (sum(internal.addr()), sum(external.addr()));
        Self { internal, external, adjustment: add(inside, !outside) }
    }
    /// Bits that are replaced: those of the longer prefix, the shorter one filled up with zeros.
    fn len(&self) -> u8 {
        self.internal.prefix_len().max(self.external.prefix_len())
    }
    /// Whether an address is one of the internal prefix.
    #[inline(always)]
    pub fn is_internal(&self, addr: Ipv6Addr) -> bool {
        self.covers(self.internal, addr)
    }
    /// Whether an address is one of the external prefix.
    #[inline(always)]
    pub fn is_external(&self, addr: Ipv6Addr) -> bool {
        self.covers(self.external, addr)
    }
    #[inline(always)]
    fn covers(&self, prefix: Ip6Prefix, addr: Ipv6Addr) -> bool {
        let shift = 128 - u32::from(self.len());
        let top = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
        top(addr.to_bits()) == top(prefix.addr().to_bits())
    }
    /// An internal address as it is outside.
    ///
    /// # Errors
    /// [`NotMappable`].
    #[inline(always)]
    pub fn outside(&self, addr: Ipv6Addr) -> Result<Ipv6Addr, NotMappable> {
        self.translated(addr, self.external, self.adjustment)
    }
    /// An external address as it is inside.
    ///
    /// # Errors
    /// [`NotMappable`].
    #[inline(always)]
    pub fn inside(&self, addr: Ipv6Addr) -> Result<Ipv6Addr, NotMappable> {
        self.translated(addr, self.internal, !self.adjustment)
    }
    #[inline(always)]
    fn translated(
        &self,
        addr: Ipv6Addr,
        to: Ip6Prefix,
        adjustment: u16,
    ) -> Result<Ipv6Addr, NotMappable> {
        let mask = Ip6Prefix::new(addr, self.len()).map_or(0, |p| p.mask().to_bits());
        let bits = addr.to_bits() & !mask | to.addr().to_bits();
        let mut words = Ipv6Addr::from_bits(bits).segments();
        // The subnet, or behind a longer prefix the first word of the interface identifier that
        // is not all ones.
        let is_free = |at: &usize| words[*at] != 0xffff;
        let at = if self.len() <= 48 { Some(3).filter(is_free) } else { (4..8).find(is_free) };
        let word = &mut words[at.ok_or(NotMappable)?];
        *word = match add(*word, adjustment) {
            0xffff => 0,
            sum => sum,
        };
        Ok(Ipv6Addr::from(words))
    }
}

/// Sum of an address's words in ones' complement.
fn sum(addr: Ipv6Addr) -> u16 {
    addr.segments().into_iter().fold(0, add)
}

/// Sum in ones' complement.
#[inline(always)]
fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}
