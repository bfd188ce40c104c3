//! Messages of the module `tapv2`.
#![forbid(unsafe_code)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::api::types::{Ip4AddressWithPrefix, Ip4Prefix, Ip6AddressWithPrefix, Ip6Prefix};
use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, Router};
use wire::{MacAddr, Prefix};

use super::commands::make;
use super::device::Leaves;
use super::interface::{Host, Parameters, Tap, Taps};
use crate::host::background::Pending;

/// Value for no number.
const ANY: u32 = u32::MAX;

control::numbers! {
    /// Tap options.
    pub enum TapFlags: u32 = "tap_flags" in "" {
        GSO = 1 => "TAP_API_FLAG_GSO",
        CSUM_OFFLOAD = 2 => "TAP_API_FLAG_CSUM_OFFLOAD",
        PERSIST = 4 => "TAP_API_FLAG_PERSIST",
        ATTACH = 8 => "TAP_API_FLAG_ATTACH",
        TUN = 16 => "TAP_API_FLAG_TUN",
        GRO_COALESCE = 32 => "TAP_API_FLAG_GRO_COALESCE",
        PACKED = 64 => "TAP_API_FLAG_PACKED" later,
        IN_ORDER = 128 => "TAP_API_FLAG_IN_ORDER" later,
        CONSISTENT_QP = 256 => "TAP_API_FLAG_CONSISTENT_QP" later,
    }
}

/// No address.
const NO_IP4: Ip4AddressWithPrefix =
    Ip4AddressWithPrefix(Ip4Prefix { address: Ipv4Addr::UNSPECIFIED, len: 0 });
/// No address.
const NO_IP6: Ip6AddressWithPrefix =
    Ip6AddressWithPrefix(Ip6Prefix { address: Ipv6Addr::UNSPECIFIED, len: 0 });

