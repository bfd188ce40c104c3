//! The MTUs of an interface.

use serde::Serialize;

use super::{InterfaceIndex, Interfaces};
use crate::router::Router;

/// MTUs in bytes; 0 for a protocol means that the layer 3 MTU counts, 0 there on a sub-interface
/// that its parent's do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mtu {
    /// Of layer 3, any protocol.
    pub l3: u32,
    /// IPv4.
    pub ip4: u32,
    /// True for IPv6.
    pub ip6: u32,
    /// Of MPLS.
    pub mpls: u32,
}

impl Mtu {
    /// The MTU that counts for IPv4.
    pub fn for_ip4(&self) -> u32 {
        if self.ip4 == 0 { self.l3 } else { self.ip4 }
    }
    /// The MTU that counts for IPv6.
    pub fn for_ip6(&self) -> u32 {
        if self.ip6 == 0 { self.l3 } else { self.ip6 }
    }
    /// The MTU that counts for MPLS.
    pub fn for_mpls(&self) -> u32 {
        if self.mpls == 0 { self.l3 } else { self.mpls }
    }
}

impl Interfaces {
    /// The MTU of a protocol on an interface, which `of` selects; 0 for a missing interface.
    pub fn mtu_of(&self, index: InterfaceIndex, of: fn(&Mtu) -> u32) -> u32 {
        let Some(i) = self.at(index) else { return 0 };
        match of(&i.mtu) {
            0 if i.sup != index => self.mtu_of(i.sup, of),
            mtu => mtu,
        }
    }
}

impl Router {
    /// Sets the MTU of IPv4 that the network of an interface gave, which is in no configuration,
    /// or forgets it. One that the operator has set counts, and so does that of layer 3 where it is
    /// smaller.
    pub fn set_learned_mtu(&mut self, index: InterfaceIndex, learned: Option<u16>) {
        let l3 = self.interfaces.mtu_of(index, |mtu| mtu.l3);
        let Some(i) = self.interfaces.at_mut(index) else { return };
        let is_set = i.mtu.ip4 != 0 && !i.has_learned_mtu;
        let ip4 = learned.map_or(0, u32::from);
        if is_set || ip4 >= l3 || i.mtu.ip4 == ip4 {
            return;
        }
        i.has_learned_mtu = ip4 != 0;
        i.mtu.ip4 = ip4;
        self.follow_mtu(index);
    }
}
