//! A whole router that receives anything.

use std::sync::atomic::Ordering;

use net::Assembly;
use net::reassembly::Kind;

use super::packets;
use crate::Target;

/// Packets put in before checking whether all buffers are back.
const BATCH: u64 = 512;
/// Buffers that packets waiting for neighbours or for their other fragments may keep.
const MAY_WAIT: usize = 4096;

/// More features for packets: policers, punted ports and protocols, checks of sources. The punt
/// sockets' program does not exist.
const FEATURES: &str = "policer add name in type 2r3c-2698 cir 9000 eir 18000 cb 9000 eb 18000 \
exceed-action mark-and-transmit ef
policer add name out type 1r3c rate pps cir 100000 cb 100 eb 10 exceed-action transmit
policer add name punt rate pps cir 100000 cb 10
policer input name in pg0
policer output name out pg1
ip punt policer add 2
ip6 punt policer add 2
set punt ipv4 udp 53
set punt ipv6 udp all
ip punt redirect add rx all via 10.0.1.2 pg1
punt socket register ipv4 udp 4789 socket /nowhere/program
punt socket register ipv6 udp 4789 socket /nowhere/program
set ip source-and-port-range-check vrf 7 10.0.0.0/8 range 1 - 5000
set interface ip source-and-port-range-check pg0 udp-out-vrf 7
set interface ip source-and-port-range-check pg1 tcp-in-vrf 7
";

/// Treatment of received fragments; transmitted ones are held back, too.
const FRAGMENTS: &str = "create packet-generator interface pg2
create packet-generator interface pg3
set interface mac address pg2 02:00:00:00:00:aa
set interface mac address pg3 02:00:00:00:00:aa
set interface state pg2 up
set interface state pg3 up
set interface ip address pg2 10.0.2.1/24
set interface ip address pg3 10.0.3.1/24
set interface ip address pg2 2001:db8:2::1/64
set interface ip address pg3 2001:db8:3::1/64
set interface reassembly pg2 on
";
/// A bridge domain of ports with and without tags and the router itself, which answers for hosts;
/// a cross-connect of layer 3, and a packet that leaves as the frame it came as.
const BRIDGES: &str = "create packet-generator interface pg4
create packet-generator interface pg5
set interface mac address pg4 02:00:00:00:00:aa
set interface state pg4 up
set interface state pg5 up
create sub-interfaces pg4 10
create sub-interfaces pg4 20 dot1q 20 inner-dot1q 7 exact-match
create sub-interfaces pg4 30
set interface state pg4.10 up
set interface state pg4.20 up
set interface state pg4.30 up
set interface ip address pg4.30 10.0.30.1/24
set interface l2 bridge pg4 5
set interface l2 bridge pg5 5
set interface l2 bridge pg4.10 5 1
set interface l2 bridge pg4.20 5 1
set interface l2 tag-rewrite pg4.10 pop 1
set interface l2 tag-rewrite pg4.20 pop 2
set interface l2 tag-rewrite pg5 push dot1q 9
bvi create mac 02:00:00:00:00:aa
set interface state bvi0 up
set interface l2 bridge bvi0 5 bvi
set interface ip address bvi0 10.0.5.1/24
set interface ip address bvi0 2001:db8:5::1/64
set bridge-domain arp term 5
set bridge-domain arp entry 5 10.0.0.2 02:00:00:00:00:77
set bridge-domain arp entry 5 2001:db8::2 02:00:00:00:00:77
ip route add 10.0.5.7/32 via dvr pg5
ip route add 2001:db8:5::7/128 via dvr pg4.10
l3xc add pg4.30 via 10.0.1.2 pg1
";
/// Threads there are.
const THREADS: usize = 3;

