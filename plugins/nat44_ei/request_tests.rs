//! Requests to both kinds of NAT of IPv4, and their lists.

use control::api::Retval;
use nat44_ed::{
    Nat44DelSession, Nat44EdAddDelOutputInterface, Nat44EdSetFqOptions, Nat44EdShowFqOptions,
    Nat44InterfaceAddDelFeature, Nat44ShowRunningConfig, NatGetMssClamping, NatSetMssClamping,
};
use nat44_ei::{
    Nat44EiAddDelAddressRange, Nat44EiConfigFlags, Nat44EiDelUser, Nat44EiHaGetListener,
    Nat44EiSetFqOptions, Nat44EiShowRunningConfig, Nat44EiUserDump, Nat44EiUserSessionDump,
};
use net::testing::whole::Bench;
use translation::numbers::NatConfigFlags;

use super::nat44_ed::{end, ends, icmp, pass, udp};
use super::translation::between;

const ED: [&str; 2] = ["nat44 plugin enable sessions 1000", "set interface nat44 in pg0 out pg1"];
const EI: [&str; 2] = ["nat44 ei plugin enable", "set interface nat44 ei in pg0 out pg1"];

fn endpoint_dependent(more: &[&str]) -> Bench {
    between(nat44_ed::FEATURE, &ED, more)
}

fn endpoint_independent(more: &[&str]) -> Bench {
    between(nat44_ei::FEATURE, &EI, more)
}

#[test]
fn a_side_may_be_named_again_and_the_output_feature_excludes_it() {
    let mut b = endpoint_dependent(&[]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let side = |sw_if_index, is_add| Nat44InterfaceAddDelFeature {
            is_add,
            flags: NatConfigFlags::INSIDE,
            sw_if_index,
        };
        let output = |sw_if_index, is_add| Nat44EdAddDelOutputInterface { is_add, sw_if_index };
        assert!(local.call(router, &side(pg0, true)).is_ok(), "named again");
        let exists = Some(Retval::VALUE_EXIST);
        assert_eq!(local.call(router, &output(pg0, true)).err(), exists);
        let missing = Some(Retval::NO_SUCH_ENTRY);
        assert_eq!(local.call(router, &output(pg1, false)).err(), missing);
        local.call(router, &side(pg0, false)).unwrap();
        assert_eq!(local.call(router, &side(pg0, false)).err(), missing);
        local.call(router, &output(pg0, true)).unwrap();
        assert_eq!(local.call(router, &output(pg0, true)).err(), exists);
        assert_eq!(local.call(router, &side(pg0, true)).err(), exists);
    });
}

#[test]
fn a_host_has_one_mapping_for_an_end() {
    for kind in ["nat44", "nat44 ei"] {
        let mut b =
            if kind == "nat44" { endpoint_dependent(&[]) } else { endpoint_independent(&[]) };
        let mut add = |line: &str| b.cli(&format!("{kind} add {line}"));
        assert_eq!(add("address 192.0.2.1 - 192.0.2.2"), "");
        assert_eq!(add("static mapping tcp local 10.0.0.2 80 external 192.0.2.1 8080"), "");
        assert_eq!(add("static mapping local 10.0.0.3 external 192.0.2.9"), "");
        for taken in [
            "static mapping tcp local 10.0.0.2 80 external 192.0.2.2 8080",
            "static mapping local 10.0.0.3 external 192.0.2.10",
            "static mapping local 10.0.0.4 external 192.0.2.9",
            "identity mapping 10.0.0.3",
        ] {
            assert!(add(taken).contains("already exists"), "{kind} {taken}");
        }
        // Other protocols and ports are other ends.
        assert_eq!(add("static mapping udp local 10.0.0.2 80 external 192.0.2.2 8080"), "");
        assert_eq!(add("static mapping tcp local 10.0.0.2 81 external 192.0.2.2 8080"), "");
    }
    let mut b = endpoint_dependent(&["nat44 add address 192.0.2.1"]);
    for port in [1, 2] {
        b.set(&format!(
            "nat44 add static mapping udp local 10.0.0.2 5 external 192.0.2.1 {port} out2in-only"
        ));
    }
}

