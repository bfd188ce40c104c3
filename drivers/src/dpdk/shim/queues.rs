//! Both ends of a port's queues.

use std::ptr;
use std::sync::Arc;

use graph::FRAME;

use super::functions::{Received, ToSend};
use super::{Port, ROOM};

/// `FV_RX_GOOD`.
const RX_GOOD: u16 = 1;
/// `FV_TX_…`.
const TX_IP4: u16 = 1;
const TX_IP6: u16 = 2;
const TX_TCP: u16 = 4;
const TX_UDP: u16 = 8;
const TX_MORE: u16 = 16;

/// Empty packets that are taken at a time.
const BATCH: usize = 64;
/// Pieces of a packet at most.
const MOST_PIECES: usize = 8;

/// A receive queue.
#[derive(Debug)]
pub struct Rx {
    port: Arc<Port>,
    queue: u16,
    /// Packets that came together.
    packets: Box<[Received; FRAME]>,
    /// Of these, those that were looked at, and all.
    at: usize,
    count: usize,
}

// SAFETY: the packets belong to the queue alone, which any thread may use that owns it.
unsafe impl Send for Rx {}

impl Rx {
    pub(super) fn new(port: Arc<Port>, queue: u16) -> Self {
        let none =
            Received { mbuf: ptr::null_mut(), data: ptr::null(), len: 0, pieces: 0, flags: 0 };
        Self { port, queue, packets: Box::new([none; FRAME]), at: 0, count: 0 }
    }
    /// Packets that wait, a frame at most.
    #[inline]
    pub fn waiting(&mut self) -> usize {
        if self.at == self.count {
            self.give_back();
            let (port, room) = (&self.port, self.packets.as_mut_ptr());
            // SAFETY: this is the only user of the queue, and the array has room for a frame.
            let count =
                unsafe { (port.dpdk.0.receive)(port.number, self.queue, room, FRAME as u32) };
            (self.at, self.count) = (0, (count as usize).min(FRAME));
        }
        self.count - self.at
    }
    /// Gives the bytes of the next packet to `take`, piece by piece. Whether its checksums are
    /// known to be right; `None` if there is no packet, or if `take` says so.
    #[inline]
    pub fn next(&mut self, mut take: impl FnMut(&[u8]) -> Option<()>) -> Option<bool> {
        let packet = *self.packets[..self.count].get(self.at)?;
        self.at += 1;
        // SAFETY: bytes of a packet that is ours until it is given back.
        take(unsafe { std::slice::from_raw_parts(packet.data, packet.len as usize) })?;
        let mut mbuf = packet.mbuf;
        for _ in 1..packet.pieces {
            let (mut data, mut len) = (ptr::null(), 0);
            // SAFETY: a piece of that packet; two values to write.
            mbuf = unsafe { (self.port.dpdk.0.next)(mbuf, &raw mut data, &raw mut len) };
            if mbuf.is_null() {
                break;
            }
            // SAFETY: as above.
            take(unsafe { std::slice::from_raw_parts(data, len as usize) })?;
        }
        Some(packet.flags & RX_GOOD != 0)
    }
    fn give_back(&mut self) {
        if self.count > 0 {
            // SAFETY: so many packets are ours, and are not looked at any more.
            unsafe {
                (self.port.dpdk.0.free_received)(self.packets.as_ptr(), self.count as u32);
            }
            (self.at, self.count) = (0, 0);
        }
    }
}

impl Drop for Rx {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Reason why a packet is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There are no free packets.
    Full,
    /// Too long to be sent.
    TooLong,
}

/// A checksum that the device is to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The packet is IPv6.
    pub is_ip6: bool,
    /// Of TCP, else of UDP.
    pub is_tcp: bool,
    /// Bytes of the headers before IP.
    pub l2: u8,
    /// Bytes of the IP headers.
    pub l3: u8,
}

/// A transmit queue.
#[derive(Debug)]
pub struct Tx {
    port: Arc<Port>,
    queue: u16,
    sends_pieces: bool,
    /// Packets that are filled, and empty ones after them.
    stock: Box<[ToSend; FRAME]>,
    filled: usize,
    there: usize,
    lost: u64,
}

