//! Messages of the module `ip6_nd` about answering for others.

use std::net::Ipv6Addr;

use control::api::{Api, Message};

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Enable or disable answering all neighbor solicitations on an interface.
#[derive(Message)]
struct Ip6ndProxyEnableDisable {
    sw_if_index: InterfaceIndex,
    is_enable: bool,
}

/// Add or delete an ND proxy entry.
#[derive(Message)]
struct Ip6ndProxyAddDel {
    sw_if_index: InterfaceIndex,
    is_add: bool,
    ip: Ipv6Addr,
}

/// List ND proxy entries.
#[derive(Message)]
#[details(Ip6ndProxyDetails)]
struct Ip6ndProxyDump {}

/// An ND proxy entry.
#[derive(Message)]
struct Ip6ndProxyDetails {
    sw_if_index: InterfaceIndex,
    ip: Ipv6Addr,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip6_nd", "1.1.0")
        .call(|router, m: Ip6ndProxyEnableDisable| {
            Ok(router.set_nd_mirror(m.sw_if_index, m.is_enable)?)
        })
        .call(|router, m: Ip6ndProxyAddDel| match m.is_add {
            true => Ok(router.add_nd_proxy(m.sw_if_index, m.ip)?),
            false => Ok(router.remove_nd_proxy(m.sw_if_index, m.ip)?),
        })
        .dump(|router, _: Ip6ndProxyDump| {
            let all = router.nd_proxied().iter();
            all.map(|h| Ip6ndProxyDetails { sw_if_index: h.interface, ip: h.addr }).collect()
        });
}

#[cfg(test)]
mod tests {
    use control::api::Retval;

    use super::*;
    use crate::neighbor::testing::Bench;

    #[test]
    fn hosts_come_back_as_they_were_set() {
        Bench::new().talk(|local, router| {
            let pg1 = router.interfaces.named("pg1").unwrap().index;
            let ip = "2001:db8::9".parse().unwrap();
            let set = |is_add| Ip6ndProxyAddDel { sw_if_index: pg1, is_add, ip };
            local.call(router, &set(true)).unwrap();
            let rows = local.dump(router, &Ip6ndProxyDump {});
            assert_eq!((rows.len(), rows[0].sw_if_index, rows[0].ip), (1, pg1, ip));
            local.call(router, &set(false)).unwrap();
            assert_eq!(local.call(router, &set(false)).err(), Some(Retval::NO_SUCH_ENTRY));
            let on = |sw_if_index| Ip6ndProxyEnableDisable { sw_if_index, is_enable: true };
            local.call(router, &on(pg1)).unwrap();
            assert_eq!(router.nd_mirrored(), [pg1]);
            let refused = local.call(router, &on(InterfaceIndex(77))).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        });
    }
}
