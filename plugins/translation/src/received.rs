//! Outside addresses as the router's own: pings of inside hosts are answered, and packets without a
//! session end here instead of being sent to a network where no host has the address.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use net::Router;
use net::fib::{Path, TableIndex, Target};
use net::interface::InterfaceIndex;
use wire::Ip4Prefix;

/// Priority of their routes: lower than that of operators' routes.
const PRIORITY: u8 = 0xf0;

/// Addresses in tables, with an interface that they stand in for.
pub type Received = BTreeMap<(TableIndex, Ipv4Addr), InterfaceIndex>;

/// Receives packets to addresses, in place of those that `owner` had before.
pub fn receive(router: &mut Router, owner: &'static str, old: &Received, new: &Received) {
    let Some(source) = router.fib.sources.add_own(owner, PRIORITY) else { return };
    for ((table, addr), _) in old.iter().filter(|(key, on)| new.get(key) != Some(on)) {
        // Gone already when the table is.
        let _ = router.remove_route(*table, Ip4Prefix::host(*addr).into(), source, &[]);
    }
    for ((table, addr), on) in new.iter().filter(|(key, on)| old.get(key) != Some(on)) {
        let path = Path::to(Target::Receive { interface: Some(*on), addr: None });
        // Without room packets are routed as others.
        let _ = router.set_route(*table, Ip4Prefix::host(*addr).into(), source, &[path]);
    }
}
