//! IP addresses of interfaces and the tables they look up in.

use control::api::types::AddressWithPrefix;
use control::api::{Api, Message, Retval};

use super::super::InterfaceIndex;
use super::find;
use crate::address;
use crate::fib::{Ip4, Ip6};
use crate::router::Router;

/// Give an interface an address or take one away.
#[derive(Message)]
pub struct SwInterfaceAddDelAddress {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// or take it away
    pub is_add: bool,
    /// take all away
    pub del_all: bool,
    /// the address with its network
    pub prefix: AddressWithPrefix,
}

/// Have an interface look up in another table.
#[derive(Message)]
pub struct SwInterfaceSetTable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// for IPv6, else for IPv4
    pub is_ipv6: bool,
    /// the table
    pub vrf_id: u32,
}

/// Ask which table an interface looks up in.
#[derive(Message)]
#[reply(SwInterfaceGetTableReply)]
pub struct SwInterfaceGetTable {
    /// interface
    pub sw_if_index: InterfaceIndex,
    /// for IPv6, else for IPv4
    pub is_ipv6: bool,
}

/// The table.
#[derive(Message)]
pub struct SwInterfaceGetTableReply {
    /// its number
    pub vrf_id: u32,
}

/// The error that clients know.
fn retval(e: address::Error) -> Retval {
    match e {
        address::Error::NoInterface => Retval::INVALID_SW_IF_INDEX,
        address::Error::Conflict { .. } => Retval::ADDRESS_IN_USE,
        address::Error::NotFound(_) => Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE,
        address::Error::HasAddresses => Retval::ADDRESS_FOUND_FOR_INTERFACE,
        address::Error::Invalid(_) => Retval::INVALID_VALUE,
        _ => Retval::UNSPECIFIED,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    super::module(api)
        .call(|router: &mut Router, m: SwInterfaceAddDelAddress| {
            let index = find(router, m.sw_if_index)?.index;
            if m.del_all && !m.is_add {
                router.remove_all_addresses(index);
                return Ok(());
            }
            let prefix = m.prefix.0.native()?;
            if !m.is_add {
                return router.remove_address(index, prefix).map_err(retval);
            }
            if router.addresses.of(index).iter().any(|p| p == prefix) {
                return Err(Retval::DUPLICATE_IF_ADDRESS);
            }
            router.add_address(index, prefix).map_err(retval)
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
            set.map_err(retval)
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
