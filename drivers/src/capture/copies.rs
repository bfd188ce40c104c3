//! Copies of packets on their way from data-plane threads to a file.
//!
//! Each thread has a lane of its own: a ring that a writer empties. A thread never waits for the
//! writer: what finds its lane full is lost, and counted.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use graph::NodeIndex;
use infra::counter::{Counter, Rows};
use infra::ring::{Receiver, Sender, channel};

use super::dispatch::Visit;

/// Copies in a lane at most.
const MOST: usize = 8192;
/// Bytes of these at most.
const MOST_BYTES: usize = 32 << 20;

/// First header of a packet, as capture files number it
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link(pub u16);

impl Link {
    /// An Ethernet header.
    pub const ETHERNET: Self = Self(1);
    /// A header of IPv4 or IPv6.
    pub const RAW: Self = Self(101);
    /// Some other header: the first number for users' own.
    pub const OTHER: Self = Self(147);
}

/// The reason why a packet is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Received.
    Rx,
    /// Transmitted.
    Tx,
    /// Dropped, or answered by an ICMP error.
    Drop,
    /// At a node of interest.
    Node,
}

/// A copy of a packet.
pub struct PacketCopy {
    /// Nanoseconds on the router's clock.
    pub at: u64,
    /// The node that was given the packet, and why it was copied there.
    pub node: NodeIndex,
    /// The reason of the copy.
    pub place: Place,
    /// The data-plane thread.
    pub thread: usize,
    /// The interface it belongs to.
    pub interface: u32,
    /// Its first header.
    pub link: Link,
    /// The counter of the reason why it is dropped.
    pub reason: u32,
    /// Length of the packet in bytes.
    pub len: usize,
    /// As much of it as is kept.
    pub bytes: Vec<u8>,
    /// More of it, where every node is of interest.
    pub visit: Option<Box<Visit>>,
}

/// The lanes of all threads there may be.
pub struct Lanes {
    /// By thread. Only that thread locks its lane, so it finds it open.
    lanes: Box<[Mutex<Lane>]>,
    lost: Rows<Counter>,
}

struct Lane {
    sender: Sender<PacketCopy>,
    /// Bytes of the copies sent last, of some that were taken out as well.
    sizes: VecDeque<usize>,
    bytes: usize,
}

impl Lane {
    /// Whether there is room for a copy of this size.
    fn has_room(&mut self, size: usize) -> bool {
        while self.sizes.len() > self.sender.len() {
            self.bytes -= self.sizes.pop_front().unwrap_or(0);
        }
        self.sizes.len() < self.sender.capacity() && self.bytes + size <= MOST_BYTES
    }
}

impl Lanes {
    /// Lanes of `threads` threads, and their other ends.
    ///
    /// # Errors
    /// The kernel's, when it refuses memory.
    pub fn new(threads: usize) -> io::Result<(Self, Vec<Receiver<PacketCopy>>)> {
        let lost = Rows::new(threads, 1)?;
        let (lanes, receivers) = (0..threads)
            .map(|_| {
                let (sender, receiver) = channel(MOST);
                (Mutex::new(Lane { sender, sizes: VecDeque::new(), bytes: 0 }), receiver)
            })
            .unzip::<_, _, Vec<_>, _>();
        Ok((Self { lanes: lanes.into(), lost }, receivers))
    }
    /// Puts a copy of `size` bytes into the lane of `thread`, on that thread, if there is room.
    pub fn send(&self, thread: usize, size: usize, copy: impl FnOnce() -> PacketCopy) {
        let Some(lane) = self.lanes.get(thread) else { return };
        let mut lane = lane.lock().unwrap_or_else(PoisonError::into_inner);
        if lane.has_room(size) && lane.sender.try_send(copy()).is_ok() {
            lane.sizes.push_back(size);
            lane.bytes += size;
        } else {
            self.lost.row(thread)[0].add(1);
        }
    }
    /// Copies that found no room so far.
    pub fn lost(&self) -> u64 {
        self.lost.sum(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(len: usize) -> PacketCopy {
        PacketCopy {
            at: 0,
            node: NodeIndex(0),
            place: Place::Rx,
            thread: 0,
            interface: 1,
            link: Link::ETHERNET,
            reason: 0,
            len,
            bytes: Vec::new(),
            visit: None,
        }
    }

    #[test]
    fn what_finds_a_lane_full_is_lost_and_counted() {
        let (lanes, mut receivers) = Lanes::new(2).unwrap();
        (0..MOST + 3).for_each(|_| lanes.send(1, 10, || copy(10)));
        assert_eq!(lanes.lost(), 3);
        assert!(receivers[0].try_recv().is_none());
        assert!(receivers[1].try_recv().is_some());
        lanes.send(1, 10, || copy(11));
        lanes.send(0, 10, || copy(12));
        assert_eq!((lanes.lost(), receivers[0].try_recv().unwrap().len), (3, 12));
        assert_eq!(std::iter::from_fn(|| receivers[1].try_recv()).last().unwrap().len, 11);
        lanes.send(7, 10, || copy(0)); // no such thread
    }

    #[test]
    fn the_bytes_of_a_lane_are_bounded() {
        let (lanes, mut receivers) = Lanes::new(1).unwrap();
        let size = MOST_BYTES / 4;
        (0..5).for_each(|_| lanes.send(0, size, || copy(size)));
        assert_eq!(lanes.lost(), 1);
        receivers[0].try_recv().unwrap();
        (0..2).for_each(|_| lanes.send(0, size, || copy(size)));
        assert_eq!(lanes.lost(), 2, "there is room for one again");
    }
}
