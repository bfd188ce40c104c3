//! Nodes on the data plane, their packets and counters.
//!
//! Safety contract: as of the module above.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::host;
use crate::abi;
use crate::{Node, Verdict};

/// A node and what each thread has for it.
pub(super) struct Shared<N: Node> {
    node: N,
    locals: Vec<UnsafeCell<Option<N::Local>>>,
}

impl<N: Node> Shared<N> {
    pub fn new(node: N, threads: u32) -> Self {
        Self { node, locals: (0..threads).map(|_| UnsafeCell::new(None)).collect() }
    }
}

// SAFETY: a thread uses its own entry of `locals` alone; the node itself is `Sync`.
unsafe impl<N: Node> Sync for Shared<N> {}

/// # Safety
/// The router calls it with a `Shared<N>` that is kept, on the thread of the frame.
pub(super) unsafe extern "C" fn process<N: Node>(state: *mut c_void, frame: *mut abi::Frame) {
    // SAFETY: by the contract of the module.
    let (shared, given) = unsafe { (&*state.cast::<Shared<N>>(), &mut *frame) };
    let Some(local) = shared.locals.get(given.thread as usize) else { return };
    // SAFETY: a thread processes one frame of a node at a time, and no other uses this entry.
    let local = unsafe { &mut *local.get() }.get_or_insert_with(N::Local::default);
    let mut frame = Frame { given };
    let work = || shared.node.process(local, &mut frame);
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        let failed = Verdict::Drop(FAILED);
        (0..frame.len()).for_each(|at| frame.set(at, failed));
    }
}

/// No reason: the router counts the packets as those of a node that failed.
const FAILED: u32 = 0xff_ffff;

/// Up to 256 packets for a node.
pub struct Frame<'f> {
    given: &'f mut abi::Frame,
}

impl Frame<'_> {
    /// The number of packets.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.given.count as usize
    }
    /// Number of the thread.
    pub fn thread(&self) -> usize {
        self.given.thread as usize
    }
    /// Seconds on the router's clock.
    pub fn now(&self) -> f64 {
        self.given.now
    }
    /// Adds to one of the node's other counters, [`Node::COUNTS`].
    pub fn count<N: Node>(&mut self, which: usize, n: u64) {
        let counter = (N::REASONS.len() + which) as u32;
        // SAFETY: our frame.
        unsafe { (host().count)(self.given, counter, n) }
    }
    /// Sends a new packet with these bytes along an edge of the node, as if received on interface
    /// `rx`; `None` if there is no buffer, or they do not fit in one.
    pub fn emit(&mut self, next: u32, rx: u32, bytes: &[u8]) -> Option<()> {
        let len = u16::try_from(bytes.len()).ok().filter(|len| *len <= MOST_BYTES)?;
        let mut index = 0;
        // SAFETY: our frame, and a place for one number.
        if unsafe { (host().alloc)(self.given, &raw mut index, 1) } == 0 {
            return None;
        }
        // SAFETY: a new packet is ours alone, with room for so many bytes; then it is sent.
        unsafe {
            let buffer: *mut abi::Buffer = self.given.pool.add(index as usize * 64).cast();
            ((*buffer).len, (*buffer).rx) = (len, rx);
            let data = buffer.cast::<u8>().add(abi::DATA);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
            let thread = self.given.thread;
            (host().send)(self.given, thread, next, &raw const index, 1);
        }
        Some(())
    }
    fn set(&mut self, at: usize, verdict: Verdict) {
        assert!(at < abi::FRAME, "a frame has no more packets");
        // SAFETY: there is room for the verdicts of a whole frame.
        unsafe { self.given.verdicts.add(at).write(verdict.number()) }
    }
    fn at(&self, at: usize) -> *mut abi::Buffer {
        debug_assert!(at < self.len());
        // SAFETY: there are as many indices as packets, and a buffer is as many cache lines behind
        // the pool's start as its index says.
        unsafe {
            let index = *self.given.indices.add(at);
            self.given.pool.add(index as usize * 64).cast()
        }
    }
    /// Runs `verdict` on every packet in order.
    #[inline]
    pub fn each(&mut self, mut verdict: impl FnMut(&mut Packet<'_>) -> Verdict) {
        for at in 0..self.len() {
            if at + AHEAD < self.len() {
                prefetch(self.at(at + AHEAD));
            }
            let mut packet = Packet { buffer: self.at(at), at: at as u32, given: self.given };
            let verdict = verdict(&mut packet);
            self.set(at, verdict);
        }
    }
}

/// Bytes that fit the smallest buffer.
const MOST_BYTES: u16 = 1664;
/// Number of packets that are fetched ahead.
const AHEAD: usize = 4;

#[inline(always)]
fn prefetch(buffer: *const abi::Buffer) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let data = buffer.cast::<i8>().wrapping_add(abi::DATA);
        // SAFETY: fetching ahead reads nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(buffer.cast());
            _mm_prefetch::<_MM_HINT_T0>(data);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = buffer;
}

