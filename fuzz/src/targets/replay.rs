//! Declared state: whatever a router was told, by command or message, it prints, and a fresh router
//! that is told what was printed prints and forwards the same.

use std::collections::BTreeSet;

use control::cli::{Output, Run, Step};
use net::Assembly;

use super::messages::Messages;
use crate::Target;
use crate::mutate::Random;

/// Commands that an error names at most.
const NAMED: usize = 5;
/// Edits of one input.
const EDITS: usize = 40;
/// What a router may be told, with a `|` between what each blank part may be.
const EDITS_BY_HAND: &[&str] = &[
    "loopback create-interface",
    "loopback create-interface mac 02:00:00:00:09:{n} instance {n}",
    "loopback delete-interface intfc {if}",
    "create packet-generator interface pg{n} hw-addr 02:00:00:00:08:{n}",
    "delete packet-generator interface {if}",
    "create sub-interfaces {if} {n}",
    "create sub-interfaces {if} {n} dot1ad {n} inner-dot1q {n}|any exact-match|",
    "delete sub-interface {if}",
    "set interface name {if} {if}|new{n}",
    "renumber interface {if} {n}",
    "set interface state {if} up|down|punt",
    "set interface tag {if} tag {n}",
    "set interface mac address {if} 02:00:00:00:07:{n}",
    "set interface secondary-mac-address {if} 02:00:00:00:06:{n} add|del",
    "set interface mtu packet|ip4|ip6|mpls| 1{n}00 {if}",
    "set interface promiscuous on|off {if}",
    "set interface feature gso {if} enable|disable",
    "ip|ip6 table add|add|del {t}",
    "ip|ip6 table add {t} no-mfib|name table {n}",
    "set ip|ip6 flow-hash table {t} src dst|sport|symmetric|proto",
    "set interface ip|ip6 table {if} {t}",
    "set interface ip address {if} {net}",
    "set interface ip address del {if} {net}|all",
    "set interface ip address {if} fe80::{n}/128",
    "set interface unnumbered {if} use {if}",
    "set interface unnumbered del {if}",
    "set interface ip directed-broadcast {if} enable|disable",
    "enable|disable ip4|ip6 interface {if}",
    "ip route add|add|del {net} via {addr} {if} weight {n}",
    "ip route add|add|del {net} table {t} via {addr}",
    "ip route add {net} table {t} source API|CLI via {if} via {addr} {if} preference {n}",
    "ip route add|del {net} via drop|punt|local|unreachable|prohibit",
    "ip route add {net} via lookup in table {t}",
    "ip route add {net} via {addr} next-hop-table {t} resolve-via-host|resolve-via-connected|",
    "ip route add {net} via {addr} {if} out-labels {n},ttl=3,exp=2|{n},uniform 17|",
    "ip mroute add|del {addr} 232.1.1.{n} via {if} Accept|Forward via local Forward",
    "ip mroute add 232.1.0.0/16 table {t} source API|CLI Signal|Drop rpf-id {n}",
    "ip6 mroute add|del ff05::{n} via {if} Accept|Forward|Negate-Signal",
    "set ip neighbor {if} {addr} 02:00:00:00:05:{n} static no-fib-entry|del|",
    "set ip neighbor-config ip4|ip6 limit {n}000 age {n} recycle|norecycle",
    "set arp proxy table-id {t} start 10.9.0.{n} end 10.9.0.200 del|",
    "set interface proxy-arp {if} enable|disable",
    "set ip6 nd proxy {if} 2001:db8:{n}::9 del|",
    "set interface ip6-nd proxy {if} enable|disable",
    "ip6 nd {if} no| ra-suppress|ra-cease|ra-send-unicast|ra-other-config-flag",
    "ip6 nd {if} ra-interval 2{n} ra-lifetime 30{n}",
    "ip6 nd {if} ra-lifetime 20{n}",
    "ip6 nd {if} no| prefix 2001:db8:{n}::/64 infinite|default|1000 500|off-link",
    "ip6 nd address autoconfig {if} default-route|disable|",
    "set ip6 dad enable transmits {n}",
    "set ip6 dad disable",
    "policer add name p{n} type 2r3c-4115|1r3c cir {n}0 cb {n}000 eir {n}9 eb {n}00 rate kbps|pps",
    "policer del name p{n}",
    "policer input|output unapply| name p{n} {if}",
    "ip|ip6 punt policer add|del {n}",
    "set urpf ip4|ip6 rx|tx strict|loose|off {if} table {t}",
    "set urpf ip4|ip6 rx|tx strict|loose|off {if}",
    "set urpf-accept table {t} add|del {net}",
    "set interface tcp-mss-clamp {if} ip4|ip6 enable|disable|rx|tx ip4-mss 1{n}00",
    "set ip source-and-port-range-check vrf {t} 10.{n}.0.0/16 port {n} range 100 - 200 del|",
    "set interface ip source-and-port-range-check {if} tcp-out-vrf|udp-in-vrf {t} del|",
    "set interface reassembly {if} on|off|ip4|ip6 shallow|",
    "set ip reassembly extended ip4|ip6 on|off",
    "set ip reassembly local ip4|ip6",
    "set ip reassembly limits ip6| shallow| timeout-ms 9 reassemblies {n} fragments 5 walk-ms 9",
    "set ip pmtu {addr} 1{n}00 table {t}",
    "set punt ipv4|ipv6 udp del| 100{n}",
    "set punt ipv4|ipv6 tcp del| all",
    "ip|ip6 punt redirect add|del rx {if}|all via {addr} {if}",
    "stn rule address {addr} interface {if} del|",
    "ip container {addr} {if} del|",
    "create vxlan tunnel src {addr} dst {addr} vni {n} instance {n} l3|",
    "create vxlan tunnel src {addr} dst {addr} vni {n} encap-vrf-id {t} decap-next node ip4-input",
    "create vxlan tunnel src {addr} group 232.1.1.{n} {if} vni {n} del|",
    "create vxlan-gpe tunnel local {addr} remote {addr} vni {n} next-ip4|next-ip6 decap-vrf-id {t}",
    "create geneve tunnel local {addr} remote {addr} vni {n} l3-mode|del|",
    "create gtpu tunnel src {addr} dst {addr} teid {n} decap-next ip4|l2 qfi {n}",
    "create gtpu tunnel src {addr} dst {addr} teid {n} upd-tteid {n}|del",
    "create ipip tunnel src {addr} dst {addr} instance {n} outer-table-id {t} dscp {n}",
    "create ipip tunnel src {addr} p2mp flag encap-copy-df flag decap-copy-ecn|encap-copy-dscp",
    "delete ipip tunnel {if}",
    "create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 10.0.0.0/8 ip4-src {addr} ip6-table-id {t}",
    "delete 6rd tunnel {if}",
    "create gre tunnel src {addr} dst {addr} teb|del| key {n}",
    "create gre tunnel src {addr} multipoint erspan {n} outer-fib-id {t}",
    "create teib {if} peer {addr} nh {addr} nh-table-id {t}",
    "delete teib {if} peer {addr}",
    "classify table mask l3 ip4 src|dst|proto miss-next deny|permit current-data-flag 0|1",
    "classify table mask l2 none l3 ip4 src next-table {t}",
    "classify table table {t} next-table {t}|4294967295",
    "classify table table {t} del|del-chain",
    "classify session table-index {t} match l3 ip4 src {addr} hit-next {n}|deny del|",
    "classify session table-index {t} match l3 ip4 src {addr} action set-ip4-fib-id|mark-flow {t}",
    "classify filter trace|pcap|{if} mask l3 ip4 src match l3 ip4 src {addr} del|",
    "set interface input|output acl intfc {if} ip4-table|ip6-table {t} del|",
    "set flow classify interface {if} ip4-table|ip6-table {t} del|",
    "set punt acl ip4-table|ip6-table {t} del|",
    "mpls table add|del {t}",
    "set interface mpls {if} enable|disable",
    "mpls local-label add|add|del table {t} {n} eos|non-eos via {addr} {if} out-labels {n}",
    "mpls local-label add|del table {t} {n} eos via {addr} next-hop-table {t}",
    "mpls local-label add {n} eos|non-eos via mpls-lookup-in-table {t}",
    "bier table add|add|del sd 0 set {t} bsl 64 mpls 7{t}|",
    "bier route add|add|del sd 0 set {t} bsl 64 bp {n} via {addr} {if} out-labels {n}",
    "bier route add|del sd 0 set {t} bsl 64 bp {n} disposition {t}",
    "bier imp add|add|del id {n} sd 0 set {t} bsl 64 src {n} bp {n}",
    "bier disp table {t} del||",
    "bier disp entry add|add|del table {t} src {n} payload ip4|ip6 via lookup in table {t}",
    "ip mroute add|del 232.2.0.{n} via bier-imp {n} Forward",
    "mpls local-label add|del {n} 10.{n}.0.0/16 ip-table {t}",
    "mpls local-label add multicast {n} eos via rx-ip4 {if}",
    "mpls tunnel add l2-only|multicast|tag {n} via {addr} {if} out-labels {n}",
    "mpls tunnel add {if} via {addr} {if} out-labels {n}",
    "mpls tunnel del {if}",
    "set interface rx-mode {if} polling|interrupt|adaptive",
    "set interface default rx-mode polling|adaptive",
    "set interface ip|ip6 vxlan-bypass|geneve-bypass|gtpu-bypass|vxlan-gpe-bypass {if} del|",
];
/// Messages that are sent with any values.
const MESSAGES: &[&str] = &[
    "create_loopback_instance",
    "create_vlan_subif",
    "create_subif",
    "sw_interface_set_flags",
    "sw_interface_set_mtu",
    "sw_interface_add_del_address",
    "sw_interface_set_table",
    "sw_interface_tag_add_del",
    "sw_interface_set_unnumbered",
    "sw_interface_ip6_enable_disable",
    "ip_table_add_del",
    "ip_table_add_del_v2",
    "ip_table_allocate",
    "ip_table_flush",
    "ip_route_add_del",
    "ip_route_add_del_v2",
    "ip_mroute_add_del",
    "fib_source_add",
    "set_ip_flow_hash_v3",
    "set_ip_flow_hash_router_id",
    "ip_reassembly_set",
    "ip_reassembly_enable_disable",
    "ip_path_mtu_update",
    "proxy_arp_add_del",
    "ip6nd_proxy_enable_disable",
    "sw_interface_ip6nd_ra_config",
    "sw_interface_ip6nd_ra_prefix",
    "policer_add",
    "policer_input",
    "urpf_update_v2",
    "mss_clamp_enable_disable",
    "set_punt",
    "ip_punt_redirect_v2",
    "ip_container_proxy_add_del",
    "pg_create_interface_v3",
    "vxlan_add_del_tunnel_v3",
    "vxlan_gpe_add_del_tunnel_v2",
    "geneve_add_del_tunnel2",
    "gtpu_add_del_tunnel_v2",
    "gre_tunnel_add_del_v2",
    "ipip_add_tunnel",
    "ipip_6rd_add_tunnel",
    "teib_entry_add_del",
    "classify_add_del_table",
    "classify_add_del_session",
    "input_acl_set_interface",
    "mpls_table_add_del",
    "mpls_route_add_del",
    "mpls_tunnel_add_del",
    "mpls_ip_bind_unbind",
    "sw_interface_set_mpls_enable",
];
/// Small numbers, so that edits meet.
const NUMBERS: [&str; 4] = ["1", "2", "3", "4"];
const TABLES: [&str; 3] = ["0", "1", "2"];
/// Networks that packets are for: 16 to each.
const NETWORKS: [&str; 6] = ["10.0.0", "10.1.0", "10.2.0", "10.3.0", "16.0.0", "18.0.0"];
/// Nodes that packets of the streams may end at, or leave by.
const ENDS: [&str; 7] =
    ["ip4-rewrite", "ip4-arp", "ip4-glean", "ip4-drop", "ip4-local", "ip4-punt", "null-node"];
