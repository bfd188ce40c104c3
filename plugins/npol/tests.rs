//! Policies of interfaces as operators and clients set and ask them.

use control::api::types::Prefix;
use control::api::{Overlay, Retval};
use net::testing::whole::Bench;
use npol::*;

fn bench() -> Bench {
    Bench::plugged(&[FEATURE])
}

/// Fate of a packet that `pg1` sends.
#[track_caller]
fn sent(b: &mut Bench, packet: &str) -> String {
    let answer = b.cli(&format!("npol match pg1 outbound {packet}"));
    let (_, action) = answer.trim().rsplit_once("action:").expect(&answer);
    action.to_owned()
}

#[test]
fn rules_compare_fields_prefixes_ports_and_sets() {
    let mut b = bench();
    b.set("npol ipset add id 5 ip 10.0.0.9 2001:db8::9");
    b.set("npol ipset add id 6 net 10.1.0.0/16 2001:db8:1::/48");
    b.set("npol ipset add id 7 ipport tcp 10.0.1.2 80 tcp 2001:db8:1::2 80");
    let deny = "rx-policy-def deny tx-policy-def deny invert";
    let packet = |protocol: &str, src: &str, dst: &str| format!("{protocol} {src}->{dst}");
    let web = packet("tcp", "10.0.0.9;5000", "10.0.1.2;80");
    let web6 = packet("tcp", "2001:db8::9;5000", "2001:db8:1::2;80");
    let dns = packet("udp", "10.0.0.8;5000", "10.1.0.2;53");
    let ping = packet("icmp", "10.0.0.9;8", "10.1.0.2;0");
    let ping6 = packet("icmp6", "2001:db8::8;128", "2001:db8:1::2;0");
    let all = [&web, &web6, &dns, &ping, &ping6];
    let cases: [(&str, &[&String]); 16] = [
        ("", &all),
        ("proto==tcp", &[&web, &web6]),
        ("proto!=tcp", &[&dns, &ping, &ping6]),
        ("proto==17", &[&dns]),
        ("icmp-type==8", &[&ping]),
        ("icmp-type!=8", &[&web, &web6, &dns, &ping6]),
        ("icmp-code==0 proto==icmp6", &[&ping6]),
        ("src==10.0.0.8/31 src==2001:db8::/32", &all),
        ("src!=10.0.0.8/32", &[&web, &web6, &ping, &ping6]),
        ("dst==[53-53] dst==[80]", &[&web, &web6, &dns]),
        ("dst!=[53-80]", &[&ping, &ping6]),
        ("src==set 5", &[&web, &web6, &ping]),
        ("src!=set 5 dst==set 6", &[&dns, &ping6]),
        ("dst==port-set 7", &[&web, &web6]),
        ("dst==port-set 7 dst==[53-53]", &[&web, &web6, &dns]),
        ("dst!=port-set 7 dst!=[53-53]", &[&ping, &ping6]),
    ];
    for (text, passing) in cases {
        b.set(&format!("npol rule add id 0 allow {text}"));
        b.set("npol policy add id 0 rx 0");
        b.set(&format!("npol interface configure pg1 rx 1 {deny} 0"));
        for packet in all {
            let expected = if passing.contains(&packet) { "ALLOW" } else { "DENY" };
            assert_eq!(sent(&mut b, packet), expected, "{text}: {packet}");
            // The other direction has no policies, and its default.
            let other = b.cli(&format!("npol match {packet} pg1 inbound"));
            assert!(other.contains("matched:default action:DENY"), "{other}");
            let free = b.cli(&format!("npol match pg0 inbound {packet}"));
            assert!(free.contains("action:ALLOW"), "{free}");
        }
    }
}

