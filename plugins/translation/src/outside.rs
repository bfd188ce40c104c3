//! Addresses outside that sessions use: those of pools and mappings, of interfaces the ones they
//! have now.

use std::net::Ipv4Addr;

use super::mapping::Mappings;
use super::session::{NatSession, STATIC, TWICE};

/// Addresses outside that sessions use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    pool: Vec<[u8; 4]>,
    twice: Vec<[u8; 4]>,
    mapped: Vec<[u8; 4]>,
}

impl Outside {
    /// Addresses of a pool, of another one for far ends, and of mappings.
    pub fn of(
        pool: impl Iterator<Item = Ipv4Addr>,
        twice: &[Ipv4Addr],
        mappings: &Mappings,
    ) -> Self {
        Self {
            pool: pool.map(|addr| addr.octets()).collect(),
            twice: twice.iter().map(Ipv4Addr::octets).collect(),
            mapped: mappings.addresses().map(|addr| addr.octets()).collect(),
        }
    }
    /// Those that are not in another one; `None` without any.
    #[must_use]
    pub fn without(&self, other: &Self) -> Option<Self> {
        let only = |all: &[[u8; 4]], other: &[[u8; 4]]| {
            all.iter().filter(|addr| !other.contains(addr)).copied().collect()
        };
        let left = Self {
            pool: only(&self.pool, &other.pool),
            twice: only(&self.twice, &other.twice),
            mapped: only(&self.mapped, &other.mapped),
        };
        (left != Self::default()).then_some(left)
    }
    /// Whether a session has one of them.
    pub fn has(&self, session: &NatSession) -> bool {
        let all = if session.data.is(STATIC) { &self.mapped } else { &self.pool };
        all.contains(&session.reverse.dst)
            || session.data.is(TWICE) && self.twice.contains(&session.forward.dst)
    }
}
