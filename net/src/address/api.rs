//! Messages about addresses, of the module `ip`.
#![forbid(unsafe_code)]

use std::net::Ipv6Addr;

use control::api::types::AddressWithPrefix;
use control::api::{Api, Message, Retval};

use super::Error;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Enable or disable IPv6 on an interface.
#[derive(Message)]
struct SwInterfaceIp6EnableDisable {
    sw_if_index: InterfaceIndex,
    enable: bool,
}

/// Enable or disable IPv4 on an interface without an address.
#[derive(Message)]
struct SwInterfaceIp4EnableDisable {
    sw_if_index: InterfaceIndex,
    enable: bool,
}

/// Set the link-local address of an interface.
#[derive(Message)]
struct SwInterfaceIp6SetLinkLocalAddress {
    sw_if_index: InterfaceIndex,
    ip: Ipv6Addr,
}

/// Get the link-local address of an interface.
#[derive(Message)]
#[reply(SwInterfaceIp6GetLinkLocalAddressReply)]
struct SwInterfaceIp6GetLinkLocalAddress {
    sw_if_index: InterfaceIndex,
}

/// The link-local address of an interface.
#[derive(Message)]
struct SwInterfaceIp6GetLinkLocalAddressReply {
    ip: Ipv6Addr,
}

/// List the addresses of an interface.
#[derive(Message)]
#[details(IpAddressDetails)]
struct IpAddressDump {
    sw_if_index: InterfaceIndex,
    is_ipv6: bool,
}

/// An address of an interface.
#[derive(Message)]
struct IpAddressDetails {
    sw_if_index: InterfaceIndex,
    prefix: AddressWithPrefix,
}

/// List interfaces with addresses.
#[derive(Message)]
#[details(IpDetails)]
struct IpDump {
    is_ipv6: bool,
}

/// An interface with addresses.
#[derive(Message)]
struct IpDetails {
    sw_if_index: InterfaceIndex,
    is_ipv6: bool,
}

/// List unnumbered interfaces.
#[derive(Message)]
#[details(IpUnnumberedDetails)]
struct IpUnnumberedDump {
    /// only this one; 4294967295 for all
    #[preset(4294967295)]
    sw_if_index: InterfaceIndex,
}

/// An unnumbered interface and the interface whose addresses it uses.
#[derive(Message)]
struct IpUnnumberedDetails {
    sw_if_index: InterfaceIndex,
    ip_sw_if_index: InterfaceIndex,
}

/// Record in-band telemetry in IPv6 packets: refused, there is none.
#[derive(Message)]
struct IoamEnable {
    id: u16,
    seqno: bool,
    analyse: bool,
    pot_enable: bool,
    trace_enable: bool,
    node_id: u32,
}

/// End in-band telemetry in IPv6 packets: refused, there is none.
#[derive(Message)]
struct IoamDisable {
    id: u16,
}

