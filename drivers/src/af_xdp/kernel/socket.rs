//! A socket on one queue of a device, with its memory and rings.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use libc::{XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING};
use libc::{XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_options,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XdpOptionsFlags, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use super::ring::{Descriptor, Ring};
use super::umem::{FRAME, Umem};

/// Pieces of a packet at most.
const MOST_PIECES: usize = 17;

/// Whether the device writes to the memory itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// If it can.
    #[default]
    Auto,
    /// No, the kernel copies.
    Copy,
    /// Yes, or there is no socket.
    ZeroCopy,
}

/// Options of a socket.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Receive and transmit ring sizes: powers of 2.
    pub sizes: (u32, u32),
    /// Copy mode.
    pub mode: Mode,
    /// Packets may be longer than a frame.
    pub is_multi_buffer: bool,
}

/// A socket and its two ends.
#[derive(Debug)]
pub struct Opened {
    /// The socket.
    pub socket: Arc<OwnedFd>,
    /// Receiving end.
    pub rx: Rx,
    /// Sending end.
    pub tx: Tx,
    /// The device writes to the memory itself.
    pub is_zero_copy: bool,
}

/// The receiving end.
#[derive(Debug)]
pub struct Rx {
    filled: Ring<Descriptor>,
    free: Ring<u64>,
    umem: Arc<Umem>,
    socket: Arc<OwnedFd>,
}

/// The sending end.
#[derive(Debug)]
pub struct Tx {
    to_send: Ring<Descriptor>,
    sent: Ring<u64>,
    /// Frames that nothing is in.
    free: Vec<u64>,
    umem: Arc<Umem>,
    socket: Arc<OwnedFd>,
    is_multi_buffer: bool,
}

/// Reason why a packet is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// All frames are on their way.
    Full,
    /// Too long to be sent.
    TooLong,
}

/// Opens a socket on a queue of a device.
///
/// # Errors
/// The kernel's: not permitted, in use, or not what the device can.
pub fn open(device: u32, queue: u32, options: &Options) -> io::Result<Opened> {
    let (rx_size, tx_size) = options.sizes;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)?;
    let umem = Arc::new(Umem::new((rx_size + tx_size) as usize)?);
    let (addr, len) = umem.place();
    let region = XdpUmemReg {
        addr,
        len,
        chunk_size: FRAME as u32,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    set_xdp_umem_reg(&socket, region)?;
    set_xdp_umem_fill_ring_size(&socket, rx_size)?;
    set_xdp_umem_completion_ring_size(&socket, tx_size)?;
    set_xdp_rx_ring_size(&socket, rx_size)?;
    set_xdp_tx_ring_size(&socket, tx_size)?;
    let offsets = xdp_mmap_offsets(&socket)?;
    let mut free = Ring::map(&socket, XDP_UMEM_PGOFF_FILL_RING, offsets.fr, rx_size)?;
    let sent = Ring::map(&socket, XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr, tx_size)?;
    let filled = Ring::map(&socket, XDP_PGOFF_RX_RING as u64, offsets.rx, rx_size)?;
    let to_send = Ring::map(&socket, XDP_PGOFF_TX_RING as u64, offsets.tx, tx_size)?;
    let frame = |n: u32| u64::from(n) * FRAME as u64;
    let all: Vec<u64> = (0..rx_size).map(frame).collect();
    free.put(&all);
    let is_multi_buffer = options.is_multi_buffer;
    let mut flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
    match options.mode {
        Mode::Auto => (),
        Mode::Copy => flags |= SocketAddrXdpFlags::XDP_COPY,
        Mode::ZeroCopy => flags |= SocketAddrXdpFlags::XDP_ZEROCOPY,
    }
    if is_multi_buffer {
        flags |= SocketAddrXdpFlags::XDP_USE_SG;
    }
    bind(&socket, &SocketAddrXdp::new(flags, device, queue))?;
    let is_zero_copy = xdp_options(&socket)?.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
    let socket = Arc::new(socket);
    let rx = Rx { filled, free, umem: Arc::clone(&umem), socket: Arc::clone(&socket) };
    let free = (rx_size..rx_size + tx_size).map(frame).collect();
    let own = Arc::clone(&socket);
    let tx = Tx { to_send, sent, free, umem, socket: own, is_multi_buffer };
    Ok(Opened { socket, rx, tx, is_zero_copy })
}

