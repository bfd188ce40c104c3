//! Rules are kept, shown and printed; no card sorts by them.

use control::api::{Overlay, Retval};
use net::testing::Rig;

use super::*;

#[test]
fn rules_are_kept_and_printed_but_no_card_sorts_by_them() {
    let mut rig = Rig::new(&[FEATURE]);
    let lines = [
        "flow add src-ip 10.0.0.0/8 dst-ip 10.1.0.1 proto udp gtpu teid 7 mark 3 redirect-to-queue 2",
        "flow add index 5 ip6-dst-ip 2001:db8::/32 src-port 80/0xff00 drop",
        "flow add spec ffff0a mask ff00ff next-node ip4-input buffer-advance 14",
        "flow add src-ip 1.2.3.4/255.0.255.0 rss function toeplitz rss queues 1 to 3",
    ];
    let printed = lines.map(|line| rig.run(line));
    assert_eq!(printed, ["flow index 0\n", "flow index 5\n", "flow index 1\n", "flow index 2\n"]);
    let configuration = rig.run("show configuration");
    assert_eq!(
        configuration,
        "flow add index 0 src-ip 10.0.0.0/255.0.0.0 dst-ip 10.1.0.1/255.255.255.255 proto 17 \
         gtpu teid 7 mark 3 redirect-to-queue 2\n\
         flow add index 1 spec ffff0a mask ff00ff next-node ip4-input buffer-advance 14\n\
         flow add index 2 src-ip 1.2.3.4/255.0.255.0 rss function toeplitz rss types 0x0 rss queues \
         1 to 3\n\
         flow add index 5 ip6-dst-ip 2001:db8::/ffff:ffff:: src-port 80/0xff00 drop\n"
    );
    let mut again = Rig::new(&[FEATURE]);
    again.run(&configuration);
    assert_eq!(again.run("show configuration"), configuration);
    assert_eq!(
        rig.run("show flow entry index 5"),
        "flow-index 5\n  match: ip6-dst-ip 2001:db8::/ffff:ffff::, src-port 80/0xff00\n  \
         action: drop\n  interfaces: none\n"
    );
    assert_eq!(rig.run("show flow entry max 2").matches("flow-index").count(), 2);
    for (line, why) in [
        ("flow", "expected add, del, enable or disable"),
        ("flow add drop", "missing match"),
        ("flow add proto tcp", "missing action"),
        ("flow add src-ip 10.0.0.0/33 drop", "got `10.0.0.0/33'"),
        ("flow add src-ip 2001:db8::1 drop", "got `2001:db8::1'"),
        ("flow add proto nosuch drop", "nosuch"),
        ("flow add spec ff mask ffff drop", "differ in length"),
        ("flow add spec fff mask ff drop", "got `fff'"),
        ("flow add vxlan 1 rss queues 3 to 1", "before the first"),
        ("flow add index 5 vxlan 1 drop", "flow 5 exists"),
        ("flow enable index 5 local0", "local0 has no NIC with flow support"),
        ("flow enable index 9 local0", "no flow 9"),
        ("flow disable index 5", "flow 5 is not enabled"),
        ("flow del index 9", "no flow 9"),
        ("show flow entry index 9", "no flow 9"),
    ] {
        let said = rig.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    let line = "flow index 7 eth-type 0x86dd in-ip6-src-ip 2001:db8::/64 add in-proto any \
                in-dst-port any vxlan vni 5 drop";
    assert_eq!(rig.run(line), "flow index 7\n", "words stand in any order");
    let kept = "flow add index 7 eth-type 0x86dd in-ip6-src-ip 2001:db8::/ffff:ffff:ffff:ffff:: \
                in-proto any in-dst-port 0/0x0 vxlan 5 drop\n";
    assert!(rig.run("show configuration").ends_with(kept), "{}", rig.run("show configuration"));
    rig.run("flow index 5 del");
    assert!(!rig.run("show flow entry").contains("flow-index 5"));
}

#[test]
fn programs_add_rules_of_all_kinds() {
    let mut rig = Rig::new(&[FEATURE]);
    rig.talk(|local, router| {
        let any = Ip4AddressAndMask { addr: [0; 4].into(), mask: [0; 4].into() };
        let one = Ip4AddressAndMask { addr: [10, 0, 0, 1].into(), mask: [255; 4].into() };
        let protocol = IpProtAndMask { prot: control::api::types::IpProto::UDP, mask: 255 };
        let port = |port| IpPortAndMask { port, mask: 0xffff };
        let arm = FlowIp4Vxlan {
            foo: 0,
            src_addr: any,
            dst_addr: one,
            protocol,
            src_port: IpPortAndMask { port: 0, mask: 0 },
            dst_port: port(4789),
            vni: 77,
        };
        let rule = FlowRule {
            kind: FlowType::IP4_VXLAN,
            index: 0,
            actions: FlowAction(FlowAction::COUNT.0 | FlowAction::MARK.0),
            mark_flow_id: 9,
            redirect_node_index: 0,
            redirect_device_input_next_index: 0,
            redirect_queue: 0,
            buffer_advance: 0,
            flow: Overlay::from(Flow::Ip4Vxlan(arm)),
        };
        let made = local.call(router, &FlowAdd { flow: rule.clone() });
        assert_eq!(made.map(|reply| reply.flow_index).ok(), Some(0));
        let wrong = FlowRule { kind: FlowType(99), ..rule.clone() };
        let refused = local.call(router, &FlowAdd { flow: wrong }).err();
        assert_eq!(refused, Some(Retval::INVALID_VALUE));
        let nowhere = FlowRule {
            actions: FlowAction::REDIRECT_TO_NODE,
            redirect_node_index: u32::MAX,
            ..rule
        };
        let refused = local.call(router, &FlowAdd { flow: nowhere }).err();
        assert_eq!(refused, Some(Retval::NO_SUCH_NODE));
        let mut pattern = GenericPattern { spec: [0; 1024], mask: [0; 1024] };
        pattern.spec[..4].copy_from_slice(b"0800");
        pattern.mask[..4].copy_from_slice(b"ffff");
        let rule = FlowRuleV2 {
            kind: FlowTypeV2::GENERIC,
            index: 0,
            actions: FlowActionV2::RSS,
            mark_flow_id: 0,
            redirect_node_index: 0,
            redirect_device_input_next_index: 0,
            redirect_queue: 0,
            queue_index: 2,
            queue_num: 4,
            buffer_advance: 0,
            rss_types: 3,
            rss_fun: RssFunction::SYMMETRIC_TOEPLITZ,
            flow: Overlay::from(FlowV2::Generic(FlowGeneric { foo: 0, pattern })),
        };
        let made = local.call(router, &FlowAddV2 { flow: rule });
        assert_eq!(made.map(|reply| reply.flow_index).ok(), Some(1));
        let enable = |flow_index, hw_if_index| FlowEnable { flow_index, hw_if_index };
        assert_eq!(local.call(router, &enable(0, 0)).err(), Some(Retval::UNSUPPORTED));
        assert_eq!(local.call(router, &enable(0, 99)).err(), Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &enable(9, 0)).err(), Some(Retval::NO_SUCH_ENTRY));
        let disabled = local.call(router, &FlowDisableV2 { flow_index: 0 }).err();
        assert_eq!(disabled, Some(Retval::NO_SUCH_ENTRY));
    });
    assert_eq!(
        rig.run("show configuration"),
        "flow add index 0 dst-ip 10.0.0.1/255.255.255.255 proto 17 dst-port 4789/0xffff vxlan 77 \
         count mark 9\n\
         flow add index 1 spec 0800 mask ffff rss function symmetric_toeplitz rss types 0x3 rss \
         queues 2 to 5\n"
    );
    rig.talk(|local, router| {
        assert_eq!(local.call(router, &FlowDel { flow_index: 0 }), Ok(()));
        let gone = local.call(router, &FlowDel { flow_index: 0 }).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
    });
}
