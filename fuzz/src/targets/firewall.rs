//! A firewall between an inside, whose packets are permitted, and an outside, of which only replies
//! are: nothing else may pass. Packets are received on several threads.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use net::Assembly;
use wire::Protocol;
use wire::upper::{Upper, ip_offset};

use super::packets;
use crate::Target;

/// Zones and the only policy.
const POLICY: &str = "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static
set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static
firewall zone inside
firewall zone outside
firewall interface pg0 zone inside
firewall interface pg1 zone outside
firewall policy inside outside default permit
";
/// Packets put in before checking whether all buffers are back.
const BATCH: u64 = 512;
/// Flows that are remembered before all sessions end.
const MOST_FLOWS: usize = 1 << 16;
/// Threads there are.
const THREADS: usize = 3;

/// Protocol and both ends of a packet, the sender first.
type Flow = (u8, [(Vec<u8>, [u8; 2]); 2]);

/// The first byte of an input says what is done right before the rest is received: bit 0 sets the
/// checksums, bit 1 the destination MAC address, bit 3 exchanges both ends and has it come from
/// outside; bits 5 and 6 are the thread.
pub struct Firewall {
    parts: Assembly,
    inputs: [u32; 2],
    /// Flows that began sessions.
    begun: HashSet<Flow>,
    count: u64,
}

impl Firewall {
    /// A router with two interfaces, in a zone each.
    pub fn new() -> Self {
        super::note_panics();
        let mut parts = super::router(THREADS);
        super::set_up(&mut parts);
        let reply = parts.cli.run(&mut parts.router, POLICY);
        assert!(reply.result.is_ok(), "{}", reply.text());
        let index = |name: &str| parts.router.interfaces.named(name).expect("it was made").index.0;
        let inputs = ["pg0", "pg1"].map(index);
        Self { parts, inputs, begun: HashSet::new(), count: 0 }
    }
    /// Sessions that began, and packets of sessions.
    fn counted(&self) -> [u64; 2] {
        let all = self.parts.router.engine.errors();
        ["sessions begun", "packets of sessions"].map(|name| {
            let of = all
                .iter()
                .filter(|(_, node, text, _)| node.starts_with("firewall") && text.name == name);
            of.map(|(.., count)| count).sum()
        })
    }
    fn end_sessions(&mut self) -> Result<(), String> {
        self.begun.clear();
        let reply = self.parts.cli.run(&mut self.parts.router, "clear firewall sessions");
        reply.result.map_err(|e| e.to_string())
    }
}

impl Default for Firewall {
    fn default() -> Self {
        Self::new()
    }
}

/// The flow of a frame; `None` of what is no session's, of errors and of fragments.
fn flow(frame: &[u8]) -> Option<Flow> {
    let packet = frame.get(ip_offset(frame)?..)?;
    let upper = Upper::of(packet).filter(|upper| !upper.is_fragment)?;
    let (at, len) = if packet.first()? >> 4 == 4 { (12, 4) } else { (8, 16) };
    let ends = [packet.get(at..at + len)?, packet.get(at + len..at + 2 * len)?];
    let number = |at: usize| packet.get(upper.offset + at..)?.first_chunk().copied();
    let kind = *packet.get(upper.offset)?;
    let ports = match upper.protocol {
        Protocol::ICMP if !matches!(kind, 0 | 8) => return None,
        Protocol::ICMP6 if !matches!(kind, 128 | 129) => return None,
        Protocol::ICMP | Protocol::ICMP6 => [number(4)?; 2],
        protocol if protocol.has_ports() => [number(0)?, number(2)?],
        _ => [[0; 2]; 2],
    };
    let end = |n: usize| (ends[n].to_vec(), ports[n]);
    Some((upper.protocol.0, [end(0), end(1)]))
}

/// Exchanges the ends of a packet.
fn reverse(frame: &mut [u8]) -> Option<()> {
    let packet = frame.get_mut(ip_offset(frame)?..)?;
    let (at, len) = if packet.first()? >> 4 == 4 { (12, 4) } else { (8, 16) };
    let upper = Upper::of(packet)?;
    let swap = |packet: &mut [u8], at: usize, len: usize| {
        let both = packet.get_mut(at..at + 2 * len)?;
        let (a, b) = both.split_at_mut(len);
        a.swap_with_slice(b);
        Some(())
    };
    swap(packet, at, len)?;
    match upper.protocol {
        Protocol::ICMP | Protocol::ICMP6 => Some(()),
        _ => swap(packet, upper.offset, 2),
    }
}

impl Target for Firewall {
    const NAME: &'static str = "firewall";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let hows = [3, 3 | 1 << 3 | 1 << 5, 3 | 1 << 5, 3 | 1 << 3 | 2 << 5_u8];
        let all = packets::all().into_iter();
        all.flat_map(|packet| hows.map(|how| [&[how], packet.as_slice()].concat())).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let Some((how, frame)) = input.split_first() else { return Ok(()) };
        let (mut frame, is_from_outside) = (frame.to_vec(), how & 8 != 0);
        if is_from_outside {
            reverse(&mut frame);
        }
        if how & 1 != 0 {
            packets::complete(&mut frame);
        }
        if how & 2 != 0
            && let Some(to) = frame.first_chunk_mut()
            && to[0] & 1 == 0
        {
            *to = [2, 0, 0, 0, 0, 0xaa];
        }
        let flow = flow(&frame);
        let [begun, known] = self.counted();
        let router = &mut self.parts.router;
        let node = router.engine.index_of("ethernet-input").ok_or("no ethernet-input")?;
        let (rx, thread) = (self.inputs[usize::from(is_from_outside)], usize::from(how >> 5 & 3));
        router.engine.inject(thread % THREADS, node, frame, move |p| p.set_rx(rx));
        super::settle(&mut self.parts.router);
        if super::PANICKED.swap(false, Ordering::Relaxed) {
            return Err("a node panicked".to_owned());
        }
        let [begun, known] = {
            let now = self.counted();
            [now[0] - begun, now[1] - known]
        };
        if is_from_outside && begun > 0 {
            return Err("a packet from outside begins a session".to_owned());
        }
        if is_from_outside && known > 0 && flow.is_some() {
            let reversed = flow.clone().map(|(protocol, [a, b])| (protocol, [b, a]));
            if !reversed.is_some_and(|flow| self.begun.contains(&flow)) {
                return Err(format!("{flow:?} answers nothing and is known"));
            }
        }
        self.begun.extend(flow.filter(|_| begun > 0));
        self.count += 1;
        if self.begun.len() > MOST_FLOWS {
            self.end_sessions()?;
        }
        if self.count.is_multiple_of(BATCH) {
            let (counted, seen) = super::drops(&mut self.parts.router)?;
            if counted != seen {
                return Err(format!("{counted} drops counted, {seen} packets dropped"));
            }
        }
        if self.count.is_multiple_of(BATCH * 32) {
            super::let_time_pass(&mut self.parts)?;
        }
        Ok(())
    }
}
