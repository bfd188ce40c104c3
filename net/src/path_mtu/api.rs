//! Messages about path MTUs, of the module `ip`.
#![forbid(unsafe_code)]

use control::api::types::Address;
use control::api::{Api, Message, Record};

use super::Key;
use crate::router::Router;

/// Path MTU of a host.
#[derive(Clone, Copy, Record)]
struct IpPathMtu {
    client_index: u32,
    context: u32,
    table_id: u32,
    nh: Address,
    /// MTU in bytes, including the IP header; 0 to delete
    path_mtu: u16,
}

/// Set the path MTU to a host.
#[derive(Message)]
struct IpPathMtuUpdate {
    pmtu: IpPathMtu,
}

/// List path MTUs.
#[derive(Message)]
#[stream(IpPathMtuDetails, IpPathMtuGetReply)]
struct IpPathMtuGet {
    cursor: u32,
}

/// End of the list.
#[derive(Message)]
struct IpPathMtuGetReply {
    cursor: u32,
}

/// Path MTU of a host.
#[derive(Message)]
struct IpPathMtuDetails {
    pmtu: IpPathMtu,
}

/// Start replacing all path MTUs.
#[derive(Message)]
struct IpPathMtuReplaceBegin {}

/// Finish replacing: delete path MTUs not set again.
#[derive(Message)]
struct IpPathMtuReplaceEnd {}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", "3.2.0")
        .call(|router: &mut Router, m: IpPathMtuUpdate| {
            let key = (m.pmtu.table_id, m.pmtu.nh.native()?);
            Ok(router.set_path_mtu(key, m.pmtu.path_mtu)?)
        })
        .stream_rows(
            |m: &IpPathMtuGet| m.cursor,
            |router, _, piece| {
                let row = |((table_id, nh), path_mtu): (Key, u16)| IpPathMtuDetails {
                    pmtu: IpPathMtu {
                        client_index: 0,
                        context: 0,
                        table_id,
                        nh: nh.into(),
                        path_mtu,
                    },
                };
                (0..).zip(router.path_mtus()).all(|(at, mtu)| piece.offer(at, || row(mtu)));
                Ok(())
            },
            |cursor| IpPathMtuGetReply { cursor },
        )
        .call(|router, _: IpPathMtuReplaceBegin| {
            router.begin_path_mtus();
            Ok(())
        })
        .call(|router, _: IpPathMtuReplaceEnd| {
            router.end_path_mtus();
            Ok(())
        });
}

#[cfg(test)]
mod tests {
    use control::api::Retval;

    use super::*;
    use crate::interface::Mtu;
    use crate::ip::testing::Bench;

    fn set(host: &str, mtu: u16) -> IpPathMtuUpdate {
        let nh = host.parse::<std::net::IpAddr>().unwrap().into();
        let pmtu = IpPathMtu { client_index: 0, context: 0, table_id: 0, nh, path_mtu: mtu };
        IpPathMtuUpdate { pmtu }
    }

    #[test]
    fn the_smaller_of_path_and_interface_holds() {
        let mut bench = Bench::new();
        let (pg1, before) = (bench.pg1, bench.neighbor("10.0.1.2", true));
        bench.control(|r| r.set_mtu(pg1, Mtu { l3: 2800, ip4: 0, ip6: 0, mpls: 0 }));
        let mtu = |router: &Router, a| router.adjacencies.at(a).unwrap().mtu;
        bench.talk(|local, router| {
            assert_eq!(mtu(router, before), 2800);
            local.call(router, &set("10.0.1.2", 1300)).unwrap();
            local.call(router, &set("10.0.1.3", 900)).unwrap();
            assert_eq!(mtu(router, before), 1300);
            router.set_mtu(pg1, Mtu { l3: 1200, ip4: 0, ip6: 0, mpls: 0 });
            assert_eq!(mtu(router, before), 1200);
            router.set_mtu(pg1, Mtu { l3: 2000, ip4: 0, ip6: 0, mpls: 0 });
            assert_eq!(mtu(router, before), 1300);
        });
        let after = bench.neighbor("10.0.1.3", true);
        bench.talk(|local, router| {
            assert_eq!(mtu(router, after), 900);
            let (rows, retval, last) = local.stream(router, &IpPathMtuGet { cursor: 0 });
            let told: Vec<_> = rows.iter().map(|r| r.pmtu.path_mtu).collect();
            assert_eq!((told, retval, last.cursor), (vec![1300, 900], 0, u32::MAX));
            local.call(router, &IpPathMtuReplaceBegin {}).unwrap();
            local.call(router, &set("10.0.1.3", 901)).unwrap();
            local.call(router, &IpPathMtuReplaceEnd {}).unwrap();
            assert_eq!((mtu(router, before), mtu(router, after)), (2000, 901));
            local.call(router, &set("10.0.1.3", 0)).unwrap();
            assert_eq!(mtu(router, after), 2000);
            let mut elsewhere = set("10.0.1.3", 9);
            elsewhere.pmtu.table_id = 5;
            assert_eq!(local.call(router, &elsewhere).err(), Some(Retval::NO_SUCH_TABLE));
        });
        bench.run("set ip pmtu 10.0.1.9 1400").unwrap();
        assert!(bench.run("show ip pmtu").unwrap().contains("table:0 10.0.1.9 1400"));
        assert_eq!(bench.run("show ip pmtu 999").unwrap(), "Path MTU:\n");
        assert!(bench.run("set ip pmtu 10.0.1.9 1400 table 4").unwrap_err().contains("table 4"));
    }
}
