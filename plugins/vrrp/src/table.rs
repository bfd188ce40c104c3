//! Virtual routers as nodes find them.

use net::prelude::*;
use wire::vrrp;

/// Identification of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Interface index.
    pub on: InterfaceIndex,
    /// Index.
    pub id: u8,
    /// The version of its addresses.
    pub version: IpVersion,
}

impl Key {
    /// MAC address.
    pub fn mac(&self) -> MacAddr {
        vrrp::mac(self.id, self.version)
    }
}

/// All that run.
#[derive(Clone, Default)]
pub struct Table {
    /// Addresses of those that hear advertisements.
    pub heard: HashMap<Key, Arc<[IpAddr]>>,
    /// Addresses that this router answers for, with the MAC addresses they have.
    pub owned: HashMap<(InterfaceIndex, IpAddr), MacAddr>,
}
