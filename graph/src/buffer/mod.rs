//! Packet buffers: one 32-bit index names one, two cache lines of metadata come before the bytes.
//!
//! Safety contract: an index that is not free belongs to exactly one frame, queue or
//! [`Held`](crate::Held) at a time, and so to one thread. [`Buffer`] is only made by the engine
//! from an index the calling thread owns, borrowed for as long as it stays there; that makes the
//! accesses below exclusive. Offsets and lengths change only through methods that keep `offset +
//! len` inside the buffer, whose size is that of all pools and does not change ([`data_size`]).

mod layout;
mod metadata;
mod pool;
mod size;

pub use layout::{FIELDS, FRAME, Flags, HEADROOM, Inner, NONE, Ports};
pub(crate) use layout::{LINE, Snapshot};
pub use metadata::{Claim, Metadata};
pub(crate) use pool::Cache;
pub use pool::{Pool, PoolUse};
pub use size::{DATA_SIZES, SizeError, choose_data_size, data_size};

use std::marker::PhantomData;
use std::ptr::NonNull;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::node::Payload;
use layout::{DATA, Hot};

/// All that features note about a packet; inherited with any bit that is.
const NOTED: Metadata<[u8; LINE]> = Metadata::new("noted", 0, Flags::INHERITED_OF_FEATURES);

/// A packet buffer: metadata and the bytes of the first segment.
#[derive(Debug)]
pub struct Buffer<'p> {
    hot: NonNull<Hot>,
    index: u32,
    owner: PhantomData<&'p mut Hot>,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $get:ident, $set:ident: $ty:ty = $($field:ident).+;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $get(&self) -> $ty {
            self.hot().$($field).+
        }
        /// Sets it.
        #[inline(always)]
        pub fn $set(&mut self, value: $ty) {
            self.hot_mut().$($field).+ = value;
        }
    )*};
}

