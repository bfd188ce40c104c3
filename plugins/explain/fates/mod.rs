//! Packets of all kinds that a router and a switch meet, and each with every byte of its headers
//! changed or missing, sent one by one: the rig has each explained first, and what it then counts
//! has to be what was said. What has to be met at least is listed with each set-up.
//!
//! That takes minutes: only `tools/fates.sh` sends all, others every seventh of them.

mod bridge;
mod errors;
mod lists;
mod packets;
mod router;
mod state;

use drivers::pg::data::template::LINE;
use drivers::pg::data::{Layout, Sizes, Template};
use net::interface::Kind;
use net::prelude::*;
use net::testing::whole::Bench;
use wire::checksum::Sum;

/// Bytes of a packet that are changed.
const HEADERS: usize = 72;

/// Ethernet addresses of packets received on `pg0`.
pub const TO_US: &str = "02:00:00:00:00:01 -> 02:00:00:00:00:aa";

/// A whole router with all plugins and `pg0` to `pg4`, set up with these lines. `pg2` to `pg4` have
/// no addresses.
pub fn lab(lines: &str) -> Bench {
    let is_extra = |f: &&Feature| net::FEATURES.iter().all(|core| core.name != f.name);
    let extra: Vec<Feature> = plugins::features().filter(is_extra).copied().collect();
    let mut bench = Bench::plugged(&extra);
    for n in 2..5 {
        bench.add_interface(&format!("pg{n}"), Kind::Ethernet, 0xaa + n);
    }
    let neighbors = "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb\n\
        set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb\n\
        set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01\n\
        set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01\n";
    for line in neighbors.lines().chain(lines.lines()) {
        bench.attempt(line.trim()).unwrap_or_else(|why| panic!("{line}: {why}"));
    }
    bench.wait(0.0);
    bench.graph.moved_counters();
    bench
}

/// A packet in the words of the packet generator.
pub fn packet(words: &str) -> Vec<u8> {
    let layout = Layout::parse(&mut Args::new(words)).unwrap_or_else(|e| panic!("{words}: {e}"));
    let size = layout.size();
    let mut template = Template::new(&layout, Sizes::fixed(size), 0).unwrap();
    let mut bytes = vec![0; size.next_multiple_of(LINE)];
    template.write(&mut bytes, size);
    bytes.truncate(size);
    bytes
}

/// Hexadecimal digits of a packet without its first bytes.
pub fn hex(words: &str, without: usize) -> String {
    packet(words)[without..].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The packet, with each byte of its headers changed in four ways, and cut at each of them. Sums
/// are right again, but where they are what is changed.
fn variants(packet: &[u8]) -> Vec<Vec<u8>> {
    let end = packet.len().min(HEADERS);
    let mut all = vec![packet.to_vec()];
    for at in 0..end {
        for change in
            [0xff, packet[at].wrapping_sub(1), packet[at].wrapping_add(1), packet[at] ^ 0x40]
        {
            let mut changed = packet.to_vec();
            changed[at] = change;
            let right = summed(changed.clone());
            // Where that takes the change back, it was the sum.
            all.push(if right == packet { changed } else { right });
        }
        all.push(summed(packet[..at].to_vec()));
    }
    all.dedup();
    all
}

/// With the sums of the IPv4 header and of what it carries right again.
fn summed(mut packet: Vec<u8>) -> Vec<u8> {
    let sum = |bytes: &[u8]| Sum::ZERO.add_bytes(bytes).checksum();
    let Some(kind) = packet.get(12..14) else { return packet };
    let (start, protocol) = match kind {
        [8, 0] if packet.len() >= 34 => {
            let end = 14 + usize::from(packet[14] & 15).max(5) * 4;
            packet[24..26].fill(0);
            let Some(header) = packet.get(14..end) else { return packet };
            let right = sum(header);
            packet[24..26].copy_from_slice(right.as_bytes());
            (end, packet[23])
        }
        [0x86, 0xdd] if packet.len() >= 54 => (54, packet[20]),
        _ => return packet,
    };
    let (at, is_pseudo) = match protocol {
        1 => (2, false),
        58 => (2, true),
        6 => (16, true),
        17 => (6, true),
        _ => return packet,
    };
    if packet.len() < start + at + 2 {
        return packet;
    }
    packet[start + at..start + at + 2].fill(0);
    let body = &packet[start..];
    let addresses = if kind_is_4(&packet) { &packet[26..34] } else { &packet[22..54] };
    let mut all = Sum::ZERO.add_bytes(body);
    if is_pseudo {
        let rest = [0, protocol, (body.len() >> 8) as u8, body.len() as u8];
        all = all.add_bytes(addresses).add_bytes(&rest);
    }
    let right = all.checksum();
    packet[start + at..start + at + 2].copy_from_slice(right.as_bytes());
    packet
}

fn kind_is_4(packet: &[u8]) -> bool {
    packet[12..14] == [8, 0]
}

/// Sees to it that no minute, of which a bridge keeps account, begins between explanation and
/// packet.
fn within_a_minute(bench: &mut Bench) {
    let clock = bench.graph.engine.clock();
    let second = clock.now() % 60.0;
    if second > 50.0 {
        clock.adjust(61.0 - second);
    }
}

/// Sends variants of packets into an interface one by one; all of these reasons have to be met.
#[track_caller]
pub fn meet(bench: &mut Bench, on: &str, packets: &[Vec<u8>], reasons: &[(&str, &[&str])]) {
    let on = bench.interface(on);
    let is_thorough = std::env::var_os("FERROVIA_FATES").is_some();
    let step = if is_thorough { 1 } else { 7 };
    bench.graph.moved_counters();
    for bytes in packets.iter().flat_map(|packet| variants(packet)).step_by(step) {
        within_a_minute(bench);
        bench.receive(on, &[bytes]);
    }
    if !is_thorough {
        return;
    }
    let met = bench.graph.moved_counters();
    let is_met = |node: &str, name: &str| met.iter().any(|(n, r, _)| n == node && *r == name);
    let missing = reasons.iter().flat_map(|(node, names)| {
        names.iter().filter(|name| !is_met(node, name)).map(move |name| format!("{node}: {name}"))
    });
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "not met: {missing:?}; met: {met:?}");
}

/// Commands, packets received on an interface, and the drop reason of the last one.
pub type Refusal<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, &'a str);

/// Sends the packets of each row alone.
#[track_caller]
pub fn refuse(bench: &mut Bench, rows: &[Refusal<'_>]) {
    for (lines, on, packets, node, reason) in rows {
        for line in lines.lines() {
            bench.attempt(line.trim()).unwrap_or_else(|why| panic!("{line}: {why}"));
        }
        bench.graph.moved_counters();
        let on = bench.interface(on);
        for words in *packets {
            bench.receive(on, &[packet(words)]);
        }
        let met = bench.graph.moved_counters();
        let is_met = met.iter().any(|(n, r, _)| n == node && r == reason);
        assert!(is_met || node.is_empty(), "{lines}: {node}: {reason}; met: {met:?}");
    }
}