#[test]
fn a_port_of_a_mapping_is_one_of_the_pool_for_any_far_end() {
    let line = "nat44 ei add static mapping tcp local 10.0.0.2 80 external 192.0.2.9 80";
    let identity = "nat44 ei add identity mapping 10.0.0.3 udp 53";
    let mut b = endpoint_independent(&["nat44 ei add address 192.0.2.1"]);
    for refused in [line, identity] {
        assert!(b.cli(refused).contains("no address of the pool"), "{refused}");
    }
    // An address whose port a mapping has stays.
    b.set("nat44 ei add address 192.0.2.9");
    b.set(line);
    let refused = b.cli("nat44 ei add address 192.0.2.9 del");
    assert!(refused.contains("a static mapping has a port"), "{refused}");
    b.set(&format!("{line} del"));
    b.set("nat44 ei add address 192.0.2.9 del");
    // With mappings only there is no pool to be of.
    b.set("nat44 ei plugin disable");
    b.set("nat44 ei plugin enable static-mapping-only");
    b.set(line);
    let refused = b.cli("nat44 ei add address 192.0.2.1");
    assert!(refused.contains("static mapping only mode"), "{refused}");
    // Other translators of the kind with far ends need none.
    let mut b = endpoint_dependent(&["nat44 add address 192.0.2.1"]);
    b.set(&line.replace("nat44 ei", "nat44"));
}

#[test]
fn a_maximum_segment_size_of_zero_is_none() {
    let mut b = endpoint_dependent(&["nat mss-clamping 1000"]);
    b.talk(|local, router| {
        let set = |mss_value| NatSetMssClamping { mss_value, enable: true };
        let get = NatGetMssClamping {};
        assert!(local.call(router, &get).unwrap().enable);
        local.call(router, &set(0)).unwrap();
        assert!(!local.call(router, &get).unwrap().enable);
    });
    assert_eq!(b.cli("show nat mss-clamping"), "mss-clamping disabled\n");
    let mut b = endpoint_independent(&["nat44 ei mss-clamping 0"]);
    assert_eq!(b.cli("show nat44 ei mss-clamping"), "mss-clamping disabled\n");
}

#[test]
fn what_is_asked_of_a_translator_that_is_disabled_has_the_original_s_numbers() {
    let mut b = endpoint_independent(&["nat44 ei add address 192.0.2.1"]);
    b.talk(|local, router| {
        let user = Nat44EiDelUser { ip_address: "10.0.0.9".parse().unwrap(), fib_index: 0 };
        assert_eq!(local.call(router, &user).err(), Some(Retval(1)), "no such host");
        let size = |frame_queue_nelts| Nat44EiSetFqOptions { frame_queue_nelts };
        let enabled = Some(Retval::FEATURE_ALREADY_ENABLED);
        assert_eq!(local.call(router, &size(256)).err(), enabled);
        let shown = local.call(router, &Nat44EiShowRunningConfig {}).unwrap();
        assert_eq!((shown.user_buckets, shown.translation_buckets), (512, 4096));
    });
    b.set("nat44 ei plugin disable");
    b.talk(|local, router| {
        let addr = "192.0.2.1".parse().unwrap();
        let add = Nat44EiAddDelAddressRange {
            first_ip_address: addr,
            last_ip_address: addr,
            vrf_id: u32::MAX,
            is_add: true,
        };
        let disabled = Some(Retval::FEATURE_ALREADY_DISABLED);
        assert_eq!(local.call(router, &add).err(), disabled);
        assert_eq!(local.call(router, &Nat44EiHaGetListener {}).unwrap().port, 0);
    });
    let mut b = endpoint_dependent(&[]);
    b.talk(|local, router| {
        let near = "10.0.0.2".parse().unwrap();
        let session = Nat44DelSession {
            address: near,
            protocol: 17,
            port: 5,
            vrf_id: 88,
            flags: NatConfigFlags::INSIDE,
            ext_host_address: near,
            ext_host_port: 5,
        };
        assert_eq!(local.call(router, &session).err(), Some(Retval::NO_SUCH_ENTRY));
        let shown = local.call(router, &Nat44ShowRunningConfig {}).unwrap();
        assert_eq!(shown.translation_buckets, 512);
        let shown = local.call(router, &Nat44EdShowFqOptions {}).unwrap();
        assert_eq!(shown.frame_queue_nelts, 8192);
    });
    b.set("nat44 plugin disable");
    b.talk(|local, router| {
        assert!(!local.call(router, &NatGetMssClamping {}).unwrap().enable);
        let size = |frame_queue_nelts| Nat44EdSetFqOptions { frame_queue_nelts };
        assert_eq!(local.call(router, &size(1000)).err(), Some(Retval::INVALID_VALUE));
        local.call(router, &size(256)).unwrap();
        let shown = local.call(router, &Nat44EdShowFqOptions {}).unwrap();
        assert_eq!(shown.frame_queue_nelts, 256);
    });
}

