//! The hosts that have sub-interfaces, by port and address.

use net::prelude::*;

/// Parts of the table.
const PARTS: usize = 256;

/// A port and the address of a host behind it.
pub(super) type Host = (u32, MacAddr);

/// Numbers of sub-interfaces. A changed copy shares all parts with the original but one.
#[derive(Clone)]
pub(super) struct Hosts(Vec<Arc<HashMap<Host, u32>>>);

impl Default for Hosts {
    fn default() -> Self {
        Self(vec![Arc::default(); PARTS])
    }
}

/// The part of a host: its address differs from others' in the last bytes.
#[inline(always)]
fn part((_, MacAddr([.., a, b])): Host) -> usize {
    usize::from(a.wrapping_mul(31) ^ b)
}

impl Hosts {
    /// The sub-interface of a host.
    #[inline(always)]
    pub fn find(&self, host: Host) -> Option<u32> {
        self.0[part(host)].get(&host).copied()
    }
    /// Sets it, or takes it out.
    pub fn set(&mut self, host: Host, sub: Option<u32>) {
        let part = Arc::make_mut(&mut self.0[part(host)]);
        match sub {
            Some(sub) => part.insert(host, sub),
            None => part.remove(&host),
        };
    }
}
