//! `bond-input`: packets received on members belong to their bond.

use net::Interfaces;
use net::interface::{Counters, Port as Interface};
use net::prelude::*;
use wire::ethernet::Header;

use super::Port;

pub(super) const NAME: &str = "bond-input";

/// Group address of CDP and its relatives.
const CDP: MacAddr = MacAddr([0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc]);

/// Gives frames of members to their bonds.
#[derive(Clone)]
pub struct Input {
    ports: SlabReader<Port>,
    interfaces: SlabReader<Interface>,
    counters: Arc<Counters>,
}

/// Reasons why a frame is dropped.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// interface down.
    #[name("interface down")]
    Down,
    /// traffic received on passive interface.
    #[name("traffic received on passive interface")]
    Passive,
}

/// Counters of [`Input`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// no error.
    #[name("no error")]
    Taken,
    /// pass through (CDP, LLDP, slow protocols).
    #[name("pass through (CDP, LLDP, slow protocols)")]
    PassThrough,
}

impl Input {
    pub(super) fn new(ports: SlabReader<Port>, interfaces: &Interfaces) -> Self {
        Self { ports, interfaces: interfaces.ports(), counters: interfaces.counters() }
    }
}

/// Whether a frame is about its link alone.
#[inline(always)]
fn is_of_link(p: &Buffer<'_>) -> bool {
    let Some(header) = p.header::<Header>().filter(|header| header.dst.is_multicast()) else {
        return false;
    };
    matches!(header.ethertype, EtherType::SLOW_PROTOCOLS | EtherType::LLDP) || header.dst == CDP
}

impl Node for Input {
    const NAME: &'static str = NAME;
    const STARTS_TRACES: bool = true;
    const EXPLAINABLE: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        // Neighbouring packets nearly always come from one member.
        let (mut known, mut port, mut is_up) = (u32::MAX, Port::default(), false);
        let (mut taken, mut passed) = (0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                p.start_trace(epoch);
                let rx = p.rx();
                if rx != known {
                    known = rx;
                    port = self.ports.read(rx, epoch).copied().unwrap_or_default();
                    is_up = self.interfaces.read(port.bond, epoch).is_some_and(|bond| bond.up);
                }
                if port.bond == 0 || is_of_link(p) {
                    p.trace(|p| Seen::of(p, rx, rx));
                    passed += 1;
                    return Ok(Continue);
                }
                p.trace(|p| Seen::of(p, rx, port.bond));
                if !is_up {
                    return Err(Error::Down);
                }
                if !port.takes {
                    return Err(Error::Passive);
                }
                self.counters.rx.row(thread)[port.bond as usize].add(1, p.total_len() as u64);
                p.set_rx(port.bond);
                taken += 1;
                Ok(Continue)
            },
        );
        frame.count(Count::Taken, taken);
        frame.count(Count::PassThrough, passed);
    }
}

/// Trace of a frame in a node.
pub(super) struct Seen {
    header: Option<Header>,
    from: u32,
    to: u32,
}

impl Seen {
    pub fn of(p: &Buffer<'_>, from: u32, to: u32) -> Self {
        Self { header: p.header::<Header>().copied(), from, to }
    }
}

impl Record for Seen {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |index| names.name("interface", index);
        if let Some(Header { src, dst, .. }) = self.header {
            write!(f, "  src {src}, dst {dst}, ")?;
        }
        write!(f, "{} -> {}", name(self.from), name(self.to))
    }
}
