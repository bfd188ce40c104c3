//! Bridged frames.

use net::testing::whole::{self, Bench, HOST};

use super::{Refusal, TO_US, hex, lab, meet, packet, refuse};

/// Frames between hosts, by the last two bytes of their addresses: source and destination.
fn frames(rest: &str, ends: &[(u16, u16)]) -> Vec<Vec<u8>> {
    ends.iter().map(|ends| packet(&words(rest, *ends))).collect()
}

fn words(rest: &str, (src, dst): (u16, u16)) -> String {
    format!("hex 0x02000000{dst:04x}02000000{src:04x}{rest}")
}

/// An echo request for the router's address in the domain, from its type on.
fn ping() -> String {
    hex(&format!("IP4: {TO_US} ICMP: 10.5.0.2 -> 10.5.0.1 ICMP 8 incrementing 20"), 12)
}

/// A frame of an unknown type, from its type on.
fn unknown() -> String {
    format!("1234{}", "00".repeat(46))
}

/// `pg2`, `pg3`, `pg4` and the router in a domain; the last two ports are a group.
fn bridge() -> Bench {
    lab("set interface l2 bridge pg2 1\n\
         set interface l2 bridge pg3 1 1\n\
         set interface l2 bridge pg4 1 1\n\
         create loopback interface mac 02:00:00:00:05:00\n\
         set interface l2 bridge loop0 1 bvi\n\
         set interface state loop0 up\n\
         set interface ip address loop0 10.5.0.1/24\n\
         set interface ip address loop0 2001:db8:5::1/64\n\
         set bridge-domain arp term 1\n\
         set bridge-domain arp entry 1 10.5.0.9 02:00:00:00:09:09\n\
         l2fib add 02:00:00:00:09:01 1 filter\n\
         l2fib add 02:00:00:00:09:02 1 pg3 static\n\
         l2fib add 02:00:00:00:09:03 1 loop0 bvi")
}

#[test]
fn frames_of_a_bridge_meet_what_is_explained() {
    let mut bench = bridge();
    let hosts = [(0x101, 0x102), (0x102, 0x101), (0x101, 0x901), (0x901, 0x101), (0x902, 0x101)];
    let more = [(0x101, 0x902), (0x101, 0x903), (0x101, 0x500), (0x500, 0x500)];
    let mut all = frames(&ping(), &[&hosts[..], &more].concat());
    all.extend(frames(&unknown(), &more));
    for (from, to) in
        [("10.5.0.2", "10.5.0.9"), ("224.0.0.1", "10.5.0.9"), ("10.5.0.2", "10.5.0.1")]
    {
        all.push(whole::bytes(whole::request(HOST, from, to)));
    }
    let reasons: &[(&str, &[&str])] = &[
        ("l2-learn", &["L2 filter mac drops", "L2 mac move violations"]),
        ("l2-fwd", &["Filter Mac Drop", "Reflection Drop", "BVI L3 MAC mismatch"]),
        ("l2-fwd", &["BVI packet with unhandled ethertype"]),
        ("arp-term-l2bd", &["L2 type not ethernet", "IP4 source address not local to subnet"]),
        ("arp-term-l2bd", &["ARP hw addr does not match L2 frame src addr"]),
    ];
    meet(&mut bench, "pg2", &all, reasons);
    // Hosts of one group do not reach each other.
    meet(&mut bench, "pg3", &frames(&ping(), &[(0x301, 0x401)]), &[]);
    let horizon: &[(&str, &[&str])] = &[("l2-output", &["L2 split horizon drops"])];
    meet(&mut bench, "pg4", &frames(&ping(), &[(0x401, 0x301)]), horizon);
}

#[test]
fn frames_that_nobody_takes_meet_what_is_explained() {
    let mut bench = bridge();
    let nobody = words(&unknown(), (0x101, 0x777));
    let nobody: &[&str] = &[&nobody];
    let all = format!("hex 0xffffffffffff020000000101{}", unknown());
    let all: &[&str] = &[&all];
    let node = "l2-flood";
    let rows: &[Refusal<'_>] = &[
        ("set interface l2 bridge pg2 2", "pg2", nobody, node, "L2 replication complete"),
        (
            "create loopback interface mac 02:00:00:00:06:00\nset interface l2 bridge loop1 2 bvi",
            "pg2",
            nobody,
            node,
            "BVI L3 mac mismatch",
        ),
        ("", "pg2", all, node, "BVI packet with unhandled ethertype"),
    ];
    refuse(&mut bench, rows);
}

#[test]
fn rewritten_frames_meet_what_is_explained() {
    let mut bench = bridge();
    let [known, to_all, tagged] = [
        words(&ping(), (0x101, 0x902)),
        words(&ping(), (0x101, 0x109)),
        words(&format!("81000007{}", ping()), (0x101, 0x109)),
    ];
    let all: &[&str] = &[&known, &to_all, &tagged];
    let backbone = "dmac 02:00:00:01:00:07 smac 02:00:00:01:00:08 s_id 66051 b_vlanid 9";
    let popped = format!("set interface l2 pbb-tag-rewrite pg2 pop {backbone}");
    let pushed = "set interface l2 pbb-tag-rewrite pg2 disable\n\
        set interface l2 tag-rewrite pg3 push dot1q 5";
    let filtered = "set interface l2 tag-rewrite pg3 disable\n\
        create sub-interfaces pg3 7\n\
        set interface state pg3.7 up\n\
        set interface l2 bridge pg3.7 1\n\
        set interface l2 efp-filter pg3\n\
        set interface l2 efp-filter pg3.7\n\
        l2fib add 02:00:00:00:01:77 1 pg3.7 static";
    let full = "set bridge-domain learn-limit 1 1";
    let off = "set interface l2 forward pg2 disable\nset bridge-domain flood 1 disable\n\
        set bridge-domain uu-flood 1 disable";
    let (node, reason) = ("feature-bitmap-drop", "L2 feature forwarding disabled");
    refuse(
        &mut bench,
        &[
            (&popped, "pg2", all, "l2-input-vtr", "L2 input tag rewrite drops"),
            (pushed, "pg2", all, "l2-output", "L2 output tag rewrite drops"),
            (
                "set interface l2 efp-filter pg3",
                "pg2",
                all,
                "l2-output",
                "L2 EFP filter pre-rewrite drops",
            ),
            (
                filtered,
                "pg2",
                &[&words(&ping(), (0x101, 0x177))],
                "l2-efp-filter",
                "L2 EFP filter post-rewrite drops",
            ),
            (full, "pg2", &[&words(&ping(), (0x155, 0x156))], "", ""),
            (off, "pg2", all, node, reason),
            ("set bridge-domain learn 1 disable", "pg2", all, "", ""),
        ],
    );
}
