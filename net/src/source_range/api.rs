//! Messages of the module `ip` about sources and ports.
#![forbid(unsafe_code)]

use control::api::types::Prefix as PrefixField;
use control::api::{Api, Message, Retval};
use wire::Prefix;

use super::{Error, Ports, Vrfs};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Ranges of ports in a message.
const RANGES: usize = 32;

/// List ports for sources in a prefix, or no longer.
#[derive(Message)]
pub(super) struct IpSourceAndPortRangeCheckAddDel {
    #[preset(true)]
    pub is_add: bool,
    /// the sources
    pub prefix: PrefixField,
    /// how many of the ranges count
    pub number_of_ranges: u8,
    /// first port of each range
    pub low_ports: [u16; RANGES],
    /// last port of each range
    pub high_ports: [u16; RANGES],
    /// the routing table whose list it is
    pub vrf_id: u32,
}

/// Have packets of an interface checked, or no longer; 0 or 4294967295 for no list.
#[derive(Message)]
pub(super) struct IpSourceAndPortRangeCheckInterfaceAddDel {
    #[preset(true)]
    pub is_add: bool,
    pub sw_if_index: InterfaceIndex,
    /// the list for TCP that goes out
    pub tcp_in_vrf_id: u32,
    /// the list for TCP that comes in
    pub tcp_out_vrf_id: u32,
    /// the list for UDP that goes out
    pub udp_in_vrf_id: u32,
    /// the list for UDP that comes in
    pub udp_out_vrf_id: u32,
}

impl From<Error> for Retval {
    fn from(error: Error) -> Self {
        match error {
            Error::NoInterface => Self::INVALID_SW_IF_INDEX,
            Error::NoTable(_) | Error::Backwards => Self::INVALID_VALUE,
            Error::Full => Self::LIMIT_EXCEEDED,
            Error::TooMany => Self::EXCEEDED_NUMBER_OF_RANGES_CAPACITY,
            Error::Unknown => Self::NO_SUCH_ENTRY,
        }
    }
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
    Ok(router.set_source_ranges(m.vrf_id, prefix, &ranges, m.is_add)?)
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
            Ok(router.check_ranges(m.sw_if_index, vrfs)?)
        });
}