#[test]
fn policies_come_before_profiles_which_are_asked_when_something_says_pass() {
    let mut b = bench();
    for line in [
        "npol rule add id 1 allow proto==tcp dst==[1000-1000]",
        "npol rule add id 2 allow proto==tcp dst==[2000-2000]",
        "npol rule add id 3 deny proto==tcp dst==[1000-1000]",
        "npol rule add id 4 pass proto==tcp dst==[1000-1000]",
        "npol rule add id 5 log",
        "npol policy add id 1 rx 5 1",
        "npol policy add id 2 rx 2",
        "npol policy add id 3 rx 3",
        "npol policy add id 4 rx 4 3 tx 2",
    ] {
        b.set(line);
    }
    let [first, second] = [1000, 2000].map(|port| format!("tcp 10.0.0.2;1->10.0.1.2;{port}"));
    for (text, passing) in [
        ("rx-policy-def pass 1", [true, false]),
        ("rx 1 1", [true, false]),
        ("rx 1 1 2", [true, false]),
        ("rx 2 4 3 1", [true, false]),
        ("rx 2 3 1", [false, false]),
        ("rx 1 rx-policy-def pass 3 2", [false, true]),
        ("rx 1 rx-policy-def pass rx-profile-def allow 3", [false, true]),
        ("rx-policy-def allow", [true, true]),
        ("", [false, false]),
    ] {
        b.set(&format!("npol interface configure pg1 invert {text}"));
        for (packet, passes) in [(&first, passing[0]), (&second, passing[1])] {
            assert_eq!(sent(&mut b, packet) == "ALLOW", passes, "{text}: {packet}");
        }
    }
    // Without inversion the router's own directions count.
    b.set("npol interface configure pg1 tx 1 4");
    assert_eq!([sent(&mut b, &first), sent(&mut b, &second)], ["DENY", "ALLOW"]);
    b.set("npol interface clear pg1");
    assert_eq!(sent(&mut b, &first), "ALLOW");
}

#[test]
fn what_is_in_use_stays_and_wrong_requests_name_what_is_wrong() {
    let mut b = bench();
    assert_eq!(b.cli("npol ipset add tcp 10.0.0.1 80"), "0\n");
    assert_eq!(b.cli("npol rule add allow dst == port-set 0"), "0\n");
    assert_eq!(b.cli("npol policy add tx 0"), "0\n");
    b.set("npol interface configure pg0 tx 1 0");
    for (line, why) in [
        ("npol ipset add 10.0.0.1 10.0.0.0/8", "one type"),
        ("npol ipset add member 0 10.0.0.1", "set 0 is of another type"),
        ("npol ipset del member 0 udp 10.0.0.1 80", "set 0 has no such member"),
        ("npol ipset del 0", "in use by rule 0"),
        ("npol rule add allow src==set 0", "set 0 is of another type"),
        ("npol rule add allow src==set 8", "no set 8"),
        ("npol rule add allow src==[9-8]", "range ends before"),
        ("npol rule add allow sport==9", "sport"),
        ("npol rule del 0", "in use by policy 0"),
        ("npol policy add rx 7", "no rule 7"),
        ("npol policy del 7", "no policy 7"),
        ("npol interface configure pg0 rx 1 7", "no policy 7"),
        ("npol interface configure pg0 rx 2 0", "fewer policies"),
        ("npol interface configure pg0 rx-profile-def pass", "allow or deny"),
        ("npol match pg0 inbound tcp 10.0.0.1;1->::1;2", "the same IP version"),
        ("npol match pg0 inbound ip6 tcp 10.0.0.1;1->10.0.0.2;2", "not of the IP version given"),
    ] {
        let answer = b.cli(line);
        assert!(answer.contains(why), "{line}: {answer}");
    }
    // A policy that goes is taken off interfaces; with the last one all else goes.
    assert_eq!(b.cli("npol policy add"), "1\n");
    b.set("npol interface configure pg0 tx 1 0 1");
    b.set("npol policy del 0");
    let shown = b.cli("show npol interfaces");
    assert!(shown.contains("tx: []") && shown.contains("profiles: [1]"), "{shown}");
    assert!(b.cli("npol match pg0 outbound udp 10.0.0.1;1->10.0.0.2;2").contains("DENY"));
    b.set("npol policy del 1");
    assert_eq!(b.cli("show npol interfaces"), "");
    assert!(b.cli("npol match pg0 outbound udp 10.0.0.1;1->10.0.0.2;2").contains("ALLOW"));
    b.set("npol rule del 0");
    b.set("npol ipset del 0");
}

