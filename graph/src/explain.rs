//! Explanation of a packet's path without sending it: the packet passes the live graph alone, and
//! the control thread records each node.
//!
//! No data-plane thread is involved. The control thread runs clones of the nodes, made as for a new
//! thread: they share the tables, but their counters are in no sum and their events are discarded.
//! Only nodes with [`Node::EXPLAINABLE`](crate::Node::EXPLAINABLE) are run; the explanation ends at
//! any other.
#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use infra::rcu::Participant;

use crate::buffer::{Buffer, Flags};
use crate::control::{Engine, NodeIndex};
use crate::engine::Walk;
use crate::trace::Record;

thread_local! {
    static IS_EXPLAINING: Cell<bool> = const { Cell::new(false) };
    /// Copies requested by nodes since the explanation began.
    static ASKED: RefCell<Vec<Request>> = const { RefCell::new(Vec::new()) };
}

/// Reason why an explanation ends at a node for which there is no copy.
const NO_COPY: &str = "what the data-plane threads know of its flow cannot be read: there is more \
    of it than an explanation reads, or a thread does not answer";

/// Copies state of the threads; the copy lives as long as the returned value.
type Fetch = Rc<dyn Fn(&mut Engine) -> Option<Box<dyn Any>>>;

/// A requested copy.
#[derive(Clone)]
struct Request {
    /// Identifies the copy.
    key: usize,
    fetch: Fetch,
}

/// A copy of state owned by data-plane threads, for nodes that explain a packet. The nodes may
/// change it: each explanation gets a new copy, made when a node first requests it.
pub struct Copied<T> {
    /// Empty except during an explanation.
    value: Mutex<T>,
    is_there: Mutex<bool>,
}

impl<T: Send + 'static> Copied<T> {
    /// Creates it without a copy; `empty` is an empty value.
    pub fn new(empty: T) -> Self {
        Self { value: Mutex::new(empty), is_there: Mutex::new(false) }
    }
    /// The copy. If there is none yet, the explanation restarts with the copy that `make` collects
    /// from the threads.
    pub fn lend(
        self: &Arc<Self>,
        make: impl Fn(&mut Engine) -> Option<T> + 'static,
    ) -> Option<MutexGuard<'_, T>> {
        if *lock(&self.is_there) {
            return match self.value.try_lock() {
                Ok(value) => Some(value),
                Err(TryLockError::Poisoned(value)) => Some(value.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
        }
        let copied = Arc::clone(self);
        let fetch: Fetch = Rc::new(move |engine| {
            let copied = Arc::clone(&copied);
            let empty = std::mem::replace(&mut *lock(&copied.value), make(engine)?);
            *lock(&copied.is_there) = true;
            Some(Box::new(Filled { copied, empty: Some(empty) }))
        });
        ASKED.with_borrow_mut(|all| all.push(Request { key: Arc::as_ptr(self).addr(), fetch }));
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An existing copy.
struct Filled<T> {
    copied: Arc<Copied<T>>,
    empty: Option<T>,
}

impl<T> Drop for Filled<T> {
    fn drop(&mut self) {
        *lock(&self.copied.is_there) = false;
        if let Some(empty) = self.empty.take() {
            *lock(&self.copied.value) = empty;
        }
    }
}

/// The reason why a node cannot be followed that has asked for a copy.
pub(crate) fn lack() -> Option<&'static str> {
    ASKED.with_borrow(|all| (!all.is_empty()).then_some(NO_COPY))
}

/// Whether nodes that are cloned now are to explain a packet: what a clone would tell others, it
/// is to keep to itself.
pub fn is_explaining() -> bool {
    IS_EXPLAINING.get()
}

/// One packet: the one that was given, or one that a node made of another.
pub struct ExplainedPacket {
    /// Origin; `None` for the packet that was given.
    pub made: Option<MadeAt>,
    /// Nodes that it visited, in order.
    pub steps: Vec<Step>,
    /// Its end at the last of them.
    pub end: End,
}

/// The node that made a packet, and of which one, by its place in the list of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeAt {
    /// The other packet.
    pub packet: usize,
    /// Node.
    pub node: NodeIndex,
}