const SHOWN: [&str; 8] = [
    "show ip table",
    "show ip6 table",
    "show interface address",
    "show ip neighbor-config",
    "show arp proxy",
    "show urpf",
    "show ip pmtu",
    "show interface tcp-mss-clamp",
];

/// Input chooses edits by its bytes.
pub struct Replay;

/// A line out of a template.
fn grown(parts: &Assembly, random: &mut Random) -> String {
    let template = *random.pick::<&str>(EDITS_BY_HAND);
    let mut line = String::new();
    for word in template.split(' ') {
        let choices: Vec<&str> = word.split('|').collect();
        let mut word = (*random.pick(&choices)).to_owned();
        while let Some(at) = word.find('{') {
            let end = word.find('}').expect("templates are whole");
            let value = match &word[at + 1..end] {
                "if" => {
                    let all: Vec<_> = parts.router.interfaces.iter().map(|i| &i.name).collect();
                    (*random.pick(&all)).clone()
                }
                "n" => (*random.pick(&NUMBERS)).to_owned(),
                "t" => (*random.pick(&TABLES)).to_owned(),
                "net" => match random.below(3) {
                    0 => format!("2001:db8:{}::1/64", random.below(4)),
                    1 => format!("10.{}.0.0/16", random.below(4)),
                    _ => format!("10.{}.0.1/24", random.below(4)),
                },
                "addr" => match random.below(3) {
                    0 => format!("2001:db8:{}::{}", random.below(4), 1 + random.below(4)),
                    _ => format!("10.{}.0.{}", random.below(4), 1 + random.below(4)),
                },
                other => panic!("no values for {other}"),
            };
            word.replace_range(at..=end, &value);
        }
        line += &word;
        line.push(' ');
    }
    line
}