// SAFETY: the packets belong to the queue alone, which any thread may use that owns it.
unsafe impl Send for Tx {}

impl Tx {
    pub(super) fn new(port: Arc<Port>, queue: u16, sends_pieces: bool) -> Self {
        let none = ToSend {
            mbuf: ptr::null_mut(),
            data: ptr::null_mut(),
            len: 0,
            flags: 0,
            l2_len: 0,
            l3_len: 0,
        };
        let stock = Box::new([none; FRAME]);
        Self { port, queue, sends_pieces, stock, filled: 0, there: 0, lost: 0 }
    }
    /// Puts a packet of so many bytes on its way.
    ///
    /// # Errors
    /// [`Refused`]; nothing of it is sent.
    #[inline]
    pub fn put<'p>(
        &mut self,
        len: usize,
        segments: impl Iterator<Item = &'p [u8]>,
        checksum: Option<Checksum>,
    ) -> Result<(), Refused> {
        let count = len.div_ceil(ROOM).max(1);
        if count > if self.sends_pieces { MOST_PIECES } else { 1 } {
            return Err(Refused::TooLong);
        }
        if self.filled + count > self.there && !self.refill(count) {
            return Err(Refused::Full);
        }
        let pieces = &mut self.stock[self.filled..self.filled + count];
        let mut at = 0;
        for piece in &mut *pieces {
            (piece.len, piece.flags) = (0, TX_MORE);
        }
        for mut bytes in segments {
            while let Some(piece) = pieces.get_mut(at).filter(|_| !bytes.is_empty()) {
                let used = piece.len as usize;
                let (now, rest) = bytes.split_at(bytes.len().min(ROOM - used));
                // SAFETY: an empty packet has room for `ROOM` bytes, and these end there at most.
                unsafe { ptr::copy_nonoverlapping(now.as_ptr(), piece.data.add(used), now.len()) };
                piece.len += now.len() as u32;
                bytes = rest;
                at += usize::from(piece.len as usize == ROOM);
            }
        }
        pieces[count - 1].flags = 0;
        if let Some(Checksum { is_ip6, is_tcp, l2, l3 }) = checksum {
            let first = &mut pieces[0];
            (first.l2_len, first.l3_len) = (l2, l3);
            first.flags |= if is_ip6 { TX_IP6 } else { TX_IP4 };
            first.flags |= if is_tcp { TX_TCP } else { TX_UDP };
        }
        self.filled += count;
        Ok(())
    }
    /// Makes sure of so many empty packets.
    fn refill(&mut self, count: usize) -> bool {
        if self.filled + count > FRAME {
            self.flush();
        }
        let end = FRAME.min(self.there + count.max(BATCH));
        let free = &mut self.stock[self.there..end];
        // SAFETY: the array has room for as many.
        let got = unsafe { (self.port.dpdk.0.take)(free.as_mut_ptr(), free.len() as u32) };
        self.there += (got as usize).min(free.len());
        self.filled + count <= self.there
    }
    fn flush(&mut self) {
        if self.filled == 0 {
            return;
        }
        let (port, filled) = (&self.port, self.stock.as_ptr());
        // SAFETY: this is the only user of the queue; so many packets are ours and filled, and are
        // not looked at any more.
        let lost =
            unsafe { (port.dpdk.0.send)(port.number, self.queue, filled, self.filled as u32) };
        self.lost += u64::from(lost);
        self.stock.copy_within(self.filled..self.there, 0);
        self.there -= self.filled;
        self.filled = 0;
    }
    /// Sends what was put on its way; how many packets the device did not take since the last call.
    #[inline]
    pub fn send(&mut self) -> u64 {
        self.flush();
        std::mem::take(&mut self.lost)
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        // SAFETY: so many packets are ours, and are not looked at any more.
        unsafe { (self.port.dpdk.0.give)(self.stock.as_ptr(), self.there as u32) };
    }
}
