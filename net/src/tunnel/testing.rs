//! A rig for kinds of tunnels: `pg0` (10.0.0.1/24, 2001:db8::1/64) and `pg1` (10.0.1.1/24,
//! 2001:db8:1::1/64), and behind its neighbours 10.0.1.2 and 2001:db8:1::2 the far ends, 20.0.0.0/8
//! and 2a01::/16.

use graph::testing::Caught;

use crate::router::Feature;
use crate::testing::Rig;
use crate::testing::packets::{udp4, udp6};
use crate::{address, fib, fragment, icmp, ip4, ip6, mfib, neighbor, path_mtu, reassembly, teib};

/// The rig with a plugin.
pub fn rig(plugin: Feature) -> Rig {
    let mut rig = Rig::new(&[
        fib::FEATURE,
        address::FEATURE,
        ip4::FEATURE,
        ip6::FEATURE,
        mfib::FEATURE,
        icmp::FEATURE,
        fragment::FEATURE,
        reassembly::FEATURE,
        neighbor::FEATURE,
        path_mtu::FEATURE,
        super::FEATURE,
        teib::FEATURE,
        plugin,
    ]);
    rig.add_networks(2);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:a2",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:a2",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2",
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2a01::/16 via 2001:db8:1::2 pg1",
    ] {
        rig.set(line);
    }
    settle(&mut rig);
    rig
}

/// Lets interfaces say of themselves what they do when they come up.
pub fn settle(rig: &mut Rig) {
    rig.graph.run();
    rig.graph.moved_counters();
}

/// Packets received on `pg0`, from a node on: their ends.
pub fn send(rig: &mut Rig, at: &str, packets: &[Vec<u8>]) -> Vec<Caught> {
    let pg0 = rig.interface("pg0").0;
    rig.graph.send(at, packets, move |p| p.set_rx(pg0))
}

/// The only packet that is sent: its bytes behind the Ethernet header.
#[track_caller]
pub fn sent(rig: &mut Rig, at: &str, packet: Vec<u8>) -> Vec<u8> {
    let out = send(rig, at, &[packet]);
    assert_eq!(out.len(), 1, "{out:?}");
    assert_eq!((out[0].at.as_str(), out[0].error.as_str()), ("sent", ""));
    out[0].bytes[14..].to_vec()
}

/// A frame that leaves by an interface, as it is sent: from the outer IP header on.
#[track_caller]
pub fn frame_sent(rig: &mut Rig, name: &str, frame: &[u8]) -> Vec<u8> {
    let tx = rig.interface(name).0;
    let out = rig.graph.send(&format!("{name}-output"), &[frame.to_vec()], move |p| p.set_tx(tx));
    assert_eq!(out.len(), 1, "{out:?}");
    assert_eq!((out[0].at.as_str(), out[0].error.as_str()), ("sent", ""));
    out[0].bytes[14..].to_vec()
}

/// A datagram from a far end, with or without a checksum.
pub fn datagram(src: &str, dst: &str, port: u16, data: &[u8], has_sum: bool) -> Vec<u8> {
    let is_6 = src.contains(':');
    let mut packet = if is_6 { udp6(src, dst, port, data) } else { udp4(src, dst, port, data) };
    if !has_sum {
        let at = if is_6 { 46 } else { 26 };
        packet[at..at + 2].fill(0);
    }
    packet
}
