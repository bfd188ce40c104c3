//! Messages of the module `arp`.

use std::net::Ipv4Addr;

use control::api::{Api, Message, Record};

use super::proxy::Range;
use crate::fib::{Ip4, TableIndex};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Addresses answered by proxy ARP.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
struct ProxyArp {
    table_id: u32,
    low: Ipv4Addr,
    hi: Ipv4Addr,
}

/// Add or delete a proxy ARP range.
#[derive(Message)]
struct ProxyArpAddDel {
    is_add: bool,
    proxy: ProxyArp,
}

/// List proxy ARP ranges.
#[derive(Message)]
#[details(ProxyArpDetails)]
struct ProxyArpDump {}

/// A proxy ARP range.
#[derive(Message)]
struct ProxyArpDetails {
    proxy: ProxyArp,
}

/// Enable or disable proxy ARP on an interface.
#[derive(Message)]
struct ProxyArpIntfcEnableDisable {
    sw_if_index: InterfaceIndex,
    enable: bool,
}

/// List interfaces with proxy ARP.
#[derive(Message)]
#[details(ProxyArpIntfcDetails)]
struct ProxyArpIntfcDump {}

/// An interface with proxy ARP.
#[derive(Message)]
struct ProxyArpIntfcDetails {
    sw_if_index: u32,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("arp", "1.0.0")
        .call(|router, m: ProxyArpAddDel| {
            let ProxyArp { table_id, low, hi } = m.proxy;
            Ok(router.set_proxy_arp(table_id, (low, hi), m.is_add)?)
        })
        .dump(|router, _: ProxyArpDump| {
            let row = |r: &Range| {
                let table_id = router.fib.table_id::<Ip4>(TableIndex(r.table)).unwrap_or_default();
                ProxyArpDetails { proxy: ProxyArp { table_id, low: r.first, hi: r.last } }
            };
            router.arp_proxies().ranges.iter().map(row).collect()
        })
        .call(|router, m: ProxyArpIntfcEnableDisable| {
            Ok(router.set_interface_proxy_arp(m.sw_if_index, m.enable)?)
        })
        .dump(|router, _: ProxyArpIntfcDump| {
            let on = router.arp_proxies().interfaces.iter();
            on.map(|i| ProxyArpIntfcDetails { sw_if_index: i.0 }).collect()
        });
}

#[cfg(test)]
mod tests {
    use control::api::Retval;

    use super::*;
    use crate::neighbor::testing::Bench;

    #[test]
    fn ranges_and_interfaces_come_back_as_they_were_set() {
        Bench::new().talk(|local, router| {
            let proxy =
                ProxyArp { table_id: 0, low: [10, 0, 0, 2].into(), hi: [10, 0, 0, 9].into() };
            let set = |is_add, proxy| ProxyArpAddDel { is_add, proxy };
            local.call(router, &set(true, proxy)).unwrap();
            let rows = local.dump(router, &ProxyArpDump {});
            assert_eq!(rows.iter().map(|r| r.proxy).collect::<Vec<_>>(), [proxy]);
            local.call(router, &set(false, proxy)).unwrap();
            assert_eq!(local.call(router, &set(false, proxy)).err(), Some(Retval::NO_SUCH_ENTRY));
            let other = set(true, ProxyArp { table_id: 9, ..proxy });
            assert_eq!(local.call(router, &other).err(), Some(Retval::NO_SUCH_FIB));

            let on = |sw_if_index| ProxyArpIntfcEnableDisable { sw_if_index, enable: true };
            let pg1 = router.interfaces.named("pg1").unwrap().index;
            local.call(router, &on(pg1)).unwrap();
            let rows = local.dump(router, &ProxyArpIntfcDump {});
            assert_eq!(rows.iter().map(|r| r.sw_if_index).collect::<Vec<_>>(), [pg1.0]);
            let refused = local.call(router, &on(InterfaceIndex(77))).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        });
    }
}
