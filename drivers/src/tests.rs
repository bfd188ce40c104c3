//! The messages of all drivers, called as clients do.

use control::api::{Local, Retval};
use control::log::Log;
use graph::Settings;
use net::{Assembly, InterfaceIndex, Router};
use wire::MacAddr;

use crate::{FEATURES, af_packet, loopback, pcap_trace, pg, tap};

/// A router whose thread runs, and a client.
fn talk(work: impl FnOnce(&Local<'_, Router>, &mut Router)) {
    let router = Router::new(Settings { buffers: 4096, ..Settings::default() }, Log::new());
    let mut parts = Assembly::new(router.unwrap());
    for feature in net::FEATURES.iter().chain(FEATURES).filter(|f| f.default_enabled) {
        parts.add(feature).unwrap();
    }
    parts.api.finish(&parts.router.clients).unwrap();
    parts.router.engine.build().unwrap();
    parts.router.engine.start().unwrap();
    let local = Local::new(&parts.api, &parts.cli, &parts.router.clients);
    work(&local, &mut parts.router);
}

const NOBODY: InterfaceIndex = InterfaceIndex(99);
const NOT_THERE: Option<Retval> = Some(Retval::INVALID_SW_IF_INDEX);

#[test]
fn loopbacks_are_made_and_deleted_by_message() {
    use loopback::api::*;
    talk(|local, router| {
        let make = |mac_address| CreateLoopback { mac_address };
        let first = local.call(router, &make(MacAddr::ZERO)).unwrap().sw_if_index;
        assert_eq!(router.interfaces.name(first.0), "loop0");
        let mac = router.interfaces.at(first).unwrap().mac;
        assert_eq!(mac, MacAddr([0xde, 0xad, 0, 0, 0, 0]));
        let number = |user_instance| CreateLoopbackInstance {
            mac_address: MacAddr([2, 0, 0, 0, 0, 9]),
            is_specified: true,
            user_instance,
        };
        let seventh = local.call(router, &number(7)).unwrap().sw_if_index;
        assert_eq!(router.interfaces.name(seventh.0), "loop7");
        assert_eq!(local.call(router, &number(7)).err(), Some(Retval::INSTANCE_IN_USE));
        assert_eq!(local.call(router, &number(99_999)).err(), Some(Retval::INVALID_VALUE));
        let group = make(MacAddr::BROADCAST);
        assert_eq!(local.call(router, &group).err(), Some(Retval::INVALID_VALUE));
        local.call(router, &DeleteLoopback { sw_if_index: first }).unwrap();
        for sw_if_index in [first, NOBODY, InterfaceIndex(0)] {
            assert_eq!(local.call(router, &DeleteLoopback { sw_if_index }).err(), NOT_THERE);
        }
    });
}

#[test]
fn the_generator_is_driven_by_message() {
    use pg::api::*;
    talk(|local, router| {
        let make = |id, flags, gso_size, mode| PgCreateInterfaceV3 {
            interface_id: InterfaceIndex(id),
            pg_flags: PgInterfaceFlags(flags),
            gso_size,
            mode: PgInterfaceMode(mode),
        };
        let pg0 = local.call(router, &make(0, 0, 0, 0)).unwrap().sw_if_index;
        assert_eq!(local.call(router, &make(0, 0, 0, 0)).unwrap().sw_if_index, pg0);
        let pg4 = local.call(router, &make(4, 3, 1460, 1)).unwrap().sw_if_index;
        let i = router.interfaces.at(pg4).unwrap();
        assert!(i.name == "pg4" && i.offloads.gso && i.offloads.checksum);
        let v1 =
            PgCreateInterface { interface_id: InterfaceIndex(5), gso_enabled: true, gso_size: 100 };
        local.call(router, &v1).unwrap();
        let v2 = PgCreateInterfaceV2 {
            interface_id: InterfaceIndex(6),
            gso_enabled: false,
            gso_size: 0,
            mode: PgInterfaceMode::IP6,
        };
        local.call(router, &v2).unwrap();
        assert!(router.interfaces.named("pg6").is_some());
        let bad = [make(7, 0, 0, 9), make(7, 2, 99_999, 0), make(!0, 0, 0, 0)];
        for m in &bad {
            assert_eq!(local.call(router, m).err(), Some(Retval::INVALID_VALUE));
        }
        // Offloads need no size of segments.
        let pg8 = local.call(router, &make(8, 6, 0, 0)).unwrap().sw_if_index;
        assert!(router.interfaces.at(pg8).is_some_and(|i| i.offloads.gso));
        let coalesce = |sw_if_index, coalesce_enabled| PgInterfaceEnableDisableCoalesce {
            sw_if_index,
            coalesce_enabled,
        };
        for sw_if_index in [pg0, pg4] {
            assert_eq!(local.call(router, &coalesce(sw_if_index, true)), Ok(()));
            assert_eq!(local.call(router, &coalesce(sw_if_index, false)), Ok(()));
        }
        assert_eq!(local.call(router, &coalesce(InterfaceIndex(0), true)).err(), NOT_THERE);
        assert_eq!(local.call(router, &coalesce(NOBODY, false)).err(), NOT_THERE);
        let path = std::env::temp_dir().join(format!("pg-api-{}.pcap", std::process::id()));
        let capture = |id, is_enabled| PgCapture {
            interface_id: InterfaceIndex(id),
            is_enabled,
            count: 0,
            pcap_file_name: path.display().to_string(),
        };
        local.call(router, &capture(0, true)).unwrap();
        local.call(router, &capture(0, false)).unwrap();
        assert_eq!(local.call(router, &capture(77, true)).err(), NOT_THERE);
        let streams = |stream_name: &str| PgEnableDisable {
            is_enabled: true,
            stream_name: stream_name.to_owned(),
        };
        assert_eq!(local.call(router, &streams("")), Ok(()));
        assert_eq!(local.call(router, &streams("nosuch")), Err(Retval::NO_SUCH_ENTRY));
        local.call(router, &PgDeleteInterface { sw_if_index: pg0 }).unwrap();
        for sw_if_index in [pg0, NOBODY, InterfaceIndex(0)] {
            assert_eq!(local.call(router, &PgDeleteInterface { sw_if_index }).err(), NOT_THERE);
        }
    });
}

#[test]
fn captures_are_driven_by_message() {
    use pcap_trace::api::*;
    talk(|local, router| {
        let file = format!("fvt{}.pcap", std::process::id());
        let on = |sw_if_index| PcapTraceOn {
            capture_rx: true,
            capture_tx: false,
            capture_drop: true,
            filter: false,
            preallocate_data: true,
            free_data: true,
            max_packets: 10,
            max_bytes_per_packet: 64,
            sw_if_index,
            error: "".into(),
            filename: file.as_str().into(),
        };
        let nothing = Err(Retval::NO_SUCH_ENTRY);
        assert_eq!(local.call(router, &PcapTraceOff {}), nothing);
        assert_eq!(local.call(router, &on(NOBODY)).err(), NOT_THERE);
        let refused = [
            (PcapTraceOn { capture_rx: false, capture_drop: false, ..on(NOBODY) }, -7),
            (PcapTraceOn { error: "no.such".into(), ..on(NOBODY) }, -5),
            (PcapTraceOn { filename: "../x".into(), ..on(NOBODY) }, -7),
            (PcapTraceOn { filename: "".into(), ..on(NOBODY) }, -7),
        ];
        for (m, retval) in refused {
            let m = PcapTraceOn { sw_if_index: InterfaceIndex(0), ..m };
            assert_eq!(local.call(router, &m), Err(Retval(retval)));
        }
        for error in ["error-drop.node_failed", "{error-drop}.{node_failed}"] {
            let m = PcapTraceOn { error: error.into(), ..on(InterfaceIndex(0)) };
            local.call(router, &m).unwrap();
            assert_eq!(local.call(router, &m), Err(Retval::VALUE_EXIST));
            assert_eq!(local.call(router, &PcapTraceOff {}), nothing);
        }
        assert!(!std::path::Path::new("/tmp").join(&file).exists(), "nothing was captured");
        assert_eq!(local.call(router, &PcapTraceOff {}), nothing);
    });
}

#[test]
fn taps_are_refused_by_number_and_listed() {
    use tap::api::*;
    talk(|local, router| {
        let all = SwInterfaceTapV2Dump { sw_if_index: InterfaceIndex(!0) };
        assert!(local.dump(router, &all).is_empty());
        let gone = local.call(router, &TapDeleteV2 { sw_if_index: NOBODY });
        assert_eq!(gone.err(), NOT_THERE);
        let mut m = TapCreateV3::plain(5000);
        assert_eq!(local.call(router, &m).err(), Some(Retval::INVALID_VALUE));
        m.id = 3;
        m.rx_ring_sz = 100;
        assert_eq!(local.call(router, &m).err(), Some(Retval::INVALID_VALUE));
        let old = TapCreateV2::plain(5000);
        assert_eq!(local.call(router, &old).err(), Some(Retval::INVALID_VALUE));
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let name = format!("fvt{}", std::process::id());
        m.rx_ring_sz = 256;
        (m.host_if_name_set, m.host_if_name) = (true, name.clone().into());
        (m.host_mtu_set, m.host_mtu_size) = (true, 1400);
        m.tap_flags = TapFlags::GSO.with(TapFlags::GRO_COALESCE, true);
        m.tag = "mine".to_owned();
        let sw_if_index = local.call(router, &m).unwrap().sw_if_index;
        assert_eq!(local.call(router, &m).err(), Some(Retval::INVALID_INTERFACE));
        assert_eq!(router.interfaces.at(sw_if_index).unwrap().tag, "mine");
        let rows = local.dump(router, &all);
        let row = &rows[0];
        assert_eq!((row.id, row.host_mtu_size, row.tap_flags), (3, 1400, m.tap_flags));
        assert_eq!((row.dev_name.as_str(), row.host_if_name.as_str()), ("tap3", name.as_str()));
        local.call(router, &TapDeleteV2 { sw_if_index }).unwrap();
    });
}

#[test]
fn host_interfaces_are_refused_by_number_and_listed() {
    use af_packet::api::*;
    talk(|local, router| {
        assert!(local.dump(router, &AfPacketDump {}).is_empty());
        let v1 = AfPacketCreate {
            hw_addr: MacAddr::ZERO,
            use_random_hw_addr: true,
            host_if_name: "nosuchdevice".into(),
        };
        assert_eq!(local.call(router, &v1).err(), Some(Retval::INVALID_INTERFACE));
        let v2 = AfPacketCreateV2 {
            hw_addr: MacAddr::ZERO,
            use_random_hw_addr: false,
            host_if_name: "lo".into(),
            rx_frame_size: 0,
            tx_frame_size: 0,
            rx_frames_per_block: 0,
            tx_frames_per_block: 0,
            flags: 0,
            num_rx_queues: 1,
        };
        assert_eq!(local.call(router, &v2).err(), Some(Retval::INVALID_VALUE));
        let v3 = |mode, num_rx_queues| AfPacketCreateV3 {
            mode,
            hw_addr: MacAddr::ZERO,
            use_random_hw_addr: true,
            host_if_name: "lo".into(),
            rx_frame_size: 0,
            tx_frame_size: 0,
            rx_frames_per_block: 0,
            tx_frames_per_block: 0,
            flags: AfPacketFlags::CKSUM_GSO,
            num_rx_queues,
            num_tx_queues: 1,
        };
        let bad = v3(AfPacketMode(7), 1);
        assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
        let gone = local.call(router, &AfPacketDelete { host_if_name: "lo".into() });
        assert_eq!(gone, Err(Retval::SYSCALL_ERROR_1));
        let offload = |sw_if_index, set| AfPacketSetL4CksumOffload { sw_if_index, set };
        assert_eq!(local.call(router, &offload(NOBODY, true)).err(), NOT_THERE);
        let other = local.call(router, &offload(InterfaceIndex(0), true));
        assert_eq!(other, Err(Retval::INVALID_INTERFACE));
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let made = local.call(router, &v3(AfPacketMode::ETHERNET, 2)).unwrap().sw_if_index;
        let again = local.call(router, &v3(AfPacketMode::ETHERNET, 1));
        assert_eq!(again.err(), Some(Retval::IF_ALREADY_EXISTS));
        let rows = local.dump(router, &AfPacketDump {});
        assert_eq!((rows[0].sw_if_index, rows[0].host_if_name.as_str()), (made, "lo"));
        local.call(router, &offload(made, false)).unwrap();
        assert!(!router.interfaces.at(made).unwrap().offloads.checksum);
        local.call(router, &AfPacketDelete { host_if_name: "lo".into() }).unwrap();
    });
}
