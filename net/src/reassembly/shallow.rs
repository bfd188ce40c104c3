//! Fragments wait until the first of their packet has passed: shallow virtual reassembly.
//!
//! Later nodes that read ports meet the first fragment, which has them; those that follow it carry
//! its ports beside them ([`Buffer::ports`]), and so do earlier ones, which waited. The packet is
//! not reassembled: its fragments continue as they are. In extended mode, they wait for the last
//! one too, so that none passes of a packet of unknown length.
#![forbid(unsafe_code)]

use graph::{Buffer, Frame, Ports};

use super::gather::{Entry, Gather, Method, New, Next};
use super::pieces::{List, Piece};
use super::version::Reassemble;
use crate::drops::Problem;

/// Holds fragments back until the first of their packet has come.
#[derive(Clone, Copy)]
pub(super) struct Shallow;

/// A packet whose fragments come.
pub(super) struct Packet {
    /// Time of the latest fragment, in seconds.
    heard: f64,
    /// Ports of the first fragment, once it arrived.
    first: Option<Option<Ports>>,
    /// Whether the last has come.
    has_last: bool,
    /// Whether they wait no longer.
    is_open: bool,
    /// Packets that wait.
    list: List,
    count: u32,
}

impl Entry for Packet {
    fn list(&mut self) -> &mut List {
        &mut self.list
    }
    fn since(&self) -> f64 {
        self.heard
    }
    fn text(&self) -> String {
        let first = match self.first {
            None => "first fragment missing".to_owned(),
            Some(None) => "first fragment came".to_owned(),
            Some(Some(ports)) => {
                format!("first fragment came, ports {} -> {}", ports.src, ports.dst)
            }
        };
        format!("{first}, {} fragments wait", self.count)
    }
}

impl<V: Reassemble> Method<V> for Shallow {
    const TIMEOUT_PROBLEM: Option<Problem> = None;
    type Packet = Packet;
    const PASSES_FIRST: bool = true;

    fn new() -> Self {
        Self
    }
    fn take_in<const PLACE: usize, On: graph::Cpu>(
        node: &mut Gather<V, Self, PLACE>,
        frame: &mut Frame<'_, Gather<V, Self, PLACE>, On>,
        mut new: New<V>,
    ) {
        let Some(at) = find_or_make(node, frame, &new) else {
            return frame.discard(new.piece.packet, V::LIMIT);
        };
        node.table.touch(at);
        let Some(packet) = node.table.at(at) else { return };
        packet.heard = new.now;
        packet.has_last |= new.is_last;
        let mut p = new.piece.packet.buffer();
        if new.piece.from == 0 && packet.first.is_none() {
            match V::ports(p.bytes().get(new.l3..).unwrap_or(&[])) {
                Ok(ports) => packet.first = Some(ports),
                Err(unsupported) => return frame.discard(new.piece.packet, unsupported),
            }
        }
        if let Some(ports) = packet.first
            && (packet.is_open || packet.has_last || !new.is_extended)
        {
            if !packet.is_open {
                frame.count_as(V::SUCCESS, 1);
                packet.is_open = true;
            }
            // What they knew of the arc and the adjacency is of another loop.
            let (rx, tx, adjacency) = (p.rx(), p.tx(), p.adjacency());
            while let Some(Piece { packet: mut held, .. }) = node.pieces.pop(&mut packet.list) {
                let mut waiting = held.buffer();
                waiting.set_rx(rx);
                waiting.set_tx(tx);
                waiting.set_adjacency(adjacency);
                waiting.set_ports(ports);
                frame.send(held, Next::On(node.version));
            }
            packet.count = 0;
            p.set_ports(ports);
            return frame.send(new.piece.packet, Next::On(node.version));
        }
        if packet.count >= new.config.longest {
            return node.refuse(frame, at, new.piece.packet, V::TOO_MANY);
        }
        if !node.has_room(frame, new.rx, at) {
            return frame.discard(new.piece.packet, V::NO_BUFFERS);
        }
        let Some(packet) = node.table.at(at) else { return };
        packet.count += 1;
        node.pieces.push(&mut packet.list, new.piece);
    }
    fn take_only(_: &mut Buffer<'_>) {
        // It continues unchanged.
    }
}

/// The packet that a fragment belongs to; room for a new one is made by giving up the one that was
/// silent longest, rather of an interface that has more than its share. `None` when there may be
/// none.
fn find_or_make<V: Reassemble, const PLACE: usize, On: graph::Cpu>(
    node: &mut Gather<V, Shallow, PLACE>,
    frame: &mut Frame<'_, Gather<V, Shallow, PLACE>, On>,
    new: &New<V>,
) -> Option<u32> {
    if let Some(at) = node.find(frame, new) {
        return Some(at);
    }
    let limit = node.limit(&new.config);
    if limit == 0 {
        return None;
    }
    while node.table.len() >= limit
        && let Some(oldest) = node.table.oldest()
    {
        let (shares, share) = (node.table.shares(), node.table.shares().share(new.rx, limit));
        let gone = node.table.giving_way(shares, share, true).unwrap_or(oldest);
        node.give_up(frame, gone, None, V::LIMIT, None);
    }
    let packet = Packet {
        heard: new.now,
        first: None,
        has_last: false,
        is_open: false,
        list: List::EMPTY,
        count: 0,
    };
    Some(node.table.insert(new.key, new.rx, packet))
}
