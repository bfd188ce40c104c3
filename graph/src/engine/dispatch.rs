//! From a node's safe body to what the engine calls: CPU variants, and a net for panics.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use infra::cpu::{Baseline, Variant};
use infra::rcu::Epoch;

use super::core::{Batch, Core};
use super::{Frame, Intake, Part, Passes};
use crate::node::{Input, Node, Slot};

/// A node of any type on one thread.
pub(crate) trait Dispatch: Send {
    /// Processes a frame, or brings packets in; returns how many packets it was.
    fn run(&mut self, core: &mut Core, node: u32, batch: Option<&Batch>, epoch: Epoch<'_>) -> u64;
    /// The node's own state, for control.
    fn node(&mut self) -> &mut dyn Any;
    /// Runs it as compiled for this variant, which the processor must support.
    fn choose(&mut self, variant: Variant);
    /// Ends the node.
    fn end(&mut self, core: &mut Core, node: u32, epoch: Epoch<'_>);
}

type Body<N> = fn(&mut N, &mut Frame<'_, N>);
type Poll<N> = fn(&mut N, &mut Intake<'_, N>);
/// [`Part::take`] as compiled for one CPU variant.
pub(super) type Take<N, P> = fn(&mut P, &mut Passes<'_, N>, Epoch<'_>, Slot) -> bool;

/// A node compiled for one CPU variant.
pub(crate) struct NodeAdapter<N: Node> {
    node: N,
    body: Body<N>,
}

impl<N: Node> NodeAdapter<N> {
    pub fn new(node: N, variant: Variant) -> Self {
        Self { node, body: body::<N>(variant) }
    }
}

impl<N: Node> Dispatch for NodeAdapter<N> {
    #[inline]
    fn run(&mut self, core: &mut Core, node: u32, batch: Option<&Batch>, epoch: Epoch<'_>) -> u64 {
        let Some(batch) = batch else { return 0 };
        let indices = &batch.indices[..batch.len];
        let mut frame = Frame { core, node, indices, epoch, of: PhantomData, done: false };
        let caught = catch_unwind(AssertUnwindSafe(|| (self.body)(&mut self.node, &mut frame)));
        if caught.is_err() || !frame.done {
            let done = frame.done;
            lost(core, node, if done { &[] } else { indices });
        }
        if core.has_followers() {
            core.free_followers();
        }
        indices.len() as u64
    }
    fn node(&mut self) -> &mut dyn Any {
        &mut self.node
    }
    fn choose(&mut self, variant: Variant) {
        self.body = body::<N>(variant);
    }
    fn end(&mut self, core: &mut Core, node: u32, epoch: Epoch<'_>) {
        empty(&mut self.node, core, node, epoch, N::end);
    }
}

/// Lets `work` at a node as if it had been given a frame without packets.
pub(super) fn empty<N: Node>(
    node: &mut N,
    core: &mut Core,
    number: u32,
    epoch: Epoch<'_>,
    work: impl FnOnce(&mut N, &mut Frame<'_, N>),
) {
    let mut frame = Frame { core, node: number, indices: &[], epoch, of: PhantomData, done: false };
    if catch_unwind(AssertUnwindSafe(|| work(node, &mut frame))).is_err() {
        lost(core, number, &[]);
    }
    core.free_followers();
}

/// A node panicked (or forgot its frame): packets that did not go on are dropped and counted.
#[cold]
pub(super) fn lost(core: &mut Core, node: u32, indices: &[u32]) {
    let n = &core.nodes[node as usize];
    let counter = (n.error_base + n.error_count) as usize - 1;
    core.counter(counter).add(indices.len().max(1) as u64);
    core.vectors_drop += indices.len() as u64;
    core.free(indices);
    if core.room.is_empty() {
        core.room = super::core::new_room(); // it panicked with the room in its hands
    }
}

/// An input node compiled for one CPU variant.
pub(crate) struct InputAdapter<N: Input> {
    node: N,
    body: Poll<N>,
}

impl<N: Input> InputAdapter<N> {
    pub fn new(node: N, variant: Variant) -> Self {
        Self { node, body: poll::<N>(variant) }
    }
}

impl<N: Input> Dispatch for InputAdapter<N> {
    #[inline]
    fn run(&mut self, core: &mut Core, node: u32, _: Option<&Batch>, epoch: Epoch<'_>) -> u64 {
        let mut intake = Intake { core, node, epoch, received: 0, of: PhantomData };
        let caught = catch_unwind(AssertUnwindSafe(|| (self.body)(&mut self.node, &mut intake)));
        let received = intake.received;
        core.vectors_in += received;
        if caught.is_err() {
            lost(core, node, &[]);
        }
        received
    }
    fn node(&mut self) -> &mut dyn Any {
        &mut self.node
    }
    fn choose(&mut self, variant: Variant) {
        self.body = poll::<N>(variant);
    }
    fn end(&mut self, _: &mut Core, _: u32, _: Epoch<'_>) {
        // It holds no packets.
    }
}

#[inline(never)]
fn body_default<N: Node>(node: &mut N, frame: &mut Frame<'_, N>) {
    node.process::<Baseline>(frame);
}

#[inline(never)]
fn poll_default<N: Input>(node: &mut N, intake: &mut Intake<'_, N>) {
    node.poll::<Baseline>(intake);
}

#[inline(never)]
fn take_default<N: Node, P: Part<N>>(
    part: &mut P,
    packets: &mut Passes<'_, N>,
    epoch: Epoch<'_>,
    edge: Slot,
) -> bool {
    part.take(packets, epoch, edge)
}

#[cfg(target_arch = "x86_64")]
macro_rules! variants {
    ($(
        $variant:ident $(| $more:ident)? :
            $body:ident $poll:ident $take:ident $($features:literal)+;
    )*) => {
        $(
            #[target_feature($(enable = $features),+)]
            #[inline(never)]
            fn $body<N: Node>(node: &mut N, frame: &mut Frame<'_, N>) {
                node.process::<infra::cpu::$variant>(frame.on());
            }
            #[target_feature($(enable = $features),+)]
            #[inline(never)]
            fn $poll<N: Input>(node: &mut N, intake: &mut Intake<'_, N>) {
                node.poll::<infra::cpu::$variant>(intake.on());
            }
            #[target_feature($(enable = $features),+)]
            #[inline(never)]
            fn $take<N: Node, P: Part<N>>(
                part: &mut P,
                packets: &mut Passes<'_, N>,
                epoch: Epoch<'_>,
                edge: Slot,
            ) -> bool {
                part.take(packets, epoch, edge)
            }
        )*
        fn body<N: Node>(variant: Variant) -> Body<N> {
            if !N::HOT {
                return body_default::<N>;
            }
            match variant {
                // SAFETY: a variant is chosen only where `Variant::is_supported` says that this
                // processor has its features.
                $(Variant::$variant $(| Variant::$more)? => |n, f| unsafe { $body(n, f) },)*
                _ => body_default::<N>,
            }
        }
        fn poll<N: Input>(variant: Variant) -> Poll<N> {
            if !N::HOT {
                return poll_default::<N>;
            }
            match variant {
                // SAFETY: as above.
                $(Variant::$variant $(| Variant::$more)? => |n, i| unsafe { $poll(n, i) },)*
                _ => poll_default::<N>,
            }
        }
        pub(super) fn take<N: Node, P: Part<N>>(variant: Variant) -> Take<N, P> {
            match variant {
                $(Variant::$variant $(| Variant::$more)? => {
                    // SAFETY: as above: it is that of the node whose part it is.
                    |p, a, e, s| unsafe { $take(p, a, e, s) }
                })*
                _ => take_default::<N, P>,
            }
        }
    };
}

// Ice Lake runs the code for Skylake: what it has beyond that no node was faster with.
#[cfg(target_arch = "x86_64")]
variants! {
    Hsw: body_hsw poll_hsw take_hsw "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt";
    Skx | Icl: body_skx poll_skx take_skx "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt"
        "avx512f,avx512bw,avx512cd,avx512dq,avx512vl";
}

#[cfg(not(target_arch = "x86_64"))]
fn body<N: Node>(_: Variant) -> Body<N> {
    body_default::<N>
}

#[cfg(not(target_arch = "x86_64"))]
fn poll<N: Input>(_: Variant) -> Poll<N> {
    poll_default::<N>
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn take<N: Node, P: Part<N>>(_: Variant) -> Take<N, P> {
    take_default::<N, P>
}
