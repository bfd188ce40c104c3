//! Tunnels over tunnels: a random graph of them, of all kinds, and packets into any. Whatever leads
//! through itself drops its packets; every packet ends, and every buffer comes back.

use std::sync::atomic::Ordering;

use net::Assembly;

use super::packets;
use crate::Target;
use crate::mutate::Random;

/// Edits of one router.
const EDITS: usize = 24;
/// Packets into it.
const PACKETS: usize = 16;
/// Turns of the graph in which a packet ends, or goes in circles forever: a hop limit is spent in
/// fewer.
const TURNS: usize = 4096;

/// A router with own addresses that tunnels may begin at: 10.9.0.1 to 10.9.0.4, and likewise for
/// IPv6.
const SETUP: &str = "loopback create-interface instance 9
set interface state loop9 up
set interface ip address loop9 10.9.0.1/32
set interface ip address loop9 10.9.0.2/32
set interface ip address loop9 10.9.0.3/32
set interface ip address loop9 10.9.0.4/32
set interface ip address loop9 2001:db8:9::1/128
set interface ip address loop9 2001:db8:9::2/128
set interface ip address loop9 2001:db8:9::3/128
set interface ip address loop9 2001:db8:9::4/128
mpls table add 0
set interface mpls pg0 enable
ip table add 1
ip6 table add 1
";

/// Its commands: `{own}` and `{far}` are addresses of one family, `{own4}` and the like of that
/// one, `{t}` a tunnel or port, `{n}` a number; `a|b` one of both.
const LINES: &[&str] = &[
    "create ipip tunnel src {own} dst {far}",
    "create ipip tunnel src {own} dst {far} flag encap-copy-df flag encap-copy-dscp",
    "create gre tunnel src {own} dst {far} teb|",
    "create gre tunnel src {own} dst {far} erspan {n}",
    "create gre tunnel src {own} multipoint",
    "create vxlan tunnel src {own} dst {far} vni {n} l3|",
    "create vxlan-gpe tunnel local {own} remote {far} vni {n} next-ip4|next-ip6|next-ethernet",
    "create geneve tunnel local {own} remote {far} vni {n} l3-mode|",
    "create gtpu tunnel src {own} dst {far} teid {n} decap-next ip4|ip6|l2",
    "create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 10.9.0.0/16 ip4-src {own4}",
    "create l2tpv3 tunnel client {far6} our {own6} local-cookie 1 remote-cookie 1 \
     local-session {n} remote-session {n}",
    "pvti interface create peer {far} 12345 54321 local-ip {own}",
    "mpls tunnel add via {far} {t} out-labels {n}",
    "mpls tunnel add via {far} out-labels {n}",
    "udp encap add id 16|17 {own} {far} 4789 6635",
    "ip route add {far}/32|{far}/24 via udp-encap 16|17",
    "sr policy add bsid 2001:db8:9::{n} next {far6} next {far6} encap",
    "sr steer l3 {net} via index 0",
    "sr localsid address {far6} behavior end",
    "sr localsid prefix 2001:db8:9:{n}::/64 behavior end.m.gtp6.d 2001:db8:9::/64 drop-in",
    "sr policy add bsid 2001:db8:9::{n} behavior t.m.gtp4.d 2001:db8::/32",
    "create bridge-domain 1",
    "set interface l2 bridge {t} 1",
    "set interface l2 xconnect {t} {t}",
    "set interface l3 {t}",
    "set interface state {t} up",
    "set interface state {t} down",
    "set interface mtu 1{n}00 {t}",
    "set interface ip address {t} 10.8.{n}.1/24",
    "set interface ip address {t} 2001:db8:8:{n}::1/64",
    "enable ip4|ip6 interface {t}",
    "set interface mpls {t} enable",
    "ip route add {net} via {t}",
    "ip route add {net} via {far} {t}",
    "ip route add {net} via {far}",
    "ip route add {net} via {far} out-labels {n}",
    "ip route add {net} via {t} via {t}",
    "ip route del {net} via {t}",
    "mpls local-label add {n} eos|non-eos via {far} {t} out-labels {n}",
    "mpls local-label add {n} eos via ip4-lookup-in-table 0|1",
    "delete ipip tunnel {t}",
    // Both ends of a tunnel, bridged and routed.
    "create vxlan tunnel src 10.9.0.1 dst 10.9.0.2 vni 99 instance 91\n\
     create vxlan tunnel src 10.9.0.2 dst 10.9.0.1 vni 99 instance 92\n\
     create bridge-domain 9\nset interface state vxlan_tunnel91 up\n\
     set interface state vxlan_tunnel92 up\nset interface l2 bridge vxlan_tunnel91 9\n\
     set interface l2 bridge vxlan_tunnel92 9\nset interface l2 bridge pg0 9",
    "create gre tunnel src 2001:db8:9::1 dst 2001:db8:9::2 instance 91 teb\n\
     create gre tunnel src 2001:db8:9::2 dst 2001:db8:9::1 instance 92 teb\n\
     set interface state gre91 up\nset interface state gre92 up\n\
     set interface l2 xconnect gre91 gre92\nset interface l2 xconnect gre92 gre91",
    "create ipip tunnel src 10.9.0.3 dst 10.9.0.4 instance 91\n\
     create ipip tunnel src 10.9.0.4 dst 10.9.0.3 instance 92\n\
     set interface state ipip91 up\nset interface state ipip92 up\n\
     ip route add 10.8.0.0/16 via ipip91\nip route add 2001:db8:8::/48 via ipip92",
];

