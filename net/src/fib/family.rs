//! Address families, as routing needs them: keys, names, and the table each looks up in.

use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::prefix::{Address, Ip4Prefix, Ip6Prefix, Prefix};

use super::Fib;
use super::control::path::Target;
use super::control::prefix_bitmap::SHORT;
use super::control::source::Source;
use super::control::table::Tables;
use super::forwarding::lpm::{LpmReader, LpmWriter};
use super::forwarding::ranges::{self, Ranges};
use super::forwarding::trie4::{Trie4, Trie4Writer};
use crate::adjacency::Link;

/// IPv4 or IPv6.
pub trait Family: Copy + Debug + Send + Sync + 'static {
    /// An address as a number, first bit on top.
    type Bits: Copy + Ord + Debug + Default + Send + Sync + 'static;
    /// The table that data-plane threads look up in.
    type LpmReader: LpmReader<Bits = Self::Bits>;
    /// The writing half.
    type LpmWriter: LpmWriter<Bits = Self::Bits, LpmReader = Self::LpmReader>;

    /// Length of an address in bits.
    const BITS: u8;
    /// The link of its adjacencies.
    const LINK: Link;
    /// `ip4`.
    const NAME: &'static str;
    /// `ipv4`.
    const LONG_NAME: &'static str;
    /// Prefixes of every table, their default targets, and their sources. Broadcast and unspecified
    /// addresses have the weakest: any route for them has priority.
    const DEFAULTS: &'static [(Self::Bits, u8, Target, Source)];

    /// An address of this family as a number.
    fn bits(addr: IpAddr) -> Option<Self::Bits>;
    /// A number as an address.
    fn addr(bits: Self::Bits) -> IpAddr;
    /// Its first `len` bits.
    fn masked(bits: Self::Bits, len: u8) -> Self::Bits;
    /// Its first [`SHORT`] bits.
    fn top(bits: Self::Bits) -> u32;
    /// The last address that begins with the first `len` bits.
    fn last(bits: Self::Bits, len: u8) -> Self::Bits;
    /// Number of first bits that two addresses have in common.
    fn common(a: Self::Bits, b: Self::Bits) -> u8;
    /// The first address of the prefix that comes `steps` prefixes of the same length later, if it
    /// exists.
    fn later(bits: Self::Bits, len: u8, steps: u32) -> Option<Self::Bits>;
    /// A key as a prefix.
    fn prefix(key: (Self::Bits, u8)) -> Prefix;
    /// The tables of this family.
    fn tables(fib: &Fib) -> &Tables<Self>;
    /// The tables of this family.
    fn tables_mut(fib: &mut Fib) -> &mut Tables<Self>;
}

/// IPv4.
#[derive(Clone, Copy, Debug)]
pub struct Ip4;

/// IPv6.
#[derive(Clone, Copy, Debug)]
pub struct Ip6;

macro_rules! arithmetic {
    ($addr:ty, $bits:ty, $variant:ident, $prefix:ty) => {
        fn bits(addr: IpAddr) -> Option<$bits> {
            match addr {
                IpAddr::$variant(a) => Some(a.to_bits()),
                _ => None,
            }
        }
        fn addr(bits: $bits) -> IpAddr {
            <$addr>::from_bits(bits).into()
        }
        fn masked(bits: $bits, len: u8) -> $bits {
            bits & <$addr>::mask(len).to_bits()
        }
        fn top(bits: $bits) -> u32 {
            (bits >> (Self::BITS - SHORT)) as u32
        }
        fn last(bits: $bits, len: u8) -> $bits {
            bits | !<$addr>::mask(len).to_bits()
        }
        fn common(a: $bits, b: $bits) -> u8 {
            (a ^ b).leading_zeros() as u8
        }
        fn later(bits: $bits, len: u8, steps: u32) -> Option<$bits> {
            if steps == 0 {
                return Some(bits);
            }
            let size = <$bits>::checked_shl(1, u32::from(Self::BITS - len))?;
            bits.checked_add(size.checked_mul(steps.into())?)
        }
        fn prefix((bits, len): ($bits, u8)) -> Prefix {
            let prefix = <$prefix>::new(<$addr>::from_bits(bits), len);
            prefix.expect("lengths in a table are checked").into()
        }
    };
}

impl Family for Ip4 {
    type Bits = u32;
    type LpmReader = Trie4;
    type LpmWriter = Trie4Writer;
    const BITS: u8 = 32;
    const LINK: Link = Link::Ip4;
    const NAME: &'static str = "ip4";
    const LONG_NAME: &'static str = "ipv4";
    const DEFAULTS: &'static [(u32, u8, Target, Source)] = &[
        (0, 0, Target::Drop, Source::DEFAULT),
        (0, 32, Target::Drop, Source::DEFAULT),
        (0xf000_0000, 4, Target::Drop, Source::SPECIAL),
        (0xe000_0000, 4, Target::Drop, Source::SPECIAL),
        (u32::MAX, 32, Target::Drop, Source::DEFAULT),
    ];
    arithmetic!(Ipv4Addr, u32, V4, Ip4Prefix);
    fn tables(fib: &Fib) -> &Tables<Self> {
        &fib.ip4
    }
    fn tables_mut(fib: &mut Fib) -> &mut Tables<Self> {
        &mut fib.ip4
    }
}

impl Family for Ip6 {
    type Bits = u128;
    type LpmReader = Ranges;
    type LpmWriter = ranges::Writer;
    const BITS: u8 = 128;
    const LINK: Link = Link::Ip6;
    const NAME: &'static str = "ip6";
    const LONG_NAME: &'static str = "ipv6";
    const DEFAULTS: &'static [(u128, u8, Target, Source)] = &[
        (0, 0, Target::Drop, Source::DEFAULT),
        (0xfe80 << 112, 10, Target::LinkLocal, Source::SPECIAL),
    ];
    arithmetic!(Ipv6Addr, u128, V6, Ip6Prefix);
    fn tables(fib: &Fib) -> &Tables<Self> {
        &fib.ip6
    }
    fn tables_mut(fib: &mut Fib) -> &mut Tables<Self> {
        &mut fib.ip6
    }
}