/// A packet in the hands of a node.
pub struct Packet<'p> {
    buffer: *mut abi::Buffer,
    at: u32,
    given: &'p mut abi::Frame,
}

impl Packet<'_> {
    /// Flags.
    #[inline]
    pub fn about(&self) -> &abi::Buffer {
        // SAFETY: a packet of our frame; there is no other reference.
        unsafe { &*self.buffer }
    }
    /// Receive interface.
    #[inline]
    pub fn rx(&self) -> u32 {
        self.about().rx
    }
    /// Transmit interface.
    #[inline]
    pub fn tx(&self) -> u32 {
        self.about().tx
    }
    /// Sets the transmit interface.
    #[inline]
    pub fn set_tx(&mut self, interface: u32) {
        // SAFETY: as of `about`, and borrowed mutably.
        unsafe { (*self.buffer).tx = interface }
    }
    /// The thread it is on.
    #[inline]
    pub fn thread(&self) -> usize {
        self.given.thread as usize
    }
    fn start(&self) -> *mut u8 {
        let offset = abi::DATA as isize + isize::from(self.about().offset);
        // SAFETY: the router keeps offsets within the buffer, and so does this crate.
        unsafe { self.buffer.cast::<u8>().offset(offset) }
    }
    /// The bytes of its first segment.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes, ours as the packet is.
        unsafe { std::slice::from_raw_parts(self.start(), self.about().len.into()) }
    }
    /// The bytes of its first segment, for rewriting.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as of `bytes`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.about().len.into()) }
    }
    /// Takes `n` bytes off its front; `None` and unchanged when it has fewer.
    pub fn advance(&mut self, n: u16) -> Option<()> {
        // SAFETY: as of `bytes_mut`; what is left lies within what was there.
        let about = unsafe { &mut *self.buffer };
        about.len = about.len.checked_sub(n)?;
        about.offset += n as i16;
        Some(())
    }
    /// The number that the plugin has noted on it.
    #[inline]
    pub fn metadata(&self, place: &Metadata) -> Option<u64> {
        let is_there = self.about().flags & place.0.flag != 0;
        let at = self.buffer.cast::<u8>().wrapping_add(place.0.offset as usize).cast::<u64>();
        // SAFETY: the second line of a packet of our frame, where the router gave us a place.
        is_there.then(|| unsafe { at.read() })
    }
    /// Notes a number on it.
    #[inline]
    pub fn set_metadata(&mut self, place: &Metadata, number: u64) {
        let at = self.buffer.cast::<u8>().wrapping_add(place.0.offset as usize).cast::<u64>();
        // SAFETY: as of `metadata`, and borrowed mutably.
        unsafe {
            at.write(number);
            (*self.buffer).flags |= place.0.flag;
        }
    }
    /// Hands the packet off to another thread, along an edge of the node; `None` if the ring is
    /// full. The node returns this verdict for it.
    pub fn hand_off(&mut self, thread: usize, next: u32) -> Option<Verdict> {
        // SAFETY: a packet of our frame, which the verdict says is gone.
        let sent = unsafe {
            let index = self.given.indices.add(self.at as usize);
            (host().send)(self.given, thread as u32, next, index, 1)
        };
        (sent == 1).then_some(Verdict::Taken)
    }
    /// Says something in its trace; `text` is made for traced packets only.
    #[inline]
    pub fn trace(&mut self, text: impl FnOnce() -> String) {
        if self.about().flags & crate::TRACED != 0 {
            let (text, at) = (text(), self.at);
            // SAFETY: our frame; so many bytes of text.
            unsafe { (host().trace)(self.given, at, text.as_ptr().cast(), text.len() as u64) }
        }
    }
}

/// A bit and a place for a number in the metadata of packets.
#[derive(Clone, Copy, Debug)]
pub struct Metadata(pub(super) abi::Metadata);

/// Counters by interface.
#[derive(Clone, Copy, Debug)]
pub struct Counters(pub(super) abi::Counters);

// SAFETY: a thread adds to its own row; others read.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    fn at(&self, thread: usize, interface: u32) -> Option<&AtomicU64> {
        let is_there = thread < self.0.threads as usize && interface < abi::MOST_INTERFACES;
        // SAFETY: there are so many rows of so many numbers as long as the plugin is loaded.
        is_there.then(|| unsafe {
            AtomicU64::from_ptr((*self.0.rows.add(thread)).add(interface as usize))
        })
    }
    /// Counts on the thread of a packet.
    #[inline]
    pub fn add(&self, packet: &Packet<'_>, interface: u32, n: u64) {
        if let Some(counter) = self.at(packet.thread(), interface) {
            counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
        }
    }
    /// The sum over all threads.
    pub fn sum(&self, interface: u32) -> u64 {
        let rows = (0..self.0.threads as usize).filter_map(|thread| self.at(thread, interface));
        rows.map(|counter| counter.load(Relaxed)).sum()
    }
}
