//! The receive ring, TPACKET_V2 (Linux packet_mmap).

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use wire::virtio_net;
use wire::zerocopy::FromBytes;

use super::options::set;

/// Bytes of a slot: an Ethernet frame of the usual MTU with its headers.
const SLOT: usize = 2048;
/// Bytes that the kernel allocates in one piece.
const BLOCK: usize = 65536;
/// Bytes of the kernel's header at the start of a slot.
const HEADER: usize = size_of::<libc::tpacket2_hdr>();

/// The ring of one socket.
#[derive(Debug)]
pub struct Ring {
    base: NonNull<u8>,
    slots: usize,
    head: usize,
}

// SAFETY: the mapping belongs to the ring alone, which any thread may use that owns it.
unsafe impl Send for Ring {}

/// A slot that the kernel has filled.
#[derive(Debug)]
pub struct Slot<'r> {
    ring: &'r mut Ring,
    status: u32,
    header: libc::tpacket2_hdr,
}

impl Ring {
    /// Gives the socket a ring of `slots` slots (a multiple of 32) and maps it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(socket: impl AsFd, slots: usize) -> io::Result<Self> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set(&socket, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (slots * SLOT / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: slots as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice, of the size it was just asked
        // for.
        let base = unsafe {
            mmap(std::ptr::null_mut(), slots * SLOT, prot, MapFlags::SHARED, socket.as_fd(), 0)?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, slots, head: 0 })
    }
    /// Number of filled slots, counted up to `most`; their first lines are in the cache then.
    #[inline]
    pub fn filled(&self, most: usize) -> usize {
        let most = most.min(self.slots);
        let is_filled =
            |i: &usize| self.status((self.head + i) % self.slots).load(Ordering::Relaxed) != 0;
        (0..most).take_while(is_filled).count()
    }
    /// The oldest filled slot.
    #[inline]
    pub fn next(&mut self) -> Option<Slot<'_>> {
        let status = self.status(self.head).load(Ordering::Acquire);
        if status == 0 {
            return None;
        }
        // SAFETY: the slot is within the mapping, aligned, and the kernel does not write to it now.
        let header = unsafe { self.slot(self.head).cast::<libc::tpacket2_hdr>().read() };
        Some(Slot { ring: self, status, header })
    }
    fn slot(&self, n: usize) -> NonNull<u8> {
        debug_assert!(n < self.slots, "a slot outside the ring");
        // SAFETY: within the mapping.
        unsafe { self.base.add(n * SLOT) }
    }
    fn status(&self, n: usize) -> &AtomicU32 {
        // SAFETY: the status is the first word of the slot; both sides access it atomically.
        unsafe { self.slot(n).cast().as_ref() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; no slot borrows it any more. It cannot fail for a range
        // that is mapped, and there would be nothing to do.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.slots * SLOT) };
    }
}

impl Slot<'_> {
    /// Length of the packet in bytes.
    pub fn packet_len(&self) -> usize {
        self.header.tp_len as usize
    }
    /// Bytes of the packet in the slot; all of them if it is as long as the packet.
    pub fn bytes(&self) -> &[u8] {
        let from = usize::from(self.header.tp_mac);
        self.range(from, from + self.header.tp_snaplen as usize)
    }
    /// Offloads of the packet, from the kernel.
    pub fn offload(&self) -> virtio_net::Header {
        let end = usize::from(self.header.tp_mac);
        let bytes = self.range(end.saturating_sub(size_of::<virtio_net::Header>()), end);
        virtio_net::Header::read_from_bytes(bytes).unwrap_or_default()
    }
    /// The whole packet, too long for the slot, waits in the queue of the socket.
    pub fn is_queued(&self) -> bool {
        self.status & libc::TP_STATUS_COPY != 0
    }
    /// It was sent on the device, not received.
    pub fn is_outgoing(&self) -> bool {
        // `sll_pkttype` of the address after the header.
        const PACKET_TYPE: usize = HEADER + std::mem::offset_of!(libc::sockaddr_ll, sll_pkttype);
        self.range(PACKET_TYPE, PACKET_TYPE + 1) == [libc::PACKET_OUTGOING]
    }
    /// The VLAN tag that the kernel took off: EtherType and control word, in host order.
    pub fn tag(&self) -> Option<(u16, u16)> {
        let has = |bit| self.status & bit != 0;
        let kind =
            if has(libc::TP_STATUS_VLAN_TPID_VALID) { self.header.tp_vlan_tpid } else { 0x8100 };
        has(libc::TP_STATUS_VLAN_VALID).then_some((kind, self.header.tp_vlan_tci))
    }
    fn range(&self, from: usize, to: usize) -> &[u8] {
        if from < HEADER || to > SLOT || from > to {
            return &[];
        }
        // SAFETY: within the slot, which the kernel does not write to while its status is ours.
        unsafe {
            let start = self.ring.slot(self.ring.head).add(from);
            std::slice::from_raw_parts(start.as_ptr(), to - from)
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.ring.status(self.ring.head).store(0, Ordering::Release);
        self.ring.head = (self.ring.head + 1) % self.ring.slots;
    }
}