/// What a command prints, and whether it was carried out to its end.
fn run(parts: &mut Assembly, text: &str) -> Result<String, String> {
    let Assembly { router, cli, .. } = parts;
    let (mut run, mut output) = (Run::new(text), Output::none());
    loop {
        match run.step(cli, router, &mut output) {
            Step::Done(result) => {
                router.engine.run_inline(2);
                return result.map(|()| output.to_text()).map_err(|e| e.to_string());
            }
            _ => router.engine.run_inline(2),
        }
    }
}

/// Packets that reached each of [`ENDS`] of what pg0 received.
fn forwarded(parts: &mut Assembly) -> Result<Vec<String>, String> {
    let pg0 = parts.router.interfaces.named("pg0");
    if pg0.is_none_or(|i| i.hardware != "pg" || i.is_sub()) {
        return Ok(Vec::new());
    }
    for to in NETWORKS {
        let stream = format!(
            "packet-generator new {{ name {to} limit 16 size 64-64 interface pg0 node ip4-input \
             data {{ UDP: 10.0.0.2 -> {to}.0-{to}.15 UDP: 1 -> 2 incrementing 8 }} }}"
        );
        run(parts, &stream)?;
    }
    run(parts, "clear runtime")?;
    run(parts, "packet-generator enable-stream")?;
    parts.router.engine.run_inline(200);
    let runtime = run(parts, "show runtime")?;
    let vectors = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_end = words.first().is_some_and(|name| ENDS.contains(name));
        is_end.then(|| format!("{} {}", words[0], words.get(3).copied().unwrap_or_default()))
    };
    let rows: Vec<_> = runtime.lines().filter_map(vectors).collect();
    if rows.is_empty() { Err(format!("no packet was seen in\n{runtime}")) } else { Ok(rows) }
}