/// The first byte of an input says which fields are corrected before it is received: bit 0 the
/// checksums, bit 1 the destination MAC address; bit 2 traces it. Bits 3 and 4 select the receive
/// interface, bits 5 and 6 the thread.
pub struct Graphs {
    parts: Assembly,
    /// Interfaces that leave fragments alone, put them together, hold them back, and bridge frames.
    inputs: [u32; 4],
    count: u64,
}

impl Graphs {
    /// A router with two interfaces, that forwards.
    pub fn new() -> Self {
        Self::with("")
    }
    /// The same, with what these commands set.
    pub fn with(more: &str) -> Self {
        super::note_panics();
        let mut parts = super::router(THREADS);
        super::set_up(&mut parts);
        for lines in [FEATURES, FRAGMENTS, BRIDGES, more].into_iter().filter(|l| !l.is_empty()) {
            let reply = parts.cli.run(&mut parts.router, lines);
            assert!(reply.result.is_ok(), "{}", reply.text());
        }
        let router = &mut parts.router;
        let index = |name: &str| router.interfaces.named(name).expect("it was made").index;
        let (inputs, pg1) = (["pg0", "pg2", "pg3", "pg4"].map(index), index("pg1"));
        let done = router.enable_reassembly(inputs[2], Kind::Shallow, [true; 2]);
        done.expect("it exists");
        for version in ["ip4", "ip6"] {
            let arc = router.engine.arc_named(&format!("{version}-output")).expect("it exists");
            let feature = format!("{version}-sv-reassembly-output-feature");
            router.engine.set_feature(arc, &feature, pg1.0, true).expect("it is on the arc");
        }
        Self { parts, inputs: inputs.map(|i| i.0), count: 0 }
    }

    /// Checks what must hold whenever nothing moves.
    fn check(&mut self) -> Result<(), String> {
        let router = &mut self.parts.router;
        let used = router.engine.buffers_used().map_err(|e| e.to_string())?;
        if used > MAY_WAIT {
            return Err(format!("{used} buffers do not come back"));
        }
        let (counted, seen) = super::drops(&mut self.parts.router)?;
        if counted != seen {
            return Err(format!("{counted} drops counted, {seen} packets dropped"));
        }
        let reply = self.parts.cli.run(&mut self.parts.router, "show trace\nclear trace");
        reply.result.map_err(|e| e.to_string())
    }
}

impl Default for Graphs {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for Graphs {
    const NAME: &'static str = "graphs";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let hows = [7, 7 | 1 << 3 | 1 << 5, 7 | 2 << 3 | 2 << 5, 7 | 3 << 3_u8];
        let all = packets::all().into_iter();
        all.flat_map(|packet| hows.map(|how| [&[how], packet.as_slice()].concat())).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let Some((how, frame)) = input.split_first() else { return Ok(()) };
        let mut frame = frame.to_vec();
        if how & 1 != 0 {
            packets::complete(&mut frame);
        }
        if how & 2 != 0
            && let Some(to) = frame.first_chunk_mut()
            && to[0] & 1 == 0
        {
            *to = [2, 0, 0, 0, 0, 0xaa];
        }
        let router = &mut self.parts.router;
        let node = router.engine.index_of("ethernet-input").ok_or("no ethernet-input")?;
        let rx = self.inputs[usize::from(how >> 3 & 3) % self.inputs.len()];
        let (thread, traced) = (usize::from(how >> 5 & 3) % THREADS, how & 4 != 0);
        router.engine.inject(thread, node, frame, move |p| {
            p.set_rx(rx);
            if traced {
                p.add_flags(graph::Flags::TRACED);
            }
        });
        super::settle(&mut self.parts.router);
        if super::PANICKED.swap(false, Ordering::Relaxed) {
            return Err("a node panicked".to_owned());
        }
        self.count += 1;
        if self.count.is_multiple_of(BATCH) {
            self.check()?;
        }
        if self.count.is_multiple_of(BATCH * 32) {
            super::let_time_pass(&mut self.parts)?;
        }
        Ok(())
    }
}