impl Rx {
    /// Packets that wait, or pieces of packets.
    pub fn waiting(&self) -> usize {
        self.filled.filled() as usize
    }
    /// Gives the bytes of the next packet to `take`, piece by piece, and the frames back. False if
    /// `take` or the packet was no good; what there was of it is gone then.
    pub fn next(&mut self, mut take: impl FnMut(&[u8]) -> Option<()>) -> bool {
        let mut is_good = true;
        while let Some(Descriptor { addr, len, options }) = self.filled.take() {
            let bytes = self.umem.bytes(addr, len as usize);
            is_good &= bytes.and_then(&mut take).is_some();
            // There is room: a frame came out of it for each that is in the other ring.
            self.free.put(&[addr & !(FRAME as u64 - 1)]);
            if options & Descriptor::CONTINUES == 0 {
                return is_good;
            }
        }
        false
    }
    /// Wakes the kernel, if it waits.
    pub fn wake(&self) {
        if self.free.wants_wakeup() {
            // Nothing is received by it.
            let _ = recv(&*self.socket, &mut [0; 0][..], RecvFlags::DONTWAIT);
        }
    }
}

impl Tx {
    /// Takes back frames that were sent.
    pub fn collect(&mut self) {
        while let Some(addr) = self.sent.take() {
            self.free.push(addr & !(FRAME as u64 - 1));
        }
    }
    /// Puts a packet of so many bytes on its way.
    ///
    /// # Errors
    /// [`Refused`]; nothing of it is sent.
    pub fn put<'p>(
        &mut self,
        len: usize,
        segments: impl Iterator<Item = &'p [u8]>,
    ) -> Result<(), Refused> {
        let count = len.div_ceil(FRAME).max(1);
        let most = if self.is_multi_buffer { MOST_PIECES } else { 1 };
        if count > most {
            return Err(Refused::TooLong);
        }
        if self.free.len() < count || (self.to_send.free() as usize) < count {
            return Err(Refused::Full);
        }
        let mut pieces = [Descriptor::default(); MOST_PIECES];
        for piece in &mut pieces[..count] {
            piece.addr = self.free.pop().ok_or(Refused::Full)?;
            piece.options = Descriptor::CONTINUES;
        }
        pieces[count - 1].options = 0;
        let (mut at, mut is_good) = (0, true);
        for mut bytes in segments {
            while !bytes.is_empty() && at < count {
                let piece = &mut pieces[at];
                let used = piece.len as usize;
                let (now, rest) = bytes.split_at(bytes.len().min(FRAME - used));
                is_good &= self.umem.fill(piece.addr, used, now).is_some();
                piece.len += now.len() as u32;
                bytes = rest;
                at += usize::from(piece.len as usize == FRAME);
            }
        }
        if is_good && self.to_send.put(&pieces[..count]) {
            return Ok(());
        }
        self.free.extend(pieces[..count].iter().map(|piece| piece.addr));
        Err(Refused::Full)
    }
    /// Makes the kernel send queued packets, if it waits.
    pub fn wake(&mut self) {
        /// The kernel sends some 32 packets for one call.
        const MOST_CALLS: usize = 16;
        for _ in 0..MOST_CALLS {
            if self.to_send.waiting() == 0 || !self.to_send.wants_wakeup() {
                return;
            }
            match send(&*self.socket, &[], SendFlags::DONTWAIT) {
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => (),
                // The queue of the device is full, or it is switched off.
                Err(_) => return,
            }
        }
    }
}
