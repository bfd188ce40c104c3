//! Access lists, classifiers, checks of sources, policers and what is punted.

use super::packets::{ASIDE4, ASIDE6, ODD4, ODD6, OTHER, THROUGH4, THROUGH6, US4, US6};
use super::{Refusal, lab, refuse};

#[test]
fn lists_and_filters_refuse_what_is_explained() {
    let mut bench = lab("set interface l2 bridge pg2 1\nset interface l2 bridge pg3 1");
    let deny = "ACL deny packets";
    refuse(
        &mut bench,
        &[
            (
                "set acl-plugin acl deny src 0.0.0.0/0 dst 0.0.0.0/0, ipv6 deny src ::/0 dst ::/0\n\
                 set acl-plugin interface pg0 input acl 0",
                "pg0",
                &[THROUGH4],
                "acl-plugin-in-ip4-fa",
                deny,
            ),
            ("", "pg0", &[THROUGH6], "acl-plugin-in-ip6-fa", deny),
            (
                "set acl-plugin interface pg0 input acl 0 del\n\
                 set acl-plugin interface pg1 output acl 0",
                "pg0",
                &[THROUGH4],
                "acl-plugin-out-ip4-fa",
                deny,
            ),
            ("", "pg0", &[THROUGH6], "acl-plugin-out-ip6-fa", deny),
            (
                "set acl-plugin interface pg1 output acl 0 del\n\
                 set acl-plugin interface pg2 input acl 0",
                "pg2",
                &[ASIDE4],
                "acl-plugin-in-ip4-l2",
                deny,
            ),
            ("", "pg2", &[ASIDE6], "acl-plugin-in-ip6-l2", deny),
            (
                "set acl-plugin interface pg2 input acl 0 del\n\
                 set acl-plugin interface pg3 output acl 0",
                "pg2",
                &[ASIDE4],
                "acl-plugin-out-ip4-l2",
                deny,
            ),
            ("", "pg2", &[ASIDE6], "acl-plugin-out-ip6-l2", deny),
        ],
    );
}

#[test]
fn types_and_pairs_of_addresses_are_refused_as_explained() {
    let mut bench = lab("set interface l2 bridge pg2 1\nset interface l2 bridge pg3 1");
    refuse(
        &mut bench,
        &[
            (
                "set acl-plugin acl permit src 0.0.0.0/0 dst 0.0.0.0/0\n\
                 set acl-plugin interface pg2 input acl 0\n\
                 set acl-plugin interface pg3 output acl 0\n\
                 set acl-plugin etype-whitelist pg2 input 0806",
                "pg2",
                &[OTHER],
                "acl-plugin-in-nonip-l2",
                "dropped inbound non-whitelisted non-ip packets",
            ),
            (
                "set acl-plugin etype-whitelist pg2\n\
                 set acl-plugin etype-whitelist pg3 output 0806",
                "pg2",
                &[OTHER],
                "acl-plugin-out-nonip-l2",
                "dropped outbound non-whitelisted non-ip packets",
            ),
            (
                "set acl-plugin etype-whitelist pg3\n\
                 set acl-plugin interface pg2 input acl 0 del\n\
                 set acl-plugin interface pg3 output acl 0 del\n\
                 set acl-plugin macip acl permit ip 10.0.0.9/32 mac 02:00:00:01:00:01 \
                  mask ff:ff:ff:ff:ff:ff\n\
                 set acl-plugin macip interface pg0 acl 0",
                "pg0",
                &[THROUGH4],
                "acl-plugin-macip-ip4",
                "MACIP deny packets",
            ),
            ("", "pg0", &[THROUGH6], "acl-plugin-macip-ip6", "MACIP deny packets"),
            (
                "set acl-plugin macip interface pg0 acl 0 del\n\
                 set acl-plugin macip interface pg2 acl 0",
                "pg2",
                &[ASIDE4],
                "acl-plugin-macip-l2",
                "MACIP deny packets",
            ),
        ],
    );
}