#[test]
fn counters_begin_anew_with_the_translator() {
    for (kind, path) in [("nat44", "/nat44-ed"), ("nat44 ei", "/nat44-ei")] {
        let mut b =
            if kind == "nat44" { endpoint_dependent(&[]) } else { endpoint_independent(&[]) };
        b.set(&format!("{kind} add address 192.0.2.1"));
        let pg0 = b.pg0;
        assert_eq!(pass(&mut b, pg0, &[udp(end("10.0.0.2", 4), end("10.0.1.2", 5))]).len(), 1);
        let counted = |b: &Bench| {
            let value = b.router.stats.value(&format!("{path}/in2out/slowpath/udp"));
            let Some(control::stats::Value::Simple(rows, columns)) = value else {
                panic!("{path}")
            };
            (0..columns)
                .map(|at| <infra::counter::Rows<infra::counter::Counter>>::sum(rows, at))
                .sum::<u64>()
        };
        assert_eq!(counted(&b), 1);
        b.set(&format!("{kind} plugin disable"));
        assert_eq!(counted(&b), 1, "what was counted stays until then");
        b.set(&format!("{kind} plugin enable"));
        assert_eq!(counted(&b), 0);
    }
}

#[test]
fn sessions_count_packets_as_they_are_sent_and_bare_ones_are_no_session() {
    let mut b = endpoint_independent(&["nat44 ei add address 192.0.2.1"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.set("set interface nat44 ei in pg0 out pg1 del");
    b.set("set interface nat44 ei out pg1 output-feature");
    let packet = udp(end("10.0.0.2", 4), end("10.0.1.2", 5));
    pass(&mut b, pg0, std::slice::from_ref(&packet));
    b.set("nat44 ei forwarding enable");
    pass(&mut b, pg1, &[udp(end("10.0.1.2", 5), end("10.0.0.3", 6))]);
    b.talk(|local, router| {
        let users = local.dump(router, &Nat44EiUserDump {});
        assert_eq!(users.len(), 1, "a host that is known by its own address is not listed");
        let ip_address = users[0].user.ip_address;
        let all = local.dump(router, &Nat44EiUserSessionDump { ip_address, vrf_id: 0 });
        assert_eq!(all[0].flags, Nat44EiConfigFlags::NONE);
        assert_eq!(all[0].traffic.total_bytes, packet.len() as u64 + 14, "with its header");
    });
}

#[test]
fn an_echo_reply_from_inside_begins_a_session_with_a_far_end() {
    for output in ["", " output-feature"] {
        let mut b = endpoint_dependent(&["nat44 add address 192.0.2.1"]);
        b.set("set interface nat44 out pg1 del");
        b.set(&format!("set interface nat44 out pg1{output}"));
        let pg0 = b.pg0;
        let reply = icmp("10.0.0.2", "10.0.1.2", &[0, 0, 0, 0, 0, 7, 0, 1]);
        let out = pass(&mut b, pg0, &[reply]);
        assert_eq!((out[0][12..16].to_vec(), out[0][20]), (vec![192, 0, 2, 1], 0), "{output}");
    }
}

#[test]
fn hosts_inside_meet_by_addresses_outside_with_forwarding_too() {
    let mapping = "add static mapping local 10.0.0.2 external 192.0.2.9";
    for kind in ["nat44", "nat44 ei"] {
        let mut b =
            if kind == "nat44" { endpoint_dependent(&[]) } else { endpoint_independent(&[]) };
        for line in ["add address 192.0.2.1", mapping, "forwarding enable"] {
            b.set(&format!("{kind} {line}"));
        }
        let (pg0, outside) = (b.pg0, end("192.0.2.9", 53));
        let there = pass(&mut b, pg0, &[udp(end("10.0.0.3", 999), outside)]);
        let [from, to] = ends(&there[0]);
        assert_eq!((from.0, to), (end("192.0.2.1", 0).0, end("10.0.0.2", 53)), "{kind}");
        let back = pass(&mut b, pg0, &[udp(to, from)]);
        assert_eq!(ends(&back[0]), [outside, end("10.0.0.3", 999)], "{kind}");
    }
}

#[test]
fn lists_have_the_lines_that_operators_know() {
    let mut b = endpoint_dependent(&[
        "nat44 add address 192.0.2.1",
        "nat44 add static mapping tcp local 10.0.0.3 80 external 192.0.2.1 8080",
        "nat44 add identity mapping 10.0.0.9",
        "nat44 add load-balancing static mapping protocol tcp external 192.0.2.1:90 \
         local 10.0.0.2:80 probability 1 local 10.0.0.3:81 probability 2",
    ]);
    let pg0 = b.pg0;
    pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), end("10.0.1.2", 53))]);
    let mappings = "NAT44 static mappings:\n TCP local 10.0.0.3:80 external 192.0.2.1:8080 vrf 0\n \
        identity mapping 10.0.0.9 vrf 0\n TCP external 192.0.2.1:90\n  local 10.0.0.2:80 vrf 0 \
        probability 1\n  local 10.0.0.3:81 vrf 0 probability 2\n";
    assert_eq!(b.cli("show nat44 static mappings"), mappings);
    let summary = b.cli("show nat44 summary");
    let begin = "max translations per thread: 1000 fib 0\nudp LRU min session timeout ";
    assert!(summary.starts_with(begin), "{summary}");
    let end_of = "total sessions: 1 (timed out: 0)\ntcp sessions:\n    total: 0 (timed out: 0)\n\
        \x20       established: 0 (timed out: 0)\n        transitory: 0 (timed out: 0)\n\
        udp sessions:\n    total: 1 (timed out: 0)\nicmp sessions:\n    \
        total: 0 (timed out: 0)\nother sessions:\n    total: 0 (timed out: 0)\n";
    assert!(summary.ends_with(end_of), "{summary}");
    let sessions = b.cli("show nat44 sessions filter i2o saddr 10.0.0.2");
    for line in [
        "    i2o 10.0.0.2 proto UDP port 4000 fib 0\n    o2i 192.0.2.1 proto UDP port 4000 fib 0\n",
        "       external host 10.0.1.2:53\n",
        "proto UDP fib_idx 0 rewrite: saddr 10.0.1.2 daddr 10.0.0.2 dport 4000 txfib 0 \n",
        "       total pkts 1, total bytes 32\n       dynamic translation\n\n",
        "Showed: 1, Filtered: 0 of total 1 sessions of thread 0\n",
    ] {
        assert!(sessions.contains(line), "{line}: {sessions}");
    }
    let mut b = endpoint_independent(&[
        "nat44 ei add address 192.0.2.1",
        "nat44 ei add static mapping tcp local 10.0.0.3 80 external 192.0.2.1 8080",
    ]);
    let pg0 = b.pg0;
    pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), end("10.0.1.2", 53))]);
    let mappings = "NAT44 static mappings:\n tcp local 10.0.0.3:80 external 192.0.2.1:8080 vrf 0\n";
    assert_eq!(b.cli("show nat44 ei static mappings"), mappings);
    let addresses = "NAT44 pool addresses:\n192.0.2.1\n  tenant VRF independent\n  0 busy other \
        ports\n  1 busy udp ports\n  1 busy tcp ports\n  0 busy icmp ports\n";
    assert_eq!(b.cli("show nat44 ei addresses"), addresses);
    let sessions = b.cli("show nat44 ei sessions detail");
    assert!(sessions.contains("    i2o 10.0.0.2 proto udp port 4000 fib 0\n  o2i 192.0.2.1 proto"));
    b.set("nat44 ei addr-port-assignment-alg map-e psid 10 psid-offset 6 psid-len 6");
    let shown = "NAT address and port: map-e\n  psid 10 psid-offset 6 psid-len 6\n";
    assert_eq!(b.cli("show nat44 ei addr-port-assignment-alg"), shown);
    assert_eq!(b.cli("show nat44 ei ha"), "NAT HA disabled\n");
    b.set("nat44 ei ha listener 10.0.0.1:9 path-mtu 300");
    let shown = "LISTENER:\n  10.0.0.1:9 path-mtu 300\nFAILOVER:\n  NA\nRESYNC:\n  completed \
        (0 ACK missed)\n";
    assert!(b.cli("show nat44 ei ha").starts_with(shown));
}
