//! The doors of a part: sockets of programs that listen, or that are bound for datagrams.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use lanes::{socket, talk};

use super::flow::{AT_ONCE, DATAGRAM};
use super::link::{Door, Got, read};

/// A door in a part.
pub struct Place {
    door: Arc<Door>,
    /// Whether this part reads what programs send.
    reads: bool,
    /// Whether there may be some.
    has_input: bool,
    /// A datagram for which there was no room.
    left: Vec<u8>,
}

/// All doors of a part.
#[derive(Default)]
pub struct Doors {
    all: BTreeMap<u32, Place>,
    by_listener: BTreeMap<u32, Vec<Arc<Door>>>,
    turn: usize,
}

impl Doors {
    /// Adds a door; false if the part has it.
    pub fn add(&mut self, door: &Arc<Door>, reads: bool) -> bool {
        if self.all.contains_key(&door.number) {
            return false;
        }
        let place = Place { door: Arc::clone(door), reads, has_input: reads, left: Vec::new() };
        self.all.insert(door.number, place);
        for listener in &door.listeners {
            self.by_listener.entry(*listener).or_default().push(Arc::clone(door));
        }
        true
    }
    /// Removes a door.
    pub fn remove(&mut self, number: u32) {
        self.all.remove(&number);
        self.by_listener.retain(|_, doors| {
            doors.retain(|door| door.number != number);
            !doors.is_empty()
        });
    }
    /// Whether a listener has doors.
    pub fn has(&self, listener: u32) -> bool {
        self.by_listener.contains_key(&listener)
    }
    /// Notes that a door may have input.
    pub fn note(&mut self, number: u32) {
        if let Some(place) = self.all.get_mut(&number) {
            place.has_input = place.reads;
        }
    }
    /// The doors of a listener, beginning with another one each time.
    pub fn in_turn(&mut self, listener: u32) -> impl Iterator<Item = &Door> {
        self.turn = self.turn.wrapping_add(1);
        let doors = self.by_listener.get(&listener).map_or(&[][..], |doors| doors);
        let (after, first) = doors.split_at(self.turn % doors.len().max(1));
        first.iter().chain(after).map(|door| &**door)
    }
    /// The door for a peer's datagrams: one that is connected to it, or one that is open to all.
    pub fn of_peer(&mut self, listener: u32, peer: SocketAddr) -> Option<&Door> {
        let doors = self.by_listener.get(&listener)?;
        let own = doors.iter().find(|door| door.peer.get() == Some(&peer));
        let open = || doors.iter().filter(|door| door.peer.get().is_none());
        // Datagrams of a peer stay together.
        let at = || usize::from(peer.port()) % open().count().max(1);
        own.or_else(|| open().nth(at())).map(|door| &**door)
    }
    /// Doors with datagrams to send.
    pub fn ready(&mut self) -> impl Iterator<Item = &mut Place> {
        self.all.values_mut().filter(|place| place.has_input || !place.left.is_empty())
    }
}

impl Place {
    /// Sends datagrams, as many as the budget allows; whether there are more. `send` returns false
    /// when it has no room: it is called again when that changes.
    pub fn send(
        &mut self,
        scratch: &mut [u8],
        budget: &mut usize,
        mut send: impl FnMut(&Door, SocketAddr, &[u8]) -> bool,
    ) -> bool {
        let (most, mut moved) = (AT_ONCE.min(*budget), 0);
        loop {
            if !self.left.is_empty() {
                if !pass(&self.door, &self.left, &mut send) {
                    break;
                }
                self.left.clear();
            }
            if !self.has_input || moved >= most {
                break;
            }
            match read(self.door.socket.fd(), scratch) {
                Got::Bytes(n) => {
                    moved += n + DATAGRAM;
                    if !pass(&self.door, &scratch[..n], &mut send) {
                        self.left.extend(&scratch[..n]);
                    }
                }
                _ => self.has_input = false,
            }
        }
        *budget = budget.saturating_sub(moved);
        self.has_input && self.left.is_empty()
    }
}

/// Sends a packet of a program, or connects the door; false without room.
fn pass(
    door: &Door,
    packet: &[u8],
    send: &mut impl FnMut(&Door, SocketAddr, &[u8]) -> bool,
) -> bool {
    let Some((head, body)) = packet.split_first_chunk::<{ talk::DATAGRAM }>() else { return true };
    let (_, end) = talk::datagram_of(head);
    if head[socket::VERB] == socket::TO_PEER {
        // It is connected once.
        let _ = door.peer.set(end);
        return true;
    }
    let to = if end.port() == 0 { door.peer.get().copied() } else { Some(end) };
    to.is_none_or(|to| send(door, to, body))
}
