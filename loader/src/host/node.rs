//! Nodes of plugins on the data plane.
//!
//! Safety contract: as of `host`. An `fv_frame` and what it points to are valid while the node's
//! function runs, which is given a frame of its thread alone; `verdicts` has room for all packets
//! of a frame. The node's code is mapped as long as it is in the graph.

use std::ffi::{c_char, c_void};
use std::fmt;

use ferrovia_sdk::abi;
use graph::{FRAME, Foreign, ForeignFrame, Names, Record};

use super::lossy;

const _: () = assert!(FRAME == abi::FRAME);

/// A node of a plugin, on one thread.
#[derive(Clone)]
pub struct CNode {
    pub process: abi::Process,
    pub state: *mut c_void,
    /// Memory of the thread for it.
    pub local: Vec<u64>,
}

// SAFETY: by the header's contract `state` is for all threads at once, and `local` is the node's
// own.
unsafe impl Send for CNode {}

impl Foreign for CNode {
    fn on_thread(&self, _: usize) -> Box<dyn Foreign> {
        Box::new(self.clone())
    }
    fn process(&mut self, frame: &mut ForeignFrame<'_>) {
        let mut given = abi::Frame {
            count: frame.indices().len() as u32,
            thread: frame.thread() as u32,
            now: frame.now(),
            pool: frame.pool(),
            indices: frame.indices().as_ptr(),
            verdicts: frame.verdicts().as_mut_ptr(),
            local: self.local.as_mut_ptr().cast(),
            engine: std::ptr::from_mut(frame).cast(),
        };
        // SAFETY: the function and its state are of a plugin whose code is mapped while its node is
        // in the graph; all pointers are valid until it returns.
        unsafe { (self.process)(self.state, &raw mut given) }
    }
}

/// Text of a plugin about a traced packet.
struct PluginTrace(String);

impl Record for PluginTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", self.0)
    }
}

/// The frame that a plugin's pointer stands for.
///
/// # Safety
/// `frame` is what [`CNode::process`] gave, and its function has not returned.
unsafe fn engine<'f>(frame: *mut abi::Frame) -> &'f mut ForeignFrame<'f> {
    // SAFETY: the caller's.
    unsafe { &mut *(*frame).engine.cast() }
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn count(frame: *mut abi::Frame, counter: u32, n: u64) {
    // SAFETY: the module's contract.
    unsafe { engine(frame) }.count(counter, n);
}

/// # Safety
/// By the contract of the module.
pub(super) unsafe extern "C" fn trace(
    frame: *mut abi::Frame,
    packet: u32,
    text: *const c_char,
    len: u64,
) {
    // SAFETY: the module's contract.
    let (frame, text) = unsafe { (engine(frame), lossy(text, len)) };
    frame.trace(packet as usize, || PluginTrace(text));
}

/// # Safety
/// By the contract of the module; there is room for `count` numbers.
pub(super) unsafe extern "C" fn alloc(frame: *mut abi::Frame, to: *mut u32, count: u32) -> u32 {
    // SAFETY: the module's contract.
    unsafe { engine(frame).alloc(std::slice::from_raw_parts_mut(to, count as usize)) as u32 }
}

/// # Safety
/// By the contract of the module; the packets are the node's.
pub(super) unsafe extern "C" fn free(frame: *mut abi::Frame, packets: *const u32, count: u32) {
    // SAFETY: the module's contract.
    unsafe { engine(frame).free(std::slice::from_raw_parts(packets, count as usize)) }
}

/// # Safety
/// By the contract of the module; the packets are the node's.
pub(super) unsafe extern "C" fn send(
    frame: *mut abi::Frame,
    thread: u32,
    next: u32,
    packets: *const u32,
    count: u32,
) -> u32 {
    // SAFETY: the module's contract.
    unsafe {
        let packets = std::slice::from_raw_parts(packets, count as usize);
        engine(frame).send(thread as usize, next, packets) as u32
    }
}