/// The target.
pub struct Tunnels;

/// A place in a line that is one of several.
fn value(parts: &Assembly, random: &mut Random, name: &str, is_6: bool) -> String {
    let near = 1 + random.below(4);
    match name {
        "n" => (16 + random.below(4)).to_string(),
        "own" if is_6 => format!("2001:db8:9::{near}"),
        "own6" => format!("2001:db8:9::{near}"),
        "own" | "own4" => format!("10.9.0.{near}"),
        "far6" => far(random, true),
        "far" => far(random, is_6),
        "net" if is_6 => format!("{}/{}", far(random, true), random.pick(&[128, 64, 32])),
        "net" => format!("{}/{}", far(random, false), random.pick(&[32, 24, 8])),
        "t" => {
            let all: Vec<_> = parts.router.interfaces.iter().map(|i| i.name.clone()).collect();
            random.pick(&all).clone()
        }
        other => panic!("no values for {other}"),
    }
}

/// An address that tunnels end at: a neighbour, behind a tunnel, own, or that of another tunnel.
fn far(random: &mut Random, is_6: bool) -> String {
    let (n, at) = (1 + random.below(4), random.below(4));
    match (is_6, at) {
        (false, 0) => "10.0.1.2".to_owned(),
        (false, 1) => format!("10.9.0.{n}"),
        (false, 2) => format!("10.8.{}.{n}", 16 + random.below(4)),
        (false, _) => format!("10.9.1.{n}"),
        (true, 0) => "2001:db8:1::2".to_owned(),
        (true, 1) => format!("2001:db8:9::{n}"),
        (true, 2) => format!("2001:db8:8:{}::{n}", 16 + random.below(4)),
        (true, _) => format!("2001:db8:9:1::{n}"),
    }
}

/// A line with all its places filled.
fn grown(parts: &Assembly, random: &mut Random) -> String {
    let (pattern, is_6) = (*random.pick(LINES), random.below(2) == 1);
    let mut line = String::new();
    for word in pattern.split(' ') {
        let choices: Vec<_> = word.split('|').collect();
        let mut word = (*random.pick(&choices)).to_owned();
        while let Some((at, end)) = word.find('{').zip(word.find('}')) {
            let new = value(parts, random, &word[at + 1..end], is_6);
            word.replace_range(at..=end, &new);
        }
        line += &word;
        line.push(' ');
    }
    line
}

/// Makes all interfaces receive packets.
fn use_all(parts: &mut Assembly) {
    let down = parts.router.interfaces.iter().filter(|i| !i.admin_up).map(|i| i.name.clone());
    for name in down.collect::<Vec<_>>() {
        // Where it is not possible it is not.
        for line in
            ["set interface state {} up", "enable ip4 interface {}", "enable ip6 interface {}"]
        {
            let _ = parts.cli.run(&mut parts.router, &line.replace("{}", &name));
        }
    }
}