#[test]
fn classifiers_refuse_packets_as_explained() {
    let mut bench = lab("");
    let begin = "classify table acl-miss-next deny mask";
    let tables = format!(
        "{begin} l2 none l3 ip4 src current-data-flag 1\n\
         {begin} l2 none l3 ip6 src current-data-flag 1\n\
         {begin} l2 none l3 ip4 src\n{begin} l2 none l3 ip6 src\n\
         set interface input acl intfc pg0 ip4-table 0 ip6-table 1"
    );
    let deny = "classify session acl-hit-next deny table-index";
    let input = format!(
        "{deny} 0 match l2 none l3 ip4 src 10.0.0.2\n{deny} 1 match l2 none l3 ip6 src 2001:db8::2"
    );
    let out = "set interface input acl intfc pg0 ip4-table 0 ip6-table 1 del\n\
        set interface output acl intfc pg1 ip4-table 2 ip6-table 3";
    let output = input.replace(" 0 match", " 2 match").replace(" 1 match", " 3 match");
    refuse(
        &mut bench,
        &[
            (&tables, "pg0", &[THROUGH4], "ip4-input", "inacl_table_miss"),
            ("", "pg0", &[THROUGH6], "ip6-input", "inacl_table_miss"),
            (&input, "pg0", &[THROUGH4], "ip4-input", "inacl_session_deny"),
            ("", "pg0", &[THROUGH6], "ip6-input", "inacl_session_deny"),
            (out, "pg0", &[THROUGH4], "ip4-input", "outacl_table_miss"),
            ("", "pg0", &[THROUGH6], "ip6-input", "outacl_table_miss"),
            (&output, "pg0", &[THROUGH4], "ip4-input", "outacl_session_deny"),
            ("", "pg0", &[THROUGH6], "ip6-input", "outacl_session_deny"),
        ],
    );
}

#[test]
fn classifiers_refuse_frames_as_explained() {
    let mut bench = lab("set interface l2 bridge pg2 1\nset interface l2 bridge pg3 1");
    let table = "classify table mask l2 src miss-next deny\n\
        set interface input acl intfc pg2 l2-table 0";
    let session = "classify session hit-next deny table-index 0 match l2 src 02:00:00:00:00:01";
    let out = "set interface input acl intfc pg2 l2-table 0 del\n\
        set interface output acl intfc pg3 l2-table 0";
    let gone = "classify session del table-index 0 match l2 src 02:00:00:00:00:01";
    refuse(
        &mut bench,
        &[
            (table, "pg2", &[ASIDE4], "l2-input-acl", "input ACL table-miss drops"),
            (session, "pg2", &[ASIDE4], "l2-input-acl", "input ACL session deny drops"),
            (out, "pg2", &[ASIDE4], "l2-output-acl", "output ACL session deny drops"),
            (gone, "pg2", &[ASIDE4], "l2-output-acl", "output ACL table-miss drops"),
        ],
    );
}

#[test]
fn checks_and_punting_refuse_what_is_explained() {
    let mut bench = lab("ip table add 7\nip6 table add 7");
    let strange4 = THROUGH4.replace("10.0.0.2", "99.0.0.2");
    let strange6 = THROUGH6.replace("2001:db8::2", "2001:dead::2");
    let (strange4, strange6): (&[&str], &[&str]) = (&[&strange4], &[&strange6]);
    let urpf = "uRPF Drop";
    let mut rows: Vec<(String, &str, &[&str], String, &str)> = Vec::new();
    for direction in ["rx", "tx"] {
        let on = if direction == "rx" { "pg0" } else { "pg1" };
        for mode in ["strict", "loose"] {
            for (v, packets) in [(4, strange4), (6, strange6)] {
                let line = format!("set urpf ip{v} {direction} {mode} {on}");
                rows.push((line, "pg0", packets, format!("ip{v}-{direction}-urpf-{mode}"), urpf));
                rows.push((
                    format!("set urpf ip{v} {direction} off {on}"),
                    "pg0",
                    packets,
                    String::new(),
                    "",
                ));
            }
        }
    }
    let rows: Vec<Refusal<'_>> = rows
        .iter()
        .map(|(lines, on, packets, node, why)| (&**lines, *on, *packets, &**node, *why))
        .collect();
    refuse(&mut bench, &rows);
    let slow = "policer add name slow cir 1 cb 2 rate kbps conform-action drop exceed-action drop \
        violate-action drop";
    refuse(
        &mut bench,
        &[
            (
                &format!("{slow}\npolicer input name slow pg0"),
                "pg0",
                &[THROUGH4],
                "policer-input",
                "Packets Dropped",
            ),
            (
                "policer input unapply name slow pg0\npolicer output name slow pg1",
                "pg0",
                &[THROUGH4],
                "policer-output",
                "Packets Dropped",
            ),
            ("policer output unapply name slow pg1\nip punt policer add 0", "pg0", &[ODD4], "", ""),
            ("ip6 punt policer add 0", "pg0", &[ODD6], "", ""),
            ("ip punt redirect add rx all nowhere", "pg0", &[US4, ODD4], "", ""),
            ("ip6 punt redirect add rx all nowhere", "pg0", &[US6, ODD6], "", ""),
            ("adl interface pg0", "pg0", &[THROUGH4, THROUGH6], "", ""),
            (
                "adl allowlist pg0 ip4 ip6 default fib-id 7",
                "pg0",
                &[THROUGH4, THROUGH6, OTHER],
                "",
                "",
            ),
        ],
    );
}
