//! `ip4-arp`, `ip4-glean`, `ip6-discover-neighbor`, `ip6-glean`: packets whose neighbour is not
//! known.
//!
//! A packet is held and its neighbor requested, at once for the first packet and again each second;
//! later IPv4 packets speed this up. Control is notified of waiting packets. Once it knows the
//! neighbor, it makes the node send them back to the lookup; without an answer, their senders get
//! host unreachable. Strict interfaces ([`Strict`]) send a request for each packet, and drop it.
//!
//! A connected network may be reached by a route of another table than its interface's, which alone
//! has its neighbours and our own addresses there: packets to these are looked up again in it.
#![forbid(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use graph::{Buffer, Flags, Frame, Held, Names, Node, Record};
use infra::counter::{Counter, Rows};
use infra::rcu::{Epoch, SlabReader};
use wire::Prefix;
use zerocopy::IntoBytes;

use super::Pending;
use super::allowance::Allowance;
use super::counters::count;
use super::family::Family;
use super::strict::{Lately, Strict};
use super::waiting::{Due, Key, Waiting};
use crate::address::AddressReader;
use crate::adjacency::Adjacency;
use crate::drops::Problem;
use crate::events::EventSender;
use crate::fib::{self, Forwarding, LpmReader, Via};
use crate::interface::{InterfaceIndex, Port};
use crate::ip::{Headers, SourceFamily, Version};

/// The neighbour that a node resolves.
pub trait ResolveTarget: Copy + Send + 'static {
    /// Position of the node in [`Family::ASKERS`].
    const AT: usize;
    /// The neighbour that a packet over this adjacency needs; `None` when none is missing.
    fn of<F: Family>(adjacency: &Adjacency, p: &Buffer<'_>) -> Option<F::Addr>;
}

/// The next hop of an adjacency that is not complete.
#[derive(Clone, Copy, Debug)]
pub struct NextHop;

/// The destination of a packet to a connected subnet.
#[derive(Clone, Copy, Debug)]
pub struct Destination;

impl ResolveTarget for NextHop {
    const AT: usize = 0;
    fn of<F: Family>(adjacency: &Adjacency, _: &Buffer<'_>) -> Option<F::Addr> {
        F::addr(adjacency.next_hop).filter(|_| !adjacency.complete)
    }
}

impl ResolveTarget for Destination {
    const AT: usize = 1;
    fn of<F: Family>(_: &Adjacency, p: &Buffer<'_>) -> Option<F::Addr> {
        F::destination(p)
    }
}

/// The state that the nodes read.
#[derive(Clone)]
pub(super) struct Readers {
    pub adjacencies: SlabReader<Adjacency>,
    pub ports: SlabReader<Port>,
    pub addresses: AddressReader,
    pub events: EventSender<Pending>,
    /// Questions by interface, IPv4 and IPv6.
    pub asked: [Rows<Counter>; 2],
    pub strict: SlabReader<Strict>,
}

/// One of the nodes.
#[derive(Clone)]
pub struct Resolver<F: Family, W> {
    readers: Readers,
    waiting: Waiting<F::Addr>,
    lately: Lately<F::Addr>,
    allowance: Allowance<F::Addr>,
    /// Whether control knows that packets wait.
    is_reported: bool,
    forwarding: Forwarding<F::Family>,
    of: PhantomData<W>,
}

/// Edges of [`Resolver`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<F: Family> {
    /// Try again.
    #[to(F::LOOKUP)]
    Lookup(F),
    /// An ICMP error to the sender.
    #[to(F::NODES.icmp_error, payload = Problem)]
    Unreachable(F),
    /// A question, to the output of the interface.
    #[to("interface-output")]
    Output(F),
    /// Try again, a packet of the other version.
    #[to(F::Other::LOOKUP)]
    OtherLookup(F),
    /// Tell the sender of a packet of the other version.
    #[to(F::Other::NODES.icmp_error, payload = Problem)]
    OtherUnreachable(F),
}

impl<F: Family> Next<F> {
    fn lookup(p: &Buffer<'_>) -> Self {
        if is_own::<F>(p) { Self::Lookup(F::SELF) } else { Self::OtherLookup(F::SELF) }
    }
    /// Notes the problem on the packet, too.
    fn unreachable(p: &mut Buffer<'_>) -> Self {
        if is_own::<F>(p) {
            p.set_payload(F::UNREACHABLE);
            return Self::Unreachable(F::SELF);
        }
        p.set_payload(F::Other::UNREACHABLE);
        Self::OtherUnreachable(F::SELF)
    }
}