/// Runs the graph until nothing moves; what still moves then goes in circles.
fn settle(parts: &mut Assembly) -> Result<(), String> {
    let router = &mut parts.router;
    router.engine.run_inline(TURNS);
    router.handle_events();
    router.engine.run_inline(TURNS);
    let before = seen(parts)?;
    parts.router.engine.run_inline(8);
    let after = seen(parts)?;
    let is_still = before == after;
    if is_still { Ok(()) } else { Err(format!("{before} packets seen, then {after}")) }
}

/// Packets that all nodes have seen, but those that begin.
fn seen(parts: &mut Assembly) -> Result<u64, String> {
    let rows = parts.router.engine.runtime_rows().map_err(|e| e.to_string())?;
    Ok(rows.iter().flat_map(|row| &row.nodes).map(|node| node.stats.vectors).sum())
}

fn send(parts: &mut Assembly, random: &mut Random, all: &[Vec<u8>]) -> Result<(), String> {
    let router = &mut parts.router;
    let interfaces: Vec<u32> = router.interfaces.iter().map(|i| i.index.0).collect();
    let rx = *random.pick(&interfaces);
    let mut frame = random.pick(all).clone();
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0xaa]);
    // To where tunnels end, or begin.
    let dst = match random.below(2) {
        0 => [10, 9, random.below(2) as u8, 1 + random.below(4) as u8],
        _ => [10, 8, 16 + random.below(4) as u8, 1 + random.below(4) as u8],
    };
    if frame.get(12..14) == Some(&[8, 0]) && frame.len() > 34 {
        frame[30..34].copy_from_slice(&dst);
    } else if frame.get(12..14) == Some(&[0x86, 0xdd]) && frame.len() > 54 {
        let group = [0x20, 1, 0xd, 0xb8, 0, dst[1], 0, if dst[1] == 9 { 0 } else { dst[2] }];
        frame[38..54].fill(0);
        frame[38..46].copy_from_slice(&group);
        frame[53] = dst[3];
    }
    packets::complete(&mut frame);
    // As it comes from a device, or as what this router has made itself.
    let (node, front) = match (frame.get(12..14), random.below(2)) {
        (Some(&[8, 0]), 1) => ("ip4-lookup", 14),
        (Some(&[0x86, 0xdd]), 1) => ("ip6-lookup", 14),
        _ => ("ethernet-input", 0),
    };
    let node = router.engine.index_of(node).ok_or("no such node")?;
    let copies = 1 + random.below(3);
    for _ in 0..copies {
        let mut bytes = frame.clone();
        bytes.drain(..front);
        router.engine.inject(0, node, bytes, move |p| p.set_rx(rx));
    }
    Ok(())
}

/// Checks what must hold in the end.
fn is_whole(parts: &mut Assembly) -> Result<(), String> {
    super::let_time_pass(parts)?;
    if super::PANICKED.swap(false, Ordering::Relaxed) {
        return Err("a node panicked".to_owned());
    }
    Ok(())
}

impl Target for Tunnels {
    const NAME: &'static str = "tunnels";

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..64_u64).map(|n| n.to_be_bytes().to_vec()).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let seed = input.iter().fold(0_u64, |n, b| n.wrapping_mul(131).wrapping_add((*b).into()));
        super::note_panics();
        let (mut random, all) = (Random::new(seed), packets::all());
        let mut parts = super::router(1);
        super::set_up(&mut parts);
        let reply = parts.cli.run(&mut parts.router, SETUP);
        reply.result.map_err(|e| e.to_string())?;
        let mut told = Vec::new();
        for edit in 0..EDITS {
            let line = grown(&parts, &mut random);
            let reply = parts.cli.run(&mut parts.router, &line);
            if reply.result.is_ok() {
                told.push(line);
                if random.below(8) > 0 {
                    use_all(&mut parts);
                }
            }
            if edit % 8 != 7 {
                continue;
            }
            for _ in 0..PACKETS {
                send(&mut parts, &mut random, &all)?;
            }
            settle(&mut parts).map_err(|why| format!("{why}\nafter\n{}", told.join("\n")))?;
        }
        is_whole(&mut parts).map_err(|why| format!("{why}\nafter\n{}", told.join("\n")))
    }
}