#[test]
fn clients_and_commands_say_the_same() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let version = local.call(router, &NpolGetVersion {}).unwrap();
        assert_eq!((version.major, version.minor), (0, 1));
        let create = NpolIpsetCreate { kind: NpolIpsetType::IP_AND_PORT };
        let set_id = local.call(router, &create).unwrap().set_id;
        let address = std::net::IpAddr::from([10, 0, 1, 2]).into();
        let tuple = NpolThreeTuple { address, l4_proto: 6, port: 80 };
        let val = Overlay::from(NpolIpsetMemberVal::Tuple(tuple));
        let members = vec![NpolIpsetMember { val }];
        local.call(router, &NpolIpsetAddDelMembers { set_id, is_add: true, members }).unwrap();
        let none = NpolRuleFilter { value: 0, kind: NpolRuleFilterType::NONE, should_match: 0 };
        let tcp = NpolRuleFilter { value: 6, kind: NpolRuleFilterType::L4_PROTO, should_match: 1 };
        let entry = |is_src, kind, data| NpolRuleEntry {
            is_src,
            is_not: is_src,
            kind,
            data: Overlay::from(data),
        };
        let cidr = Prefix::from("10.9.0.0/16".parse::<wire::Prefix>().unwrap());
        let rule = NpolRule {
            action: NpolRuleAction::ALLOW,
            filters: [tcp, none, none],
            matches: vec![
                entry(true, NpolEntryType::CIDR, NpolEntryData::Cidr(cidr)),
                entry(
                    false,
                    NpolEntryType::PORT_RANGE,
                    NpolEntryData::PortRange(NpolPortRange { start: 90, end: 99 }),
                ),
                entry(
                    false,
                    NpolEntryType::PORT_IP_SET,
                    NpolEntryData::SetId(NpolEntrySetId { set_id }),
                ),
            ],
        };
        let rule_id = local.call(router, &NpolRuleCreate { rule: rule.clone() }).unwrap().rule_id;
        local.call(router, &NpolRuleUpdate { rule_id, rule: rule.clone() }).unwrap();
        let unknown = NpolRuleUpdate { rule_id: 9, rule: rule.clone() };
        assert_eq!(local.call(router, &unknown).err(), Some(Retval::NO_SUCH_ENTRY));
        let bad = NpolRule { action: NpolRuleAction(4), ..rule };
        let bad = local.call(router, &NpolRuleCreate { rule: bad });
        assert_eq!(bad.err(), Some(Retval::INVALID_VALUE));
        let rules = vec![NpolPolicyItem { is_inbound: true, rule_id }];
        let created = local.call(router, &NpolPolicyCreate { rules: rules.clone() }).unwrap();
        let policy_id = created.policy_id;
        local.call(router, &NpolPolicyUpdate { policy_id, rules }).unwrap();
        let configure = |sw_if_index, num_rx_policies| NpolConfigurePolicies {
            sw_if_index,
            num_rx_policies,
            num_tx_policies: 0,
            invert_rx_tx: 1,
            policy_default_rx: NpolPolicyDefault::PASS,
            policy_default_tx: NpolPolicyDefault::ALLOW,
            profile_default_rx: NpolPolicyDefault::DENY,
            profile_default_tx: NpolPolicyDefault::DENY,
            policy_ids: vec![policy_id, policy_id],
        };
        local.call(router, &configure(pg0.0, 1)).unwrap();
        assert_eq!(local.call(router, &configure(pg0.0, 3)).err(), Some(Retval::INVALID_VALUE));
        let nowhere = local.call(router, &configure(99, 1)).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        let in_use = local.call(router, &NpolRuleDelete { rule_id }).err();
        assert_eq!(in_use, Some(Retval::IN_USE));
        let in_use = local.call(router, &NpolIpsetDelete { set_id }).err();
        assert_eq!(in_use, Some(Retval::IN_USE));
        let unknown = local.call(router, &NpolPolicyDelete { policy_id: 9 }).err();
        assert_eq!(unknown, Some(Retval::NO_SUCH_ENTRY));
    });
    let lines = "npol ipset add id 0 ipport
npol ipset add member 0 tcp 10.0.1.2 80
npol rule add id 0 allow proto==tcp src!=10.9.0.0/16 dst==[90-99] dst==port-set 0
npol policy add id 0 rx 0
npol interface configure pg0 rx 1 tx 0 rx-policy-def pass tx-policy-def allow \
rx-profile-def deny tx-profile-def deny invert 0 0
";
    assert_eq!(b.cli("show configuration npol"), lines);
    let mut again = bench();
    lines.lines().for_each(|line| again.set(line));
    assert_eq!(again.cli("show configuration npol"), lines);
    let verbose = again.cli("show npol policies verbose");
    assert!(
        verbose.contains("[policy#0] rx: [0]") && verbose.contains("[rule#0 allow"),
        "{verbose}"
    );
    assert_eq!(again.cli("show npol ipsets"), "[ipset#0 ipport: tcp 10.0.1.2 80]\n");
    // What takes the lines back, from the last one.
    let rows = again.control(|router, _| {
        let mut all = router.collect();
        while all.advance(router) {}
        all.rows()
    });
    for row in rows.iter().rev().filter(|row| row.feature == "npol") {
        again.set(&row.undo.as_ref().expect(&row.command).command);
    }
    assert_eq!(again.cli("show configuration npol"), "");
}