/// Ends of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The node did not send it on.
    Ended,
    /// The node is none that may be run for packets that are only explained.
    Stopped,
    /// The node cannot determine its fate, for this reason.
    Unknown(&'static str),
    /// It exceeded the limit of steps.
    TooLong,
}

/// A visit of a node.
pub struct Step {
    /// Node.
    pub node: NodeIndex,
    /// The packet as the node was given it.
    pub before: Snapshot,
    /// As it was sent on; `None` if it was not.
    pub after: Option<Snapshot>,
    /// Records of the node.
    pub records: Vec<Arc<dyn Record>>,
    /// Counters of nodes that it would raise.
    pub counted: Vec<Counted>,
    /// The node that it was sent on to.
    pub next: Option<NodeIndex>,
}

/// A counter that a node would raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Index.
    pub index: u32,
    /// By how much.
    pub by: u64,
}

/// A packet between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes of its first segment, from where the next node begins to read.
    pub bytes: Vec<u8>,
    /// Offset of these from the start of the data area.
    pub offset: i16,
    /// Bytes of all segments.
    pub len: usize,
    /// Start of its headers, from the start of the data area: layer 2 and 3, where they are known.
    pub headers: [Option<i16>; 2],
    /// Receive interface.
    pub rx: u32,
    /// Transmit interface.
    pub tx: u32,
    /// Table for its lookup.
    pub fib: u16,
    /// Number of the counter of its error; 0 for none.
    pub error: u32,
}

impl ExplainedPacket {
    pub(crate) fn new(made: Option<MadeAt>) -> Self {
        Self { made, steps: Vec::new(), end: End::Ended }
    }
}

impl Step {
    pub(crate) fn new(node: NodeIndex, before: Snapshot) -> Self {
        let (records, counted) = (Vec::new(), Vec::new());
        Self { node, before, after: None, records, counted, next: None }
    }
}

impl Snapshot {
    pub(crate) fn of(p: &Buffer<'_>) -> Self {
        let known = |flag, at| p.flags().has(flag).then_some(at);
        Self {
            bytes: p.bytes().to_vec(),
            offset: p.offset(),
            len: p.total_len(),
            headers: [known(Flags::L2, p.l2_offset()), known(Flags::L3, p.l3_offset())],
            rx: p.rx(),
            tx: p.tx(),
            fib: p.fib(),
            error: Buffer::error(p),
        }
    }
}

/// Takes back, also after a panic, that nodes are cloned to explain.
struct Explaining;

impl Explaining {
    fn begin() -> Self {
        IS_EXPLAINING.set(true);
        Self
    }
}

impl Drop for Explaining {
    fn drop(&mut self) {
        IS_EXPLAINING.set(false);
    }
}

impl Engine {
    /// Explains what would happen to a packet that enters at a node: returns its path and that of
    /// packets that nodes create from it, in order. Changes no state. Empty if no buffer is free.
    ///
    /// It restarts whenever a node needs a copy of state owned by the threads ([`Copied`]).
    pub fn explain(
        &mut self,
        entrance: NodeIndex,
        bytes: &[u8],
        prepare: impl FnOnce(&mut Buffer<'_>) + Clone,
    ) -> Vec<ExplainedPacket> {
        let mut requests: Vec<Request> = Vec::new();
        loop {
            let copies: Vec<_> = requests.iter().map(|request| (request.fetch)(self)).collect();
            let packets = self.explain_with_copies(entrance, bytes, prepare.clone());
            drop(copies);
            let known = requests.len();
            for request in ASKED.take() {
                if requests.iter().all(|other| other.key != request.key) {
                    requests.push(request);
                }
            }
            if requests.len() == known {
                return packets;
            }
        }
    }
    fn explain_with_copies(
        &self,
        entrance: NodeIndex,
        bytes: &[u8],
        prepare: impl FnOnce(&mut Buffer<'_>),
    ) -> Vec<ExplainedPacket> {
        let _explaining = Explaining::begin();
        let me = Participant::join();
        let make = |node| self.runtime_to_explain(NodeIndex(node));
        let walk = Walk::new(self.bare_core(), self.node_count(), self.counter_count(), &make);
        walk.run(entrance, bytes, prepare, me.epoch())
    }
}
