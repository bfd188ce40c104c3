//! Label stacks to push, and actions on packets whose label was popped: each exists once, however
//! many paths use it.

use std::hash::Hash;

use net::fib::{Brief, Label, Object, ObjectKind, Path, Via};
use net::prelude::*;

/// Most of a kind.
const MOST: usize = net::fib::MOST_BRIEFS;

/// Labels to put on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Imposition {
    /// The labels, outermost first; none where only the next label takes the time to live of the
    /// one that was taken off.
    pub labels: Box<[Label]>,
    /// Next object of packets.
    pub next: Via,
}

impl Imposition {
    /// Its brief; `None` where it puts on another number of labels than one, or leads elsewhere
    /// than to a neighbour.
    pub fn brief(&self) -> Option<Brief> {
        match (&*self.labels, self.next) {
            ([label], Via::Adjacency(to)) => Some(Brief::new(label, to)),
            _ => None,
        }
    }
}

/// The disposition of a packet whose label was popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Disposition {
    /// Step behind it.
    pub then: AfterPop,
    /// Whether a control word is in front of it.
    pub has_control_word: bool,
    /// Interface for reverse-path checks of multicast packets; 0 for the receive interface.
    pub rpf_id: u32,
}

/// The next step of a packet whose label was popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AfterPop {
    /// As a path leads.
    Via(Via),
    /// By the table of its receive interface.
    OwnTable,
}

/// Values that are shared by those who hold them.
pub struct Interned<T: Clone + Eq + Hash + Send + Sync + 'static> {
    slab: SharedSlab<T>,
    /// Number of each, and how many hold it.
    known: HashMap<T, (u32, u32)>,
}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Interned<T> {
    /// None so far.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new() -> io::Result<Self> {
        Ok(Self { slab: SharedSlab::new(MOST)?, known: HashMap::new() })
    }
    /// For nodes.
    pub fn reader(&self) -> SlabReader<T> {
        self.slab.reader()
    }
    /// The number of a value, held once more; `None` when there are too many.
    pub fn hold(&mut self, value: T) -> Option<u32> {
        if let Some((index, users)) = self.known.get_mut(&value) {
            *users += 1;
            return Some(*index);
        }
        let index = self.slab.insert(value.clone()).ok()?;
        self.known.insert(value, (index, 1));
        Some(index)
    }
    /// Gives one hold up.
    pub fn release(&mut self, index: u32) {
        let Some(value) = self.slab.at(index).cloned() else { return };
        let Some((_, users)) = self.known.get_mut(&value) else { return };
        *users -= 1;
        if *users == 0 {
            self.known.remove(&value);
            self.slab.remove(index);
        }
    }
    /// A value.
    pub fn at(&self, index: u32) -> Option<&T> {
        self.slab.at(index)
    }
}

/// The kinds of objects of MPLS.
#[derive(Clone, Copy)]
pub struct Kinds {
    /// Labels with a time to live of their own, and those that take the packet's.
    pub impose: [ObjectKind; 2],
    /// IPv4 and IPv6 packets that keep their time to live, and those that take the label's.
    pub dispose: [[ObjectKind; 2]; 2],
    /// Copies.
    pub replicate: ObjectKind,
}

/// All objects.
pub struct Objects {
    pub impositions: Interned<Imposition>,
    pub dispositions: Interned<Disposition>,
    pub kinds: Kinds,
}

impl Objects {
    /// Object between a path and `next`.
    pub fn wrap(&mut self, path: &Path, next: Via) -> Option<Via> {
        let labels: Box<[Label]> = path.pushed().copied().collect();
        let Some(pop) = path.pop else {
            let is_uniform = labels.iter().any(|l| l.is_uniform);
            return self.impose(Imposition { labels, next }, is_uniform);
        };
        let place = match pop.link {
            Link::Ip4 => 0,
            Link::Ip6 => 1,
            Link::Mpls => return self.expose(path, pop.is_uniform, next),
            Link::Ethernet => return Some(Via::Drop),
        };
        let kind = self.kinds.dispose[place][usize::from(pop.is_uniform)];
        let (then, rpf_id) = (AfterPop::Via(next), pop.rpf_id);
        let has_control_word = pop.has_control_word;
        let index = self.dispositions.hold(Disposition { then, has_control_word, rpf_id })?;
        Some(Via::Object(Object { kind, index }))
    }
    /// The next label comes to light: only a neighbour that asks for no label gets it so.
    fn expose(&mut self, path: &Path, is_uniform: bool, next: Via) -> Option<Via> {
        let is_lookup = matches!(path.target, Target::Lookup { .. } | Target::Label { .. });
        if !is_lookup && path.labels.is_none() {
            return Some(Via::Drop);
        }
        if is_uniform {
            return self.impose(Imposition { labels: Box::default(), next }, true);
        }
        Some(next)
    }
    fn impose(&mut self, imposition: Imposition, is_uniform: bool) -> Option<Via> {
        let kind = self.kinds.impose[usize::from(is_uniform)];
        let index = self.impositions.hold(imposition)?;
        Some(Via::Object(Object { kind, index }))
    }
    /// Gives up what [`Objects::wrap`] gave.
    pub fn release(&mut self, wrap: Via) {
        let Via::Object(Object { kind, index }) = wrap else { return };
        if self.kinds.impose.contains(&kind) {
            self.impositions.release(index);
        } else if self.kinds.dispose.as_flattened().contains(&kind) {
            self.dispositions.release(index);
        }
    }
}
