//! NAT44, NAT64 and access lists with sessions between an inside and an outside, while rules,
//! pools, mappings and timeouts change: whatever comes, nothing is lost, and all sessions end.

use std::sync::atomic::Ordering;

use net::Assembly;
use wire::upper::ip_offset;

use super::packets;
use crate::Target;

/// Both translators and an access list.
const SERVICES: &str = "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static
set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static
nat44 plugin enable sessions 500
set interface nat44 in pg0 out pg1
nat44 add address 10.0.1.10 - 10.0.1.11
nat64 plugin enable
set interface nat64 in pg0
set interface nat64 out pg1
nat64 add prefix 64:ff9b::/96
nat64 add pool address 10.0.1.40
set acl-plugin acl permit+reflect src 0.0.0.0/0 dst 0.0.0.0/0, permit+reflect src ::/0 dst ::/0
set acl-plugin interface pg0 input acl 0
";
/// Changes between packets. Some are refused, as the one that makes them possible did not come.
const CHANGES: [&str; 15] = [
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
];
/// Addresses that packets of the outside go to.
const POOLS: [[u8; 4]; 4] = [[10, 0, 1, 10], [10, 0, 1, 11], [10, 0, 1, 12], [10, 0, 1, 40]];
/// Packets made of one input.
const MOST: usize = 64;
/// Inputs taken before it is looked whether all buffers are back.
const BATCH: u64 = 256;
/// Threads there are.
const THREADS: usize = 3;

/// The first bytes of an input say what is done with the rest: a change, of 15; whether it comes
/// from outside (bit 0), the thread (bits 1 and 2), completed sums (bit 3), a storm of as many
/// packets (bit 4), the prefix of NAT64 as its destination (bit 5); a number that storms begin
/// with.
///
/// A storm is the same packet with other TCP flags, ports, or lengths and places of fragments each
/// time.
pub struct Services {
    parts: Assembly,
    inputs: [u32; 2],
    count: u64,
    packets: u64,
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
        Self { parts, inputs, count: 0, packets: 0 }
    }
    fn tell(&mut self, line: &str) -> String {
        self.parts.cli.run(&mut self.parts.router, line).text()
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
    let packet = frame.get_mut(ip_offset(frame)?..)?;
    if packet.first()? >> 4 != 4 {
        let at = if *packet.get(6)? == 44 { 42 } else { 41 };
        *packet.get_mut(at)? ^= n;
        return Some(());
    }
    let upper = usize::from(packet[0] & 15) * 4;
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

/// Has a packet of IPv6 go to an IPv4 address.
fn embed(frame: &mut [u8]) -> Option<()> {
    let packet = frame.get_mut(ip_offset(frame)?..)?;
    if packet.first()? >> 4 == 6 {
        let prefix = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 1];
        packet.get_mut(24..40)?.copy_from_slice(&prefix);
    }
    Some(())
}

/// Has a packet go to an address of a pool.
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
        let all: Vec<_> = packets::all().into_iter().chain(quoting()).collect();
        let seed = |(n, (packet, how)): (usize, (&Vec<u8>, u8))| {
            [&[(n % 32) as u8, how, n as u8], packet.as_slice()].concat()
        };
        let with_hows = all.iter().flat_map(|packet| hows.map(|how| (packet, how)));
        with_hows.enumerate().map(seed).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let Some(([change, how, first], frame)) = input.split_first_chunk() else { return Ok(()) };
        if let Some(line) = CHANGES.get(usize::from(change & 31)) {
            self.tell(line);
        }
        let router = &mut self.parts.router;
        let node = router.engine.index_of("ethernet-input").ok_or("no ethernet-input")?;
        let (outside, thread) = (usize::from(how & 1), usize::from(how >> 1 & 3) % THREADS);
        let (rx, count) = (self.inputs[outside], if how & 16 == 0 { 1 } else { MOST });
        for n in 0..count {
            let number = first.wrapping_add(n as u8);
            let mut frame = frame.to_vec();
            if count > 1 {
                vary(&mut frame, number);
            }
            if outside == 1 {
                readdress(&mut frame, POOLS[usize::from(number) % POOLS.len()]);
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
            let (counted, seen) = super::drops(&mut self.parts.router)?;
            if counted != seen {
                return Err(format!("{counted} drops counted, {seen} packets dropped"));
            }
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
