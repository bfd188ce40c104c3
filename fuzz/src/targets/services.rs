//! NAT44, NAT64, DS-Lite and access lists with sessions between an inside and an outside, while
//! rules, pools, mappings, timeouts and threads change: whatever comes, nothing is lost, no two
//! sessions are one outside, and all end.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::atomic::Ordering;

use graph::Plan;
use net::Assembly;
use wire::Protocol;
use wire::upper::ip_offset;

use super::packets;
use crate::Target;

/// Translators and an access list.
const SERVICES: &str = "set interface mac address pg1 02:00:00:00:00:aa
set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static
set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static
nat44 plugin enable sessions 500
set interface nat44 in pg0 out pg1
nat44 add address 10.0.1.10 - 10.0.1.11
nat64 plugin enable
set interface nat64 in pg0
set interface nat64 out pg1
nat64 add prefix 64:ff9b::/96
nat64 add pool address 10.0.1.40
dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1
dslite add pool address 10.0.1.50
set acl-plugin acl permit+reflect src 0.0.0.0/0 dst 0.0.0.0/0, permit+reflect src ::/0 dst ::/0
set acl-plugin interface pg0 input acl 0
";
/// Changes between packets. Some are refused, as the one that makes them possible did not come.
const CHANGES: [&str; 17] = [
    "nat44 add address 10.0.1.12",
    "nat44 add address 10.0.1.12 del",
    "nat44 add static mapping udp local 10.0.0.2 53 external 10.0.1.10 53",
    "nat44 add static mapping udp local 10.0.0.2 53 external 10.0.1.10 53 del",
    "nat44 add address 10.0.1.11 del",
    "nat44 add address 10.0.1.11",
    "nat64 add pool address 10.0.1.41",
    "nat64 add pool address 10.0.1.41 del",
    "set acl-plugin acl index 0 deny src 10.0.0.3/32 dst 0.0.0.0/0, permit+reflect src 0.0.0.0/0 \
     dst 0.0.0.0/0, permit+reflect src ::/0 dst ::/0",
    "set acl-plugin acl index 0 permit src 0.0.0.0/0 dst 0.0.0.0/0, permit src ::/0 dst ::/0",
    "set nat timeout udp 1 tcp-established 2 tcp-transitory 1 icmp 1",
    "set nat timeout reset",
    "set acl-plugin interface pg0 input acl 0 del",
    "set acl-plugin interface pg0 input acl 0",
    "set clock adjust 3",
    "nat44 forwarding enable",
    "nat44 forwarding disable",
];
/// The change to other threads.
const OTHER_THREADS: u8 = 31;
/// Those there may be: one worker, two, none.
const LAYOUTS: [Range<usize>; 3] = [1..2, 1..3, 0..1];
/// Addresses that packets of the outside go to.
const POOLS: [[u8; 4]; 5] =
    [[10, 0, 1, 10], [10, 0, 1, 11], [10, 0, 1, 12], [10, 0, 1, 40], [10, 0, 1, 50]];
/// The end of tunnels of DS-Lite.
const AFTR: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/// Packets made of one input.
const MOST: usize = 64;
/// Inputs taken before checking whether all buffers are back.
const BATCH: u64 = 256;
/// Threads there are at first.
const THREADS: usize = 3;

/// The first bytes of an input say what is done with the rest: a change, of 17, or to other threads
/// where the number is below 32; whether it comes from outside (bit 0), the thread (bits 1 and 2),
/// completed sums (bit 3), a storm of as many packets (bit 4), the prefix of NAT64 as its
/// destination (bit 5); a number that storms begin with. Three of four packets from outside get
/// the ends of a session that there was.
///
/// A storm is the same packet with other TCP flags, ports, or lengths and places of fragments each
/// time.
pub struct Services {
    parts: Assembly,
    inputs: [u32; 2],
    count: u64,
    packets: u64,
    /// Drops that threads which have ended had counted.
    past: u64,
    known: Vec<Ends>,
}

/// A session as packets from outside see it: protocol, far end, and end of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ends(Protocol, [u8; 6], [u8; 6]);

