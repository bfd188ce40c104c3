//! Ports that packets get.

use crate::FIRST_PORT;

/// Steps that meet all of `count` numbers in an order of their own, so that ports in use do not
/// pile up in rows that are long to walk over.
pub fn stride(random: u64, count: u32) -> u32 {
    let is_coprime = |n: u32| {
        let (mut a, mut b) = (n, count);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    let first = (random as u32 % (1 << 15)) | 1;
    (first..).step_by(2).find(|n| is_coprime(*n)).unwrap_or(1)
}

/// Number of values of the bits after an identifier.
fn lows(offset: u8) -> u32 {
    ((1 << offset) - 1).max(1)
}

/// A set of ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortSet {
    /// All from 1024 on.
    #[default]
    All,
    /// Those with an identifier in the middle (as RFC 7597 section 5.1 has it, but with `offset`
    /// counted from the other end): any bits, then `len` bits that are `psid`, then `offset` bits
    /// that are not all 0.
    Psid {
        /// Bits after the identifier.
        offset: u8,
        /// Bits of the identifier.
        len: u8,
        /// The identifier.
        psid: u16,
    },
    /// A range.
    Range {
        /// First.
        first: u16,
        /// Last.
        last: u16,
    },
}

impl PortSet {
    /// Whether there is such a set.
    pub fn is_valid(self) -> bool {
        match self {
            Self::All => true,
            Self::Psid { offset, len, psid } => {
                offset <= 16 && len <= 16 - offset && u32::from(psid) < 1 << len
            }
            Self::Range { first, last } => first <= last,
        }
    }
    /// Number of ports.
    pub fn count(self) -> u32 {
        match self {
            Self::All => 1 + u32::from(u16::MAX - FIRST_PORT),
            Self::Psid { offset, len, .. } => (1 << (16 - offset - len)) * lows(offset),
            Self::Range { first, last } => 1 + u32::from(last - first),
        }
    }
    /// Number `n` of them, from 0.
    pub fn at(self, n: u32) -> u16 {
        match self {
            Self::All => FIRST_PORT + n as u16,
            Self::Psid { offset, len, psid } => {
                // The bits behind are not all 0, unless there are none.
                let low = n % lows(offset) + u32::from(offset > 0);
                let high = u64::from(n / lows(offset)) << (offset + len);
                high as u16 | (u32::from(psid) << offset | low) as u16
            }
            Self::Range { first, .. } => first + n as u16,
        }
    }
    /// Whether a port is one of them.
    pub fn contains(self, port: u16) -> bool {
        match self {
            Self::All => port >= FIRST_PORT,
            Self::Psid { offset, len, psid } => {
                let port = u32::from(port);
                let has_low = offset == 0 || port & ((1 << offset) - 1) != 0;
                has_low && (port >> offset) & ((1 << len) - 1) == u32::from(psid)
            }
            Self::Range { first, last } => (first..=last).contains(&port),
        }
    }
    /// All of them, in an order of its own for each random number.
    pub fn in_some_order(self, random: u64) -> impl Iterator<Item = u16> {
        let count = self.count();
        let (start, step) = ((random >> 16) as u32 % count.max(1), stride(random, count));
        let at = move |n: u32| {
            let place = (u64::from(start) + u64::from(n) * u64::from(step)) % u64::from(count);
            self.at(place as u32)
        };
        (0..count).map(at)
    }
}
