//! Messages of the module `ip` about sources and ports.

use control::api::types::Prefix as PrefixField;
use net::prelude::*;

use super::{Ports, Vrfs};

/// Ranges of ports in a message.
const RANGES: usize = 32;

/// Add or delete port ranges of source prefixes.
#[derive(Message)]
pub struct IpSourceAndPortRangeCheckAddDel {
    #[preset(true)]
    /// true to add, false to delete
    pub is_add: bool,
    /// sources
    pub prefix: PrefixField,
    /// number of ranges
    pub number_of_ranges: u8,
    /// first port of each range
    pub low_ports: [u16; RANGES],
    /// last port of each range
    pub high_ports: [u16; RANGES],
    /// table whose list it is
    pub vrf_id: u32,
}

/// Enable or disable source and port range checks on an interface; 0 or 4294967295 for no list.
#[derive(Message)]
pub struct IpSourceAndPortRangeCheckInterfaceAddDel {
    #[preset(true)]
    /// true to enable, false to disable
    pub is_add: bool,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// list for transmitted TCP packets
    pub tcp_in_vrf_id: u32,
    /// list for received TCP packets
    pub tcp_out_vrf_id: u32,
    /// list for transmitted UDP packets
    pub udp_in_vrf_id: u32,
    /// list for received UDP packets
    pub udp_out_vrf_id: u32,
}

fn add_del(router: &mut Router, m: &IpSourceAndPortRangeCheckAddDel) -> Result<(), Retval> {
    let Prefix::Ip4(prefix) = m.prefix.native()? else {
        return Err(Retval::INVALID_ADDRESS_FAMILY);
    };
    let count = usize::from(m.number_of_ranges);
    if count > RANGES {
        return Err(Retval::EXCEEDED_NUMBER_OF_RANGES_CAPACITY);
    }
    let pairs = m.low_ports.iter().zip(m.high_ports).take(count);
    let ranges: Vec<Ports> = pairs.map(|(low, high)| *low..=high).collect();
    Ok(super::set_ranges(router, m.vrf_id, prefix, &ranges, m.is_add)?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", "3.2.0")
        .call(|router: &mut Router, m: IpSourceAndPortRangeCheckAddDel| add_del(router, &m))
        .call(|router, m: IpSourceAndPortRangeCheckInterfaceAddDel| {
            let vrf = |id: u32| Some(id).filter(|id| m.is_add && ![0, u32::MAX].contains(id));
            let vrfs = Vrfs {
                tcp_in: vrf(m.tcp_in_vrf_id),
                tcp_out: vrf(m.tcp_out_vrf_id),
                udp_in: vrf(m.udp_in_vrf_id),
                udp_out: vrf(m.udp_out_vrf_id),
            };
            Ok(super::check(router, m.sw_if_index, vrfs)?)
        });
}