impl Ends {
    /// Of a line of `show nat44 sessions`.
    fn of44(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_once("o2i flow: match:")?.1.split_whitespace().collect();
        let [_, src, _, src_port, _, dst, _, dst_port, _, protocol, ..] = words[..] else {
            return None;
        };
        Some(Self(protocol_of(protocol)?, end(src, src_port)?, end(dst, dst_port)?))
    }
    /// Of a line of `show nat64 session table all`.
    fn of64(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, _, _, _, dst, dst_port, src, src_port, "protocol", protocol, ..] = words[..] else {
            return None;
        };
        Some(Self(protocol_of(protocol)?, end(src, src_port)?, end(dst, dst_port)?))
    }
    /// Makes a packet one of the session, or an ICMP error about one.
    fn give(&self, frame: &mut [u8]) -> Option<()> {
        let Self(protocol, far, near) = self;
        let packet = frame.get_mut(ip_offset(frame)?..)?;
        let upper = usize::from(packet.first().filter(|first| **first >> 4 == 4)? & 15) * 4;
        let is_error = packet.get(9) == Some(&1) && [3, 4, 5, 11, 12].contains(packet.get(upper)?);
        packet.get_mut(12..16)?.copy_from_slice(&far[..4]);
        packet.get_mut(16..20)?.copy_from_slice(&near[..4]);
        let (packet, (src, dst)) = match is_error {
            true => (packet.get_mut(upper + 8..)?, (near, far)),
            false => (packet, (far, near)),
        };
        let upper = usize::from(packet.first()? & 15) * 4;
        *packet.get_mut(9)? = protocol.0;
        packet.get_mut(12..16)?.copy_from_slice(&src[..4]);
        packet.get_mut(16..20)?.copy_from_slice(&dst[..4]);
        if *protocol == Protocol::ICMP {
            *packet.get_mut(upper)? = if is_error { 8 } else { 0 };
            packet.get_mut(upper + 4..upper + 6)?.copy_from_slice(&near[4..]);
        } else {
            packet.get_mut(upper..upper + 2)?.copy_from_slice(&src[4..]);
            packet.get_mut(upper + 2..upper + 4)?.copy_from_slice(&dst[4..]);
        }
        Some(())
    }
}

fn protocol_of(name: &str) -> Option<Protocol> {
    match name.to_ascii_lowercase().as_str() {
        "tcp" => Some(Protocol::TCP),
        "udp" => Some(Protocol::UDP),
        "icmp" => Some(Protocol::ICMP),
        number => number.parse().ok().map(Protocol),
    }
}

/// An address and a port, as they stand in headers.
fn end(addr: &str, port: &str) -> Option<[u8; 6]> {
    let [a, b, c, d] = addr.parse::<Ipv4Addr>().ok()?.octets();
    let [high, low] = port.parse::<u16>().ok()?.to_be_bytes();
    Some([a, b, c, d, high, low])
}

impl Services {
    /// A router with an inside and an outside.
    pub fn new() -> Self {
        super::note_panics();
        let mut parts = super::router(THREADS);
        super::set_up(&mut parts);
        let reply = parts.cli.run(&mut parts.router, SERVICES);
        assert!(reply.result.is_ok(), "{}", reply.text());
        let index = |name: &str| parts.router.interfaces.named(name).expect("it was made").index.0;
        let inputs = ["pg0", "pg1"].map(index);
        Self { parts, inputs, count: 0, packets: 0, past: 0, known: vec![] }
    }
    fn tell(&mut self, line: &str) -> String {
        self.parts.cli.run(&mut self.parts.router, line).text()
    }
    /// Makes control run a change of the list, or one of threads.
    fn change(&mut self, change: u8, first: u8) -> Result<(), String> {
        if let Some(line) = CHANGES.get(usize::from(change)) {
            self.tell(line);
        }
        if change == OTHER_THREADS && first < 32 {
            let layout = LAYOUTS[usize::from(first) % LAYOUTS.len()].clone();
            let plans = vec![Plan { cpu: None, shares: true }; layout.len()];
            self.check_drops()?;
            let done = self.parts.router.set_threads(layout.start, &plans);
            done.map_err(|why| why.to_string())?;
            let (counted, seen) = super::drops(&mut self.parts.router)?;
            self.past = counted - seen;
        }
        Ok(())
    }
    /// Says when other packets were dropped than were counted.
    fn check_drops(&mut self) -> Result<(), String> {
        let (counted, seen) = super::drops(&mut self.parts.router)?;
        let seen = self.past + seen;
        if counted == seen {
            return Ok(());
        }
        Err(format!("{counted} drops counted, {seen} packets dropped"))
    }
    /// Learns the ends of sessions, and says which two of one translator have the same.
    fn check_ends(&mut self) -> Result<(), String> {
        let of44 = self.tell("show nat44 sessions");
        let of64 = self.tell("show nat64 session table all");
        self.known.clear();
        for (lines, ends_of) in [(of44, Ends::of44 as fn(&str) -> _), (of64, Ends::of64)] {
            let first = self.known.len();
            self.known.extend(lines.lines().filter_map(ends_of));
            let mut ends = HashSet::new();
            if let Some(twice) = self.known[first..].iter().find(|of| !ends.insert(**of)) {
                return Err(format!("two sessions have these ends outside: {twice:?}\n{lines}"));
            }
        }
        Ok(())
    }
    /// Sessions that tables still have.
    fn sessions(&mut self) -> u64 {
        let shown = self.tell("show session tables");
        let rows = shown.lines().skip(1);
        rows.filter_map(|row| row.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
    }
}

impl Default for Services {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        println!("{} packets", self.packets);
    }
}

/// The `n`th packet of a storm.
fn vary(frame: &mut [u8], n: u8) -> Option<()> {
    let mut packet = frame.get_mut(ip_offset(frame)?..)?;
    if packet.first()? >> 4 != 4 {
        match *packet.get(6)? {
            4 => packet = packet.get_mut(40..)?,
            next => {
                *packet.get_mut(if next == 44 { 42 } else { 41 })? ^= n;
                return Some(());
            }
        }
    }
    let upper = usize::from(packet.first()? & 15) * 4;
    match (packet.get(9)?, n % 3) {
        // Flags, and every other time the port.
        (6, 0 | 1) => {
            *packet.get_mut(upper + 13)? = n;
            *packet.get_mut(upper + 1)? ^= n & 1;
        }
        (_, 2) => {
            packet[6] = n & 0x3f;
            packet[7] ^= n >> 2;
        }
        _ => *packet.get_mut(upper + usize::from(n % 8))? ^= n,
    }
    Some(())
}