impl<'p> Buffer<'p> {
    /// The buffer behind an index.
    ///
    /// # Safety
    /// `base` is the start of the pool that `index` belongs to, and the caller owns the index for
    /// `'p`.
    #[inline(always)]
    pub(crate) unsafe fn new(base: NonNull<u8>, index: u32) -> Self {
        // SAFETY: an index is the offset of a buffer from the base in cache lines.
        let hot = unsafe { base.add(index as usize * 64).cast() };
        Self { hot, index, owner: PhantomData }
    }
    #[inline(always)]
    fn hot(&self) -> &Hot {
        // SAFETY: the module's contract: live and ours alone.
        unsafe { self.hot.as_ref() }
    }
    /// A copy of the fields that every node may change.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(*self.hot())
    }
    #[inline(always)]
    fn hot_mut(&mut self) -> &mut Hot {
        // SAFETY: the module's contract: live and ours alone.
        unsafe { self.hot.as_mut() }
    }
    /// Value that a feature has noted in a place of the second line; `None` without one.
    #[inline(always)]
    pub fn metadata<T: FromBytes + IntoBytes + Immutable>(&self, place: &Metadata<T>) -> Option<T> {
        let at = self.hot.as_ptr().wrapping_add(1).wrapping_byte_add(place.at).cast::<T>();
        // SAFETY: the second line of a buffer is ours as the first is. The place lies in it and is
        // aligned, and any bytes are a `T`: those of another feature's type at worst.
        self.flags().has(place.flag).then(|| unsafe { at.read() })
    }
    /// Notes something there.
    #[inline(always)]
    pub fn set_metadata<T: FromBytes + IntoBytes + Immutable>(
        &mut self,
        place: &Metadata<T>,
        value: T,
    ) {
        let at = self.hot.as_ptr().wrapping_add(1).wrapping_byte_add(place.at).cast::<T>();
        // SAFETY: as in `metadata`; it has no other user.
        unsafe { at.write(value) };
        self.add_flags(place.flag);
    }
    /// The ports of the packet that this fragment is a part of, when the first fragment had some
    /// and has been seen.
    pub fn ports(&self) -> Option<Ports> {
        self.metadata(&Ports::PLACE)
    }
    /// Sets what [`Buffer::ports`] says.
    pub fn set_ports(&mut self, ports: Option<Ports>) {
        self.clear_flags(Flags::PORTS);
        if let Some(ports) = ports {
            self.set_metadata(&Ports::PLACE, ports);
        }
    }
    /// Positions of the headers of a packet in a tunnel that has offloads pending.
    pub fn inner(&self) -> Option<Inner> {
        self.metadata(&Inner::PLACE)
    }
    /// Sets what [`Buffer::inner`] says.
    pub fn set_inner(&mut self, inner: Option<Inner>) {
        self.clear_flags(Flags::TUNNEL);
        if let Some(inner) = inner {
            self.set_metadata(&Inner::PLACE, inner);
        }
    }
    fields! {
        /// Receive interface of the packet.
        rx, set_rx: u32 = rx;
        /// Transmit interface of the packet.
        tx, set_tx: u32 = tx;
        /// Flags of the packet.
        flags, set_flags: Flags = flags;
        /// Hash of its flow; meaningful with [`Flags::HASH`].
        flow_hash, set_flow_hash: u32 = flow_hash;
        /// Index of the FIB to look it up in.
        fib, set_fib: u16 = fib;
        /// Adjacency or path group chosen by a lookup.
        adjacency, set_adjacency: u32 = adjacency;
        /// Payload bytes of one segment after segmentation; 0 for a packet that fits.
        gso_size, set_gso_size: u16 = gso_size;
        /// Number of the counter that says why it is dropped; 0 for none.
        error, set_error: u32 = error;
        /// Handle of its trace; meaningful with [`Flags::TRACED`].
        trace_handle, set_trace_handle: u16 = trace;
        /// Offset of the layer 2 header from the start of the data area, in bytes; may be negative.
        l2_offset, set_l2_offset: i16 = l2;
        /// Offset of the layer 3 header.
        l3_offset, set_l3_offset: i16 = l3;
        /// Offset of the layer 4 header.
        l4_offset, set_l4_offset: i16 = l4;
    }
    /// Sets some flags more.
    #[inline(always)]
    pub fn add_flags(&mut self, flags: Flags) {
        let hot = self.hot_mut();
        hot.flags = hot.flags.with(flags);
    }
    /// Clears some flags.
    #[inline(always)]
    pub fn clear_flags(&mut self, flags: Flags) {
        let hot = self.hot_mut();
        hot.flags = hot.flags.without(flags);
    }
    /// Its index.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.index
    }
    /// Offset of the current bytes from the start of the data area; negative in the headroom.
    #[inline(always)]
    pub fn offset(&self) -> i16 {
        self.hot().offset
    }
    /// Length of the first segment in bytes.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        usize::from(self.hot().len)
    }
    /// Length of the whole packet in bytes.
    #[inline(always)]
    pub fn total_len(&self) -> usize {
        let hot = self.hot();
        usize::from(hot.len) + if hot.flags.has(Flags::CHAINED) { hot.rest as usize } else { 0 }
    }
    #[inline(always)]
    fn start(&self) -> *mut u8 {
        // SAFETY: offsets stay within the buffer, see the module's contract.
        unsafe { self.hot.as_ptr().cast::<u8>().offset(DATA + isize::from(self.hot().offset)) }
    }
    /// Current bytes of the first segment.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `offset + len` lies within the buffer, which is ours alone.
        unsafe { std::slice::from_raw_parts(self.start(), self.len()) }
    }
    /// Current bytes of the first segment, for rewriting.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len()) }
    }
    /// Current bytes of the first segment, for as long as the packet is the caller's.
    #[inline(always)]
    pub fn into_bytes(self) -> &'p mut [u8] {
        // SAFETY: as in `bytes_mut`; this was the only handle to the packet for 'p.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len()) }
    }
    /// Bytes from an offset as [`Buffer::l3_offset`] gives it, to the end of the segment; empty
    /// outside it.
    pub fn bytes_from(&self, offset: i16) -> &[u8] {
        let hot = self.hot();
        let end = i32::from(hot.offset) + i32::from(hot.len);
        if offset < -(HEADROOM as i16) || i32::from(offset) > end {
            return &[];
        }
        // SAFETY: from within the headroom or data up to the end of the current bytes.
        unsafe {
            let at = self.hot.as_ptr().cast::<u8>().offset(DATA + isize::from(offset));
            std::slice::from_raw_parts(at, (end - i32::from(offset)) as usize)
        }
    }
    /// The header at the current position, or `None` when the segment is too short.
    #[inline(always)]
    pub fn header<H: FromBytes + KnownLayout + Immutable + Unaligned>(&self) -> Option<&H> {
        H::ref_from_prefix(self.bytes()).ok().map(|(h, _)| h)
    }
    /// The header at the current position, for rewriting.
    #[inline(always)]
    pub fn header_mut<H: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned>(
        &mut self,
    ) -> Option<&mut H> {
        H::mut_from_prefix(self.bytes_mut()).ok().map(|(h, _)| h)
    }
    /// Moves the start forward over `n` bytes (a header that was read), or says `None` and does
    /// nothing.
    #[inline(always)]
    pub fn advance(&mut self, n: usize) -> Option<()> {
        let hot = self.hot_mut();
        hot.len = hot.len.checked_sub(u16::try_from(n).ok()?)?;
        hot.offset += n as i16;
        Some(())
    }
    /// Room in front in bytes.
    #[inline(always)]
    pub fn headroom(&self) -> usize {
        (i32::from(self.hot().offset) + HEADROOM as i32).max(0) as usize
    }
    /// Moves the start back over `n` bytes of headroom and returns them, or `None` without room.
    #[inline(always)]
    pub fn prepend(&mut self, n: usize) -> Option<&mut [u8]> {
        let hot = self.hot_mut();
        let offset = i32::from(hot.offset) - n as i32;
        if offset < -(HEADROOM as i32) {
            return None;
        }
        hot.offset = offset as i16;
        hot.len += n as u16;
        self.bytes_mut().get_mut(..n)
    }
    /// Makes `n` bytes of room in front, and leaves headroom for the headers of a link: what is in
    /// the first segment moves back when there is too little. `None` when it does not fit there.
    pub fn make_room(&mut self, n: usize) -> Option<&mut [u8]> {
        const KEPT: i32 = 48;
        if i32::from(self.offset()) - n as i32 >= KEPT - HEADROOM as i32 {
            return self.prepend(n);
        }
        let len = self.bytes().len();
        self.append_with(n)?;
        self.bytes_mut().copy_within(..len, n);
        self.bytes_mut().get_mut(..n)
    }
    /// Puts `header` in front and returns it for the last edits; `None` without headroom.
    #[inline(always)]
    pub fn prepend_header<H: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned>(
        &mut self,
        header: &H,
    ) -> Option<&mut H> {
        self.prepend(size_of::<H>())?.copy_from_slice(header.as_bytes());
        self.header_mut()
    }
    /// Puts `bytes` after the first segment; `None` and unchanged when they do not fit.
    #[inline(always)]
    pub fn append(&mut self, bytes: &[u8]) -> Option<()> {
        self.append_with(bytes.len())?.copy_from_slice(bytes);
        Some(())
    }
    /// Lengthens the first segment by `n` bytes of unspecified content and returns them.
    #[inline(always)]
    pub fn append_with(&mut self, n: usize) -> Option<&mut [u8]> {
        let hot = self.hot_mut();
        let end = i32::from(hot.offset) + i32::from(hot.len);
        // The end itself may lie in the headroom.
        if i64::from(end) + n as i64 > data_size() as i64 {
            return None;
        }
        let old = usize::from(hot.len);
        hot.len += n as u16;
        self.bytes_mut().get_mut(old..)
    }
    /// Room after the first segment in bytes.
    #[inline(always)]
    pub fn tailroom(&self) -> usize {
        let end = i32::from(self.hot().offset) + i32::from(self.hot().len);
        (data_size() as i32 - end).max(0) as usize
    }
    /// Shortens the first segment to `n` bytes; longer is left alone.
    #[inline(always)]
    pub fn truncate(&mut self, n: usize) {
        let hot = self.hot_mut();
        hot.len = hot.len.min(n.min(usize::from(u16::MAX)) as u16);
    }
    /// Puts a payload on the packet, for the node at the end of the edge it takes.
    #[inline(always)]
    pub fn set_payload<P: Payload>(&mut self, payload: P) {
        const { assert!(size_of::<P>() <= 16) };
        if let Some(room) = self.hot_mut().payload.get_mut(..size_of::<P>()) {
            room.copy_from_slice(payload.as_bytes());
        }
    }
    /// The payload that came along the edge. Which type it is was checked when the graph was built.
    #[inline(always)]
    pub fn payload<P: Payload>(&self) -> P {
        const { assert!(size_of::<P>() <= 16) };
        let bytes = self.hot().payload.get(..size_of::<P>()).unwrap_or(&[]);
        P::read_from_bytes(bytes).unwrap_or_else(|_| P::new_zeroed())
    }
    /// Index of the next segment, when there is one.
    #[inline(always)]
    pub fn next_segment(&self) -> Option<u32> {
        let hot = self.hot();
        hot.flags.has(Flags::CHAINED).then_some(hot.next)
    }
    /// The bytes of all segments in order.
    pub fn segments(&self) -> Segments<'_> {
        let base = self.hot.as_ptr().cast::<u8>().wrapping_sub(self.index as usize * 64);
        Segments { base, at: Some(self.index), packet: PhantomData }
    }
    /// Hangs `next` (a chain of `len` bytes in all, owned by the caller) after this last segment.
    pub(crate) fn set_next(&mut self, next: u32, len: u32) {
        let hot = self.hot_mut();
        hot.next = next;
        hot.rest = len;
        hot.flags = hot.flags.with(Flags::CHAINED);
    }
    /// Lengthens what is known of the rest of the chain.
    pub(crate) fn add_rest(&mut self, len: u32) {
        self.hot_mut().rest += len;
    }
    /// Unhooks the rest of the chain and returns its first index.
    pub(crate) fn take_next(&mut self) -> Option<u32> {
        let hot = self.hot_mut();
        let next = hot.flags.has(Flags::CHAINED).then_some(hot.next);
        hot.flags = hot.flags.without(Flags::CHAINED);
        next
    }
    /// Makes it fresh: no bytes, no flags, `rx`.
    #[inline(always)]
    pub(crate) fn reset(&mut self, rx: u32) {
        *self.hot_mut() = Hot { rx, ..Hot::FRESH };
    }
    /// Copies the metadata of `from` that describes the packet, not its place: with the bits of
    /// features that are inherited all that is noted in the second line.
    pub(crate) fn inherit(&mut self, from: &Buffer<'_>) {
        let flags = self.flags();
        if let Some(line) = from.metadata(&NOTED) {
            self.set_metadata(&NOTED, line);
        }
        let (to, from) = (self.hot_mut(), from.hot());
        (to.rx, to.tx, to.fib, to.adjacency) = (from.rx, from.tx, from.fib, from.adjacency);
        to.flags = flags.with(Flags(from.flags.0 & Flags::INHERITED.0));
    }
}

/// Iterator over the segments of a packet.
#[derive(Debug)]
pub struct Segments<'p> {
    base: *mut u8,
    at: Option<u32>,
    packet: PhantomData<&'p Hot>,
}

impl<'p> Iterator for Segments<'p> {
    type Item = &'p [u8];
    fn next(&mut self) -> Option<&'p [u8]> {
        let index = self.at?;
        // SAFETY: `index` is the packet's first buffer or hangs behind it, so it belongs to the
        // packet borrowed for 'p; the base was computed from the first buffer's own index.
        unsafe {
            let hot = self.base.add(index as usize * 64).cast::<Hot>();
            self.at = (*hot).flags.has(Flags::CHAINED).then_some((*hot).next);
            let at = hot.cast::<u8>().offset(DATA + isize::from((*hot).offset));
            Some(std::slice::from_raw_parts(at, usize::from((*hot).len)))
        }
    }
}