/// Declares the two requests that make a tap: they differ in their queues.
macro_rules! create {
    ($(#[$meta:meta])* $name:ident, $queue:ty, [$($tx:ident)?]) => {
        /// Create a tap interface.
        #[derive(Message)]
        $(#[$meta])*
        pub struct $name {
            /// instance number in the name; 4294967295 for any
            #[preset(4294967295)]
            pub id: u32,
            /// true for a random MAC address
            #[preset(true)]
            pub use_random_mac: bool,
            /// MAC address
            pub mac_address: MacAddr,
            /// number of receive queues
            #[preset(1)]
            pub num_rx_queues: $queue,
            $(
                /// number of transmit queues
                #[preset(1)]
                pub $tx: $queue,
            )?
            /// transmit ring size, towards the host
            #[preset(256)]
            pub tx_ring_sz: u16,
            /// receive ring size
            #[preset(256)]
            pub rx_ring_sz: u16,
            /// true if the next field is valid
            pub host_mtu_set: bool,
            /// MTU of the device
            pub host_mtu_size: u32,
            /// true if the next field is valid
            pub host_mac_addr_set: bool,
            /// address of the host device
            pub host_mac_addr: MacAddr,
            /// true if the next field is valid
            pub host_ip4_prefix_set: bool,
            /// address of the host device
            pub host_ip4_prefix: Ip4AddressWithPrefix,
            /// true if the next field is valid
            pub host_ip6_prefix_set: bool,
            /// address of the host device
            pub host_ip6_prefix: Ip6AddressWithPrefix,
            /// true if the next field is valid
            pub host_ip4_gw_set: bool,
            /// gateway of a default route through the device
            pub host_ip4_gw: Ipv4Addr,
            /// true if the next field is valid
            pub host_ip6_gw_set: bool,
            /// gateway of a default route through the device
            pub host_ip6_gw: Ipv6Addr,
            /// options
            pub tap_flags: TapFlags,
            /// true if the next field is valid
            pub host_namespace_set: bool,
            /// network namespace of the device
            pub host_namespace: Text<64>,
            /// true if the next field is valid
            pub host_if_name_set: bool,
            /// device name
            pub host_if_name: Text<64>,
            /// true if the next field is valid
            pub host_bridge_set: bool,
            /// host bridge to attach the device to
            pub host_bridge: Text<64>,
            /// operator-defined tag
            pub tag: String,
        }

        #[cfg(test)]
        impl $name {
            /// One that sets nothing but its number.
            pub fn plain(id: u32) -> Self {
                Self {
                    id,
                    use_random_mac: true,
                    mac_address: MacAddr::ZERO,
                    num_rx_queues: 1,
                    $($tx: 1,)?
                    tx_ring_sz: USUAL_RING,
                    rx_ring_sz: USUAL_RING,
                    host_mtu_set: false,
                    host_mtu_size: 0,
                    host_mac_addr_set: false,
                    host_mac_addr: MacAddr::ZERO,
                    host_ip4_prefix_set: false,
                    host_ip4_prefix: NO_IP4,
                    host_ip6_prefix_set: false,
                    host_ip6_prefix: NO_IP6,
                    host_ip4_gw_set: false,
                    host_ip4_gw: Ipv4Addr::UNSPECIFIED,
                    host_ip6_gw_set: false,
                    host_ip6_gw: Ipv6Addr::UNSPECIFIED,
                    tap_flags: TapFlags::default(),
                    host_namespace_set: false,
                    host_namespace: "".into(),
                    host_if_name_set: false,
                    host_if_name: "".into(),
                    host_bridge_set: false,
                    host_bridge: "".into(),
                    tag: String::new(),
                }
            }
        }

        impl $name {
            fn wanted(&self) -> Result<Parameters, Retval> {
                let has = |flag| self.tap_flags.contains(flag);
                let text = |is_set: bool, text: &str| is_set.then(|| text.to_owned());
                let Ip4AddressWithPrefix(ip4) = self.host_ip4_prefix;
                let Ip6AddressWithPrefix(ip6) = self.host_ip6_prefix;
                let gateways = [
                    self.host_ip4_gw_set.then_some(IpAddr::V4(self.host_ip4_gw)),
                    self.host_ip6_gw_set.then_some(IpAddr::V6(self.host_ip6_gw)),
                ];
                let rx = usize::from(self.num_rx_queues);
                let tx: &[usize] = &[rx, $(usize::from(self.$tx))?];
                let is_tun = has(TapFlags::TUN);
                Ok(Parameters {
                    id: (self.id != ANY).then_some(self.id),
                    name: None,
                    mac: (!self.use_random_mac && !is_tun).then_some(self.mac_address),
                    queues: (rx, tx.last().copied().unwrap_or(rx)),
                    rings: (ring(self.rx_ring_sz), ring(self.tx_ring_sz)),
                    is_tun,
                    leaves: Leaves {
                        checksum: has(TapFlags::GSO) || has(TapFlags::CSUM_OFFLOAD),
                        gso: has(TapFlags::GSO),
                    },
                    completes: false,
                    coalesces: has(TapFlags::GSO) && has(TapFlags::GRO_COALESCE),
                    persists: has(TapFlags::PERSIST),
                    attaches: has(TapFlags::ATTACH),
                    is_part: false,
                    host: Host {
                        name: text(self.host_if_name_set, &self.host_if_name),
                        namespace: text(self.host_namespace_set, &self.host_namespace),
                        bridge: text(self.host_bridge_set, &self.host_bridge),
                        mac: self.host_mac_addr_set.then_some(self.host_mac_addr),
                        mtu: self.host_mtu_set.then_some(self.host_mtu_size),
                        ip4: prefix(self.host_ip4_prefix_set, ip4.address.into(), ip4.len)?,
                        ip6: prefix(self.host_ip6_prefix_set, ip6.address.into(), ip6.len)?,
                        gateways: gateways.into_iter().flatten().collect(),
                        is_off: false,
                    },
                })
            }
        }
    };
}

create!(
    #[reply(TapCreateV3Reply)]
    TapCreateV3,
    u16,
    [num_tx_queues]
);
create!(
    #[option("deprecated")]
    #[reply(TapCreateV2Reply)]
    TapCreateV2,
    u8,
    []
);

/// Ring size that most clients send: as many as is usual.
const USUAL_RING: u16 = 256;

fn ring(packets: u16) -> u32 {
    if packets == USUAL_RING { 0 } else { packets.into() }
}

fn prefix(is_set: bool, addr: IpAddr, len: u8) -> Result<Option<Prefix>, Retval> {
    let prefix = is_set.then(|| Prefix::new(addr, len)).transpose();
    prefix.map_err(|_| Retval::INVALID_VALUE)
}

/// Reply: index of the new interface.
#[derive(Message)]
pub struct TapCreateV3Reply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Reply: index of the new interface.
#[derive(Message)]
#[option("deprecated")]
pub struct TapCreateV2Reply {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// Delete a tap interface.
#[derive(Message)]
pub struct TapDeleteV2 {
    /// interface index
    pub sw_if_index: InterfaceIndex,
}

/// List tap interfaces.
#[derive(Message)]
#[details(SwInterfaceTapV2Details)]
pub struct SwInterfaceTapV2Dump {
    /// only this one; default all
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
}

/// A tap.
#[derive(Message)]
pub struct SwInterfaceTapV2Details {
    /// interface index
    pub sw_if_index: u32,
    /// instance number in the interface name
    pub id: u32,
    /// transmit ring size, towards the host
    pub tx_ring_sz: u16,
    /// receive ring size
    pub rx_ring_sz: u16,
    /// MTU of the device; 0 if not set
    pub host_mtu_size: u32,
    /// address of the host device; zero if not set
    pub host_mac_addr: MacAddr,
    /// address of the host device; zero if not set
    pub host_ip4_prefix: Ip4AddressWithPrefix,
    /// address of the host device; zero if not set
    pub host_ip6_prefix: Ip6AddressWithPrefix,
    /// options
    pub tap_flags: TapFlags,
    /// interface name
    pub dev_name: Text<64>,
    /// device name
    pub host_if_name: Text<64>,
    /// network namespace of the device
    pub host_namespace: Text<64>,
    /// host bridge to attach the device to
    pub host_bridge: Text<64>,
}

impl SwInterfaceTapV2Details {
    fn of(router: &Router, tap: &Tap) -> Self {
        let (wanted, host) = (&tap.wanted, &tap.wanted.host);
        let size = |n: u32| if n == 0 { USUAL_RING } else { n as u16 };
        let text = |text: &Option<String>| text.clone().unwrap_or_default().into();
        let (mut host_ip4_prefix, mut host_ip6_prefix) = (NO_IP4, NO_IP6);
        for prefix in host.ip4.iter().chain(&host.ip6) {
            let len = prefix.prefix_len();
            match prefix {
                Prefix::Ip4(p) => {
                    host_ip4_prefix = Ip4AddressWithPrefix(Ip4Prefix { address: p.addr(), len });
                }
                Prefix::Ip6(p) => {
                    host_ip6_prefix = Ip6AddressWithPrefix(Ip6Prefix { address: p.addr(), len });
                }
            }
        }
        let flags = TapFlags::default()
            .with(TapFlags::GSO, wanted.leaves.gso)
            .with(TapFlags::CSUM_OFFLOAD, wanted.leaves.checksum && !wanted.leaves.gso)
            .with(TapFlags::PERSIST, wanted.persists)
            .with(TapFlags::ATTACH, wanted.attaches)
            .with(TapFlags::TUN, wanted.is_tun)
            .with(TapFlags::GRO_COALESCE, wanted.coalesces);
        Self {
            sw_if_index: tap.index.0,
            id: tap.id,
            tx_ring_sz: size(wanted.rings.1),
            rx_ring_sz: size(wanted.rings.0),
            host_mtu_size: host.mtu.unwrap_or(0),
            host_mac_addr: host.mac.unwrap_or(MacAddr::ZERO),
            host_ip4_prefix,
            host_ip6_prefix,
            tap_flags: flags,
            dev_name: router.interfaces.name(tap.index.0).into(),
            host_if_name: text(&host.name),
            host_namespace: text(&host.namespace),
            host_bridge: text(&host.bridge),
        }
    }
}

fn create<R: 'static>(
    router: &mut Router,
    wanted: Parameters,
    tag: &str,
    reply: fn(&Router, InterfaceIndex) -> R,
) -> Result<Pending<Result<R, Retval>>, Retval> {
    make(router, wanted, tag.trim_end_matches('\0').to_owned(), reply)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("tapv2", "4.0.0")
        .task(|router: &mut Router, _, m: TapCreateV3| {
            let reply = |_: &Router, sw_if_index| TapCreateV3Reply { sw_if_index };
            create(router, m.wanted()?, &m.tag, reply)
        })
        .task(|router: &mut Router, _, m: TapCreateV2| {
            let reply = |_: &Router, sw_if_index| TapCreateV2Reply { sw_if_index };
            create(router, m.wanted()?, &m.tag, reply)
        })
        .call(|router: &mut Router, m: TapDeleteV2| {
            let gone = router.with(|taps: &mut Taps, router| taps.delete(router, m.sw_if_index));
            Ok(gone.ok_or(Retval::UNSPECIFIED)??)
        })
        .dump(|router: &mut Router, m: SwInterfaceTapV2Dump| {
            let all = router.state::<Taps>().map_or(&[][..], |taps| &taps.list);
            let is_meant = |t: &&Tap| m.sw_if_index.0 == ANY || t.index == m.sw_if_index;
            let row = |t| SwInterfaceTapV2Details::of(router, t);
            all.iter().filter(is_meant).map(row).collect()
        });
}
