use control::api::types::AddressWithPrefix;
use control::api::{Local, Text};
use control::log::Log;
use graph::Settings;
use wire::MacAddr;

use super::dump::*;
use super::events::*;
use super::queues::*;
use super::settings::*;
use super::sub::*;
use super::types::*;
use super::*;
use crate::address::interface_api::*;
use crate::interface::output::LocalTx;
use crate::interface::{Kind, NewInterface, Offloads, TxQueues};
use crate::router::Assembly;

const NOBODY: InterfaceIndex = InterfaceIndex(99);

/// A router with `pg0`, which is interface 1, and a client.
fn talk(work: impl FnOnce(&Local<'_, Router>, &mut Router)) {
    let router = Router::new(Settings { buffers: 4096, ..Settings::default() }, Log::new());
    let mut parts = Assembly::new(router.unwrap());
    for feature in crate::FEATURES {
        parts.add(feature).unwrap();
    }
    let new = NewInterface {
        name: "pg0".to_owned(),
        kind: Kind::Ethernet,
        hardware: "pg",
        mac: MacAddr([2, 0, 0, 0, 0, 0xaa]),
        mtu: 9000,
        offloads: Offloads::default(),
        link_follows_admin: true,
    };
    parts.router.add_interface(new, LocalTx).unwrap();
    parts.api.finish(&parts.router.clients).unwrap();
    let local = Local::new(&parts.api, &parts.cli, &parts.router.clients);
    work(&local, &mut parts.router);
}

const PG0: InterfaceIndex = InterfaceIndex(1);

fn dump(local: &Local<'_, Router>, router: &mut Router, filter: &str) -> Vec<SwInterfaceDetails> {
    let name_filter_valid = !filter.is_empty();
    let all = InterfaceIndex(u32::MAX);
    let name_filter = filter.to_owned();
    local.dump(router, &SwInterfaceDump { sw_if_index: all, name_filter_valid, name_filter })
}

#[test]
fn interfaces_are_dumped_with_all_they_are() {
    talk(|local, router| {
        let up = IfStatusFlags::ADMIN_UP;
        local.call(router, &SwInterfaceSetFlags { sw_if_index: PG0, flags: up }).unwrap();
        let mtu = [1500, 1400, 1300, 1200];
        local.call(router, &SwInterfaceSetMtu { sw_if_index: PG0, mtu }).unwrap();
        let tag = SwInterfaceTagAddDel { is_add: true, sw_if_index: PG0, tag: "up".into() };
        local.call(router, &tag).unwrap();
        router.interfaces.follow_device_speed(PG0, 10_000_000);
        let flags = SubIfFlags(4 | 8 | 16 | 128);
        let sub = CreateSubif {
            sw_if_index: PG0,
            sub_id: 7,
            sub_if_flags: flags,
            outer_vlan_id: 5,
            inner_vlan_id: 0,
        };
        let made = local.call(router, &sub).unwrap().sw_if_index;
        let rows = dump(local, router, "");
        assert_eq!(rows.len(), 3);
        let (lo, pg, sub) = (&rows[0], &rows[1], &rows[2]);
        assert_eq!(
            (lo.interface_name.as_str(), lo.interface_dev_type.as_str()),
            ("local0", "local")
        );
        assert_eq!((pg.sw_if_index, pg.sup_sw_if_index, pg.flags.0), (PG0, 1, 3));
        assert_eq!((pg.mtu, pg.link_mtu, pg.link_speed), (mtu, 9000, 10_000_000));
        assert_eq!((pg.tag.as_str(), pg.kind), ("up", IfType::HARDWARE));
        assert_eq!(
            (pg.l2_address, sub.l2_address),
            (MacAddr([2, 0, 0, 0, 0, 0xaa]), pg.l2_address)
        );
        assert_eq!((sub.sw_if_index, sub.sup_sw_if_index, sub.kind), (made, 1, IfType::SUB));
        assert_eq!((sub.sub_id, sub.sub_number_of_tags, sub.sub_if_flags), (7, 2, flags));
        assert_eq!((sub.sub_outer_vlan_id, sub.sub_inner_vlan_id), (5, 0));
        assert_eq!(sub.interface_name.as_str(), "pg0.7");
        assert_eq!(dump(local, router, "PG0.").len(), 1);
        let one = SwInterfaceDump {
            sw_if_index: PG0,
            name_filter_valid: false,
            name_filter: String::new(),
        };
        assert_eq!(local.dump(router, &one).len(), 1);
        let zero = SwInterfaceDump { sw_if_index: InterfaceIndex(0), ..one };
        assert_eq!(local.dump(router, &zero).len(), 3, "all, as clients that say nothing mean");
        let (sw_if_index, name_filter) = (InterfaceIndex(99), "pg0.7".to_owned());
        let named = SwInterfaceDump { sw_if_index, name_filter_valid: true, name_filter };
        assert_eq!(local.dump(router, &named).len(), 1, "the name counts alone");
    });
}

#[test]
fn what_is_set_is_set() {
    talk(|local, router| {
        let mac_address = MacAddr([2, 0, 0, 0, 0, 0xbb]);
        let set = SwInterfaceSetMacAddress { sw_if_index: PG0, mac_address };
        local.call(router, &set).unwrap();
        let get = SwInterfaceGetMacAddress { sw_if_index: PG0 };
        assert_eq!(local.call(router, &get).unwrap().mac_address, mac_address);
        local.call(router, &SwInterfaceSetPromisc { sw_if_index: PG0, promisc_on: true }).unwrap();
        assert!(router.interfaces.port(PG0).unwrap().promiscuous);
        local.call(router, &HwInterfaceSetMtu { sw_if_index: PG0, mtu: 2000 }).unwrap();
        let i = router.interfaces.at(PG0).unwrap();
        assert_eq!((i.link_mtu, i.mtu.l3), (2000, 2000));
        let add = SwInterfaceAddDelMacAddress { sw_if_index: 1, addr: mac_address, is_add: 1 };
        local.call(router, &add).unwrap();
        assert_eq!(*router.interfaces.port(PG0).unwrap().secondary, [mac_address]);
        router.interfaces.counters().rx.row(0)[1].add(1, 2);
        router.engine.build().unwrap();
        router.engine.start_inline();
        local.call(router, &SwInterfaceClearStats { sw_if_index: PG0 }).unwrap();
        local.call(router, &SwInterfaceClearStats { sw_if_index: InterfaceIndex(!0) }).unwrap();
        assert_eq!(router.interfaces.values(PG0).rx.packets, 0);
        let name = |name: Text<64>| SwInterfaceSetInterfaceName { sw_if_index: PG0, name };
        local.call(router, &name("pg5".into())).unwrap();
        assert_eq!(local.call(router, &name("local0".into())), Err(Retval::VALUE_EXIST));
        let number = InterfaceNameRenumber { sw_if_index: PG0, new_show_dev_instance: 9 };
        local.call(router, &number).unwrap();
        assert_eq!(router.interfaces.name(1), "pg9");
        let tag = SwInterfaceTagAddDel { is_add: true, sw_if_index: PG0, tag: "".into() };
        assert_eq!(local.call(router, &tag), Err(Retval::INVALID_VALUE));
    });
}

#[test]
fn a_speed_of_a_link_is_chosen_where_there_are_several() {
    talk(|local, router| {
        router.interfaces.follow_device_speed(PG0, 10_000_000);
        let asked = [(PG0, Retval::UNSUPPORTED), (NOBODY, Retval::INVALID_SW_IF_INDEX)];
        for (sw_if_index, retval) in asked {
            for link_speed in [0, 10_000_000] {
                let set = SwInterfaceSetLinkSpeed { sw_if_index, link_speed };
                assert_eq!(local.call(router, &set), Err(retval));
            }
        }
        let list = |sw_if_index| SwInterfaceGetSpeedCapa { sw_if_index };
        assert!(local.call(router, &list(PG0)).unwrap().speeds.is_empty());
        let unknown = local.call(router, &list(NOBODY)).err();
        assert_eq!(unknown, Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(dump(local, router, "pg0")[0].link_speed, 10_000_000);
        router.interfaces.offer_speeds(PG0, &[1_000_000, 10_000_000]);
        assert_eq!(local.call(router, &list(PG0)).unwrap().speeds, [1_000_000, 10_000_000]);
        let set = |link_speed| SwInterfaceSetLinkSpeed { sw_if_index: PG0, link_speed };
        assert_eq!(local.call(router, &set(3)), Err(Retval::INVALID_VALUE));
        local.call(router, &set(1_000_000)).unwrap();
        assert_eq!(dump(local, router, "pg0")[0].link_speed, 1_000_000);
    });
}

#[test]
fn an_interface_that_is_not_there_is_told_by_its_number() {
    talk(|local, router| {
        let bad = Err(Retval::INVALID_SW_IF_INDEX);
        let (sw_if_index, mac) = (NOBODY, MacAddr([2, 0, 0, 0, 0, 1]));
        let flags = IfStatusFlags::ADMIN_UP;
        assert_eq!(local.call(router, &SwInterfaceSetFlags { sw_if_index, flags }), bad);
        let m = SwInterfaceSetPromisc { sw_if_index, promisc_on: true };
        assert_eq!(local.call(router, &m), bad);
        assert_eq!(local.call(router, &HwInterfaceSetMtu { sw_if_index, mtu: 1500 }), bad);
        assert_eq!(local.call(router, &SwInterfaceSetMtu { sw_if_index, mtu: [1500; 4] }), bad);
        assert_eq!(local.call(router, &SwInterfaceClearStats { sw_if_index }), bad);
        let m = SwInterfaceTagAddDel { is_add: true, sw_if_index, tag: "x".into() };
        assert_eq!(local.call(router, &m), bad);
        let m = SwInterfaceAddDelMacAddress { sw_if_index: 99, addr: mac, is_add: 1 };
        assert_eq!(local.call(router, &m), bad);
        let m = SwInterfaceSetMacAddress { sw_if_index, mac_address: mac };
        assert_eq!(local.call(router, &m), bad);
        let m = SwInterfaceSetInterfaceName { sw_if_index, name: "x".into() };
        assert_eq!(local.call(router, &m), bad);
        let m = InterfaceNameRenumber { sw_if_index, new_show_dev_instance: 1 };
        assert_eq!(local.call(router, &m), bad);
        let m = SwInterfaceSetRxMode {
            sw_if_index,
            queue_id_valid: false,
            queue_id: 0,
            mode: RxMode::POLLING,
        };
        assert_eq!(local.call(router, &m), bad);
        let m = SwInterfaceSetTable { sw_if_index, is_ipv6: false, vrf_id: 0 };
        assert_eq!(local.call(router, &m), bad);
        assert_eq!(local.call(router, &DeleteSubif { sw_if_index }), bad);
        let bad = Some(Retval::INVALID_SW_IF_INDEX);
        let m = SwInterfaceGetMacAddress { sw_if_index };
        assert_eq!(local.call(router, &m).err(), bad);
        let m = SwInterfaceGetTable { sw_if_index, is_ipv6: false };
        assert_eq!(local.call(router, &m).err(), bad);
        let m = CreateVlanSubif { sw_if_index, vlan_id: 5 };
        assert_eq!(local.call(router, &m).err(), bad);
    });
}

#[test]
fn sub_interfaces_are_made_and_refused() {
    talk(|local, router| {
        let vlan = |sw_if_index, vlan_id| CreateVlanSubif { sw_if_index, vlan_id };
        let made = local.call(router, &vlan(PG0, 100)).unwrap().sw_if_index;
        let refused = |router: &mut Router, m: CreateVlanSubif| local.call(router, &m).err();
        assert_eq!(refused(router, vlan(PG0, 100)), Some(Retval::VLAN_ALREADY_EXISTS));
        assert_eq!(refused(router, vlan(PG0, 0)), Some(Retval::INVALID_VLAN));
        assert_eq!(refused(router, vlan(PG0, 4096)), Some(Retval::INVALID_VLAN));
        assert_eq!(refused(router, vlan(made, 5)), Some(Retval::INVALID_INTERFACE));
        let sub = |sub_id, flags| CreateSubif {
            sw_if_index: PG0,
            sub_id,
            sub_if_flags: SubIfFlags(flags),
            outer_vlan_id: 100,
            inner_vlan_id: 0,
        };
        let refused = |router: &mut Router, m: CreateSubif| local.call(router, &m).err();
        assert_eq!(refused(router, sub(100, 2)), Some(Retval::SUBIF_ALREADY_EXISTS));
        assert_eq!(refused(router, sub(101, 2 | 16)), Some(Retval::VLAN_ALREADY_EXISTS));
        local.call(router, &sub(102, 32)).unwrap();
        local.call(router, &DeleteSubif { sw_if_index: made }).unwrap();
        let not_sub = local.call(router, &DeleteSubif { sw_if_index: PG0 });
        assert_eq!(not_sub, Err(Retval::INVALID_SW_IF_INDEX));
    });
}

#[test]
fn addresses_and_tables_are_set() {
    talk(|local, router| {
        router.add_table::<crate::fib::Ip4>(0).ok();
        router.add_table::<crate::fib::Ip6>(0).ok();
        router.add_table::<crate::fib::Ip4>(7).unwrap();
        let change = |is_add, del_all, prefix: &str| SwInterfaceAddDelAddress {
            sw_if_index: PG0,
            is_add,
            del_all,
            prefix: AddressWithPrefix(prefix.parse::<wire::Prefix>().unwrap().into()),
        };
        let set = SwInterfaceSetTable { sw_if_index: PG0, is_ipv6: false, vrf_id: 7 };
        local.call(router, &set).unwrap();
        let get = SwInterfaceGetTable { sw_if_index: PG0, is_ipv6: false };
        assert_eq!(local.call(router, &get).unwrap().vrf_id, 7);
        local.call(router, &change(true, false, "10.0.0.1/24")).unwrap();
        local.call(router, &change(true, false, "2001:db8::1/64")).unwrap();
        let again = local.call(router, &change(true, false, "10.0.0.1/24"));
        assert_eq!(again, Err(Retval::DUPLICATE_IF_ADDRESS));
        let overlaps = local.call(router, &change(true, false, "10.0.0.2/16"));
        assert_eq!(overlaps, Err(Retval::ADDRESS_IN_USE));
        let unknown = local.call(router, &change(false, false, "10.0.0.9/24"));
        assert_eq!(unknown, Err(Retval::ADDRESS_NOT_FOUND_FOR_INTERFACE));
        assert_eq!(local.call(router, &set), Err(Retval::ADDRESS_FOUND_FOR_INTERFACE));
        let set = SwInterfaceSetTable { sw_if_index: PG0, is_ipv6: true, vrf_id: 99 };
        assert_eq!(local.call(router, &set), Err(Retval::NO_SUCH_FIB));
        local.call(router, &change(false, false, "10.0.0.1/24")).unwrap();
        local.call(router, &change(false, true, "0.0.0.0/0")).unwrap();
        assert_eq!(router.addresses.of(PG0).iter().count(), 0);
    });
}

#[test]
fn who_wants_hears_of_changes() {
    talk(|local, router| {
        let want = WantInterfaceEvents { enable_disable: 1, pid: 77 };
        local.call(router, &want).unwrap();
        assert_eq!(local.call(router, &want), Err(Retval::INVALID_REGISTRATION));
        router.set_admin(PG0, true);
        let seen = local.events::<SwInterfaceEvent>();
        assert_eq!((seen.len(), seen[0].sw_if_index, seen[0].flags.0), (1, PG0, 3));
        router.set_admin(PG0, true);
        assert!(local.events::<SwInterfaceEvent>().is_empty(), "nothing has changed");
        router.remove_interface(PG0);
        let seen = local.events::<SwInterfaceEvent>();
        assert!(seen.len() == 1 && seen[0].deleted && seen[0].flags.0 == 0);
        let no_more = WantInterfaceEvents { enable_disable: 0, pid: 77 };
        local.call(router, &no_more).unwrap();
    });
}

#[test]
fn modes_of_queues_are_set_and_shown() {
    talk(|local, router| {
        let set = |sw_if_index, mode| SwInterfaceSetRxMode {
            sw_if_index,
            queue_id_valid: false,
            queue_id: 0,
            mode,
        };
        assert_eq!(local.call(router, &set(PG0, RxMode::POLLING)), Err(Retval::UNSUPPORTED));
        assert_eq!(local.call(router, &set(PG0, RxMode(77))), Err(Retval::INVALID_VALUE));
        assert!(local.dump(router, &SwInterfaceRxPlacementDump { sw_if_index: PG0 }).is_empty());
        let place = SwInterfaceSetRxPlacement {
            sw_if_index: PG0,
            queue_id: 0,
            worker_id: 0,
            is_main: true,
        };
        assert_eq!(local.call(router, &place), Err(Retval::UNSUPPORTED));
        let default = SwInterfaceSetDefaultRxMode { mode: RxMode::INTERRUPT };
        local.call(router, &default).unwrap();
        let shown = local.call(router, &SwInterfaceGetDefaultRxMode {}).unwrap();
        assert_eq!(shown.mode, RxMode::INTERRUPT);
    });
}

#[test]
fn directed_broadcast_is_switched() {
    talk(|local, router| {
        let set = |sw_if_index, enable| SwInterfaceSetIpDirectedBroadcast { sw_if_index, enable };
        for enable in [true, false] {
            local.call(router, &set(PG0, enable)).unwrap();
            assert_eq!(router.addresses.of(PG0).directed_broadcast, enable);
        }
        let nowhere = local.call(router, &set(NOBODY, true));
        assert_eq!(nowhere, Err(Retval::INVALID_SW_IF_INDEX));
    });
}

#[test]
fn send_queues_are_placed_and_listed() {
    talk(|local, router| {
        let place = |queue_id, threads: &[u32]| SwInterfaceSetTxPlacement {
            sw_if_index: PG0,
            queue_id,
            threads: threads.to_vec(),
        };
        let of = |sw_if_index| SwInterfaceTxPlacementGet { cursor: 0, sw_if_index };
        assert_eq!(local.call(router, &place(0, &[0])), Err(Retval::UNSUPPORTED));
        router.engine.build().unwrap();
        router.engine.start_inline();
        router.interfaces.set_tx_queues(PG0, TxQueues::new(2, 4));
        assert_eq!(local.call(router, &place(2, &[0])), Err(Retval::UNSUPPORTED));
        assert_eq!(local.call(router, &place(0, &[9])), Err(Retval::INVALID_VALUE));
        let rows = |router: &mut Router, of| {
            let (rows, retval, _) = local.stream(router, &of);
            let row = |r: &SwInterfaceTxPlacementDetails| (r.queue_id, r.shared, r.threads.clone());
            (rows.iter().map(row).collect::<Vec<_>>(), retval)
        };
        let expected = vec![(0, 0, vec![0]), (1, 0, vec![])];
        assert_eq!(rows(router, of(InterfaceIndex(!0))), (expected, 0));
        local.call(router, &place(0, &[])).unwrap();
        local.call(router, &place(1, &[0])).unwrap();
        assert_eq!(rows(router, of(PG0)).0, [(0, 0, vec![]), (1, 0, vec![0])]);
        let nobody = rows(router, of(InterfaceIndex(99)));
        assert_eq!(nobody, (vec![], Retval::INVALID_SW_IF_INDEX.0));
    });
}

#[test]
fn addresses_are_lent_and_replaced() {
    talk(|local, router| {
        router.add_table::<crate::fib::Ip4>(0).ok();
        router.add_table::<crate::fib::Ip6>(0).ok();
        let local0 = InterfaceIndex(0);
        let add = |sw_if_index, prefix: &str| SwInterfaceAddDelAddress {
            sw_if_index,
            is_add: true,
            del_all: false,
            prefix: AddressWithPrefix(prefix.parse::<wire::Prefix>().unwrap().into()),
        };
        let lend = |unnumbered_sw_if_index, is_add| SwInterfaceSetUnnumbered {
            sw_if_index: PG0,
            unnumbered_sw_if_index,
            is_add,
        };
        local.call(router, &lend(local0, true)).unwrap();
        assert!(router.interfaces.port(local0).unwrap().ip4.is_some());
        local.call(router, &add(PG0, "10.0.0.1/24")).unwrap();
        local.call(router, &add(PG0, "10.0.1.1/24")).unwrap();
        let borrowed = router.addresses.of(local0).borrowed.clone().unwrap();
        assert_eq!((borrowed.from, borrowed.ip4.len()), (PG0, 2));
        assert_eq!(local.call(router, &lend(PG0, true)), Err(Retval::INVALID_VALUE));
        let bad = local.call(router, &lend(NOBODY, true));
        assert_eq!(bad, Err(Retval::INVALID_SW_IF_INDEX_2));

        local.call(router, &SwInterfaceAddressReplaceBegin {}).unwrap();
        local.call(router, &add(PG0, "10.0.0.1/24")).unwrap();
        local.call(router, &add(PG0, "10.0.2.1/24")).unwrap();
        local.call(router, &SwInterfaceAddressReplaceEnd {}).unwrap();
        let left: Vec<_> = router.addresses.of(PG0).iter().map(|p| p.to_string()).collect();
        assert_eq!(left, ["10.0.0.1/24", "10.0.2.1/24"]);
        local.call(router, &SwInterfaceAddressReplaceEnd {}).unwrap();
        assert_eq!(router.addresses.of(PG0).iter().count(), 2);

        // An interface to be deleted blocks nothing.
        local.call(router, &lend(local0, false)).unwrap();
        assert_eq!(local.call(router, &add(local0, "10.0.2.9/24")), Err(Retval::ADDRESS_IN_USE));
        local.call(router, &SwInterfaceAddressReplaceBegin {}).unwrap();
        local.call(router, &add(local0, "10.0.2.9/24")).unwrap();
        local.call(router, &add(PG0, "10.0.0.1/24")).unwrap();
        local.call(router, &SwInterfaceAddressReplaceEnd {}).unwrap();
        let left = [PG0, local0].map(|i| router.addresses.of(i).iter().count());
        assert_eq!(left, [1, 1]);
        router.remove_all_addresses(local0);
        local.call(router, &lend(local0, true)).unwrap();

        local.call(router, &lend(local0, false)).unwrap();
        assert!(router.interfaces.port(local0).unwrap().ip4.is_none());
        local.call(router, &lend(local0, true)).unwrap();
        router.remove_interface(PG0);
        assert!(router.addresses.of(local0).borrowed.is_none());
    });
}