/// Whether a packet is of this version: it may be on its way to a neighbour that is known by an
/// address of the other one (RFC 8950).
fn is_own<F: Family>(p: &Buffer<'_>) -> bool {
    p.bytes().first().is_none_or(|first| usize::from(first >> 4) == 4 + 2 * F::INDEX)
}

impl<F: Family, W: ResolveTarget> Node for Resolver<F, W> {
    const NAME: &'static str = F::ASKERS[W::AT];
    const EXPLAINABLE: bool = true;
    type Next = Next<F>;
    type Error = F::Reason;
    type Count = F::Count;
    const DROP: &'static str = F::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let now = frame.now();
        for held in frame.take() {
            self.hold(frame, held, now);
        }
        self.report();
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.waiting.forget(|_| true, |held| frame.discard(held, F::CROWDED));
    }
}

impl<F: Family, W: ResolveTarget> Resolver<F, W> {
    pub(super) fn new(readers: Readers, forwarding: Forwarding<F::Family>) -> Self {
        Self {
            readers,
            waiting: Waiting::new(),
            lately: Lately::new(),
            allowance: Allowance::new(),
            is_reported: false,
            forwarding,
            of: PhantomData,
        }
    }
    fn hold<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>, mut held: Held, now: f64) {
        let epoch = frame.epoch();
        let mut p = held.buffer();
        let adjacency = self.readers.adjacencies.read(p.adjacency(), epoch);
        let Some(interface) = adjacency.map(|a| a.interface) else {
            return frame.discard(held, F::NOT_ASKABLE);
        };
        let Some(addr) = adjacency.and_then(|a| W::of::<F>(a, &p)) else {
            let next = Next::lookup(&p);
            frame.count(F::RESOLVED, 1);
            return frame.send(held, next);
        };
        if let Some(table) = self.own_table(&p, interface.0, epoch) {
            p.set_fib(table);
            return frame.send(held, Next::Lookup(F::SELF));
        }
        let waits = (interface.0, F::any(addr));
        let is_local = p.flags().has(Flags::LOCAL);
        if is_own::<F>(&p) {
            frame.packet_of(&mut held).trace(|p| WaitTrace::<F>(waits, Headers::of(p)));
        } else {
            frame.packet_of(&mut held).trace(|p| WaitTrace::<F::Other>(waits, Headers::of(p)));
        }
        let key = (interface.0, addr);
        let holds = self.readers.strict.read(interface.0, epoch).is_none_or(|strict| !strict.0);
        frame.packet_of(&mut held).say(|_| {
            move |_| match holds {
                true => "it waits for the answer, and goes on from the lookup then".to_owned(),
                false => "packets do not wait on this interface".to_owned(),
            }
        });
        let asks = match holds {
            true => self.waiting.asks(key, now, F::PAUSE),
            false => self.lately.asks(key, now),
        };
        if asks {
            if let Err(why) = self.ask(frame, key, is_local) {
                return frame.discard(held, why);
            }
        } else {
            frame.count(F::THROTTLED, 1);
        }
        if !holds {
            return frame.discard(held, F::NOT_HELD);
        }
        while let Some(older) = self.waiting.make_room(key) {
            frame.discard(older, F::CROWDED);
        }
        self.waiting.push(key, held, now);
    }
    /// The table of the interface of a connected network, if a packet came there by another and its
    /// destination is a neighbour there, or our own.
    fn own_table(&self, p: &Buffer<'_>, interface: u32, epoch: Epoch<'_>) -> Option<u16> {
        let port = self.readers.ports.read(interface, epoch)?;
        let table = F::Family::table(port).filter(|table| *table != p.fib())?;
        if W::AT != Destination::AT || !is_own::<F>(p) {
            return None;
        }
        let lpm = self.forwarding.table(table, epoch)?;
        let leaf = lpm.lookup(<F::Family as fib::Headers>::destination(p), epoch);
        let is_known = match self.forwarding.load_balance(leaf, epoch).single()? {
            Via::Receive(on) => on == interface,
            Via::Adjacency(index) => {
                let a = self.readers.adjacencies.read(index.0, epoch);
                let hop = a.filter(|a| a.interface.0 == interface).map(|a| F::addr(a.next_hop));
                hop == Some(F::destination(p))
            }
            _ => false,
        };
        is_known.then_some(table)
    }
    /// Sends a question, unless there have been too many, or no buffer is left for it; `is_own`
    /// where no packet of others is why.
    fn ask<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        key: Key<F::Addr>,
        is_own: bool,
    ) -> Result<(), F::Reason> {
        let epoch = frame.epoch();
        let port = self.readers.ports.read(key.0, epoch);
        let mac = port.map(|p| p.mac).ok_or(F::NOT_ASKABLE)?;
        let ours = &self.readers.addresses;
        let source = F::source(ours, key.0, key.1, epoch).ok_or(F::NO_SOURCE)?;
        if !self.allowance.takes(key, is_own, frame.now()) {
            frame.count(F::THROTTLED, 1);
            return Ok(());
        }
        let question = F::question(mac, source, key.1);
        let sent = frame.fresh().is_some_and(|mut new| {
            let fits = new.append(question.as_bytes()).is_some();
            new.set_tx(key.0);
            new.add_flags(Flags::LOCAL);
            if fits {
                new.send(Next::Output(F::SELF));
            }
            fits
        });
        frame.count(if sent { F::ASKED } else { F::NO_BUFFER }, 1);
        if sent {
            count(&self.readers.asked[F::INDEX], frame.thread(), key.0);
        }
        Ok(())
    }
    /// Asks for neighbours that routes lead to, as far as questions may be sent now. For control.
    pub(super) fn ask_for<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        missing: &[(InterfaceIndex, IpAddr)],
    ) {
        for (interface, addr) in missing {
            if let Some(addr) = F::addr(*addr) {
                // Without an address of ours there can be no request; packets that need it are
                // counted so.
                let _ = self.ask(frame, (interface.0, addr), true);
            }
        }
    }
    /// Tells control that packets wait, until it has heard.
    fn report(&mut self) {
        if !self.is_reported && !self.waiting.is_empty() {
            self.is_reported = self.readers.events.send(Pending);
        }
    }
    /// Sends on what waits for these neighbours, which are known now. For control.
    pub(super) fn release<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        known: &[(InterfaceIndex, IpAddr)],
    ) {
        for (interface, addr) in known {
            let Some(addr) = F::addr(*addr) else { continue };
            self.allowance.note((interface.0, addr));
            while let Some(mut held) = self.waiting.pop((interface.0, addr)) {
                let next = Next::lookup(&held.buffer());
                frame.send(held, next);
            }
        }
    }
    /// Repeats requests, or gives up, where no answer arrived in time. For control, several times a
    /// second.
    pub(super) fn tick<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        for (key, due) in self.waiting.due(frame.now()) {
            let asked = if due == Due::Question { self.ask(frame, key, false) } else { Ok(()) };
            if due == Due::Question && asked.is_ok() {
                continue;
            }
            while let Some(mut held) = self.waiting.pop(key) {
                if let Err(why) = asked {
                    frame.discard(held, why);
                    continue;
                }
                let mut p = frame.packet_of(&mut held);
                p.error(F::UNANSWERED);
                let next = Next::unreachable(&mut p);
                frame.send(held, next);
            }
        }
        self.is_reported = false;
        self.report();
    }
    /// Drops what waits for neighbours on an interface that goes, or in networks of it.
    pub(super) fn forget<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        interface: InterfaceIndex,
        within: Option<&[Prefix]>,
    ) {
        let is_within = |addr| within.is_none_or(|all| all.iter().any(|p| p.contains(addr)));
        let is_meant = |(number, addr)| number == interface.0 && is_within(F::any(addr));
        self.waiting.forget(is_meant, |held| frame.discard(held, F::NOT_ASKABLE));
    }
}

/// Interface and address that a packet waits for, and its headers.
struct WaitTrace<V>((u32, IpAddr), Headers<V>);

impl<F: Family> Record for WaitTrace<F> {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((interface, addr), headers) = self;
        writeln!(f, "  waits for {addr} on {}", names.name("interface", *interface))?;
        headers.write(names, f)
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let Self((interface, addr), _) = self;
        let interface = names.name("interface", *interface);
        Some(vec![format!("the link-layer address of {addr} on {interface} is not resolved")])
    }
}
