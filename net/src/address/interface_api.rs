//! Messages of the module `interface`: IP addresses of interfaces and the tables they look up in.

use std::collections::HashSet;

use control::api::types::AddressWithPrefix;
use control::api::{Api, Message, Retval};
use wire::Prefix;

use crate::address;
use crate::fib::{Ip4, Ip6};
use crate::interface::InterfaceIndex;
use crate::interface::api::{find, module};
use crate::router::Router;

/// Add or delete an interface address.
#[derive(Message)]
pub struct SwInterfaceAddDelAddress {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    pub is_add: bool,
    /// delete all addresses
    pub del_all: bool,
    /// address and prefix length
    pub prefix: AddressWithPrefix,
}

/// Set the table of an interface.
#[derive(Message)]
pub struct SwInterfaceSetTable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
    /// table ID
    pub vrf_id: u32,
}

/// Get the table of an interface.
#[derive(Message)]
#[reply(SwInterfaceGetTableReply)]
pub struct SwInterfaceGetTable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// true for IPv6, false for IPv4
    pub is_ipv6: bool,
}

/// The interface's table.
#[derive(Message)]
pub struct SwInterfaceGetTableReply {
    /// index
    pub vrf_id: u32,
}

/// Make an interface unnumbered, using the addresses of another.
#[derive(Message)]
pub struct SwInterfaceSetUnnumbered {
    /// interface whose addresses are used
    pub sw_if_index: InterfaceIndex,
    /// the unnumbered interface
    pub unnumbered_sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    pub is_add: bool,
}

/// Enable or disable directed broadcasts on an interface.
#[derive(Message)]
pub struct SwInterfaceSetIpDirectedBroadcast {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// forward directed broadcasts
    pub enable: bool,
}

/// Start replacing addresses: mark those that exist.
#[derive(Message)]
pub struct SwInterfaceAddressReplaceBegin {}

/// Finish replacing addresses: delete those not set again.
#[derive(Message)]
pub struct SwInterfaceAddressReplaceEnd {}

/// Addresses that go at the end of a replacement unless they are set again.
struct Replaced(HashSet<(InterfaceIndex, Prefix)>);

/// The error that clients know.
impl From<address::Error> for Retval {
    fn from(e: address::Error) -> Self {
        match e {
            address::Error::NoInterface => Retval::INVALID_SW_IF_INDEX,
            address::Error::Conflict { .. } => Retval::ADDRESS_IN_USE,
            address::Error::NotFound(_) => Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE,
            address::Error::LinkLocalLen(_) => Retval::ADDRESS_LENGTH_MISMATCH,
            address::Error::NotDeletable(_) => Retval::ADDRESS_NOT_DELETABLE,
            address::Error::HasAddresses => Retval::ADDRESS_FOUND_FOR_INTERFACE,
            address::Error::Invalid(_) | address::Error::NoLender | address::Error::Lends => {
                Retval::INVALID_VALUE
            }
            _ => Retval::UNSPECIFIED,
        }
    }
}

/// Whether an address was to go at the end of a replacement, which it now is not.
fn is_replaced(router: &mut Router, on: InterfaceIndex, prefix: Prefix) -> bool {
    router.state_mut::<Replaced>().is_some_and(|all| all.0.remove(&(on, prefix)))
}

/// Gives an interface an address. One that is to go at the end of a replacement goes now if it is
/// in the way.
fn add(router: &mut Router, index: InterfaceIndex, prefix: Prefix) -> Result<(), Retval> {
    if router.addresses.of(index).iter().any(|p| p == prefix) {
        let is_kept = is_replaced(router, index, prefix);
        return if is_kept { Ok(()) } else { Err(Retval::DUPLICATE_IF_ADDRESS) };
    }
    loop {
        match router.add_address(index, prefix) {
            Err(address::Error::Conflict { with, interface })
                if is_replaced(router, interface, with) =>
            {
                router.remove_address(interface, with).map_err(Retval::from)?;
            }
            done => return done.map_err(Retval::from),
        }
    }
}

fn replacement(api: &mut Api<Router>) {
    module(api)
        .call(|router: &mut Router, _: SwInterfaceAddressReplaceBegin| {
            let all = router.addresses.iter();
            let all = all.flat_map(|(index, on)| on.iter().map(move |p| (index, p))).collect();
            router.insert(Replaced(all));
            Ok(())
        })
        .call(|router: &mut Router, _: SwInterfaceAddressReplaceEnd| {
            let left = router.state_mut::<Replaced>().map(|all| std::mem::take(&mut all.0));
            for (index, prefix) in left.into_iter().flatten() {
                // It may have gone meanwhile.
                let _ = router.remove_address(index, prefix);
            }
            Ok(())
        });
}

pub(super) fn register(api: &mut Api<Router>) {
    replacement(api);
    module(api)
        .call(|router: &mut Router, m: SwInterfaceAddDelAddress| {
            let index = find(router, m.sw_if_index)?.index;
            if m.del_all && !m.is_add {
                router.remove_all_addresses(index);
                return Ok(());
            }
            let prefix = m.prefix.0.native()?;
            if !m.is_add {
                return router.remove_address(index, prefix).map_err(Retval::from);
            }
            add(router, index, prefix)
        })
        .call(|router: &mut Router, m: SwInterfaceSetIpDirectedBroadcast| {
            router.set_directed_broadcast(m.sw_if_index, m.enable).map_err(Retval::from)
        })
        .call(|router: &mut Router, m: SwInterfaceSetUnnumbered| {
            find(router, m.sw_if_index)?;
            let unnumbered = router.interfaces.at(m.unnumbered_sw_if_index);
            let index = unnumbered.ok_or(Retval::INVALID_SW_IF_INDEX_2)?.index;
            router.set_unnumbered(index, m.is_add.then_some(m.sw_if_index)).map_err(Retval::from)
        })
        .call(|router: &mut Router, m: SwInterfaceSetTable| {
            let index = find(router, m.sw_if_index)?.index;
            let no_table = Retval::NO_SUCH_FIB;
            let set = if m.is_ipv6 {
                let table = router.fib.table::<Ip6>(m.vrf_id).ok_or(no_table)?;
                router.set_interface_table6(index, table)
            } else {
                let table = router.fib.table::<Ip4>(m.vrf_id).ok_or(no_table)?;
                router.set_interface_table4(index, table)
            };
            set.map_err(Retval::from)
        })
        .call(|router: &mut Router, m: SwInterfaceGetTable| {
            let index = find(router, m.sw_if_index)?.index;
            let on = router.addresses.of(index);
            let vrf_id = if m.is_ipv6 {
                router.fib.table_id::<Ip6>(on.table6)
            } else {
                router.fib.table_id::<Ip4>(on.table4)
            };
            Ok(SwInterfaceGetTableReply { vrf_id: vrf_id.unwrap_or_default() })
        });
}