impl Target for Replay {
    const NAME: &'static str = "replay";

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..64_u64).map(|n| n.to_be_bytes().to_vec()).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let seed = input.iter().fold(0_u64, |n, b| n.wrapping_mul(131).wrapping_add((*b).into()));
        let mut random = Random::new(seed);
        let mut told = Messages::new();
        let mut history = Vec::new();
        for _ in 0..EDITS {
            match random.below(8) {
                0 | 1 => {
                    let message = told.grown(&random.number().to_be_bytes());
                    if told.is_of(&message, MESSAGES) {
                        told.send(&message)?;
                        history.push(format!("{message:02x?}"));
                    }
                }
                _ => {
                    let line = grown(told.parts(), &mut random);
                    if run(told.parts(), &line).is_ok() {
                        history.push(line);
                    }
                }
            }
        }
        let why = |what: String| format!("{what}\nafter\n{}", history.join("\n"));
        compare(told.parts()).and_then(|()| replace(told.parts(), &mut random)).map_err(why)
    }
}

/// Has a router that was told other things take over the configuration of this one, by what is
/// different: all of it, or nothing but what no command takes back, which is named then.
fn replace(told: &mut Assembly, random: &mut Random) -> Result<(), String> {
    let printed = run(told, "show configuration")?;
    let mut other = super::router(1);
    for _ in 0..EDITS / 4 {
        let line = grown(&other, random);
        // Refused or not, it is another router.
        let _ = run(&mut other, &line);
    }
    let before = run(&mut other, "show configuration")?;
    let name = format!("ferrovia-replace-{}", std::process::id());
    let file = std::env::temp_dir().join(format!("{name}-{:?}", std::thread::current().id()));
    std::fs::write(&file, &printed).map_err(|e| e.to_string())?;
    let replaced = run(&mut other, &format!("configure replace {}", file.display()));
    // It may be gone already.
    let _ = std::fs::remove_file(file);
    let after = run(&mut other, "show configuration")?;
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (wanted, text) = match &replaced {
        Ok(_) => (lines(&printed), "replaced".to_owned()),
        Err(why) => (lines(&before), format!("not replaced, {why}")),
    };
    if lines(&after) == wanted {
        return Ok(());
    }
    let (after, wanted) = (lines(&after), wanted);
    let more: Vec<_> = after.difference(&wanted).collect();
    let less: Vec<_> = wanted.difference(&after).collect();
    let named = text.split_once("no command takes back ").map_or("", |(_, named)| named);
    let is_named = |line: &&String| named.contains(&format!("`{line}'"));
    if replaced.is_err() && less.is_empty() && more.iter().take(NAMED).all(is_named) {
        return Ok(());
    }
    Err(format!("{text}: {more:#?} instead of {less:#?}, from\n{before}\nto\n{printed}"))
}