/// Sends an IPv6 packet to an IPv4 address.
fn embed(frame: &mut [u8]) -> Option<()> {
    let packet = frame.get_mut(ip_offset(frame)?..)?;
    if packet.first()? >> 4 == 6 {
        let prefix = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 1];
        packet.get_mut(24..40)?.copy_from_slice(&prefix);
    }
    Some(())
}

/// Sends a packet to an address of a pool.
fn readdress(frame: &mut [u8], to: [u8; 4]) -> Option<()> {
    let packet = frame.get_mut(ip_offset(frame)?..)?;
    if packet.first()? >> 4 == 4 {
        packet.get_mut(16..20)?.copy_from_slice(&to);
    }
    Some(())
}

impl Target for Services {
    const NAME: &'static str = "services";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let hows = [8, 9 | 1 << 1, 8 | 16 | 2 << 1, 9 | 16, 8 | 32, 8 | 16 | 32_u8];
        let tunnelled = packets::tunnelled(AFTR.into());
        let all: Vec<_> = packets::all().into_iter().chain(quoting()).chain(tunnelled).collect();
        let seed = |(n, (packet, how)): (usize, (&Vec<u8>, u8))| {
            [&[(n % 32) as u8, how, n as u8], packet.as_slice()].concat()
        };
        let with_hows = all.iter().flat_map(|packet| hows.map(|how| (packet, how)));
        with_hows.enumerate().map(seed).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let Some(([change, how, first], frame)) = input.split_first_chunk() else { return Ok(()) };
        self.change(change & 31, *first)?;
        let router = &mut self.parts.router;
        let node = router.engine.index_of("ethernet-input").ok_or("no ethernet-input")?;
        let (outside, threads) = (usize::from(how & 1), router.engine.data_threads());
        let thread = threads.start + usize::from(how >> 1 & 3) % threads.len();
        let (rx, count) = (self.inputs[outside], if how & 16 == 0 { 1 } else { MOST });
        for n in 0..count {
            let number = first.wrapping_add(n as u8);
            let mut frame = frame.to_vec();
            if count > 1 {
                vary(&mut frame, number);
            }
            if outside == 1 {
                readdress(&mut frame, POOLS[usize::from(number) % POOLS.len()]);
                let which = self.count as usize * MOST + usize::from(number);
                if number % 4 != 0 && !self.known.is_empty() {
                    self.known[which % self.known.len()].give(&mut frame);
                }
            }
            if how & 32 != 0 {
                embed(&mut frame);
            }
            if how & 8 != 0 {
                packets::complete(&mut frame);
                if let Some(to) = frame.first_chunk_mut()
                    && to[0] & 1 == 0
                {
                    *to = [2, 0, 0, 0, 0, 0xaa];
                }
            }
            router.engine.inject(thread, node, frame, move |p| p.set_rx(rx));
        }
        super::settle(router);
        self.packets += count as u64;
        self.count += 1;
        if super::PANICKED.swap(false, Ordering::Relaxed) {
            return Err("a node panicked".to_owned());
        }
        if self.count.is_multiple_of(BATCH) {
            self.check_drops()?;
            self.check_ends()?;
        }
        if self.count.is_multiple_of(BATCH * 32) {
            // Sessions of TCP last longest, 7440 s.
            for _ in 0..9 {
                super::let_time_pass(&mut self.parts)?;
            }
            let left = self.sessions();
            if left > 0 {
                return Err(format!(
                    "{left} sessions never end:\n{}",
                    self.tell("show session tables")
                ));
            }
        }
        Ok(())
    }
}

/// ICMP errors that quote packets of sessions, half of them, other errors, and nothing.
fn quoting() -> Vec<Vec<u8>> {
    let inner = [
        &[0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 1, 10, 10, 0, 1, 2][..],
        &[0x12, 0x34, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let error = |kind: [u8; 2], quoted: &[u8]| {
        let len = (28 + quoted.len()) as u8;
        let header = [0x45, 0, 0, len, 0, 2, 0, 0, 64, 1, 0, 0, 10, 0, 1, 2, 10, 0, 1, 10];
        let ethernet = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 1, 8, 0];
        [&ethernet[..], &header, &kind, &[0; 6], quoted].concat()
    };
    let mut longer = inner.clone();
    longer[0] = 0x4f;
    let nested = error([11, 0], &inner)[14..].to_vec();
    let kinds = [[3, 4], [11, 0], [12, 0], [5, 1]];
    let quoted = [&inner[..], &inner[..28], &inner[..24], &inner[..9], &[], &longer, &nested];
    kinds.iter().flat_map(|kind| quoted.map(|quoted| error(*kind, quoted))).collect()
}
