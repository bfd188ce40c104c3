//! Sessions of datagrams of each peer: a listener has a bounded number of them, and a new peer
//! takes the place of one that has been silent for long.

use std::collections::{BTreeMap, VecDeque};

use super::listeners::Listener;
use super::session::{Life, NONE};
use super::worker::Worker;

/// Sessions that are passed over at most, since datagrams have come, before one has to go.
const MERCY: usize = 16;

/// Sessions by listener, in the order in which they are looked at: index and generation. Some of
/// them may have ended.
pub type Peers = BTreeMap<u32, VecDeque<(u32, u32)>>;

impl Worker {
    /// Notes a session of a peer.
    pub fn note_peer(&mut self, index: u32) {
        let session = &self.sessions[index as usize];
        let (listener, name) = (session.listener, (index, session.generation));
        if listener != NONE {
            self.peers.entry(listener).or_default().push_back(name);
        }
    }
    /// Makes room for a new peer of a listener.
    pub fn make_room_for_peer(&mut self, listener: &Listener) {
        let Some(peers) = self.peers.get_mut(&listener.index) else { return };
        let mut peers = std::mem::take(peers);
        let mut spared = 0;
        while peers.len() >= listener.peers.max(1) as usize {
            let Some((index, generation)) = peers.pop_front() else { break };
            let is_there = self.at(index, generation).is_some_and(|s| s.life != Life::AppClosed);
            if !is_there {
                continue;
            }
            let session = &mut self.sessions[index as usize];
            if session.is_heard && spared < MERCY {
                session.is_heard = false;
                spared += 1;
                peers.push_back((index, generation));
            } else if session.life == Life::Accepting {
                // The application knows nothing of it.
                self.remove(index);
            } else {
                self.withdraw_at(index);
            }
        }
        self.peers.insert(listener.index, peers);
    }
}