/// Replays the configuration of a router into a fresh one and compares the two.
fn compare(told: &mut Assembly) -> Result<(), String> {
    let printed = run(told, "show configuration")?;
    let mut fresh = super::router(1);
    if !printed.is_empty() {
        run(&mut fresh, &printed).map_err(|why| format!("{why} of\n{printed}"))?;
    }
    let again = run(&mut fresh, "show configuration")?;
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    // Interfaces may have other numbers, and come in another order then.
    if sorted(&again) != sorted(&printed) {
        let (was, is) = (sorted(&printed), sorted(&again));
        let gone: Vec<_> = was.iter().filter(|line| !is.contains(line)).collect();
        let new: Vec<_> = is.iter().filter(|line| !was.contains(line)).collect();
        return Err(format!("printed\n{printed}\nthen {new:#?} instead of {gone:#?}"));
    }
    for command in SHOWN {
        let [mut a, mut b] = [run(told, command)?, run(&mut fresh, command)?].map(|text| {
            // Numbers in brackets are places, which nobody chose.
            let lines = text.lines().map(|line| line.split_once("] ").map_or(line, |(_, l)| l));
            lines.map(str::to_owned).collect::<Vec<_>>()
        });
        a.sort();
        b.sort();
        if a != b {
            return Err(format!("{command}: {a:#?}, then {b:#?} of\n{printed}"));
        }
    }
    let (a, b) = (forwarded(told)?, forwarded(&mut fresh)?);
    if a != b {
        return Err(format!("forwarded {a:?}, then {b:?} of\n{printed}"));
    }
    Ok(())
}