fn retval(error: Error) -> Retval {
    match error {
        Error::NoInterface => Retval::INVALID_SW_IF_INDEX,
        _ => Retval::INVALID_VALUE,
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", "3.2.0")
        .call(|_: &mut Router, _: IoamEnable| Err::<(), _>(Retval::UNSUPPORTED))
        .call(|_: &mut Router, _: IoamDisable| Err::<(), _>(Retval::UNSUPPORTED))
        .call(|router: &mut Router, m: SwInterfaceIp6EnableDisable| {
            router.enable_ip6(m.sw_if_index, m.enable).map_err(retval)
        })
        .call(|router, m: SwInterfaceIp4EnableDisable| {
            router.enable_ip4(m.sw_if_index, m.enable).map_err(retval)
        })
        .call(|router, m: SwInterfaceIp6SetLinkLocalAddress| {
            router.set_link_local(m.sw_if_index, m.ip).map_err(retval)
        })
        .call(|router, m: SwInterfaceIp6GetLinkLocalAddress| {
            router.interfaces.at(m.sw_if_index).ok_or(Retval::INVALID_SW_IF_INDEX)?;
            let own = router.addresses.of(m.sw_if_index).link_local;
            let ip = own.ok_or(Retval::IP6_NOT_ENABLED)?;
            Ok(SwInterfaceIp6GetLinkLocalAddressReply { ip })
        })
        .dump(|router, m: IpAddressDump| {
            let all = router.addresses.of(m.sw_if_index).iter();
            let chosen = all.filter(|p| p.addr().is_ipv6() == m.is_ipv6);
            let details = chosen.map(|p| IpAddressDetails {
                sw_if_index: m.sw_if_index,
                prefix: AddressWithPrefix(p.into()),
            });
            details.collect()
        })
        .dump(|router, m: IpUnnumberedDump| {
            let is_chosen = |i| m.sw_if_index.0 == u32::MAX || i == m.sw_if_index;
            let details = |(sw_if_index, on): (InterfaceIndex, &super::OnInterface)| {
                let ip_sw_if_index = on.borrowed.as_ref()?.from;
                Some(IpUnnumberedDetails { sw_if_index, ip_sw_if_index })
            };
            let all = router.addresses.iter().filter(|(i, _)| is_chosen(*i));
            all.filter_map(details).collect()
        })
        .dump(|router, m: IpDump| {
            let all = router.addresses.iter();
            let is_on =
                |on: &super::OnInterface| if m.is_ipv6 { on.has_ip6() } else { on.has_ip4() };
            let chosen = all.filter(|(_, on)| is_on(on));
            chosen.map(|(sw_if_index, _)| IpDetails { sw_if_index, is_ipv6: m.is_ipv6 }).collect()
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::testing::Bench;

    #[test]
    fn addresses_are_told() {
        let mut bench = Bench::new();
        let pg0 = bench.pg0;
        bench.talk(|local, router| {
            for (is_ipv6, text) in [(false, "10.0.0.1/24"), (true, "2001:db8::1/64")] {
                let told = local.dump(router, &IpAddressDump { sw_if_index: pg0, is_ipv6 });
                let told: Vec<_> = told.iter().map(|d| d.prefix.0.native().unwrap()).collect();
                assert_eq!(told, [text.parse().unwrap()]);
                assert_eq!(local.dump(router, &IpDump { is_ipv6 }).len(), 2);
            }
        });
    }

    #[test]
    fn interfaces_that_use_others_addresses_are_told() {
        let mut bench = Bench::new();
        let (pg0, pg1) = (bench.pg0, bench.pg1);
        bench.talk(|local, router| {
            router.remove_all_addresses(pg0);
            router.set_unnumbered(pg0, Some(pg1)).unwrap();
            for (asked, count) in [(u32::MAX, 1), (pg0.0, 1), (pg1.0, 0)] {
                let ask = IpUnnumberedDump { sw_if_index: InterfaceIndex(asked) };
                let told = local.dump(router, &ask);
                assert_eq!(told.len(), count);
                assert!(told.iter().all(|d| (d.sw_if_index, d.ip_sw_if_index) == (pg0, pg1)));
            }
        });
    }

    #[test]
    fn link_local_addresses_are_set_and_stay() {
        let mut bench = Bench::new();
        let pg0 = bench.pg0;
        bench.talk(|local, router| {
            let get = SwInterfaceIp6GetLinkLocalAddress { sw_if_index: pg0 };
            let first = local.call(router, &get).unwrap().ip;
            assert!(first.is_unicast_link_local());
            let ip: Ipv6Addr = "fe80::77".parse().unwrap();
            let set = SwInterfaceIp6SetLinkLocalAddress { sw_if_index: pg0, ip };
            local.call(router, &set).unwrap();
            assert_eq!(local.call(router, &get).unwrap().ip, ip);
            router.add_address(pg0, "2001:db8:9::1/64".parse().unwrap()).unwrap();
            assert_eq!(local.call(router, &get).unwrap().ip, ip);
            let global = SwInterfaceIp6SetLinkLocalAddress {
                sw_if_index: pg0,
                ip: "2001:db8::9".parse().unwrap(),
            };
            assert_eq!(local.call(router, &global).err(), Some(Retval::INVALID_VALUE));
        });
    }

    #[test]
    fn versions_are_switched_on_and_off() {
        let mut bench = Bench::new();
        let pg0 = bench.pg0;
        bench.talk(|local, router| {
            router.remove_all_addresses(pg0);
            let get = SwInterfaceIp6GetLinkLocalAddress { sw_if_index: pg0 };
            assert_eq!(local.call(router, &get).err(), Some(Retval::IP6_NOT_ENABLED));
            for enable in [true, false] {
                let set = SwInterfaceIp6EnableDisable { sw_if_index: pg0, enable };
                local.call(router, &set).unwrap();
                assert_eq!(router.addresses.of(pg0).has_ip6(), enable);
                let set = SwInterfaceIp4EnableDisable { sw_if_index: pg0, enable };
                local.call(router, &set).unwrap();
                assert_eq!(router.addresses.of(pg0).has_ip4(), enable);
            }
            let nowhere =
                SwInterfaceIp6EnableDisable { sw_if_index: InterfaceIndex(99), enable: true };
            assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        });
    }
}
